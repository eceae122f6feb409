package reprise

import "io/fs"

// Layout reads and writes one on-disk convention.
//
// Find is cheap: it looks at names and file info, and reads only what it needs to tell a
// run of this convention from a look-alike. Load reads one run completely and tolerantly:
// damage becomes Findings, and the readable part is returned. Errors are for our own
// faults or those of the file system as a whole, never for the content of a user's file.
//
// Neither changes anything, reads a clock, or looks outside fsys.
type Layout interface {
	Name() string
	Find(fsys fs.FS) ([]Ref, error)
	Load(fsys fs.FS, ref Ref) (*Run, error)
	Recorder
}

// Tracker is implemented by layouts whose runs can be advanced in memory, for steps that
// take less time than reading the run again.
type Tracker interface {
	// Track prepares a run for that, in time proportional to its size. r must be as Load
	// returned it from these files.
	Track(fsys fs.FS, r *Run) Track
}

// Definer is implemented by layouts that keep a run's definition in a file of its own.
type Definer interface {
	// Defined returns the file and its content, from the text of the event that began or
	// last revised the run. ok is false if others may change it.
	Defined(r Ref, text string) (file string, content []byte, ok bool)
}

// Track is a run that is advanced in memory, with the edits its files still need.
type Track interface {
	// Advance applies an event, in time independent of the run's size: Next, progress,
	// and the status and claims of steps become what Load would return once the event is
	// recorded, except that the line numbers of sources are not known yet. It returns
	// false, and changes nothing, if only the files can tell what follows.
	Advance(ev Event) bool
	// Edits returns the edits that bring the files, as they are now, up to date with all
	// events since the beginning or the last call of Told.
	Edits(fsys fs.FS) ([]Edit, error)
	// Told says that the files are up to date.
	Told()
}
