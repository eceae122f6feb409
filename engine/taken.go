package engine

import (
	"time"

	"reprise"
)

// Taken is a moment at which a run on worlds was taken up: what was finished since can be undone.
type Taken struct {
	ID  string // what names it: the run's journal and the record
	Ref reprise.Ref
	At  time.Time
	seq uint64
}
