package temporal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
	"reprise/internal/durable"
)

// besides is an epic that the fleet has left, of which others finish a story.
type besides struct {
	*bench
	a        *Activities
	clone    string
	fleet    *Fleet
	launches func() string
}

const story71 = "docs/stories/7.1.story.md"

// newBesides has the fleet leave the epic after some steps.
func newBesides(t *testing.T, steps int) *besides {
	t.Helper()
	b, launches := newEpic(t)
	s := &besides{b, b.worker("one"), filepath.Join(b.dir, "clone"), nil, launches}
	s.fleet = &Fleet{Clone: s.clone, Remote: b.remote}
	s.git(s.clone, "config", "user.name", "someone") // for what is pasted
	s.git(s.clone, "config", "user.email", "someone@example.com")
	if steps > 0 {
		s.carried(s.a, steps-1)
		if l, err := s.a.land(t.Context(), s.next(), s.attempted(s.a)); err != nil || l.Accepted == nil {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	if _, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run, Stop: true}); err != nil {
		t.Fatal(err)
	}
	s.open, s.run.Taken = nil, false
	return s
}

// finish finishes a story in a checkout.
func (s *besides) finish(dir, id string) {
	s.Helper()
	e, err := trusted{all: true}.engineFor(dir, time.Now)
	if err == nil {
		_, err = e.Resume(s.Context(), reprise.Ref{Layout: "orchestrate", ID: id, Path: "docs/stories/" + id + ".story.md", Kind: "sdc"}, engine.Choice{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// write writes a file.
func (s *besides) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// commit commits all that is in a checkout.
func (s *besides) commit(dir, message string) {
	s.Helper()
	s.git(dir, "add", "-A")
	s.git(dir, "commit", "-q", "-m", message)
}

// other is another clone.
func (s *besides) other() string {
	s.Helper()
	other := filepath.Join(s.dir, "other")
	s.git(s.dir, "clone", "-q", "--single-branch", s.remote, other) // it does not know of the epic
	return other
}

// pushed has a story finished in another clone and pushed to the default branch.
func (s *besides) pushed(id string) {
	s.Helper()
	other := s.other()
	s.finish(other, id)
	s.commit(other, id)
	s.git(other, "push", "-q", "origin", "main")
}

// aside is another checkout of the clone.
func (s *besides) aside() string {
	s.Helper()
	w := filepath.Join(s.dir, "w")
	s.git(s.clone, "worktree", "add", "-q", "-b", "mine", w)
	return w
}

// resume takes the epic up, and again: both succeed, or both are refused and nothing is changed.
func (s *besides) resume() (err error) {
	s.Helper()
	for range 2 {
		refs := s.git(s.remote, "for-each-ref")
		if _, err = s.fleet.Resume(s.Context(), s.run.Ref, engine.Choice{}); err != nil && (cli.ExitCode(err) != 11 || s.git(s.remote, "for-each-ref") != refs) {
			s.Fatalf("exit %d: %v", cli.ExitCode(err), err)
		}
	}
	return err
}

// paste types the commands of a hint that have a word.
func (s *besides) paste(err error, word string) {
	s.Helper()
	found := false
	for i, command := range strings.Split(reprise.HintOf(err), "`") {
		if i%2 == 0 || !strings.Contains("`"+command, word) {
			continue
		}
		found = true
		sh := exec.Command("sh", "-c", command)
		sh.Dir = s.clone
		if out, err := sh.CombinedOutput(); err != nil {
			s.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	if !found {
		s.Fatalf("no command with %q: %s", word, reprise.HintOf(err))
	}
}

// comes wants a step to come next, and that no agent was started since did.
func (s *besides) comes(next, did string) {
	s.Helper()
	if err := s.resume(); err != nil {
		s.Fatalf("%v: %s", err, reprise.HintOf(err))
	}
	if st := s.carriedOn(s.a); st.Name() != next {
		s.Errorf("%s comes next, want %s", st.Name(), next)
	}
	if s.launches() != did {
		s.Errorf("agents were started: %s", s.launches())
	}
}

// isRefused reports whether the fleet does not take a run up, and why.
func isRefused(err error, why Refusal) bool {
	no, is := errors.AsType[*NotTakenError](err)
	return is && no.Why == why && cli.ExitCode(err) == 11
}

// What was finished of a run inside one that the fleet has left is not done again once the fleet
// takes that up, if it was pushed to the default branch of the remote. What was finished there
// before the branch was made is for the branch to say. (issue 19)
func TestWhat_was_finished_on_the_default_branch_is_not_done_again(t *testing.T) {
	t.Parallel()
	onBranch := func(s *besides, name, text string) {
		at := filepath.Join(s.dir, "at")
		s.git(s.dir, "clone", "-q", "-b", Branch("7"), s.remote, at)
		s.write(filepath.Join(at, name), text)
		s.commit(at, "on the branch")
		s.git(at, "push", "-q", "origin", Branch("7"))
	}
	for name, c := range map[string]struct {
		finish    func(s *besides)
		next      string // what comes next on the fleet
		conflicts bool
	}{
		"nothing":               {func(*besides) {}, "7.1/implement", false},
		"pushed to the default": {func(s *besides) { s.pushed("7.1") }, "wave-1-gate", false},
		"and pulled": {func(s *besides) {
			s.pushed("7.1")
			s.git(s.clone, "pull", "-q", "origin", "main")
			s.write(filepath.Join(s.clone, "secret.env"), "KEY=mine\n")
		}, "wave-1-gate", false},
		"pulled, and taken back": {func(s *besides) {
			s.pushed("7.1")
			s.git(s.clone, "pull", "-q", "origin", "main")
			s.git(filepath.Join(s.dir, "other"), "checkout", "-q", "HEAD~2", "--", story71)
			s.commit(filepath.Join(s.dir, "other"), "not yet")
			s.git(filepath.Join(s.dir, "other"), "push", "-q", "origin", "main")
		}, "7.1/implement", false},
		"begun again on the branch after it was merged": {func(s *besides) {
			ready, err := os.ReadFile(filepath.Join(s.clone, story71))
			if err != nil {
				s.Fatal(err)
			}
			s.pushed("7.1")
			other := filepath.Join(s.dir, "other")
			s.git(other, "pull", "-q", "--no-rebase", "--no-edit", "origin", Branch("7"))
			s.git(other, "push", "-q", "origin", "HEAD:"+Branch("7"))
			s.git(other, "commit", "-q", "--allow-empty", "-m", "more")
			s.git(other, "push", "-q", "origin", "HEAD:main")
			onBranch(s, story71, string(ready))
		}, "7.1/implement", false},
		"and conflicts": {func(s *besides) {
			s.pushed("7.1")
			onBranch(s, "made-7.1-implement.txt", "another\n")
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBesides(t, 0)
			c.finish(s)
			did := s.launches()
			if !c.conflicts {
				s.comes(c.next, did)
				if files := s.git(s.remote, "ls-tree", "-r", "--name-only", Branch("7")); strings.Contains(files, "secret.env") {
					t.Errorf("the branch has %s", files)
				}
				return
			}
			err := s.resume()
			if !isRefused(err, Unmerged) || !strings.Contains(reprise.HintOf(err), "push origin HEAD:"+Branch("7")) {
				t.Errorf("%v: %s", err, reprise.HintOf(err))
			}
		})
	}
}

// The fleet takes nothing from a checkout of the clone that was not pushed: there is what no one
// else is to see. What is finished there alone keeps the run from being taken up, until whoever
// works there has committed and pushed it with the commands that are named. (issue 19)
func TestWhat_is_finished_in_a_checkout_alone_is_not_published(t *testing.T) {
	t.Parallel()
	private := func(s *besides, dir string) {
		s.write(filepath.Join(dir, "secret.env"), "KEY=mine\n")
		s.write(filepath.Join(dir, "agent.sh"), "half of it\n")
	}
	belongs := func(s *besides, dir string) {
		s.git(dir, "add", "docs", "made-7.1-qa.txt")
		s.git(dir, "commit", "-q", "-m", "7.1")
	}
	for name, c := range map[string]struct {
		finish func(s *besides) (dir string)
		commit func(s *besides, dir string) // what belongs to it, nil if it is committed
		word   string                       // of the commands
		next   string
	}{
		"in the clone, uncommitted": {func(s *besides) string {
			s.finish(s.clone, "7.1")
			return s.clone
		}, belongs, "HEAD", "wave-1-gate"},
		"in a checkout, committed": {func(s *besides) string {
			w := s.aside()
			s.finish(w, "7.1")
			belongs(s, w)
			return w
		}, nil, "HEAD", "wave-1-gate"},
		"and pushed to the default": {func(s *besides) string {
			w := s.aside()
			s.finish(w, "7.1")
			return w
		}, func(s *besides, dir string) {
			belongs(s, dir)
			s.git(dir, "push", "-q", "origin", "HEAD:main")
		}, "", "wave-1-gate"},
		"in an experiment": {func(s *besides) string {
			w := s.aside()
			s.git(w, "rm", "-q", "reprise.yaml")
			text, err := os.ReadFile(filepath.Join(w, story71))
			if err != nil {
				s.Fatal(err)
			}
			s.write(filepath.Join(w, story71), strings.Replace(string(text), "Ready", "Done", 1))
			return w
		}, func(*besides, string) {}, "put-away", "7.1/implement"},
		"while a merge conflicts": {func(s *besides) string {
			w := s.aside()
			s.finish(w, "7.1")
			belongs(s, w)
			for _, branch := range []string{"one", "two"} {
				s.git(w, "checkout", "-q", "-b", branch, "mine")
				s.write(filepath.Join(w, "both.txt"), branch+"\n")
				s.commit(w, branch)
			}
			if _, err := git(s.Context(), w, nil, "merge", "one"); err == nil {
				s.Fatal("it merges")
			}
			return w
		}, func(s *besides, dir string) { s.git(dir, "merge", "--abort") }, "HEAD", "wave-1-gate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBesides(t, 0)
			dir := c.finish(s)
			private(s, dir)
			did := s.launches()
			no := s.resume()
			if !isRefused(no, Unpushed) || !strings.Contains(no.Error(), "7.1/implement, 7.1/qa is finished in "+dir) {
				t.Fatalf("%v", no)
			}
			if c.commit != nil {
				s.git(dir, "checkout", "-q", "HEAD", "--", "agent.sh")
				c.commit(s, dir)
				if err := s.resume(); c.word != "" {
					no = err
				}
			}
			if c.word != "" {
				s.paste(no, c.word)
			}
			s.comes(c.next, did)
			for _, ref := range strings.Fields(s.git(s.remote, "for-each-ref", "--format=%(refname)")) {
				if files := s.git(s.remote, "log", "--format=", "--name-only", ref); strings.Contains(files, "secret.env") || strings.Contains(s.git(s.remote, "show", ref+":agent.sh"), "half") {
					t.Errorf("%s has %s", ref, files)
				}
			}
		})
	}
}

// A default branch that merged the branch of a run and took that back has less of it: the fleet
// does not take up what would be lost, and names commands that go on. (issue 19)
func TestWhat_the_default_branch_took_back_is_not_lost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ word, next string }{
		"what each of them has":    {"revert", "wave-2-gate"},
		"what the branch has only": {"-s ours", "7.2/implement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBesides(t, 3)
			other := s.other()
			s.git(other, "pull", "-q", "--no-ff", "--no-rebase", "--no-edit", "origin", Branch("7"))
			s.git(other, "revert", "--no-edit", "-m1", "HEAD")
			by := s.git(other, "rev-parse", "HEAD")
			s.finish(other, "7.2")
			s.write(filepath.Join(other, story71), s.git(other, "show", "HEAD:"+story71)+"\nMore.\n")
			s.commit(other, "7.2")
			s.git(other, "push", "-q", "origin", "main")
			did := s.launches()
			err := s.resume()
			if said := fmt.Sprint(err); !isRefused(err, TakenBack) || !strings.Contains(said, " took back with "+by[:12]) || !strings.Contains(said, "7.1/qa") || !strings.Contains(said, s.run.Ref.Path) {
				t.Fatalf("%+v, want %s", err, by)
			}
			s.paste(err, c.word)
			if c.word == "revert" {
				s.paste(err, "`git -C "+filepath.Join(s.dir, "7")+" push")
			}
			s.comes(c.next, did)
			st, err := standOfBranch(s, "7.1", "7.2")
			if want := c.word == "revert"; err != nil || !slices.Contains(st.closed, "7.1/qa") || slices.Contains(st.closed, "7.2/qa") != want {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
}

// standOfBranch is how stories stand on the branch of the epic.
func standOfBranch(s *besides, ids ...string) (stand, error) {
	at := filepath.Join(s.dir, "stands")
	s.git(s.dir, "clone", "-q", "-b", Branch("7"), s.remote, at)
	var refs []reprise.Ref
	for _, id := range ids {
		refs = append(refs, reprise.Ref{Layout: "orchestrate", ID: id, Path: "docs/stories/" + id + ".story.md", Kind: "sdc"})
	}
	return standOf(at, refs)
}

// A story that someone works on in the clone keeps its epic from being taken up. (issue 19)
func TestA_run_is_not_taken_up_while_someone_works_on_one_inside_it(t *testing.T) {
	t.Parallel()
	b, _ := newEpic(t)
	a, clone := b.worker("one"), filepath.Join(b.dir, "clone")
	if _, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true}); err != nil {
		t.Fatal(err)
	}
	e, err := trusted{all: true}.engineFor(clone, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var no error
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Began && no == nil {
			_, no = (&Fleet{Clone: clone, Remote: b.remote}).Resume(t.Context(), b.run.Ref, engine.Choice{})
		}
	}
	if _, err := e.Resume(t.Context(), reprise.Ref{Layout: "orchestrate", ID: "7.1", Path: "docs/stories/7.1.story.md", Kind: "sdc"}, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	if _, held := errors.AsType[*durable.HeldError](no); !held {
		t.Errorf("it is taken up: %v", no)
	}
}

// Whoever merges the branch of a run that the fleet has left, finishes it and pushes that has
// finished it: the fleet settles it, from any clone. (issue 19)
func TestA_run_that_was_merged_and_finished_is_settled(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	other := filepath.Join(s.dir, "other")
	s.git(s.dir, "clone", "-q", s.remote, other)
	s.git(other, "merge", "-q", "origin/"+Branch("r"))
	if err := s.goOn(other, ""); err != nil {
		t.Fatal(err)
	}
	s.git(other, "add", "-A")
	s.git(other, "commit", "-q", "-m", "the rest")
	s.git(other, "push", "-q", "origin", "main")
	if _, err := s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	s.run.Taken = false
	d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run})
	if err != nil || len(d.Starts) > 0 || d.Left == nil || d.Left.Action != reprise.Finish {
		t.Errorf("%+v, %v", d, err)
	}
	s.launches("abc")
}

// A run is begun on the fleet once it is sure that it can be: what is finished in a checkout alone
// keeps it from that, and nothing is pushed. (issue 19)
func TestA_run_that_cannot_be_taken_up_is_not_begun(t *testing.T) {
	t.Parallel()
	s := newBesides(t, 0)
	s.write(filepath.Join(s.clone, "docs", "stories", "EPIC-9-EXECUTION.yaml"), "epic_id: \"9\"\ntitle: More\nwaves:\n  - number: 1\n    stories:\n      - {id: \"7.1\", title: One}\n")
	s.commit(s.clone, "epic 9")
	s.git(s.clone, "push", "-q", "origin", "main")
	s.finish(s.clone, "7.1")
	refs := s.git(s.remote, "for-each-ref")
	_, err := s.fleet.Begin(t.Context(), "epic", reprise.Goal{Path: "docs/stories/EPIC-9-EXECUTION.yaml"})
	if !isRefused(err, Unpushed) || s.git(s.remote, "for-each-ref") != refs {
		t.Errorf("%v; the remote has %s", err, s.git(s.remote, "for-each-ref"))
	}
}
