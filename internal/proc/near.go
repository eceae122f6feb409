package proc

import "time"

// Worker is a process that works in a folder.
type Worker struct {
	Process        // with the whole of its command line, up to 16 KiB
	Dir     string // its working folder
	Started time.Time
	Parent  int
	// Detached tells that it leads a session of its own and has no terminal, as
	// the commands do that agents start.
	Detached bool
	// Above tells that it is this process, or one that this process was started
	// from.
	Above bool
}

// Workers is what is known of who works in some folders.
type Workers struct {
	Found []Worker
	// Hidden are processes whose working folder may not be seen.
	Hidden []Process
	// Booted is when the machine was started, zero if unknown.
	Booted time.Time
	// Blind says why there may be others unseen; "" if every process was seen.
	Blind string
}

// Lock is what is known of a lock on a file.
type Lock struct {
	Held  bool
	PID   int    // of the holder, 0 if it is not known
	Blind string // why it may be held unseen; "" if that is certain
}
