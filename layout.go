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

// Tracker is implemented by layouts whose runs can be moved on in memory: for
// steps that take less time than reading the run again would.
type Tracker interface {
	// Track prepares a run for that, in a time that grows with its size. r must
	// be as Load gave it from these files.
	Track(fsys fs.FS, r *Run) Track
}

// Definer is implemented by layouts that keep what a run is made of in a file of its own.
type Definer interface {
	// Defined gives the file and what stands in it, by the text of the event that began
	// or last revised the run. ok is false where that is for others to change.
	Defined(r Ref, text string) (file string, content []byte, ok bool)
}

// Track is a run that is moved on in memory, and what its files are to be told
// of it.
type Track interface {
	// Advance moves the run on by an event, in a time that does not grow with
	// it: Next, progress, status and claims of its steps are what Load would
	// give once the event is recorded; only the lines of sources are not known
	// yet. It reports false, and has changed nothing, where only the files can
	// tell what follows.
	Advance(ev Event) bool
	// Edits gives the changes that tell the files of all the events since the
	// beginning or the last call of Told, as the files are now.
	Edits(fsys fs.FS) ([]Edit, error)
	// Told says that the files tell them.
	Told()
}
