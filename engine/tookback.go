package engine

import (
	"context"
	"fmt"

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

// tookCriteria tells that an attempt which was not to write the acceptance criteria of its run
// left fewer of them than it began with: nobody would miss them later. It is nil otherwise.
func (w *work) tookCriteria(f *Attempt) *Wrote {
	began := w.hist.Step(f.Step).First // an attempt that is done again does not begin with what the one before it left
	if began == nil || project.WritesStory(f.Step) || !project.FewerThan(project.Measure(w.led.Files(), w.run), began.Measure) {
		return nil
	}
	return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left " + w.ref.Path + " with fewer acceptance criteria than it began with; put back what is missing, unless that was meant"}
}
