package doctor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise/doctor"
	"reprise/internal/gitx/gittest"
)

// look looks with nothing but a few programs in the PATH.
func look(t *testing.T, programs map[string]string) []doctor.Check {
	t.Helper()
	home, bin, dir := t.TempDir(), t.TempDir(), t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Not the folders of the system: an agent may be installed there.
	for _, name := range []string{"git", "sh", "sleep", "setsid", "touch", "cat"} {
		if at, err := exec.LookPath(name); err == nil && programs[name] == "" {
			if err := os.Symlink(at, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	checks := doctor.Look(t.Context(), doctor.Options{Dir: dir, Environ: []string{"PATH=" + bin, "HOME=" + home}, Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}})
	for _, left := range []string{home, dir} {
		if found, err := os.ReadDir(left); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", left, found, err)
		}
	}
	return checks
}

func find(t *testing.T, checks []doctor.Check, name string) doctor.Check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no %s in %+v", name, checks)
	}
	return checks[i]
}

func TestX10_what_the_programs_say_of_themselves(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell for the programs")
	}
	for name, c := range map[string]struct {
		script string
		level  doctor.Level
	}{
		"new git":    {"echo git version 2.43.0", doctor.Fine},
		"old git":    {"echo git version 2.25.1", doctor.Limited},
		"next git":   {"echo git version 3.0.0.rc1", doctor.Fine},
		"broken git": {"echo oops; exit 3", doctor.Limited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := look(t, map[string]string{"git": c.script})
			if got := find(t, checks, "git"); got.Level != c.level || c.level != doctor.Fine && got.Do == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestX10_a_program_that_hangs_is_ended_with_all_it_started(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "alive")
	began := time.Now()
	checks := look(t, map[string]string{"opencode": "(sleep 7; touch '" + mark + "') & sleep 60", "claude": "echo 2.1.325"})
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := find(t, checks, "opencode"); got.Level != doctor.Limited || got.Means == "" {
		t.Errorf("%+v", got)
	}
	if got := find(t, checks, "claude"); got.Level != doctor.Fine {
		t.Errorf("%+v", got)
	}
	time.Sleep(time.Until(began.Add(8 * time.Second)))
	if _, err := os.Stat(mark); err == nil {
		t.Error("what it started lives on")
	}
}

func TestX10_nobody_to_do_the_work_is_essential(t *testing.T) {
	t.Parallel()
	checks := look(t, nil)
	if got := find(t, checks, "any agent"); got.Level != doctor.Missing || doctor.Worst(checks) != doctor.Missing {
		t.Errorf("%+v", got)
	}
	if got := find(t, checks, "state folder"); got.Says == "" || got.Level == doctor.Missing {
		t.Errorf("%+v", got)
	}
}

// Settings that name a command are not said to name none, even if they are not used.
func TestX10_settings_that_are_not_used_are_named(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"agents: {r: {command: [make]}}\nroles: {default: r}\n": "see trust below",
		"agents: {r: {comand: [make]}}\nroles: {default: r}\n":  "see settings below",
		"agents: {r: {preset: claude}}\nparallel: 2\n":          "see trust below",
	} {
		dir, home := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "reprise.yaml"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		checks := doctor.Look(t.Context(), doctor.Options{Dir: dir, Environ: []string{"PATH=" + home}, Getenv: func(string) string { return home }})
		if got := find(t, checks, "any agent"); got.Do != want {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// As run and resume say it: with such a repository nothing is committed.
func TestX10_a_repository_that_git_cannot_be_asked_about(t *testing.T) {
	t.Parallel()
	for name, problem := range map[string]bool{"shop": false, "line\nbreak": true} {
		home, dir := t.TempDir(), filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip(err)
		}
		gittest.Begin(t, dir, gittest.Environ(home))
		checks := doctor.Look(t.Context(), doctor.Options{Dir: dir, Environ: append(os.Environ(), "HOME="+home), Getenv: func(string) string { return "" }})
		i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "repository" })
		if (i >= 0) != problem {
			t.Errorf("%q: %+v", name, checks)
		}
		if i >= 0 && (checks[i].Level != doctor.Limited || checks[i].Means == "" || checks[i].Do == "") {
			t.Errorf("%q: %+v", name, checks[i])
		}
	}
}
