package proc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/proc"
)

// T4, T5: who can write to a project does not say what is run as git or as an agent.
func TestA_program_is_never_found_in_the_project(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"project/git", "project/bin/git", "real/git"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked": "project/bin", "alias": "project"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	project, real := filepath.Join(base, "project"), filepath.Join(base, "real")
	t.Chdir(project)
	for name, entries := range map[string]string{
		"by its path": project + "/bin", "here": ".", "empty": "", "relative": "bin", "up and down": "../project/bin",
		"a link to it": filepath.Join(base, "linked"), "dots": base + "/real/../project/bin", "a slash more": project + "/bin/",
	} {
		list := entries + string(os.PathListSeparator) + real
		for _, spelled := range []string{project, filepath.Join(base, "alias")} {
			got, err := proc.Find("git", []string{"PATH=/nowhere", "PATH=" + list}, spelled)
			if err != nil || got != filepath.Join(real, "git") {
				t.Errorf("%s, project %s: %s %v", name, spelled, got, err)
			}
		}
		if got, err := proc.Find("git", []string{"PATH=" + entries}, project); err == nil {
			t.Errorf("%s, and nothing else: %s", name, got)
		}
		// A shell takes the one of the project.
		cmd := exec.Command("/bin/sh", "-c", "git")
		cmd.Env = []string{"PATH=" + list}
		if out, err := cmd.CombinedOutput(); !strings.HasPrefix(string(out), "project/") {
			t.Errorf("%s: the trap does not work: %s %v", name, out, err)
		}
	}
	if got, err := proc.Find("./git", nil, project); err != nil || got != "./git" {
		t.Errorf("named by its path: %s %v", got, err)
	}
}

// T4: wherever one works in a repository, and however its checkouts are spread.
func TestA_program_is_never_found_in_the_repository_around_the_project(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	for _, dir := range []string{"main/sub/deep", "lib", "real", "apart", "home/bin", "home/sub"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"main", "lib", "home"} {
		git(in(dir), "init", "-q")
		git(in(dir), "commit", "-q", "--allow-empty", "-m", "base")
	}
	git(in("main"), "worktree", "add", "-q", in("linked"))
	git(in("main"), "worktree", "add", "-q", in("main", "inside"))
	git(in("main"), "submodule", "--quiet", "add", in("lib"), "part")
	git(in("apart"), "init", "-q", "--separate-git-dir", in("store"))
	for _, dir := range []string{"main/node_modules/.bin", "main/.git/bin", "main/part/bin", "main/inside/bin", "linked/bin", "apart/bin", "store/bin", "real", "home/bin"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(in("main", "sub"), in("alias")); err != nil {
		t.Fatal(err)
	}
	all := []string{"main/node_modules/.bin", "main/.git/bin", "main/part/bin", "main/inside/bin", "linked/bin"}
	for project, planted := range map[string][]string{
		"main": all, "main/sub/deep": all, "alias/deep": all, "linked": all, "main/inside": all,
		"main/part": {"main/part/bin", "main/node_modules/.bin", "main/.git/bin"}, "apart": {"apart/bin", "store/bin"},
	} {
		for _, dir := range planted {
			env := []string{"PATH=" + in(dir) + string(os.PathListSeparator) + in("real")}
			if got, err := proc.Find("git", env, in(project)); err != nil || got != in("real", "git") {
				t.Errorf("work in %s, PATH with %s: %s %v", project, dir, got, err)
			}
			if got := proc.Environ(env, in(project)); len(got) != 1 || got[0] != "PATH="+in("real") {
				t.Errorf("work in %s, PATH with %s: %q", project, dir, got)
			}
		}
	}
	// What is no part of it stays, and a home that is a repository is its owner's.
	t.Setenv("HOME", in("home"))
	for project, dir := range map[string]string{"main": "apart/bin", "home/sub": "home/bin"} {
		if got, err := proc.Find("git", []string{"PATH=" + in(dir)}, in(project)); err != nil || got != in(dir, "git") {
			t.Errorf("work in %s: %s %v", project, got, err)
		}
	}
	// A record that names a folder that is no checkout takes nothing away.
	if err := os.WriteFile(in("main", ".git", "worktrees", "linked", "gitdir"), []byte(in("real", ".git")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := proc.Find("git", []string{"PATH=" + in("real")}, in("main")); err != nil || got != in("real", "git") {
		t.Errorf("%s %v", got, err)
	}
}
