package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// bench is a run on a remote, and workers without a server.
type bench struct {
	*testing.T
	remote, dir string
	run         Run
	turns       int
	ahead       time.Duration // of the workers' clock
	open        []Start
}

// newBench has a run of a flow, with other files beside it: names and texts.
func newBench(t *testing.T, flow string, also ...string) *bench {
	t.Helper()
	return newBenchOf(t, "flow.yaml", reprise.Goal{ID: "r"}, append(also, "flow.yaml", flow)...)
}

// newBenchOf has a run of what is begun with a goal in a project of files: names and texts.
func newBenchOf(t *testing.T, what string, goal reprise.Goal, files ...string) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir()}
	b.remote = filepath.Join(b.dir, "remote.git")
	clone := filepath.Join(b.dir, "clone")
	b.git(b.dir, "init", "-q", "--bare", "-b", "main", b.remote)
	b.git(b.dir, "init", "-q", "-b", "main", clone)
	for i := 0; i < len(files); i += 2 {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(clone, files[i])), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(clone, files[i]), []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.git(clone, "add", "-A")
	b.git(clone, "commit", "-q", "-m", "base")
	b.git(clone, "remote", "add", "origin", b.remote)
	b.git(clone, "push", "-q", "origin", "main")
	f := &Fleet{Clone: clone, Remote: b.remote}
	made, err := f.Begin(t.Context(), what, goal)
	if err != nil {
		t.Fatal(err)
	}
	b.git(clone, "update-ref", "-d", tracked(made.ID)) // as in a clone that has not fetched since
	b.run = Run{Repo: Identity(b.remote), Ref: made.Ref, Heartbeat: time.Minute}
	return b
}

func (b *bench) git(dir string, args ...string) string {
	b.Helper()
	out, err := git(context.Background(), dir, nil, args...)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bench) worker(name string) *Activities {
	return &Activities{Mirror: &Mirror{Remote: b.remote, Dir: filepath.Join(b.dir, name), Keep: 2}, Name: name, trust: trusted{all: true}}
}

// next is the next turn, at a time that the server tells.
func (b *bench) next() moment {
	b.turns++
	return moment{fmt.Sprint(b.turns), time.Now().Add(-b.ahead)}
}

// decided decides what comes next, unless a landing did.
func (b *bench) decided(a *Activities) *Decision {
	b.Helper()
	if b.open != nil {
		return &Decision{Starts: b.open}
	}
	d, err := a.decide(b.Context(), b.next(), DecideInput{Run: b.run})
	if err != nil || len(d.Starts) != 1 {
		b.Fatalf("%+v, %v", d, err)
	}
	b.run.Taken = true
	return d
}

