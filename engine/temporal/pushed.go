package temporal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/journal"
	"reprise/project"
)

// An attempt that ended by itself and pushed its work is finished, also where its landing was
// refused or no one was left to do it. Whoever continues the run elsewhere sees the branch alone
// and would do it again. So what is pushed lands before the fleet leaves a run.

// landPushed lands what attempts of a run pushed that are open on record. It reports whether the
// branch has marks: one without them is no longer the fleet's, and is left alone. It needs no
// server. What a worker has to verify first is passed over where unverified says so, and stays open
// on record; else the error is an *UnlandedError.
func (f *Fleet) landPushed(ctx context.Context, m *Mirror, name string, unverified bool) (had bool, err error) {
	c, err := f.marked(ctx, m, name)
	if err != nil || c == nil {
		return false, err
	}
	ref, err := f.findIn(ctx, c.Dir, name)
	if err != nil {
		return true, err
	}
	ends, err := f.pushed(ctx, m, c, ref)
	if err != nil {
		return true, err
	}
	a := &Activities{Mirror: m, Client: f.Client, queue: queue(Identity(f.Remote), "")}
	for _, in := range ends {
		l, err := a.land(ctx, moment{"land/" + in.Start.Key, time.Now()}, in)
		if err != nil {
			return true, err
		}
		if l.Verify && !unverified {
			return true, &UnlandedError{name, in.Start.Name(), in.Start.outer, in.Start.Number}
		}
	}
	return true, nil
}

// pushed are the ends of attempts that are open on record in a checkout of the branch, whose work
// is on the remote. One that was cut off is not among them: it is not finished.
func (f *Fleet) pushed(ctx context.Context, m *Mirror, c *Checkout, ref reprise.Ref) (ends []LandInput, err error) {
	there, err := f.attemptsOf(ctx, m, c, ref.ID)
	if err != nil || there == "" {
		return nil, err
	}
	open, err := f.openIn(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	run := Run{Repo: Identity(f.Remote), Folder: f.Folder, Ref: ref, Heartbeat: DefaultHeartbeat}
	for _, s := range open {
		at := AttemptRef(ref.ID, s.Elsewhere)
		if !strings.Contains(there+"\n", "\t"+at+"\n") {
			continue
		}
		found, err := m.Fetch(ctx, at)
		if err != nil {
			return nil, err
		}
		read, err := m.about(ctx, found[at])
		if err != nil {
			return nil, err
		}
		if end, err := readEnd(read[found[at]].message); err == nil && end.Key == s.Key && !end.cut() {
			ends = append(ends, LandInput{Run: run, Start: s, Result: AttemptResult{Commit: found[at], Outcome: string(end.Result.Outcome)}})
		}
	}
	return ends, nil
}

// attemptsOf lists what attempts of a run have pushed, as git does.
func (f *Fleet) attemptsOf(ctx context.Context, m *Mirror, c *Checkout, run string) (string, error) {
	return git(ctx, c.Dir, nil, "ls-remote", m.Remote, "refs/reprise/"+refWord(run)+"/*")
}

// openIn are the attempts that are open on record in a checkout of the branch.
func (f *Fleet) openIn(ctx context.Context, c *Checkout, ref reprise.Ref) (out []Start, err error) {
	root := filepath.Join(c.Dir, filepath.FromSlash(f.Folder))
	judged, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil, err
	}
	around := outer{}
	if r := judged.Find(ref); r != nil {
		around = outerOf(root, judged, r)
	}
	for _, r := range judged.Runs {
		entries, err := recorded(root, r.Ref)
		if err != nil {
			return nil, err
		}
		within := inner(os.DirFS(root), r)
		for _, open := range journal.Fold(entries).Open() {
			if _, is := within[open.Step]; is {
				continue // it is the attempts of that run that push something
			}
			s := Start{Elsewhere: engine.Elsewhere{Step: open.Step, Number: open.Attempt}, Key: open.Key}
			if r.Path != ref.Path {
				s.Run = r.Ref
			}
			s.outer = around.step(keyOf(s.Elsewhere))
			out = append(out, s)
		}
	}
	return out, nil
}

// unheard are the attempts that are open on record on the branch of a run and have pushed nothing:
// an agent may be at work on them.
func (f *Fleet) unheard(ctx context.Context, m *Mirror, name string) (out []Start, err error) {
	c, err := f.marked(ctx, m, name)
	if err != nil || c == nil {
		return nil, err
	}
	ref, err := f.findIn(ctx, c.Dir, name)
	if err != nil {
		return nil, err
	}
	there, err := f.attemptsOf(ctx, m, c, name)
	if err != nil {
		return nil, err
	}
	open, err := f.openIn(ctx, c, ref)
	return slices.DeleteFunc(open, func(s Start) bool {
		return strings.Contains(there+"\n", "\t"+AttemptRef(name, s.Elsewhere)+"\n")
	}), err
}

