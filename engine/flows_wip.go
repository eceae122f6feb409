//go:build wip

package engine

import (
	"reprise"
	"reprise/flow"
)

type flows struct {
	// Workflow finds the person's own workflow file that a run was started
	// from, by the path and hash its state names. The error tells why it
	// cannot be used: it is not there, or not the one that was trusted.
	Workflow func(file string, hash reprise.Hash) (*flow.Workflow, error)
}
