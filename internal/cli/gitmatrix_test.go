package cli_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
	"reprise/report"
)

// repo is a real repository with an interrupted run in it.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "project")}
	r.write(".auto-claude/specs/004-vault/spec.md", "# Vault\n")
	r.write(".auto-claude/specs/004-vault/implementation_plan.json", `{"feature": "Vault", "created_at": "2026-02-27T10:00:00Z", "updated_at": "2026-03-01T11:30:00Z", "status": "in_progress", "phases": [
 {"id": "phase-1", "name": "One", "subtasks": [
  {"id": "subtask-1-1", "description": "client", "status": "completed"},
  {"id": "subtask-1-2", "description": "cache", "status": "pending"}]}]}
`)
	r.write("main.go", "package main\n")
	r.git("init", "-q", "-b", "main")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "base")
	return r
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	gittest.Write(r.t, r.dir, name, text)
}

// git runs git for a fixture; try also where it is meant to fail.
func (r *repo) git(args ...string) { r.t.Helper(); r.call(false, args...) }
func (r *repo) try(args ...string) { r.t.Helper(); r.call(true, args...) }

func (r *repo) call(mayFail bool, args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org",
		"GIT_AUTHOR_DATE=2026-03-01T11:00:00Z", "GIT_COMMITTER_DATE=2026-03-01T11:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil && !mayFail {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// conflict makes two branches that change the same line.
func (r *repo) conflict() {
	r.t.Helper()
	r.git("checkout", "-q", "-b", "other")
	r.write("main.go", "package other\n")
	r.git("commit", "-q", "-am", "other")
	r.git("checkout", "-q", "main")
	r.write("main.go", "package mine\n")
	r.git("commit", "-q", "-am", "mine")
}

func check(t *testing.T, dir string, args ...string) (report.Check, int) {
	t.Helper()
	out, stderr, code := run(t, map[string]string{"REPRISE_NOW": "2026-03-01T12:00:00Z", "PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}, append([]string{"check", "-C", dir, "--json"}, args...)...)
	var doc report.Check
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("exit %d: %v: %s%s", code, err, out, stderr)
	}
	if err := validate("check.v2.json", []byte(out)); err != nil {
		t.Errorf("schema: %v", err)
	}
	return doc, code
}

// spoil puts zeros in the place of a file or folder.
func (r *repo) spoil(name string) {
	r.t.Helper()
	at := filepath.Join(r.dir, name)
	if err := cmp.Or(os.RemoveAll(at), os.WriteFile(at, make([]byte, 60), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

// TestX6_git_matrix: what check says in every state git can be in.
func TestX6_git_matrix(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, c := range map[string]struct {
		make func(r *repo) (dir string)
		want []string // codes that must be there
		none []string // codes that must not be there
		exit int
	}{
		"clean": {exit: 0, none: []string{"git-mid-operation", "index-lock", "uncommitted-work", "detached-head", "git-unavailable"}},
		"merge": {make: func(r *repo) string { r.conflict(); r.try("merge", "other"); return "" }, want: []string{"git-mid-operation"}, exit: 11},
		"rebase": {make: func(r *repo) string {
			r.conflict()
			r.try("rebase", "other")
			return ""
		}, want: []string{"git-mid-operation"}, exit: 11},
		"rebase with patches": {make: func(r *repo) string {
			r.conflict()
			r.try("rebase", "--apply", "other")
			return ""
		}, want: []string{"git-mid-operation"}, exit: 11},
		"cherry-pick": {make: func(r *repo) string { r.conflict(); r.try("cherry-pick", "other"); return "" }, want: []string{"git-mid-operation"}, exit: 11},
		"revert": {make: func(r *repo) string {
			r.conflict()
			r.write("main.go", "package again\n")
			r.git("commit", "-q", "-am", "again")
			r.try("revert", "--no-edit", "HEAD~1")
			return ""
		}, want: []string{"git-mid-operation"}, exit: 11},
		"bisect": {make: func(r *repo) string { r.git("bisect", "start"); return "" }, want: []string{"git-mid-operation"}, exit: 11},
		"am": {make: func(r *repo) string {
			r.conflict()
			r.git("format-patch", "-q", "-o", "../patches", "main..other")
			patches, _ := filepath.Glob(filepath.Join(r.dir, "../patches/*.patch"))
			r.try(append([]string{"am"}, patches...)...)
			return ""
		}, want: []string{"git-mid-operation"}, exit: 11},
		"abandoned index.lock": {make: func(r *repo) string { r.write(".git/index.lock", ""); return "" }, want: []string{"index-lock"}, exit: 11},
		"held index.lock": {make: func(r *repo) string {
			p := filepath.Join(r.dir, ".git/index.lock")
			f, err := os.Create(p)
			if err != nil {
				r.t.Fatal(err)
			}
			holder := exec.Command("sleep", "60")
			holder.Stdin = f
			if err := holder.Start(); err != nil {
				r.t.Fatal(err)
			}
			f.Close()
			r.t.Cleanup(func() { holder.Process.Kill(); holder.Wait() })
			return ""
		}, want: []string{"index-lock"}, exit: 11},
		"detached":    {make: func(r *repo) string { r.git("checkout", "-q", "--detach"); return "" }, want: []string{"detached-head"}, exit: 10},
		"uncommitted": {make: func(r *repo) string { r.write("main.go", "package changed\n"); return "" }, want: []string{"uncommitted-work"}, exit: 10},
		"untracked":   {make: func(r *repo) string { r.write("notes.txt", "x\n"); return "" }, want: []string{"uncommitted-work"}, exit: 0},
		"shallow": {make: func(r *repo) string {
			r.write("a", "1")
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "more")
			r.git("clone", "-q", "--depth=1", "file://"+r.dir, "../shallow")
			return "../shallow"
		}, none: []string{"git-mid-operation", "false-completion"}, exit: 0},
		"submodule": {make: func(r *repo) string {
			r.git("init", "-q", "../lib")
			r.git("-C", "../lib", "commit", "-q", "--allow-empty", "-m", "lib")
			r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
			r.git("commit", "-q", "-m", "lib")
			return ""
		}, none: []string{"git-mid-operation", "uncommitted-work"}, exit: 0},
		"linked worktree": {make: func(r *repo) string { r.git("worktree", "add", "-q", "../linked"); return "../linked" }, none: []string{"git-mid-operation"}, exit: 0},
		"bare repository": {make: func(r *repo) string {
			r.git("clone", "-q", "--bare", r.dir, "../bare.git")
			if err := os.CopyFS(filepath.Join(r.dir, "../bare.git/.auto-claude"), os.DirFS(filepath.Join(r.dir, ".auto-claude"))); err != nil {
				r.t.Fatal(err)
			}
			return "../bare.git"
		}, want: []string{"git-unavailable"}, exit: 0},
		"no git": {make: func(r *repo) string {
			if err := os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "../away")); err != nil {
				r.t.Fatal(err)
			}
			return ""
		}, none: []string{"git-mid-operation", "git-unavailable"}, exit: 0},
		"no objects":           {make: func(r *repo) string { r.spoil(".git/objects"); return "" }, want: []string{"git-unavailable"}, exit: 11},
		"a head of zeros":      {make: func(r *repo) string { r.spoil(".git/HEAD"); return "" }, want: []string{"git-unavailable"}, exit: 11},
		"settings of zeros":    {make: func(r *repo) string { r.spoil(".git/config"); return "" }, want: []string{"git-unavailable"}, exit: 11},
		"a repository as file": {make: func(r *repo) string { r.spoil(".git"); return "" }, want: []string{"git-unavailable"}, exit: 11},
		"a link to nothing": {make: func(r *repo) string {
			r.spoil(".git")
			if err := cmp.Or(os.Remove(filepath.Join(r.dir, ".git")), os.Symlink("/nowhere", filepath.Join(r.dir, ".git"))); err != nil {
				r.t.Fatal(err)
			}
			return ""
		}, want: []string{"git-unavailable"}, exit: 11},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			dir := r.dir
			if c.make != nil {
				if elsewhere := c.make(r); elsewhere != "" {
					dir = filepath.Join(r.dir, elsewhere)
				}
			}
			before := everything(t, r.dir)
			doc, code := check(t, dir, "004")
			if after := everything(t, r.dir); before != after {
				t.Errorf("check changed the project:\n%s\n%s", before, after)
			}
			var codes []string
			for _, f := range doc.Findings {
				codes = append(codes, f.Code)
			}
			for _, w := range c.want {
				if !slices.Contains(codes, w) {
					t.Errorf("no %s among %q", w, codes)
				}
			}
			for _, n := range c.none {
				if slices.Contains(codes, n) {
					t.Errorf("%s among %q", n, codes)
				}
			}
			if code != c.exit {
				t.Errorf("exit %d, want %d; findings %+v", code, c.exit, doc.Findings)
			}
		})
	}
}

