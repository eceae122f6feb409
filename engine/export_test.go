package engine

import (
	"context"

	"reprise"
)

// Look is what a close look at a run said.
type Look struct {
	Run      *reprise.Run
	Decision reprise.Decision
	Git      *reprise.Git
	// Told is what was said of how the files stood to the journal when it was
	// opened.
	Told []reprise.Finding
}

// Looks opens a run as Resume does and judges it twice: as it is held, and with
// everything read again. between is called before the second look.
func (e *Engine) Looks(ctx context.Context, ref reprise.Ref, between func()) (held, read Look, err error) {
	e = e.orderly()
	store, _, err := e.take(ctx)
	if err != nil {
		return held, read, err
	}
	defer store.Release()
	w, err := e.open(ctx, store, ref, nil)
	if err != nil {
		return held, read, err
	}
	one, err := w.judge(ctx)
	if err != nil {
		return held, read, err
	}
	if between != nil {
		between()
	}
	w.choice.If = "what a person saw" // then nothing of what is held is used
	two, err := w.judge(ctx)
	if err != nil {
		return held, read, err
	}
	return Look{one.Run, one.Decision, one.Observed.Git, w.behind}, Look{two.Run, two.Decision, two.Observed.Git, w.behind}, nil
}
