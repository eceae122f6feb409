//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"reprise/core"
	"reprise/core/hands"
	"reprise/core/world"
)

// grace is by how much times on disk and the end of a process may differ.
const grace = 2 * time.Second

// look makes the view that Next decides from.
func (e *Engine) look(ctx context.Context) (core.View, error) {
	v := core.View{State: e.state(), Tries: e.Tries, Parallel: e.Parallel, Now: e.Now(), Skip: e.Skip, Until: e.Until, Busy: e.Repo.Busy()}
	if err := e.where(ctx, &v); err != nil {
		return v, err
	}
	if len(e.others) > 0 {
		var err error
		if v.Others, err = e.settleOthers(ctx); err != nil {
			return v, err
		}
	}
	if _, err := e.Repo.Staged(ctx); errors.Is(err, world.ErrUnmerged) {
		v.Busy = err.Error()
	}
	var err error
	if v.Steps, err = e.steps(os.DirFS(e.Repo.Top)); err != nil {
		return v, err
	}
	v.Looks = map[string]*core.Look{}
	for _, open := range e.state().Open {
		if v.Looks[open.Step], err = e.lookAt(ctx, open, v.Steps); err != nil {
			return v, err
		}
	}
	return v, nil
}

// where says how the project's branch stands to that of the run.
func (e *Engine) where(ctx context.Context, v *core.View) error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	v.Branch = head.Branch
	if at := e.state().At; at.Commit != "" && at.Branch != head.Branch {
		has, err := e.Repo.Has(ctx, head.Commit, at.Commit)
		if err != nil {
			return err
		}
		v.Apart = !has
	}
	if due := e.state().Due; due != nil && due.Move().Message != "" {
		has, err := e.Repo.Has(ctx, head.Commit, due.Move().Head.Commit)
		if err != nil {
			return err
		}
		v.Reset = !has
	}
	return nil
}

// lookAt looks at an attempt: is it alive, how did it end, what did it change, and what of
// that is not its work.
func (e *Engine) lookAt(ctx context.Context, open *core.Start, steps []core.Step) (*core.Look, error) {
	a := e.attempt(open)
	l := &core.Look{Step: open.Step, Seen: e.seen[a], Base: open.Before}
	if code, ok := a.Exit(); ok {
		l.Exit = &code
	} else if a.Alive() {
		return &core.Look{Step: open.Step, Alive: true}, nil
	}
	git := a.Git()
	if !git.Killed.IsZero() {
		e.Repo.Unlock(git.Killed)
	}
	repo, err := e.place(ctx, open.Place)
	if err != nil {
		return nil, err
	}
	if l.Now, err = repo.Take(ctx); err != nil {
		return nil, err
	}
	head, err := repo.Head()
	if err != nil {
		return nil, err
	}
	if l.Base, err = repo.WithCommits(ctx, open.Before, open.Head.Commit, a.Action()); err != nil {
		return nil, err
	}
	changes, err := e.Repo.Diff(l.Base, l.Now)
	if err != nil {
		return nil, err
	}
	if l.Ticked, l.Marked, err = e.ticks(open, steps, changes); err != nil {
		return nil, err
	}
	l.Facts = core.Facts{Stat: stat(changes), Files: names(changes, 20), Outside: git.Outside, Words: a.Words(), Attempts: open.Attempt}
	if err := e.commits(l, open, head); err != nil {
		return nil, err
	}
	if open.Place == core.Here {
		if err := e.foreign(ctx, l, open, a, git, changes, head); err != nil {
			return nil, err
		}
	}
	l.Word, l.Nothing, l.Question = a.Reply()
	l.Limit, l.LimitEnds = a.Limit()
	l.Verified, l.Check = a.Checked(string(l.Now))
	l.Word = l.Word || e.ExitSays && l.Exit != nil && *l.Exit == 0
	if open.Place != core.Here {
		if err := e.landing(ctx, l, open); err != nil {
			return nil, err
		}
	}
	l.Changed = slices.ContainsFunc(changes, func(c world.Change) bool { return c.Path != e.plan() && !slices.Contains(l.Foreign, c.Path) })
	if i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == open.Step }); i >= 0 {
		l.Judges = steps[i].Judges
	}
	return l, nil
}