// tried carries out an attempt.
func (b *bench) tried(a *Activities, s Start) LandInput {
	b.Helper()
	r, err := a.attempt(b.Context(), b.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
	if err != nil {
		b.Fatal(err)
	}
	return LandInput{Run: b.run, Start: s, Result: *r}
}

// attempted decides and carries out the one attempt that comes next.
func (b *bench) attempted(a *Activities) LandInput {
	b.Helper()
	return b.tried(a, b.decided(a).Starts[0])
}

const oneStep = "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo $REPRISE_ATTEMPT > a.txt'], outputs: [a.txt], on_crash: rerun}\n"

// Two workers land the same attempt at once: the branch takes one of them, and whoever
// tries again finds that the attempt is closed. A turn whose answer was lost gives that
// answer again. (issue 19)
func TestTwo_landings_at_once(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	one, two := b.worker("one"), b.worker("two")
	in := b.attempted(one)
	type came struct {
		l   *Landing
		err error
	}
	ends := make(chan came, 2)
	first := b.next()
	for a, at := range map[*Activities]moment{one: first, two: b.next()} {
		go func() {
			l, err := a.land(t.Context(), at, in)
			ends <- came{l, err}
		}()
	}
	accepted := 0
	for range 2 {
		c := <-ends
		rejected := new(RejectedError)
		switch {
		case c.err == nil && c.l.Accepted != nil:
			accepted++
		case c.err == nil && c.l.Late, errors.As(c.err, &rejected):
		default:
			t.Errorf("%+v, %v", c.l, c.err)
		}
	}
	if accepted != 1 {
		t.Errorf("%d landings were accepted", accepted)
	}
	if l, err := two.land(t.Context(), b.next(), in); err != nil || !l.Late {
		t.Errorf("a third landing: %+v, %v", l, err)
	}
}

// A turn that is taken again because its answer was lost changes nothing and gives the same
// answer. (issue 19)
func TestA_turn_is_taken_once(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	at := b.next()
	var starts []Start
	for range 3 {
		d, err := b.worker("two").decide(t.Context(), at, DecideInput{Run: b.run})
		if err != nil || len(d.Starts) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		starts = append(starts, d.Starts[0])
	}
	if starts[0] != starts[1] || starts[1] != starts[2] || starts[0].Number != 1 {
		t.Errorf("%+v", starts)
	}
	b.run.Taken = true
	r, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: starts[0]}, &words{})
	if err != nil {
		t.Fatal(err)
	}
	at = b.next()
	for range 2 {
		if l, err := a.land(t.Context(), at, LandInput{Run: b.run, Start: starts[0], Result: *r}); err != nil || l.Late || l.Accepted == nil {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

// The attempt of a machine that was thought dead pushes after another one began: it is
// late, what it pushed stays, and the branch has the work of the other one. (issue 19)
func TestA_late_attempt_does_not_land(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	d, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
	if err != nil {
		t.Fatal(err)
	}
	b.run.Taken = true
	late := d.Starts[0]
	if l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: late, Lost: "its worker was lost"}); err != nil || l.Accepted != nil || l.Late {
		t.Fatalf("%+v, %v", l, err)
	}
	// It lives, and finds that it does not count before it even starts.
	r, err := b.worker("two").attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: late}, &words{})
	if err != nil || r.Outcome != "late" {
		t.Errorf("%+v, %v", r, err)
	}
	in := b.attempted(a)
	if in.Start.Number != 2 {
		t.Fatalf("%+v", in.Start)
	}
	if l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: late, Result: AttemptResult{Commit: in.Result.Commit}}); err != nil || !l.Late {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := a.land(t.Context(), b.next(), in); err != nil || l.Accepted == nil {
		t.Errorf("%+v, %v", l, err)
	}
	if got := b.git(b.remote, "show", Branch("r")+":a.txt"); got != "2" {
		t.Errorf("the branch has the work of attempt %q", got)
	}
}

// The ref of an attempt goes with the push that lands it, and only with that: a landing that
// is refused keeps it, and so does a remote that cannot change two refs at once. (issue 19)
func TestA_ref_of_an_attempt_goes_once_the_branch_has_its_work(t *testing.T) {
	t.Parallel()
	for name, atomic := range map[string]string{"a remote that changes refs at once": "true", "one that cannot": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, oneStep)
			b.git(b.remote, "config", "receive.advertiseAtomic", atomic)
			a := b.worker("one")
			in := b.attempted(a)
			ref := AttemptRef("r", in.Start.Elsewhere)
			held := func() string { return b.git(b.remote, "for-each-ref", "--format=%(objectname)", ref) }
			branch, moved := "refs/heads/"+Branch("r"), b.git(b.remote, "commit-tree", "-p", Branch("r"), "-m", "moved", Branch("r")+"^{tree}")
			c, err := a.Mirror.Checkout(t.Context(), b.git(b.remote, "rev-parse", branch), Branch("r"))
			if err != nil {
				t.Fatal(err)
			}
			was := c.Base
			b.git(b.remote, "update-ref", branch, moved)
			rejected := new(RejectedError)
			if err := c.Push(t.Context(), in.Result.Commit, branch, was, heldRef{name: ref, at: in.Result.Commit}); !errors.As(err, &rejected) || held() != in.Result.Commit {
				t.Errorf("the branch moved: %v, and the ref is at %q", err, held())
			}
			b.git(b.remote, "update-ref", branch, was)
			if l, err := a.land(t.Context(), b.next(), in); err != nil || l.Accepted == nil {
				t.Fatalf("%+v, %v", l, err)
			}
			if gone := held() == ""; gone != (atomic == "true") {
				t.Errorf("the ref is at %q", held())
			}
			b.git(b.remote, "merge-base", "--is-ancestor", in.Result.Commit, branch)
		})
	}
}

