//go:build unix

package gitx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/internal/gitx/gittest"
)

// trap writes a program that leaves a mark when it is run.
func (f *fixture) trap(name string) string {
	f.t.Helper()
	file := filepath.Join(f.base, "trap-"+name)
	text := fmt.Sprintf("#!/bin/sh\n: > '%s'\nexit 0\n", filepath.Join(f.base, "mark-"+name))
	gittest.Program(f.t, file, text)
	return file
}

func (f *fixture) marks() []string {
	f.t.Helper()
	marks, err := filepath.Glob(filepath.Join(f.base, "mark-*"))
	if err != nil {
		f.t.Fatal(err)
	}
	return marks
}

// touch makes git doubt what it knows of a file, so that it reads it again.
func (f *fixture) touch(name string) {
	f.t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, name), at, at); err != nil {
		f.t.Fatal(err)
	}
}

// filtered commits a file that a filter or driver of this name applies to.
func (f *fixture) filtered(attribute string) {
	f.t.Helper()
	f.write(".gitattributes", "*.x "+attribute+"\n")
	f.write("a.x", "text\n")
	f.commit("with attributes")
	f.touch("a.x")
}

var hookNames = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
	"reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman",
	"p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
}

// vectors are the ways in which a repository makes git run code. control is
// what a person would type to be caught by it, in the folder of the case.
var vectors = []struct {
	name    string
	dir     string // where to look from, "repo" if empty
	setup   func(f *fixture)
	control []string
}{
	{"fsmonitor", "", func(f *fixture) { f.git("config", "core.fsmonitor", f.trap("t")) }, []string{"status"}},
	{"hooks of every name", "", func(f *fixture) {
		for _, name := range hookNames {
			f.write(".git/hooks/"+name, "#!/bin/sh\n: > "+filepath.Join(f.base, "mark-"+name)+"\n")
			if err := os.Chmod(filepath.Join(f.dir, ".git/hooks", name), 0o755); err != nil {
				f.t.Fatal(err)
			}
		}
		f.touch("file.txt")
	}, []string{"status"}}, // refreshes the index: post-index-change
	{"hooks in the tree", "", func(f *fixture) {
		f.write("hooks/post-index-change", "#!/bin/sh\n: > "+filepath.Join(f.base, "mark-h")+"\n")
		if err := os.Chmod(filepath.Join(f.dir, "hooks/post-index-change"), 0o755); err != nil {
			f.t.Fatal(err)
		}
		f.git("config", "core.hooksPath", "hooks")
		f.touch("file.txt")
	}, []string{"status"}},
	{"filter clean", "", func(f *fixture) {
		f.filtered("filter=any.Name=x\"y")
		f.git("config", "filter.any.Name=x\"y.clean", f.trap("t"))
		f.git("config", "filter.any.Name=x\"y.required", "true")
	}, []string{"status"}},
	{"filter process", "", func(f *fixture) {
		f.filtered("filter=p")
		f.git("config", "filter.p.process", f.trap("t"))
		f.git("config", "filter.p.required", "true")
	}, []string{"status"}},
	{"filter smudge", "", func(f *fixture) {
		f.filtered("filter=s")
		f.git("config", "filter.s.smudge", f.trap("t"))
		if err := os.Remove(filepath.Join(f.dir, "a.x")); err != nil {
			f.t.Fatal(err)
		}
	}, []string{"checkout", "--", "a.x"}},
	{"external diff", "", func(f *fixture) {
		f.git("config", "diff.external", f.trap("t"))
		f.write("file.txt", "two\n")
	}, []string{"diff"}},
	{"diff driver", "", func(f *fixture) {
		f.filtered("diff=d")
		f.git("config", "diff.d.command", f.trap("t"))
		f.write("a.x", "other\n")
	}, []string{"diff"}},
	{"textconv", "", func(f *fixture) {
		f.filtered("diff=d")
		f.git("config", "diff.d.textconv", f.trap("t"))
	}, []string{"log", "-p"}},
	{"merge driver", "", func(f *fixture) {
		f.write(".gitattributes", "* merge=m\n")
		f.commit("with attributes")
		f.conflict()
		f.git("config", "merge.m.driver", f.trap("t"))
	}, []string{"merge", "other"}},
	{"gpg program", "", func(f *fixture) {
		signed := f.git("cat-file", "commit", "HEAD")
		head, body, _ := strings.Cut(signed, "\n\n")
		f.write("../signed", head+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n"+body+"\n")
		f.git("reset", "-q", "--hard", f.git("hash-object", "-t", "commit", "-w", "../signed"))
		f.git("config", "gpg.program", f.trap("t"))
		f.git("config", "log.showSignature", "true")
	}, []string{"log"}},
	{"include", "", func(f *fixture) {
		f.write("settings", "[core]\n\tfsmonitor = "+f.trap("t")+"\n")
		f.git("config", "include.path", "../settings")
	}, []string{"status"}},
	{"conditional include of a filter", "", func(f *fixture) {
		f.filtered("filter=i")
		f.write("settings", "[filter \"i\"]\n\tclean = "+f.trap("t")+"\n")
		f.git("config", "includeIf.onbranch:main.path", "../settings")
	}, []string{"status"}},
	{"worktree settings", "", func(f *fixture) {
		f.filtered("filter=w")
		f.git("config", "extensions.worktreeConfig", "true")
		f.git("config", "--worktree", "filter.w.clean", f.trap("t"))
	}, []string{"status"}},
	{"settings of a linked worktree", "a", func(f *fixture) {
		f.filtered("filter=w")
		f.git("config", "extensions.worktreeConfig", "true")
		f.git("worktree", "add", "-q", "-b", "a", "../a")
		a := f.in("a")
		a.touch("a.x")
		a.git("config", "--worktree", "filter.w.clean", f.trap("t"))
		a.git("config", "--worktree", "core.fsmonitor", f.trap("u"))
	}, []string{"status"}},
	{"bare repository in a folder", "repo/inner", func(f *fixture) {
		f.git("clone", "-q", "--bare", ".", "inner")
		inner := f.in("repo/inner")
		inner.git("config", "core.fsmonitor", f.trap("t"))
		inner.git("config", "core.bare", "false")
		inner.git("config", "core.worktree", "..")
	}, []string{"status"}},
	{"submodule with settings of its own", "", func(f *fixture) {
		f.git("init", "-q", "-b", "main", "lib")
		lib := f.in("repo/lib")
		lib.write("x", "")
		lib.commit("lib")
		f.git("-c", "advice.addEmbeddedRepo=false", "add", "lib")
		f.commit("with a repository inside")
		lib.git("config", "core.fsmonitor", f.trap("t"))
	}, []string{"status"}},
	{"fetch of what a partial clone lacks", "", func(f *fixture) {
		f.write("blob.txt", "only here\n")
		f.commit("with a blob")
		f.git("mv", "blob.txt", "moved.txt")
		f.write("moved.txt", "only here\nand more\n")
		f.commit("moved")
		for _, at := range []string{"HEAD~1:blob.txt", "HEAD:moved.txt"} {
			blob := f.git("rev-parse", at)
			if err := os.Remove(filepath.Join(f.dir, ".git/objects", blob[:2], blob[2:])); err != nil {
				f.t.Fatal(err)
			}
		}
		f.git("config", "core.repositoryFormatVersion", "1")
		f.git("config", "extensions.partialClone", "origin")
		f.git("config", "remote.origin.url", "ssh://nowhere.invalid/x")
		f.git("config", "remote.origin.promisor", "true")
		f.git("config", "core.sshCommand", f.trap("t"))
	}, []string{"log", "-p"}},
	{"trailer command", "", func(f *fixture) {
		f.git("commit", "-q", "--allow-empty", "-m", "step\n\nReprise-Step: r/s/1")
		f.git("config", "trailer.step.key", "Reprise-Step")
		f.git("config", "trailer.step.command", f.trap("t"))
	}, []string{"interpret-trailers", "--trailer", "step=x", "file.txt"}},
}

// TestGather_runs_nothing_of_the_repository sets one trap at a time, looks at
// the repository in every way there is, and then shows that the trap works.
func TestGather_runs_nothing_of_the_repository(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			v.setup(f)
			for _, m := range f.marks() { // left by the setup itself
				if err := os.Remove(m); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, f.base)
			at := f
			if v.dir != "" {
				at = f.in(v.dir)
			}
			ask := Ask{Paths: []string{"."}, Hashes: []string{f.git("rev-parse", "HEAD")}, Branches: []string{"main", "other"}, Worktrees: []string{"../a", "lib", "inner"}}
			for _, g := range []*fixture{f, at} {
				if r, err := g.open(); err == nil {
					_, skipped := r.Gather(t.Context(), ask)
					if len(skipped) > 0 {
						t.Logf("left out: %q", skipped)
					}
				} else {
					t.Logf("refused: %v", err)
				}
				if _, _, err := Peek(t.Context(), g.dir, ask, Options{Environ: g.environ()}); err != nil {
					t.Logf("refused: %v", err)
				}
			}
			sameSnapshot(t, before, snapshot(t, f.base))
			if marks := f.marks(); len(marks) > 0 {
				t.Errorf("code of the repository was run: %q", marks)
			}
			out, _ := at.try(v.control...)
			if len(f.marks()) == 0 {
				t.Errorf("the trap does not work: plain git %q ran nothing\n%s", v.control, out)
			}
		})
	}
}

