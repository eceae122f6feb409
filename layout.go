package reprise

import "io/fs"

// Layout reads and writes one on-disk convention.
//
// Find is cheap: it looks at names and stats and reads no more than it must to
// tell a run of this convention from something that only looks like one. Load
// reads one run wholly and is tolerant: damage becomes Findings, the readable
// part is returned. Errors are for what is wrong with us or with the file
// system as a whole, never for what stands in a user's file.
//
// Neither changes anything, reads a clock, or looks outside fsys.
type Layout interface {
	Name() string
	Find(fsys fs.FS) ([]Ref, error)
	Load(fsys fs.FS, ref Ref) (*Run, error)
	Recorder
}

// Ranker is implemented by layouts whose runs are best ordered by looking at
// all of them together. Rank sorts in place, the run to resume first; it
// changes nothing else.
type Ranker interface {
	Rank(runs []*Run, o Observed)
}
