//go:build !unix

package journal

import (
	"context"

	"reprise"
	"reprise/internal/durable"
)

// rebuildKept is nothing where no run is worked on with worlds.
func rebuildKept(context.Context, *durable.Store, reprise.Ref) (*Rebuilt, error) {
	return nil, nil
}
