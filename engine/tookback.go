package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"reprise"
	"reprise/project"
)

// tookBack tells that the commit which an attempt began on is no longer on its branch, as
// after `git reset`, an amended commit or a rebase: someone's work may be gone from there,
// and what the attempt left may be an older state. It is nil where the commit is still
// there, or the attempt began on none. In another clone the branch may be missing or behind:
// what is checked out there has the commit. A git that does not answer is an error.
func (w *work) tookBack(ctx context.Context, f *Attempt) (*Wrote, error) {
	if w.repo == nil || f.Head == "" || f.Dir == "" {
		return nil, nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if repo == nil || err != nil {
		return nil, nil // nothing can be committed there either, which is told
	}
	on, name := f.Branch, f.Branch
	if on == "" {
		on, name = "HEAD", "the checkout"
	}
	now, there, err := repo.Resolve(ctx, on)
	if err != nil || now == f.Head {
		return nil, unanswered(repo, err)
	}
	_, known, err := repo.Resolve(ctx, f.Head)
	if err != nil || !known && f.Recalled { // another machine may have had it
		return nil, unanswered(repo, err)
	}
	if known && there {
		if kept, err := repo.IsAncestor(ctx, f.Head, now); kept || err != nil {
			return nil, unanswered(repo, err)
		}
	}
	if known && f.Recalled {
		head, is, err := repo.Resolve(ctx, "HEAD")
		kept := false
		if err == nil && is {
			kept, err = repo.IsAncestor(ctx, f.Head, head)
		}
		if err != nil {
			return nil, unanswered(repo, err)
		}
		if kept {
			return nil, nil
		}
	}
	short := f.Head[:min(12, len(f.Head))]
	back := "git merge " + short
	if !there {
		back = "git branch " + reprise.Pasted(f.Branch, "BRANCH") + " " + short
	}
	return &Wrote{
		Status: reprise.Unknown, Gone: true,
		Text: fmt.Sprintf("left %s without commit %s, on which it began; `%s` brings that back, in the folder where it worked", name, short, back),
	}, nil
}

// tookRuns tells that runs which were open when an attempt at another one began, or open
// steps of them, are gone, or acceptance criteria that it was not to write: nobody would
// miss them later. It is nil where none is, and where neither git nor a snapshot knows what they
// were, except for the criteria of the run itself.
func (w *work) tookRuns(ctx context.Context, f *Attempt) (*Wrote, error) {
	began := w.hist.Step(f.Step).First // an attempt that is done again does not begin with what the one before it left
	if began != nil && !project.WritesStory(f.Step) && project.FewerThan(project.Measure(w.led.Files(), w.run), began.Measure) {
		return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left " + w.ref.Path + " with fewer acceptance criteria than it began with; put back what is missing, unless that was meant"}, nil
	}
	missed, err := w.missed(ctx, f)
	if missed != nil && err == nil { // whatever is answered, they are known until a person gives them up
		err = w.doubt(f, missed.Removed, false)
	}
	if missed == nil || err != nil || len(missed.Gone) == 0 {
		return nil, err
	}
	if w.hist.Worktree != nil {
		missed.Were = nil // they are in another folder
	}
	gone := missed.Gone
	if more := len(gone) - maxGone; more > 1 {
		gone = append(gone[:maxGone:maxGone], fmt.Sprintf("and %d more", more))
	}
	return &Wrote{
		Status: reprise.Unknown, Gone: true, Were: missed.Were,
		Text: fmt.Sprintf("left the project without %s, still open when it began; %s, in the folder where it worked", strings.Join(gone, ", "), missed.BringsBack),
	}, nil
}

// missed looks what an attempt changed in the files of other runs, and puts that in doubt there:
// no attempt of theirs did it. It gives what is gone from the folder in which it worked, nil where
// nothing tells. Who took the lease has told what one that was cut off changed in the project.
func (w *work) missed(ctx context.Context, f *Attempt) (*project.Missed, error) {
	if f.Dir == "" {
		return nil, nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	blind := repo == nil || err != nil || f.Head == "" // nothing can be committed there either, which is told
	began, apart := w.asBegun(f), w.hist.Worktree != nil
	if !apart || !f.Recalled {
		missed, unknown := began.Since(ctx, w.store, w.Environ)
		if unknown != nil && (apart || blind) && !f.Recalled && w.Carried == nil {
			if missed, unknown = began.Written(w.store); unknown != nil {
				return nil, unknown
			}
		}
		if unknown == nil && !f.Recalled {
			if err := w.doubt(f, missed.Changed, true); err != nil {
				return nil, err
			}
		}
		if unknown == nil && !apart {
			return missed, nil
		}
	}
	if blind {
		return nil, nil
	}
	before, err := repo.Before(ctx, f.Head)
	if err != nil {
		return nil, unanswered(repo, err)
	}
	was := map[string][]byte{}
	for name, content := range before {
		rel, inside := strings.CutPrefix(name, w.prefix())
		_, found := reprise.Finds(f.Found, name)
		dirty := f.Dirty != nil && slices.Contains(*f.Dirty, name) || f.Dirty == nil && content == nil // it may have been there
		if inside && !found && !dirty && rel != w.ref.Path && !f.leaves(w.prefix(), name) {
			was[rel] = content
		}
	}
	missed, err := began.SinceCommit(ctx, f.Dir, was)
	if err == nil {
		err = w.doubt(f, missed.Changed, true)
	}
	return missed, err
}

// asBegun is an attempt as far as it tells what was changed since.
func (w *work) asBegun(f *Attempt) *project.Attempt {
	a := &project.Attempt{
		Of: w.run, Step: f.Step, Began: f.Began, Dated: f.dated, Gen: math.MaxUint64, Base: f.Head,
		Elsewhere: w.hist.Worktree != nil, Expect: f.Expect, Unlike: f.Unlike,
	}
	if w.run.Path != w.ref.Path { // it was put away
		a.Expect = append(slices.Clip(a.Expect), reprise.Expected{Path: w.ref.Path})
	}
	return a
}

// doubt records in the journals of other runs that an attempt changed or removed their
// files, and tells it if nothing else does. A run that is worked on beside it judges that itself.
func (w *work) doubt(f *Attempt, changed []project.Changed, tells bool) error {
	for _, c := range changed {
		if w.folders.isState(c.Ref.Path) {
			continue
		}
		steps, err := w.led.Doubt(c, w.Now())
		if err != nil {
			return err
		}
		if len(steps) > 0 && tells {
			w.notice(project.ChangedElsewhere(f.Step, c.Ref, steps))
		}
	}
	return nil
}

// maxGone is how many runs that are gone are named.
const maxGone = 4