// The server lost sight of an attempt. What it pushed counts all the same. Where it pushed
// nothing its policy decides: only a command that leaves nothing to check is asked about.
// (issue 19)
func TestAn_attempt_that_was_lost_is_settled_by_what_it_pushed(t *testing.T) {
	t.Parallel()
	const command, outputs = "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt']", ", outputs: [a.txt]}\n"
	for _, test := range []struct {
		flow                   string
		pushed, accepted, asks bool
		again                  int
	}{
		{flow: command + "}\n", pushed: true, accepted: true},
		{flow: command + outputs, pushed: true, accepted: true},
		{flow: command + outputs, again: 1},
		{flow: command + "}\n", asks: true},
	} {
		b := newBench(t, test.flow)
		a := b.worker("one")
		start := b.decided(a).Starts[0]
		if test.pushed {
			b.tried(b.worker("two"), start)
		}
		l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: start, Lost: "its worker was lost", Decide: true})
		if err != nil || l.Late || l.Next == nil {
			t.Fatalf("%+v, %v", l, err)
		}
		if asks := len(l.Next.Questions) > 0; (l.Accepted != nil) != test.accepted || asks != test.asks || len(l.Next.Starts) != test.again {
			t.Errorf("%+v: accepted %+v, next %+v", test, l.Accepted, l.Next)
		}
	}
}

// The clock of a worker is an hour behind the server's: what it records and waits for
// goes by the server's. (issue 19)
func TestA_worker_whose_clock_is_wrong(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'test $REPRISE_ATTEMPT = 2'], backoff: 1m, on_crash: rerun}\n")
	b.ahead = -time.Hour
	a := b.worker("one")
	in := b.attempted(a)
	if l, err := a.land(t.Context(), b.next(), in); err != nil || l.Accepted != nil {
		t.Fatalf("%+v, %v", l, err)
	}
	at := b.next()
	d, err := a.decide(t.Context(), at, DecideInput{Run: b.run})
	if err != nil || len(d.Starts) != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	if left := d.Until.Sub(at.started); left < 0 || left > 2*time.Minute {
		t.Errorf("it waits until %s, which is %s after %s", d.Until, left, at.started)
	}
}

func TestIdentity_is_that_of_the_repository(t *testing.T) {
	t.Parallel()
	for _, remote := range []string{
		"https://example.org/team/shop.git", "https://me:secret@Example.org/team/shop", "git@example.org:team/shop.git", "ssh://git@example.org/team/shop.git/",
		"ssh://git@example.org:22/team/shop.git", "https://example.org:443/team/shop.git",
	} {
		if got := Identity(remote); got != "example.org/team/shop" {
			t.Errorf("%s: %s", remote, got)
		}
	}
	if a, b := Identity("/srv/one/shop.git"), Identity("/srv/two/shop.git"); a == b || Identity("file:///srv/one/shop.git") != a || Identity("/srv/two/../one/shop.git") != a {
		t.Errorf("%s, %s", a, b)
	}
	for remote, want := range map[string]string{
		"https://github.com/Team/Shop.git": "github.com/team/shop", "git@GitHub.com:team/shop.git": "github.com/team/shop",
		"git@gitlab.com:Team/shop": "gitlab.com/team/shop", "https://example.org/Team/shop": "example.org/Team/shop",
	} {
		if got := Identity(remote); got != want {
			t.Errorf("%s: %s, not %s", remote, got, want)
		}
	}
	if got := Identity("ssh://git@example.org:2222/team/shop"); got != "example.org:2222/team/shop" {
		t.Errorf("a port of its own: %s", got)
	}
	for remote, want := range map[string]string{
		"../shop.git": "/srv/one/shop.git", "shop.git": "/srv/one/clone/shop.git", "/srv/one/shop.git": "/srv/one/shop.git",
		"git@example.org:team/shop.git": "git@example.org:team/shop.git", "https://example.org/shop": "https://example.org/shop",
	} {
		if got := absolute("/srv/one/clone", remote); got != want {
			t.Errorf("%s is %s", remote, got)
		}
	}
}

