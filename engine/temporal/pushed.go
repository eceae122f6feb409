package temporal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
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
// branch has marks: one without them is no longer the fleet's, and is left alone.
func (f *Fleet) landPushed(ctx context.Context, m *Mirror, name string) (had bool, err error) {
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
		if l.Verify {
			return true, &UnlandedError{name, in.Start.Name(), keyOf(in.Start.Elsewhere), in.Start.Number}
		}
	}
	return true, nil
}

// pushed are the ends of attempts that are open on record in a checkout of the branch, whose work
// is on the remote. One that was cut off is not among them: it is not finished.
func (f *Fleet) pushed(ctx context.Context, m *Mirror, c *Checkout, ref reprise.Ref) (ends []LandInput, err error) {
	there, err := git(ctx, c.Dir, nil, "ls-remote", m.Remote, "refs/reprise/"+refWord(ref.ID)+"/*")
	if err != nil || there == "" {
		return nil, err
	}
	root := filepath.Join(c.Dir, filepath.FromSlash(f.Folder))
	judged, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil, err
	}
	run := Run{Repo: Identity(f.Remote), Folder: f.Folder, Ref: ref, Heartbeat: DefaultHeartbeat}
	for _, r := range judged.Runs {
		entries, err := recorded(root, r.Ref)
		if err != nil {
			return nil, err
		}
		for _, open := range journal.Fold(entries).Open() {
			s := Start{Elsewhere: engine.Elsewhere{Step: open.Step, Number: open.Attempt}, Key: open.Key}
			if r.Path != ref.Path {
				s.Run = r.Ref
			}
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
	}
	return ends, nil
}

// cut reports whether an attempt did not end by itself.
func (e *attemptEnd) cut() bool {
	return slices.Contains([]agent.Outcome{agent.Stopped, agent.Lost, agent.NotStarted, agent.NeedsSetup}, e.Result.Outcome)
}

// UnlandedError says that an attempt is finished and that its work is not on the branch of the
// run, since a worker has to verify it first.
type UnlandedError struct {
	Run, Name string
	step      string // as keyOf has it
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
