package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
	"reprise/project"
)

// A checkout that git lists and that cannot be read may be further along: the run asks.
func TestA_checkout_that_cannot_be_read_is_unknown(t *testing.T) {
	t.Parallel()
	top := gittest.Folder(t)
	environ, home := gittest.Environ(top), filepath.Join(top, "main")
	gittest.Write(t, home, "specs/001-x/tasks.md", "# Tasks\n\n- [X] T001 Set up\n- [ ] T002 Build it\n")
	gittest.Begin(t, home, environ)
	gittest.Run(t, home, environ, "worktree", "add", "-q", "../side")
	gittest.Run(t, home, environ, "worktree", "add", "-q", "inside")
	gittest.Write(t, home, ".git/info/exclude", "inside\n")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	side := filepath.Join(top, "side")
	for _, c := range []struct {
		name         string
		damage, mend func()
		want         string
	}{
		{"all there", func() {}, func() {}, ""},
		{
			"its pointer is damaged",
			func() { must(os.Rename(side+"/.git", top+"/kept")); gittest.Write(t, side, ".git", "junk") },
			func() { must(os.Rename(top+"/kept", side+"/.git")) },
			"../side: its .git does not name this repository",
		},
		{
			"its folder is a file", func() { must(os.Rename(side, top+"/kept")); gittest.Write(t, top, "side", "") },
			func() { must(os.Remove(side)); must(os.Rename(top+"/kept", side)) },
			"../side: not a directory",
		},
		{
			"its drive is not mounted", func() { must(os.Rename(side, top+"/kept")) }, func() { must(os.Rename(top+"/kept", side)) },
			"../side: no such file or directory",
		},
		{
			"it was deleted from within the project",
			func() { must(os.Rename(home+"/inside", top+"/kept")) }, func() { must(os.Rename(top+"/kept", home+"/inside")) }, "",
		},
	} {
		c.damage()
		j, err := project.Judge(t.Context(), home, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Environ: environ})
		c.mend()
		must(err)
		if len(j.Runs) != 1 {
			t.Fatalf("%s: %d runs", c.name, len(j.Runs))
		}
		d := j.Decisions[j.Runs[0]]
		if c.want == "" && d.Verdict != reprise.Safe || c.want != "" && (d.Action != reprise.Ask || !strings.Contains(d.Reason(), c.want)) {
			t.Errorf("%s: %v %v %q, want %q", c.name, d.Action, d.Verdict, d.Reasons, c.want)
		}
	}
}

// A copy of a run in another checkout that is merely older says nothing. One that has something
// done which this one has not, and one that cannot be read, are told.
func TestA_copy_that_is_merely_older_says_nothing(t *testing.T) {
	t.Parallel()
	const list, here = "specs/001-x/tasks.md", "# Tasks\n\n- [X] T001 Set up\n- [X] T002 Build it\n- [ ] T003 Show it\n"
	for name, c := range map[string]struct {
		there string
		want  bool
	}{
		"the same":            {here, false},
		"older":               {strings.Replace(here, "[X] T002", "[ ] T002", 1), false},
		"something else":      {strings.NewReplacer("[X] T002", "[ ] T002", "[ ] T003", "[X] T003").Replace(here), true},
		"it cannot be read":   {strings.Repeat("\x00", 200), true},
		"a mark is not known": {strings.Replace(here, "[ ] T003", "[?] T003", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := gittest.Folder(t)
			environ, home := gittest.Environ(top), filepath.Join(top, "main")
			gittest.Write(t, home, list, here)
			gittest.Begin(t, home, environ)
			gittest.Run(t, home, environ, "worktree", "add", "-q", "../side")
			gittest.Write(t, filepath.Join(top, "side"), list, c.there)
			j, err := project.Judge(t.Context(), home, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Environ: environ})
			if err != nil || len(j.Runs) != 1 {
				t.Fatal(j, err)
			}
			told := slices.ContainsFunc(j.Runs[0].Findings, func(f reprise.Finding) bool {
				return f.Code == reprise.CodePlanCopies || f.Code == reprise.CodeElsewhere
			})
			if told != c.want || told && j.Decisions[j.Runs[0]].Verdict == reprise.Safe {
				t.Errorf("told: %v, %v: %+v", told, j.Decisions[j.Runs[0]].Verdict, j.Runs[0].Findings)
			}
		})
	}
}