// ticks tells whether the plan calls the step of an attempt done, and which other steps it
// calls so since the attempt began.
func (e *Engine) ticks(open *core.Start, steps []core.Step, changes []world.Change) (own bool, others []string, err error) {
	var was []core.Step
	if slices.ContainsFunc(changes, func(c world.Change) bool { return c.Path == e.plan() }) {
		if was, err = e.steps(e.Repo.FS(open.Before)); errors.Is(err, fs.ErrNotExist) {
			err = nil // the plan is newer than the attempt
		}
	}
	todo := map[string]bool{}
	for _, s := range was {
		todo[s.ID] = s.Status == core.Todo
	}
	for _, s := range steps {
		switch {
		case s.Status == core.Todo:
		case s.ID == open.Step:
			own = true
		case todo[s.ID]:
			others = append(others, s.ID)
		}
	}
	return own, others, err
}

// foreign tells the attempt's work from what the user did beside it.
func (e *Engine) foreign(ctx context.Context, l *core.Look, open *core.Start, a hands.Attempt, git hands.Git, changes []world.Change, head world.HeadNow) error {
	if l.Exit == nil && !l.Seen { // he may have been here since
		l.Foreign = e.Repo.ChangedAfter(changes, a.LastSign().Add(grace))
	}
	if e.below != "" { // what lies beside the run's folder is its work only if its agent says so
		for _, c := range changes {
			if !strings.HasPrefix(c.Path, e.below+"/") && !a.Mentions(c.Path) {
				l.Foreign = append(l.Foreign, c.Path)
			}
		}
	}
	if !git.Index { // what was staged since, he staged
		staged, err := e.Repo.Staged(ctx)
		if err != nil {
			return err
		}
		if head, err = e.Repo.Head(); err != nil { // after the index: git commits write it last
			return err
		}
		since, err := e.Repo.Diff(open.Staged, staged)
		if err != nil {
			return err
		}
		for _, c := range since {
			if in, err := e.Repo.Entry(core.World(head.Tree), c.Path); err != nil || in != c.New { // not committed
				l.Foreign = append(l.Foreign, c.Path)
			}
		}
	}
	base, err := e.Repo.Only(l.Base, l.Now, append(l.Foreign, e.plan()))
	if err != nil {
		return err
	}
	_, torn, err := e.Repo.Apart(ctx, &core.Move{Base: base, To: l.Now, Since: open.Head.Commit}, head)
	for _, path := range torn {
		if a.Mentions(path) {
			l.Torn = append(l.Torn, path)
		} else { // he changed his own lines again
			l.Foreign = append(l.Foreign, path)
		}
	}
	return err
}

// commits tells what was committed since the attempt began, and whether the step was.
func (e *Engine) commits(l *core.Look, open *core.Start, head world.HeadNow) error {
	if head.Commit == open.Head.Commit {
		return nil
	}
	commits, err := e.Repo.Commits(head.Commit, open.Head.Commit)
	for _, c := range commits {
		subject, _, _ := strings.Cut(c.Message, "\n")
		l.Facts.Commits = append(l.Facts.Commits, fmt.Sprintf("%.10s %s", c.ID, subject))
		l.Committed = l.Committed || world.HasLine(c.Message, world.StepTrailer+e.Run+"/"+open.Step)
	}
	return err
}

func stat(changes []world.Change) string {
	added, changed, gone := 0, 0, 0
	for _, c := range changes {
		switch {
		case c.Old.ID == "":
			added++
		case c.New.ID == "":
			gone++
		default:
			changed++
		}
	}
	return fmt.Sprintf("%d added, %d changed, %d removed", added, changed, gone)
}

func names(changes []world.Change, most int) (out []string) {
	for _, c := range changes[:min(most, len(changes))] {
		out = append(out, c.Path)
	}
	return out
}
