//go:build unix

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/core"
	"reprise/core/hands"
	"reprise/core/world"
)

// slack is by how much times on disk and the end of a process may differ.
const slack = 2 * time.Second

// look makes the view that Next decides from.
func (e *Engine) look(ctx context.Context) (core.View, error) {
	v := core.View{State: e.state(), Tries: e.Tries, Cuts: e.Cuts, Parallel: e.Parallel, Now: e.Now(), Skip: e.Skip, Until: e.Until, Stop: e.stop, Busy: e.Repo.Busy()}
	if err := e.where(ctx, &v); err != nil {
		return v, err
	}
	if e.Budget != nil {
		v.Budget = e.Budget()
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
	v.Shape, err = e.shape(os.DirFS(e.Repo.Top))
	if errors.Is(err, fs.ErrNotExist) && len(e.state().Steps) > 0 {
		v.Gone, err = "its plan "+e.state().Run.Plan+" is not there any more", nil
	}
	if err != nil {
		return v, err
	}
	if err := e.passing(&v); err != nil {
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

// passing adds the steps of attempts that the plan had only as long as they were the next thing
// to do, and that are over by its files.
func (e *Engine) passing(v *core.View) error {
	for _, open := range e.state().Open {
		is := func(s core.Step) bool { return s.ID == open.Step }
		if slices.ContainsFunc(v.Steps, is) {
			continue
		}
		was, err := e.steps(e.Repo.FS(open.Before))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the plan is newer than the attempt
		}
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(was, is); i >= 0 && was[i].Passing {
			was[i].Status = core.Finished
			v.Steps = append(v.Steps, was[i])
		}
	}
	return nil
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
	if open.Inner != "" {
		return e.lookInto(ctx, open)
	}
	a := e.attempt(open)
	l := &core.Look{Step: open.Step, Seen: e.seen[a], Base: open.Before}
	result, ended := a.Result()
	if e.powerCut(open) {
		result, ended = hands.Result{}, false
	} else if !ended && a.Alive() {
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
	l.Ticked = l.Ticked && !e.powerCut(open)
	calls := a.Calls(git, e.Hide)
	l.Facts = core.Facts{Stat: stat(changes), Files: names(changes, 20), Outside: calls.Outside, Words: cmp.Or(result.LastText, calls.Words, a.Words()), Attempts: open.Attempt}
	if err := e.commits(l, open, head); err != nil {
		return nil, err
	}
	if open.Place == core.Here {
		if err := e.foreign(ctx, l, open, a, git, changes, head); err != nil {
			return nil, err
		}
	}
	step := core.Step{ID: open.Step}
	if i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == open.Step }); i >= 0 {
		step = steps[i]
	}
	l.Judges, l.Passed = step.Judges, l.Ticked && step.Passing
	if l.Missing, err = e.missing(repo, open, l.Now, step.Leaves); err != nil {
		return nil, err
	}
	folder, marked := e.folder(l.Now), map[string]world.Entry{}
	if m := open.Move; m != nil && folder { // what we wrote there ourselves when it began
		ours, err := e.Repo.Diff(m.From, m.To)
		if err != nil {
			return nil, err
		}
		for _, c := range ours {
			marked[c.Path] = c.New
		}
	}
	for _, c := range changes {
		switch {
		case slices.Contains(l.Foreign, c.Path):
		case !e.inPlan(c.Path):
			l.Changed = true
		case (folder || step.Named) && (marked[c.Path].ID == "" || marked[c.Path] != c.New): // a list of tasks has nothing but marks
			l.Wrote = true
		}
	}
	e.ended(l, result, ended)
	l.Verified, l.Check = a.Checked(string(l.Now))
	// Whoever continues the session knows the results that it has.
	l.Reached = calls.Outside
	if calls.Continues && l.End != core.Full {
		l.Session, l.Reached = a.Session().ID, calls.Open
	}
	if open.Place != core.Here {
		if err := e.landing(ctx, l, open); err != nil {
			return nil, err
		}
	}
	if e.Judge != nil && len(l.Missing) == 0 && (l.Proved() || len(l.Questions) > 0) {
		if err := e.judge(repo, l, open, result); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// missing tells which of the files that a step must leave are not there where it worked, or are
// what they were before. Ones that git ignores count, and ones outside of the project do not.
func (e *Engine) missing(repo *world.Repo, open *core.Start, now core.World, files []core.File) (out []string, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(filepath.Join(repo.Top, filepath.FromSlash(e.below)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, f := range files {
		switch info, err := root.Stat(filepath.FromSlash(f.Path)); {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, f.Path+" is not there")
		case err != nil:
			out = append(out, f.Path+" cannot be read: "+err.Error())
		case info.IsDir():
			if list, err := fs.ReadDir(root.FS(), f.Path); err != nil || len(list) == 0 {
				out = append(out, f.Path+" is a folder with nothing in it")
			}
		case f.Changed:
			was, err := e.Repo.Entry(open.Before, path.Join(e.below, f.Path))
			if err != nil {
				return nil, err
			}
			if is, err := e.Repo.Entry(now, path.Join(e.below, f.Path)); err != nil || is == was {
				out = append(out, strings.TrimSuffix(f.Path+" is what it was before; "+f.Lacks, "; "))
			}
		}
	}
	return out, nil
}

// judge asks the convention what it makes of an attempt.
func (e *Engine) judge(repo *world.Repo, l *core.Look, open *core.Start, r hands.Result) (err error) {
	j := Judged{Step: open.Step, Attempt: open.Attempt, Result: r.Result}
	if j.Before, err = e.sub(e.Repo.FS(open.Before)); err != nil {
		return err
	}
	if j.Now, err = e.sub(e.Repo.FS(l.Now)); err != nil {
		return err
	}
	said, err := e.Config.Judge(j)
	if err != nil || said == nil {
		return err
	}
	if l.Missing, err = e.missing(repo, open, l.Now, said.Leaves); err != nil || len(l.Missing) > 0 {
		return err
	}
	if l.Judged = said; len(said.Questions) > 0 {
		l.Questions = said.Questions
	}
	return nil
}

// endings are how agents end, by what is known of their sessions. What is not here is not known.
var endings = map[agent.Outcome]core.Ending{
	agent.Done: core.Well, agent.Failed: core.Badly, agent.Refused: core.Badly, agent.NotStarted: core.Unable, agent.NeedsPerson: core.Well,
	agent.NeedsSetup: core.Unable, agent.Limited: core.Badly, agent.OutOfContext: core.Full, agent.SessionNotFound: core.Full,
	agent.Killed: core.Killed, agent.TimedOut: core.Late, agent.Stopped: core.Asked,
}

// ended says how the agent of an attempt ended, and what it says of its work: by the last event
// of its CLI, by how it ended if it is a plain command, or by its reply, which counts however it
// was cut off.
func (e *Engine) ended(l *core.Look, r hands.Result, ended bool) {
	if ended {
		l.End, l.Why = endings[r.Outcome], cmp.Or(r.Reason, string(r.Outcome))
	}
	if r.Outcome == agent.Limited {
		l.Limit, l.LimitEnds = l.Why, r.Until
		if r.Until.Sub(e.Now()) > reprise.LongestLimit {
			l.LimitEnds = time.Time{} // nobody knows
		}
	}
	reply := r.Reply
	if reply == nil {
		reply = &reprise.Reply{}
	}
	switch answers := e.state().Step(l.Step).Answers; {
	case r.Outcome == agent.NeedsPerson && r.Finished && !slices.ContainsFunc(r.Questions, func(q core.Question) bool {
		return !slices.ContainsFunc(answers, func(s core.Said) bool { return s.Question == q.Text })
	}):
		l.Word = true // it did without what a person answered already
	case r.Outcome == agent.NeedsPerson && reply.Outcome == "done" && r.Exit == 0 && r.Signal == "" && e.Judge != nil:
		l.Word, l.Nothing = true, reply.Nothing || l.Judges // done, with questions: its convention says what that means
	case r.Outcome == agent.NeedsPerson:
		l.Questions = r.Questions
	case reply.Outcome == "blocked": // only a person can help
		l.Questions = []core.Question{{Text: "it is blocked: " + cmp.Or(reply.Summary, "it does not say by what")}}
	case !ended && reply.Outcome == "failed":
		l.End, l.Why = core.Badly, cmp.Or(reply.Summary, "its agent says that it failed")
	case l.End == core.Badly:
	case reply.Outcome == "done":
		l.Word, l.Nothing = true, reply.Nothing || l.Judges
	case r.Outcome == agent.Done:
		l.Word = r.Says != agent.SaysNothing
		l.Nothing = r.Says == agent.SaysExit && l.Judges // a command that only judges says so by its end
	}
}

// powerCut reports whether the machine was started again since an attempt began. Nothing that
// the attempt says of itself counts then: the power may have taken its work and left its word.
func (e *Engine) powerCut(open *core.Start) bool { return open.Boot != "" && open.Boot != e.Boot }

// ticks tells whether the plan calls the step of an attempt done, and which other steps it
// calls so since the attempt began.
func (e *Engine) ticks(open *core.Start, steps []core.Step, changes []world.Change) (own bool, others []string, err error) {
	var was []core.Step
	if slices.ContainsFunc(changes, func(c world.Change) bool { return e.inPlan(c.Path) }) {
		if was, err = e.steps(e.Repo.FS(open.Before)); errors.Is(err, fs.ErrNotExist) {
			err = nil // the plan is newer than the attempt
		}
	}
	todo := map[string]bool{}
	for _, s := range was {
		todo[s.ID] = !s.Status.Closed()
	}
	for _, s := range steps {
		switch {
		case !s.Status.Closed():
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
	if l.End == core.Gone && !l.Seen { // he may have been here since
		last := a.LastSign().Add(slack)
		if e.powerCut(open) && last.Before(e.Booted) { // before it came back nobody was
			last = e.Booted
		}
		l.Foreign = e.Repo.ChangedAfter(changes, last)
		if m := open.Move; m != nil { // what its beginning wrote is ours, also where the next engine made that
			ours, err := e.Repo.Diff(m.From, m.To)
			if err != nil {
				return err
			}
			l.Foreign = slices.DeleteFunc(l.Foreign, func(name string) bool {
				own := slices.IndexFunc(ours, func(c world.Change) bool { return c.Path == name })
				return own >= 0 && slices.ContainsFunc(changes, func(c world.Change) bool { return c.Path == name && c.New == ours[own].New })
			})
		}
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
	apart := slices.Clone(l.Foreign)
	for _, c := range changes {
		if e.inPlan(c.Path) {
			apart = append(apart, c.Path)
		}
	}
	base, err := e.Repo.Only(l.Base, l.Now, apart)
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
