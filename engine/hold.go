package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/internal/gitx"
)

// strayError tells of a commit that an attempt made and that is not on the run's branch.
type strayError struct{ commit, branch string }

func (e *strayError) Error() string {
	return fmt.Sprintf("its commit %.12s is not on %s, the branch of the run", e.commit, e.branch)
}

// errNoRepository is why nothing can be committed where git worked before.
var errNoRepository = errors.New("there is no git repository here any more")

// itsOwn reports whether it is the attempt's own doing that git cannot commit what
// it left: it committed elsewhere, or is in the middle of something, in a checkout in
// which nobody else works. Everything else is not the agent's failure, and doing the
// work again mends nothing.
func (w *work) itsOwn(f *attempt, err error) bool {
	if _, stray := errors.AsType[*strayError](err); stray {
		return true
	}
	busy, ok := errors.AsType[*gitx.NotReadyError](err)
	return ok && !busy.Locked && f.inside != ""
}

// hold leaves an attempt open on record whose work is whole and cannot be committed
// now: whoever goes on commits it, and nothing is done again for it.
func (w *work) hold(f *attempt, why error) {
	text := "its work is whole and on record, but git cannot commit it: " + why.Error() +
		"; once it can, `reprise resume` commits it and does nothing again"
	if hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](why); ok {
		text += " (" + hint.Hint() + ")"
	}
	w.held[f.a.Step] = true
	w.parked[f.a.Step] = text
	w.ended(f, string(agent.Stopped), text)
}

// commits reports whether a file that is changed where an attempt worked is committed
// as its work.
func (w *work) commits(f *attempt, name string) bool {
	step := w.run.Step(f.a.Step)
	switch {
	case f.inside != "" && w.folders.alone(f):
		return !gitx.Kept(name)
	case f.inside != "" && step != nil && len(step.Files) > 0:
		// Others work in the same checkout, on other files.
		return slices.Contains(step.Files, strings.TrimPrefix(name, w.repo.Prefix()))
	}
	return w.made(f, w.repo.Prefix(), name)
}

// changedSince lists the files that are not any more what an attempt left whose end
// is on record, from the root of the repository. What we write ourselves does not count;
// what cannot be looked at does, as does all of its work where there is no repository.
func (w *work) changedSince(ctx context.Context, f *attempt) (out []string) {
	for _, e := range f.held.Expect {
		name := w.prefix() + strings.TrimPrefix(e.Path, f.inside+"/")
		if w.isState(name) {
			continue
		}
		if now, err := w.hash(e.Path); err != nil || now != e.Before {
			out = append(out, name)
		}
	}
	same := func(reprise.Expected) bool { return false }
	if w.repo != nil {
		if repo, err := w.repoAt(ctx, f.dir); err == nil {
			same = func(e reprise.Expected) bool {
				now, err := repo.Print(e.Path)
				return err == nil && now == e.Before
			}
		}
	}
	for _, e := range f.held.Work {
		if !same(e) && !slices.Contains(out, e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}

// whatChanged tells of what changedSince lists.
func (w *work) whatChanged(f *attempt) string {
	return fmt.Sprintf("since then %s not any more what it left", someOf(f.changed))
}
