//go:build !wip

package engine

import (
	"context"
	"errors"

	"reprise"
	"reprise/flow"
)

var errNotYet = errors.New("the engine is not in this build")

// Begin makes a run from nothing and gives its ref; Resume does the work.
func (e *Engine) Begin(context.Context, string, reprise.Kind, reprise.Goal) (reprise.Ref, error) {
	return reprise.Ref{}, errNotYet
}

// BeginFlow makes a run of a workflow of the person's own.
func (e *Engine) BeginFlow(context.Context, *flow.Workflow, string, reprise.Hash, reprise.Goal) (reprise.Ref, error) {
	return reprise.Ref{}, errNotYet
}

// Resume goes on with a run.
func (e *Engine) Resume(context.Context, reprise.Ref, Choice) (*Summary, error) {
	return nil, errNotYet
}

// Preview tells what Resume would do.
func (e *Engine) Preview(context.Context, reprise.Ref, Choice) (*Preview, error) {
	return nil, errNotYet
}

// Answer records answers.
func (e *Engine) Answer(context.Context, reprise.Ref, map[string]string) error { return errNotYet }