// UnheardError says that agents may be at work on attempts of a run, as far as can be told without
// its server.
type UnheardError struct {
	Run      string
	attempts []Start
}

func (e *UnheardError) Error() string {
	var all []string
	for _, s := range e.attempts {
		all = append(all, fmt.Sprintf("attempt %d of %s", s.Number, s.Name()))
	}
	return fmt.Sprintf("give back %s: an agent may be at work on %s: it was started, and has pushed nothing", e.Run, strings.Join(all, " and "))
}

// Hint says what a person can do.
func (e *UnheardError) Hint() string {
	return fmt.Sprintf("a worker without its server ends its agents after one heartbeat (%[2]s unless the run was started with another) and pushes what they left: type the same command again then. If its worker is gone for good: `reprise-fleet stop %[1]s --server-gone --lost`; whoever goes on then does these steps again",
		reprise.Pasted(e.Run, "RUN"), DefaultHeartbeat)
}

// Outcome implements the rule that outcomes have exit codes.
func (e *UnheardError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// LeftWork is what the last attempt at a step left that was not accepted: it is on a ref of its own,
// and not on the branch.
type LeftWork struct {
	Step   string // as a person calls it
	Number int
	Ref    string
	Files  int // how many differ
}

// Left is what attempts at steps of a run left that are still to be done.
func (f *Fleet) Left(ctx context.Context, run string) (out []LeftWork, err error) {
	err = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(run)
		found, err := m.fetchRun(ctx, run, "")
		if err != nil || found[branch] == "" {
			return err
		}
		c, err := m.Checkout(ctx, found[branch], Branch(run))
		if err != nil {
			return err
		}
		there, err := f.attemptsOf(ctx, m, c, run)
		if err != nil || there == "" {
			return err
		}
		ref, err := f.findIn(ctx, c.Dir, run)
		if err != nil {
			return err
		}
		judged, err := project.Judge(ctx, filepath.Join(c.Dir, filepath.FromSlash(f.Folder)), project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
		if err != nil {
			return err
		}
		for _, r := range judged.Runs {
			for i := range r.Steps {
				s := Start{Elsewhere: engine.Elsewhere{Step: r.Steps[i].ID}}
				if r.Path != ref.Path {
					s.Run = r.Ref
				}
				if r.Steps[i].Status.Closed() {
					continue
				}
				one, err := lastLeft(ctx, m, run, there, s)
				if err != nil {
					return err
				}
				if one.Files > 0 {
					out = append(out, one)
				}
			}
		}
		return nil
	})
	return out, err
}

// lastLeft is what the last attempt at a step left whose ref is among those of the remote.
func lastLeft(ctx context.Context, m *Mirror, run, there string, s Start) (out LeftWork, err error) {
	prefix := strings.TrimSuffix(AttemptRef(run, s.Elsewhere), "0")
	for line := range strings.Lines(there) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if n, err := strconv.Atoi(strings.TrimPrefix(ref, prefix)); err == nil && strings.HasPrefix(ref, prefix) && n > out.Number {
			out = LeftWork{Step: s.Name(), Number: n, Ref: ref}
		}
	}
	if out.Number == 0 {
		return out, nil
	}
	found, err := m.Fetch(ctx, out.Ref)
	if err != nil {
		return out, err
	}
	read, err := m.about(ctx, found[out.Ref])
	if err != nil {
		return out, err
	}
	end, err := readEnd(read[found[out.Ref]].message)
	if err != nil || end.Base == "" {
		out.Files = 1 // what it has is for a person to see
		return out, nil
	}
	changed, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, "diff", "--name-only", "-z", "--no-renames", end.Base, found[out.Ref])
	out.Files = strings.Count(changed, "\x00")
	return out, err
}

// cut reports whether an attempt did not end by itself.
func (e *attemptEnd) cut() bool {
	return slices.Contains([]agent.Outcome{agent.Stopped, agent.Lost, agent.NotStarted, agent.NeedsSetup}, e.Result.Outcome)
}

// UnlandedError says that an attempt is finished and that its work is not on the branch of the
// run, since a worker has to verify it first.
type UnlandedError struct {
	Run, Name string
	step      string // of the run itself, that this is or is within
	Number    int
}

func (e *UnlandedError) Error() string {
	return fmt.Sprintf("give back %s: attempt %d of %s is finished, and a worker has to verify its work before that is on the branch", e.Run, e.Number, e.Name)
}

// Hint says what a person can do.
func (e *UnlandedError) Hint() string {
	run := reprise.Pasted(e.Run, "RUN")
	return fmt.Sprintf("`reprise-fleet resume %[1]s --until %[2]s` has that done and starts no agent for it; then `reprise-fleet stop %[1]s`", run, reprise.Pasted(e.step, "STEP"))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *UnlandedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