// everything lists all files of a folder, git's own included, with their times.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(p, dir) + " " + info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAC6_a_committed_item_is_not_offered_again: the plan calls it pending, git
// has its commit.
func TestAC6_a_committed_item_is_not_offered_again(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("cache.go", "package main\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "auto-claude: subtask-1-2 - cache answers")
	doc, code := check(t, r.dir, "004")
	if code != 10 || doc.Decision == nil || len(doc.Decision.Verify) != 1 || doc.Decision.Verify[0].ID != "subtask-1-2" {
		t.Errorf("exit %d, decision %+v", code, doc.Decision)
	}
}

// TestX2_digest_changes_with_what_was_looked_at: a verdict can be carried only
// as long as nothing it rests on has changed.
func TestX2_digest_changes_with_what_was_looked_at(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first, _ := check(t, r.dir, "004")
	again, _ := check(t, r.dir, "004")
	if first.Digest == "" || first.Digest != again.Digest {
		t.Fatalf("the same project gave %q and %q", first.Digest, again.Digest)
	}
	seen := map[string]bool{first.Digest: true}
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"a file of the run", func() { r.write(".auto-claude/specs/004-vault/spec.md", "# Vault 2\n") }},
		{"the work tree", func() { r.write("main.go", "package changed\n") }},
		{"a commit", func() { r.git("commit", "-q", "-am", "more") }},
		{"an operation", func() { r.git("bisect", "start") }},
	} {
		c.change()
		doc, _ := check(t, r.dir, "004")
		if seen[doc.Digest] {
			t.Errorf("%s changed and the digest did not", c.name)
		}
		seen[doc.Digest] = true
	}
}