func TestRefs_of_different_names_differ(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{"a", "a.b", "a/b", "a b", "a_b", "..", "a.lock", "ä", ""} {
		ref := AttemptRef("r", engine.Elsewhere{Step: name, Number: 1})
		if other, taken := seen[ref]; taken {
			t.Errorf("%q and %q are both %s", name, other, ref)
		}
		seen[ref] = name
		if out, err := exec.Command("git", "check-ref-format", ref).CombinedOutput(); err != nil {
			t.Errorf("%q: %s is no ref: %v %s", name, ref, err, out)
		}
	}
}

// A server that lost its database has lost nothing of a run: the branch tells what it is.
// (issue 19)
func TestA_run_is_found_on_its_branch(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	f := &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	if ref, err := f.findBranch(t.Context(), "r"); err != nil || ref != b.run.Ref {
		t.Errorf("%+v, %v", ref, err)
	}
	unknown := new(UnknownRunError)
	if _, err := f.findBranch(t.Context(), "s"); !errors.As(err, &unknown) {
		t.Error(err)
	}
}

// A worker starts what its owner trusts in the clone it was started in, at that place and
// with that content, and nothing else unless it is told to. (issue 19)
func TestA_worker_trusts_what_its_owner_does(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, folder := range []string{".", "sub"} {
		t.Run(folder, func(t *testing.T) { trustsWhatItsOwnerDoes(t, folder) })
	}
}

