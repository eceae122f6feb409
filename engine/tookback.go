package engine

import (
	"context"
	"fmt"
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
// miss them later. It is nil where none is, and where git does not know what they were, except
// for the criteria of the run itself. What was uncommitted before is not the attempt's doing.
func (w *work) tookRuns(ctx context.Context, f *Attempt) (*Wrote, error) {
	for _, ev := range w.events {
		began := ev.Kind == reprise.StepStarted && ev.Step == f.Step && ev.Attempt == f.Number
		if began && !project.WritesStory(f.Step) && project.FewerThan(project.Measure(w.led.Files(), w.run), ev.Measure) {
			return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left " + w.ref.Path + " with fewer acceptance criteria than it began with; put back what is missing, unless that was meant"}, nil
		}
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if repo == nil || err != nil || f.Head == "" || f.Dir == "" {
		return nil, nil // nothing can be committed there either, which is told
	}
	before, err := repo.Before(ctx, f.Head)
	if err != nil {
		return nil, unanswered(repo, err)
	}
	was := map[string][]byte{}
	for name, content := range before {
		rel, inside := strings.CutPrefix(name, w.prefix())
		_, found := reprise.Finds(f.Found, name)
		if inside && !found && rel != w.ref.Path && !f.leaves(w.prefix(), name) && (f.Dirty == nil || !slices.Contains(*f.Dirty, name)) {
			was[rel] = content
		}
	}
	if len(was) == 0 {
		return nil, nil
	}
	gone, files, err := project.Vanished(ctx, f.Dir, was, w.ref)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	for i := range files {
		files[i] = reprise.Pasted(files[i], "FILE")
	}
	return &Wrote{
		Status: reprise.Unknown, Gone: true,
		Text: fmt.Sprintf("left the project without %s, still open when it began; `git checkout %.12s -- %s` brings that back, in the folder where it worked",
			strings.Join(gone, ", "), f.Head, strings.Join(files, " ")),
	}, nil
}
