package temporal

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// The server knows how the fleet left a run. Where it went on after that, its branch says so, or
// a checkout of this clone.

// since tells of runs that no workflow has open what came of them since the fleet left them.
// problem is why the remote does not say.
func (f *Fleet) since(ctx context.Context, runs []report.FleetRun, patience time.Duration) (problem string) {
	var left []*report.FleetRun
	over := 0
	for i := range runs {
		switch runs[i].State {
		case report.FleetOpen:
		case reprise.Complete.String():
			over++
		default:
			left = append(left, &runs[i])
		}
	}
	if over == len(runs) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var asks sync.WaitGroup
	var here []*reprise.Run
	if len(left) > 0 {
		asks.Go(func() { here = f.completeHere(ctx) })
	}
	moved, err := f.moved(ctx)
	if err != nil {
		problem = Told(err).Error()
		if ctx.Err() != nil {
			problem = "it did not answer within " + patience.String()
		}
	}
	for _, s := range left {
		if moved[s.ID] || len(s.Questions) > 0 { // it may have been answered
			asks.Go(func() { f.stands(ctx, s) })
		}
	}
	asks.Wait()
	for _, s := range left {
		for _, r := range here {
			if r.ID == s.ID && s.State != reprise.Complete.String() {
				s.Here = r.Path
			}
		}
	}
	return problem
}

// moved are the runs whose branch someone else than the fleet has moved.
func (f *Fleet) moved(ctx context.Context) (map[string]bool, error) {
	listed, err := git(ctx, f.Clone, nil, "ls-remote", f.Remote, runBranches+"*", lastOf(runBranches)+"*")
	if err != nil {
		return nil, err
	}
	at, last := map[string]string{}, map[string]string{}
	for line := range strings.Lines(listed) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if run, is := strings.CutPrefix(ref, runBranches); is {
			at[run] = commit
		} else {
			last[strings.TrimPrefix(ref, lastOf(runBranches))] = commit
		}
	}
	out := map[string]bool{}
	for run, commit := range at {
		out[run] = commit != last[run]
	}
	return out, nil
}

// stands fills in how a run stands on its branch.
func (f *Fleet) stands(ctx context.Context, s *report.FleetRun) {
	_, err := f.onBranch(ctx, s.ID, func(at *Checkout, _ turned) error { return f.standsIn(ctx, at, s) })
	if err != nil && s.Problem == "" {
		s.Problem = Told(err).Error()
	}
}

// standsIn is stands in a checkout of the branch.
func (f *Fleet) standsIn(ctx context.Context, at *Checkout, s *report.FleetRun) error {
	root := filepath.Join(at.Dir, filepath.FromSlash(f.Folder))
	judged, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return err
	}
	for _, r := range judged.Runs {
		if r.ID == s.ID && filepath.IsLocal(filepath.FromSlash(r.Path)) {
			s.State, s.Questions = judged.Decisions[r].State.String(), report.NewQuestions(r.PendingQuestions())
		}
	}
	return nil
}

// completeHere are the runs that are complete in a checkout of the clone. What cannot be read there
// says nothing about the fleet.
func (f *Fleet) completeHere(ctx context.Context) (out []*reprise.Run) {
	judged, err := project.Judge(ctx, filepath.Join(f.Clone, filepath.FromSlash(f.Folder)), project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil
	}
	for _, r := range judged.Runs {
		if judged.Decisions[r].State == reprise.Complete {
			out = append(out, r)
		}
	}
	return out
}