func trustsWhatItsOwnerDoes(t *testing.T, folder string) {
	clone, top := t.TempDir(), t.TempDir()
	checkout := filepath.Join(top, folder)
	if err := os.MkdirAll(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := []byte("agents: {any: {command: [make-it]}}\nroles: {default: any}\n")
	for _, dir := range []string{filepath.Join(clone, folder), checkout} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, settings.FileName), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	untrusted := new(untrustedError)
	if _, _, err := (trusted{clone: clone}).settings(checkout); !errors.As(err, &untrusted) {
		t.Errorf("before: %v", err)
	}
	trust, err := settings.OpenTrust(settings.TrustFile(os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Trust(filepath.Join(clone, folder, settings.FileName), reprise.HashOf(text), time.Now()); err != nil {
		t.Fatal(err)
	}
	if set, _, err := (trusted{clone: clone}).settings(checkout); err != nil || set.Roles["default"] != "any" {
		t.Errorf("trusted: %v", err)
	}
	if err := os.WriteFile(filepath.Join(checkout, settings.FileName), append(text, '#', '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (trusted{clone: clone}).settings(checkout); !errors.As(err, &untrusted) {
		t.Errorf("another content: %v", err)
	}
	if _, _, err := (trusted{all: true}).settings(checkout); err != nil {
		t.Errorf("told to: %v", err)
	}
}

// The branch of a run that is over has none of our own files. Looking at it again changes
// nothing, and beginning it again finds its journal. (issue 19)
func TestA_run_that_is_over_leaves_no_journal(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	if l, err := a.land(t.Context(), b.next(), b.attempted(a)); err != nil || l.Accepted == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	journals := func() string {
		return b.git(b.remote, "ls-tree", "-r", "--name-only", Branch("r"), stateDir+"/")
	}
	if journals() == "" {
		t.Error("the branch of an open run has no journal")
	}
	var tips []string
	for _, taken := range []bool{true, false, false} {
		b.run.Taken = taken
		if d, err := b.worker("two").decide(t.Context(), b.next(), DecideInput{Run: b.run}); err != nil || d.Left == nil || d.Left.State != reprise.Complete {
			t.Fatalf("%+v, %v", d, err)
		}
		tips = append(tips, b.git(b.remote, "rev-parse", Branch("r")))
	}
	if journals() != "" || tips[1] != tips[0] || tips[2] != tips[0] {
		t.Errorf("%v has %q", tips, journals())
	}
	b.run.Choice.From = "a"
	if in := b.attempted(a); in.Start.Number != 2 || journals() == "" {
		t.Errorf("begun again: attempt %d, the branch has %q", in.Start.Number, journals())
	}
}

// An agent commits all that is in its checkout, what is recorded there among it: its work
// lands, and the journal on the branch is that of the turns. (issue 19)
func TestAn_agent_that_commits_everything(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt; git add -A -f . && git -c user.name=x -c user.email=x@example.org commit -q -m all'], outputs: [a.txt]}\n  - {id: b, needs: [a], command: [\"true\"]}\n")
	b.carried(b.worker("one"), 1)
	if got := b.git(b.remote, "show", Branch("r")+":a.txt"); got != "a" {
		t.Errorf("the branch has %q", got)
	}
	if log := b.git(b.remote, "log", "--format=%s", Branch("r")); !strings.Contains(log, "all") {
		t.Errorf("the branch does not have its commit:\n%s", log)
	}
}

// Several people start the same at once, without a name: they find one run. (issue 19)
func TestStarts_of_the_same_at_once_find_one_run(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep, "other.yaml", oneStep)
	f := &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	type came struct {
		run Begun
		err error
	}
	ends := make(chan came, 4)
	for range cap(ends) {
		go func() {
			run, err := f.Begin(t.Context(), "other.yaml", reprise.Goal{})
			ends <- came{run, err}
		}()
	}
	names := map[string]bool{}
	for range cap(ends) {
		c := <-ends
		if c.err != nil {
			t.Error(c.err)
		}
		names[c.run.ID] = true
	}
	if branches := b.git(b.remote, "for-each-ref", "--format=%(refname)", "refs/heads/reprise/"); len(names) != 1 || strings.Count(branches, "\n") != 1 {
		t.Errorf("they found %v; the remote has\n%s", names, branches)
	}
	// Whoever looked before the claim was made does not take it away.
	if err := f.apart(func(m *Mirror) error {
		goal := reprise.Goal{Text: "other"}
		none, was, err := f.begun(t.Context(), m, f.claim("other.yaml", goal))
		if err != nil || none.ID != "" || was != "" {
			t.Errorf("%+v, %q, %v", none, was, err)
		}
		if _, err := f.Begin(t.Context(), "other.yaml", goal); err != nil {
			t.Error(err)
		}
		_, err = f.make(t.Context(), m, "other.yaml", goal, f.claim("other.yaml", goal), was)
		if rejected := new(RejectedError); !errors.As(err, &rejected) {
			t.Errorf("the claim was taken away: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	// Whoever was killed after the claim: the next start puts the run on its branch.
	for name := range names {
		b.git(b.remote, "update-ref", "-d", "refs/heads/"+Branch(name))
		b.git(b.remote, "update-ref", "-d", lastOf("refs/heads/"+Branch(name)))
		run, err := f.Begin(t.Context(), "other.yaml", reprise.Goal{})
		if err != nil || run.ID != name || b.git(b.remote, "rev-parse", "--verify", Branch(name)) == "" {
			t.Errorf("%+v, %v", run, err)
		}
	}
}

// State that the project's .gitignore names is on the branch, because workers share nothing
// else, and whoever starts the run is told. Other ignored files stay where they are.
// (issue 19)
func TestIgnored_state_is_on_the_branch(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	clone := filepath.Join(b.dir, "clone")
	for name, text := range map[string]string{".gitignore": ".agent-memory/\n.env\n", ".env": "SECRET=1\n"} {
		if err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.git(clone, "add", ".gitignore")
	b.git(clone, "commit", "-q", "-m", "ignore")
	f := &Fleet{Clone: clone, Remote: b.remote}
	run, err := f.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "quiet"})
	if err != nil || len(run.Ignored) == 0 {
		t.Fatalf("%+v, %v", run, err)
	}
	b.run.Ref = run.Ref
	a := b.worker("one")
	if l, err := a.land(t.Context(), b.next(), b.attempted(a)); err != nil || l.Accepted == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	files := b.git(b.remote, "ls-tree", "-r", "--name-only", Branch("quiet"))
	for _, name := range run.Ignored {
		if !strings.HasPrefix(name, run.Path) || !strings.Contains(files, name) {
			t.Errorf("%s is not on the branch", name)
		}
	}
	if strings.Contains(files, ".env") {
		t.Errorf("the branch has\n%s", files)
	}
	// A project that ignores nothing of it has nothing to say.
	if plain, err := (&Fleet{Clone: clone, Remote: b.remote}).HandOver(t.Context(), run.Ref); err != nil || len(plain.Ignored) > 0 {
		t.Errorf("a run that is there already: %+v, %v", plain, err)
	}
}

// What is too large for a line of the journal travels with it: a run of many steps. (issue 19)
func TestA_run_of_many_steps_is_carried(t *testing.T) {
	t.Parallel()
	flow := strings.Builder{}
	flow.WriteString("name: r\nsteps:\n  - {id: a, command: [\"true\"]}\n")
	for i := range 1500 {
		fmt.Fprintf(&flow, "  - {id: s%d, needs: [a], command: [\"true\"]}\n", i)
	}
	b := newBench(t, flow.String())
	in := b.attempted(b.worker("one"))
	if l, err := b.worker("two").land(t.Context(), b.next(), in); err != nil || l.Accepted == nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// A worker keeps what it read, and notices when another one moved the branch, or the remote
// went back to what it had before.
// (issue 19)
func TestA_worker_notices_that_the_branch_moved(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain(6))
	one, two := b.worker("one"), b.worker("two")
	starts, before, in := b.decided(one).Starts, "", LandInput{}
	land := func(a *Activities, step string) {
		t.Helper()
		l, err := a.land(t.Context(), b.next(), in)
		if err != nil || l.Accepted == nil || l.Accepted.ID != step || l.Next == nil || len(l.Next.Starts) != 1 {
			t.Fatalf("%s: %+v, %v", step, l, err)
		}
		starts = l.Next.Starts
	}
	for i, who := range [][2]*Activities{{one, one}, {one, two}, {two, one}, {one, one}} {
		in = b.tried(who[0], starts[0])
		in.Decide, before = true, b.git(b.remote, "rev-parse", Branch("r"))
		land(who[1], fmt.Sprintf("s%d", i))
	}
	b.git(b.remote, "update-ref", "refs/heads/"+Branch("r"), before)
	b.git(b.remote, "update-ref", lastOf("refs/heads/"+Branch("r")), before)
	b.git(b.remote, "update-ref", AttemptRef("r", in.Start.Elsewhere), in.Result.Commit)
	land(one, "s3")
	in = b.tried(one, starts[0])
	in.Decide = true
	land(two, "s4")
	if l, err := one.land(t.Context(), b.next(), in); err != nil || !l.Late {
		t.Errorf("%+v, %v", l, err)
	}
}

// Where a run is taken up, its own journal is no work that someone left. (issue 19)
func TestA_journal_on_a_branch_is_no_uncommitted_work(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	b.decided(b.worker("one"))
	b.run.Taken = false
	if _, err := b.worker("two").decide(t.Context(), b.next(), DecideInput{Run: b.run}); err != nil {
		t.Fatal(err)
	}
	said := 0
	for line := range strings.Lines(b.git(b.remote, "grep", "-h", "run_resumed", Branch("r"), "--", journalDir)) {
		if said++; strings.Contains(line, "committed") {
			t.Error(line)
		}
	}
	if said != 2 {
		t.Errorf("it was taken up %d times", said)
	}
}
