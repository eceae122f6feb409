package engine

import (
	"context"
	"slices"
	"strings"

	"reprise"
	"reprise/project"
)

// stands gives the outputs that open steps build on, and those of an attempt that is
// accepted, where they are not what is on record. What changed beside an attempt whose
// end no one saw is recorded only where git shows that it can be the attempt's: else a
// person is asked about it.
func (w *work) stands(ctx context.Context, s *Seen, accepted bool) (out []reprise.Expected) {
	if !w.run.Kind.Facts().Needs {
		return nil
	}
	own := map[string]bool{}
	if accepted {
		for _, e := range s.Expect {
			own[e.Path] = true
		}
	}
	add := func(name string) {
		now, _ := project.Standing(w.store, name)
		if was, recorded := w.hist.Stands[name]; now.IsZero() || recorded && now == was {
			return
		}
		if !own[name] && s.Recalled && !w.mayBeOurs(ctx, name, now) {
			return
		}
		out = append(out, reprise.Expected{Path: name, Before: now})
	}
	for name := range own {
		add(name)
	}
	for _, names := range project.Outputs(w.run, w.hist) {
		for _, name := range names {
			if !own[name] {
				add(name)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b reprise.Expected) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// mayBeOurs reports whether an attempt that was cut off may have left a file as it is:
// no commit holds it, or one of the run changed it last. A file that was emptied is
// no one's work. Without a repository no one can tell; `check` warned of it.
func (w *work) mayBeOurs(ctx context.Context, name string, now reprise.Hash) bool {
	if now == reprise.HashOf(nil) {
		return false
	}
	if w.repo == nil {
		return true
	}
	if dirty, err := w.dirty(ctx, w.Dir); err != nil || slices.Contains(dirty, w.prefix()+name) {
		return err == nil
	}
	commit, values, err := w.repo.LastTrailers(ctx, name, reprise.TrailerKey)
	return err == nil && (commit == "" || slices.ContainsFunc(values, func(value string) bool {
		run, _, life, _, ok := reprise.TrailerStep(value)
		return ok && run == word(w.ref.ID) && life == w.life()
	}))
}
