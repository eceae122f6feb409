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
