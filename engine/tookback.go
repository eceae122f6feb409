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

// tookCriteria tells that an attempt which was not to write the acceptance criteria of its run
// left fewer of them than it began with: nobody would miss them later. It is nil otherwise.
func (w *work) tookCriteria(f *Attempt) *Wrote {
	began := w.hist.Step(f.Step).First // an attempt that is done again does not begin with what the one before it left
	if began == nil || project.WritesStory(f.Step) || !project.FewerThan(project.Measure(w.led.Files(), w.run), began.Measure) {
		return nil
	}
	return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left " + w.ref.Path + " with fewer acceptance criteria than it began with; put back what is missing, unless that was meant"}
}

// tellBeside puts the other runs in doubt that do not say what they said when an attempt began, and
// tells which of them are gone. One that is worked on beside it judges that itself. Who took the
// lease has told what one that was cut off changed, unless it was at work elsewhere.
func (w *work) tellBeside(f *Attempt) (*Wrote, error) {
	a := &project.Attempt{Of: w.run, Step: f.Step, Began: f.Began, Gen: math.MaxUint64, Beside: project.BesideAt(w.events, f.Key)}
	if a.Beside == nil {
		return nil, nil
	}
	changed, err := a.Changed(w.Dir)
	if err != nil {
		return nil, err
	}
	var gone []string
	for i := range changed {
		c := &changed[i]
		if w.folders.isState(c.Ref.Path) {
			continue
		}
		if c.Gone && !slices.Contains(gone, c.Ref.ID) {
			gone = append(gone, c.Ref.ID)
		}
		if f.Recalled && w.Carried == nil {
			continue
		}
		noted, err := w.led.Doubt(*c, w.Now())
		if err != nil {
			return nil, err
		}
		if noted {
			w.notice(project.ChangedElsewhere(f.Step, c))
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	if more := len(gone) - maxGone; more > 1 {
		gone = append(gone[:maxGone:maxGone], fmt.Sprintf("and %d more", more))
	}
	return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left the project without " + strings.Join(gone, ", ") + ", still open when it began; `reprise undo` lists what brings that back"}, nil
}

// maxGone is how many runs that are gone are named.
const maxGone = 4
