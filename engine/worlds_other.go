//go:build !unix

package engine

import (
	"context"
	"errors"

	"reprise"
	"reprise/internal/durable"
	"reprise/project"
)

type looker struct{}

func (*looker) Close() {}

var errUnix = errors.New("reprise works on runs under Linux and macOS; here it only looks")

func (e *Engine) resumeWorlds(context.Context, reprise.Ref, Choice) (*Summary, error) {
	return nil, errUnix
}

func (e *Engine) beginWorlds(context.Context, *durable.Store, reprise.Ref, reprise.Playbook, string, []reprise.Event) error {
	return errUnix
}

func (e *Engine) previewWorlds(context.Context, *durable.Store, reprise.Ref, Choice) (*Preview, error) {
	return nil, errUnix
}

func (e *Engine) answerWorlds(context.Context, *durable.Store, reprise.Ref, string, map[string]string) error {
	return errUnix
}

func (e *Engine) foreseenOnWorlds(context.Context, reprise.Ref) (project.Foreseen, error) {
	return project.Foreseen{}, nil // nothing is started here
}

func (e *Engine) bringUpWorlds(context.Context, *durable.Store, reprise.Ref) error { return errUnix }

func (e *Engine) refusedOnWorlds(reprise.Ref, Choice) error { return errUnix }

func (e *Engine) previewNew(context.Context, *durable.Store, reprise.Ref, reprise.Playbook, Choice, []reprise.Event) (*Preview, error) {
	return nil, errUnix
}

// TakenUp gives nothing here: no run is worked on.
func (e *Engine) TakenUp() ([]Taken, error) { return nil, nil }

// UndoSince has nothing to undo here.
func (e *Engine) UndoSince(context.Context, Taken, []string, bool) (steps, files []string, err error) {
	return nil, nil, errUnix
}
