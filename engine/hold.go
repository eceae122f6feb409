package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/gitx"
)

// strayError says that an attempt made a commit that is not on the run's branch.
type strayError struct{ commit, branch string }

func (e *strayError) Error() string {
	return fmt.Sprintf("its commit %.12s is not on %s, the branch of the run", e.commit, e.branch)
}

// errNoRepository is why nothing can be committed where git worked before.
var errNoRepository = errors.New("there is no longer a git repository here")

// itsOwn reports whether the attempt itself caused that git cannot commit: it committed
// elsewhere, or left a git operation unfinished in a checkout of its own. Anything else
// is not the agent's failure, and repeating the work would not help.
func (w *work) itsOwn(f *Attempt, err error) bool {
	if _, stray := errors.AsType[*strayError](err); stray {
		return true
	}
	busy, ok := errors.AsType[*gitx.NotReadyError](err)
	return ok && !busy.Locked && f.Inside != ""
}

// commits reports whether a changed file is committed as the work of an attempt.
func (w *work) commits(f *Attempt, name string) bool {
	step := w.run.Step(f.Step)
	switch {
	case f.Inside != "" && w.folders.alone(f):
		return !gitx.Kept(name)
	case f.Inside != "" && step != nil && len(step.Files) > 0:
		// Others work in the same checkout, on other files.
		return slices.Contains(step.Files, strings.TrimPrefix(name, w.repo.Prefix()))
	}
	return w.made(f, w.repo.Prefix(), name)
}

// changedSince lists the files that have changed since the end on record of an attempt,
// from the root of the repository. State that we write ourselves does not count. What
// cannot be read counts, and without a repository all of its work does.
func (w *work) changedSince(ctx context.Context, f *Attempt) (out []string) {
	for _, e := range f.Held.Expect {
		name := w.prefix() + strings.TrimPrefix(e.Path, f.Inside+"/")
		if w.isState(name) {
			continue
		}
		if now, err := w.hash(e.Path); err != nil || now != e.Before {
			out = append(out, name)
		}
	}
	same := func(reprise.Expected) bool { return false }
	if w.repo != nil {
		if repo, err := w.repoAt(ctx, f.Dir); err == nil {
			same = func(e reprise.Expected) bool {
				now, err := repo.Print(e.Path)
				return err == nil && now == e.Before
			}
		}
	}
	for _, e := range f.Held.Work {
		if !same(e) && !slices.Contains(out, e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}
