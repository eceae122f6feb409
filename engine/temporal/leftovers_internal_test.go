package temporal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever an agent does to the git folder of its checkout, its files land, nothing that it
// set there is run, and it is started once. (issue 19)
func TestWhat_an_agent_leaves_in_the_git_folder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ does, has string }{
		"a lock":           {"touch .git/index.lock .git/HEAD.lock", ""},
		"a lock, commits":  {"git add a.txt; git -c user.name=x -c user.email=x@y commit -qm x; touch .git/index.lock", ""},
		"fsmonitor":        {`git config core.fsmonitor "$TRAP"`, ""},
		"a filter":         {`git config filter.t.clean "$TRAP; cat"; echo "* filter=t" > .git/info/attributes`, ""},
		"a hook":           {`mkdir -p .git/hooks; for h in post-index-change reference-transaction pre-push; do printf "#!/bin/sh\n$TRAP\n" > .git/hooks/$h; chmod +x .git/hooks/$h; done`, ""},
		"assume-unchanged": {"echo more >> flow.yaml; git update-index --assume-unchanged flow.yaml", "flow.yaml"},
		"skip-worktree":    {"echo more >> flow.yaml; git update-index --skip-worktree flow.yaml", "flow.yaml"},
		"an exclusion":     {"mkdir -p .git/info; echo b.txt > .git/info/exclude; echo more > b.txt", "b.txt"},
		"a staged file":    {"echo i.txt > .gitignore; echo more > i.txt; git add -f i.txt", "i.txt"},
		"a committed file": {"echo i.txt > .gitignore; echo more > i.txt; git add -f i.txt; git -c user.name=x -c user.email=x@y commit -qm x; rm .git/index", "i.txt"},
		"no git folder":    {"rm -rf .git", ""},
		"a broken head":    {"echo nonsense > .git/HEAD; echo nonsense > .git/index", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trap := filepath.Join(t.TempDir(), "sprung")
			does := strings.ReplaceAll(c.does, "$TRAP", "touch "+trap)
			b := newBench(t, fmt.Sprintf("name: r\nsteps:\n  - {id: a, command: [sh, -c, %q], outputs: [a.txt]}\n", "echo $REPRISE_ATTEMPT > a.txt; mkdir -p .git/info; "+does+"; exit 0"))
			a := b.worker("one")
			in := b.attempted(a)
			l, err := a.land(t.Context(), b.next(), in)
			if err != nil || l.Accepted == nil {
				t.Fatalf("%+v, %v", l, err)
			}
			if got := b.git(b.remote, "show", Branch("r")+":a.txt"); got != "1" {
				t.Errorf("a.txt is %q", got)
			}
			if c.has != "" && !strings.Contains(b.git(b.remote, "show", Branch("r")+":"+c.has), "more") {
				t.Errorf("%s is as before", c.has)
			}
			if _, err := os.Stat(trap); err == nil {
				t.Error("what it set was run")
			}
			if left, _ := filepath.Glob(filepath.Join(a.Mirror.Dir, "work-*")); len(left) > a.Mirror.Keep {
				t.Errorf("these are left: %q", left)
			}
		})
	}
}

// Work that git cannot commit is kept where it is, the run says where, and the agent is not
// started again. (issue 19)
func TestWork_that_git_cannot_commit_is_kept(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo w > a.txt; git rev-parse HEAD > .git/MERGE_HEAD'], outputs: [a.txt], on_crash: rerun}\n")
	a := b.worker("one")
	d := b.decided(a)
	_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
	kept := filepath.Join(a.Mirror.Dir, "kept-r-a-1")
	if err == nil || !isFinal(err) || !strings.Contains(err.Error(), kept) {
		t.Fatalf("it is not final, or does not name %s: %v", kept, err)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "a.txt")); err != nil || string(text) != "w\n" {
		t.Errorf("%q, %v", text, err)
	}
	release, err2 := hold(a.Mirror.Dir) // the next worker clears up
	if err2 != nil {
		t.Fatal(err2)
	}
	release()
	a = b.worker("one")
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	lost, failed := whyLost(err)
	l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: d.Starts[0], Lost: lost, Failed: failed, Final: true, Decide: true})
	if err != nil || l.Accepted != nil {
		t.Fatalf("%+v, %v", l, err)
	}
	b.run.Carried = l.Carried
	next, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
	if err != nil || len(next.Starts) > 0 || next.Left == nil || next.Left.Exit != 11 || !strings.Contains(strings.Join(next.Left.Reasons, "\n"), kept) {
		t.Errorf("%+v, %+v, %v", next, next.Left, err)
	}
}