// TestGather_on_a_read_only_mount looks at a repository that cannot be written
// to, in a mount namespace of its own.
func TestGather_on_a_read_only_mount(t *testing.T) {
	if dir := os.Getenv("GITX_READ_ONLY"); dir != "" {
		f := &fixture{t: t, base: filepath.Dir(dir), dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(dir)}}
		if err := os.WriteFile(filepath.Join(dir, "probe"), nil, 0o644); err == nil {
			t.Fatal("the mount is not read-only")
		}
		g := f.all(Ask{Paths: []string{"."}})
		if g.Branch != "main" || len(g.Changed) != 1 || len(g.Commits) != 1 {
			t.Errorf("%+v", g)
		}
		return
	}
	t.Parallel()
	f := newRepo(t)
	f.write("file.txt", "two\n")
	script := `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" -test.run '^TestGather_on_a_read_only_mount$' -test.v`
	probe := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"`, "sh", f.dir)
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("mounts cannot be made here: %v %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", f.dir, self)
	cmd.Env = append(os.Environ(), "GITX_READ_ONLY="+f.dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Who looks adds nothing to a project, also where temporary files are to lie in it.
func TestGather_makes_no_temporary_files_in_the_project(t *testing.T) {
	f := newRepo(t)
	f.write("tmp/kept", "")
	t.Setenv("TMPDIR", filepath.Join(f.dir, "tmp"))
	before := snapshot(t, f.dir)
	f.all(Ask{Paths: []string{"."}})
	sameSnapshot(t, before, snapshot(t, f.dir))
}