// TestX2_a_digest_is_of_the_project_not_of_how_it_was_asked: whatever check was asked
// for, resume holds the state against the digest that it printed.
func TestX2_a_digest_is_of_the_project_not_of_how_it_was_asked(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("keys.go", "package main\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "auto-claude: subtask-1-1 - keys")
	plain, _ := check(t, r.dir, "004")
	for _, args := range [][]string{{"--verify", "true"}, {"--verify", "false"}, {"--grade", "evidenced"}, {"--verify", "true", "--grade", "verified"}} {
		doc, _ := check(t, r.dir, append([]string{"004"}, args...)...)
		verified := slices.ContainsFunc(doc.Steps, func(s report.Step) bool { return s.Grade == reprise.Verified })
		if want := len(args) > 1 && args[1] == "true"; verified != want {
			t.Errorf("%v: verified %v: %+v", args, verified, doc.Steps)
		}
		if doc.Digest == "" || doc.Digest != plain.Digest {
			t.Errorf("%v: %q, without it %q", args, doc.Digest, plain.Digest)
		}
	}
	env := map[string]string{"REPRISE_NOW": "2026-03-01T12:00:00Z", "PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}
	if out, stderr, code := run(t, env, "resume", "-C", r.dir, "004", "--mode", "autopilot", "--if", plain.Digest, "--dry-run"); code == 13 {
		t.Errorf("resume does not know it: %s%s", out, stderr)
	}
}

// TestL3_X2_a_huge_file_does_not_hold_a_check_up: it is not read whole for the digest
// either, which still tells whether it was changed.
func TestL3_X2_a_huge_file_does_not_hold_a_check_up(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	const name = ".auto-claude/specs/004-vault/review_state.json"
	r.write(name, "")
	huge := filepath.Join(r.dir, name)
	seen := map[string]bool{}
	for _, size := range []int64{1 << 36, 1<<36 + 1} {
		if err := os.Truncate(huge, size); err != nil {
			t.Skip(err) // a file system without holes
		}
		began := time.Now()
		doc, _ := check(t, r.dir, "004")
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
		if again, _ := check(t, r.dir, "004"); again.Digest != doc.Digest || doc.Digest == "" || seen[doc.Digest] {
			t.Errorf("%q, again %q, before %v", doc.Digest, again.Digest, seen)
		}
		seen[doc.Digest] = true
	}
}
