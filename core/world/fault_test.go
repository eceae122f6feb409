//go:build unix

package world_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/world"
	"reprise/internal/sample"
)

// What is unknown is an error, never another answer: git fails at every single call of a step, and
// the step made again comes to the same end.
func TestGit_that_fails(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nn=$(cat %[1]s/n); echo $((n+1)) >%[1]s/n; read at <%[1]s/at; test \"$n\" != \"$at\" || { echo planned >&2; exit 3; }\nexec %[2]s \"$@\"\n", bin, real)
	fails := func(at int) {
		if err := errors.Join(os.WriteFile(filepath.Join(bin, "n"), []byte("0\n"), 0o600), os.WriteFile(filepath.Join(bin, "at"), fmt.Appendln(nil, at), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	fails(-1)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx := context.Background()
	step := func(dir string) (out string, err error) {
		r, err := world.Open(ctx, dir)
		if err != nil {
			return "", err
		}
		defer r.Close()
		r.Always = []string{"PLAN"}
		before := core.World(strings.TrimSpace(sh(t, dir, real+` rev-parse HEAD~0^{tree}`)))
		now, err := r.Take(ctx)
		if err != nil {
			return "", err
		}
		head, err := r.Head()
		if err != nil {
			return "", err
		}
		commits, err := r.Has(ctx, head.Commit, strings.TrimSpace(sh(t, dir, real+` rev-list --max-parents=0 HEAD`)))
		if err != nil || !commits {
			return "", fmt.Errorf("%v %w", commits, err)
		}
		changes, err := r.Diff(before, now)
		if err != nil {
			return "", err
		}
		aside, why, err := r.Aside(ctx, changes)
		if err != nil {
			return "", err
		}
		rec := core.Record{Seq: 1, At: time.Unix(1_800_000_000, 0), End: &core.End{Move: &core.Move{Base: before, From: now, To: now, Head: head.Head, Aside: aside, Message: "step\n\nReprise-Step: run/s"}}}
		if _, err := r.Make(ctx, "run", rec); err != nil {
			return "", err
		}
		s, err := r.Slot(ctx, "1")
		if err != nil {
			return "", err
		}
		if head, err = r.Head(); err != nil {
			return "", err
		}
		if err := s.Reset(ctx, head, r); err != nil {
			return "", err
		}
		h, err := r.History(ctx, "10")
		if err != nil {
			return "", err
		}
		if err := r.Pack(ctx, []core.World{before, now}); err != nil {
			return "", err
		}
		if err := r.Whole(before, now); err != nil {
			return "", err
		}
		return fmt.Sprint(aside, why, len(h.All), sh(t, dir, real+` log --format=%s%T; `+real+` status --porcelain; `+real+` ls-files -s; cat a; `+real+` -C .reprise/worlds/own/1 status --porcelain`)), nil
	}
	const setup = `echo PLAN >.gitignore; echo '*.x text' >.gitattributes; git add .; git commit -q -m second; echo p >PLAN; echo staged >s; git add s; sed -i s/5/his/ a; git add a; echo x >>a; echo n >n; echo y >y.x; echo K >.env; mkdir -p .git/hooks; printf '#!/bin/sh\ntest -e b\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`
	dir := project(t, setup)
	want, err := step(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(bin, "n"))
	if err != nil {
		t.Fatal(err)
	}
	calls, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || calls < 10 { // how many it is depends on times of files
		t.Fatalf("%d calls, %v", calls, err)
	}
	failed := 0
	every := sample.Every(t, 2)
	for at := range calls {
		if !every(at) {
			continue
		}
		dir := project(t, setup)
		fails(at)
		got, err := step(dir)
		fails(-1)
		if err != nil {
			failed++
			got, err = step(dir)
		}
		if err != nil || got != want && !strings.Contains(got, "step") {
			t.Errorf("call %d fails: %v\n%s\nnot\n%s", at, err, got, want)
		}
	}
	t.Logf("%d of %d calls whose failure was told", failed, calls)
}

func text(v any) string {
	if list, ok := v.([]fs.DirEntry); ok {
		v = len(list)
	}
	return fmt.Sprint(v)
}

// Each object is gone once: who needs it says so, and gives no other answer.
func TestObjects_that_are_missing(t *testing.T) {
	dir := project(t, `mkdir -p d/e; echo f >d/e/f; git add .; git commit -q -m second; echo his >>b; git commit -q -am his`)
	r := open(t, dir)
	r.Always = []string{"b"}
	ctx := context.Background()
	a := take(t, r)
	since := strings.TrimSpace(sh(t, dir, `git rev-parse HEAD~1`))
	sh(t, dir, `sed -i s/1/mine/ a; echo mine >>d/e/f; echo n >sub/n`)
	mine := take(t, r)
	sh(t, dir, `git checkout -q .; rm sub/n; sed -i s/9/theirs/ a; rm d/e/f; echo m >sub/m`)
	theirs := take(t, r)
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	all := &world.History{All: map[string]bool{}}
	do := map[string]func() (any, error){
		"diff":    func() (any, error) { return r.Diff(mine, theirs) },
		"whole":   func() (any, error) { return nil, r.Whole(mine, theirs) },
		"entry":   func() (any, error) { return r.Entry(mine, "d/e/f") },
		"only":    func() (any, error) { return r.Only(mine, theirs, []string{"sub/m", "d/e/f"}) },
		"with":    func() (any, error) { return r.With(mine, []core.Edit{{Path: "d/e/f", Data: []byte("w")}}) },
		"file":    func() (any, error) { return fs.ReadFile(r.FS(mine), "d/e/f") },
		"folder":  func() (any, error) { return fs.ReadDir(r.FS(mine), "d/e") },
		"commits": func() (any, error) { return r.Commits(head.Commit, "") },
		"head":    func() (any, error) { h, err := r.Head(); return h, err },
		"stands": func() (any, error) {
			ok, why, err := r.Stands(all, head, "s", &core.Past{Before: a, After: mine})
			return fmt.Sprint(ok, why), err
		},
		"merge": func() (any, error) {
			w, torn, err := r.Merge(ctx, a, mine, theirs)
			return fmt.Sprint(w, torn), err
		},
		"apart": func() (any, error) {
			files, torn, err := r.Apart(ctx, &core.Move{Base: mine, To: theirs, Since: since}, head)
			return fmt.Sprint(files, torn), err
		},
		"others": func() (any, error) { return r.WithCommits(ctx, mine, since, "none") },
	}
	want := map[string]string{}
	for name, f := range do {
		got, err := f()
		if want[name] = text(got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	told, same := map[string]int{}, 0
	for _, path := range strings.Fields(sh(t, dir, `find .git/objects .reprise/worlds/objects -type f`)) {
		path = filepath.Join(dir, path)
		if err := os.Rename(path, path+".gone"); err != nil {
			t.Fatal(err)
		}
		for name, f := range do {
			switch got, err := f(); {
			case err != nil:
				told[name]++
			case text(got) != want[name] && !(name == "others" && got == mine): // whose commits are not known
				t.Errorf("%s without %s: %v, not %s", name, path, got, want[name])
			default:
				same++
			}
		}
		if err := os.Rename(path+".gone", path); err != nil {
			t.Fatal(err)
		}
	}
	for name := range do {
		if told[name] == 0 && name != "others" {
			t.Errorf("%s needs nothing", name)
		}
	}
	t.Logf("told %v, %d the same", told, same)
}
