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

func (e *Engine) isOnWorlds(reprise.Ref) bool               { return false }
func seeded(reprise.Ref) bool                               { return false }
func (e *Engine) onWorlds(*durable.Store, reprise.Ref) bool { return false }

var errUnix = errors.New("runs on worlds need a Unix system")

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
	return project.Foreseen{}, errUnix
}

func (e *Engine) bringUpWorlds(context.Context, *durable.Store, reprise.Ref) error { return errUnix }

func (e *Engine) refusedOnWorlds(reprise.Ref, Choice) error { return errUnix }

// TakenUp implements nothing here: no run is on worlds.
func (e *Engine) TakenUp() ([]Taken, error) { return nil, nil }

// UndoSince has nothing to undo here.
func (e *Engine) UndoSince(context.Context, Taken, []string, bool) (steps, files []string, err error) {
	return nil, nil, errUnix
}
