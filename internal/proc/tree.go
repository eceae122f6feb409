package proc

import "os"

// Exit is how a process ended: with a code, or by a signal.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Spec is a command to start as a Tree.
type Spec struct {
	Path  string // of the program
	Argv  []string
	Env   []string
	Files []*os.File // descriptors 0, 1, 2, …; nothing else is passed on
}
