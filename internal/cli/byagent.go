package cli

import (
	"fmt"
	"os"
)

// byAgentError is returned where an agent of a run, or something that it started,
// wants to decide in a person's place.
type byAgentError struct{ run, step string }

// Error implements error.
func (e *byAgentError) Error() string {
	return fmt.Sprintf("this is called from within %s of %s: what becomes of a run is not for its agents to say", e.step, e.run)
}

// Hint says what an agent can do.
func (e *byAgentError) Hint() string {
	return "leave a question in the result to ask a person; status, check, log, brief and --dry-run are for everybody"
}

// isPerson refuses what changes a project where one of its own attempts calls it: it
// would pass for a person's word. Attempts may do in other projects what they like.
func (a *app) isPerson(f upkeepFlags) error {
	of := a.env("REPRISE_PROJECT")
	if of == "" || f.dry {
		return nil
	}
	root, _ := projectFolder(f.dir)
	if !sameFolder(root, of) {
		return nil
	}
	return &byAgentError{run: a.env("REPRISE_RUN"), step: a.env("REPRISE_STEP")}
}

// sameFolder reports whether two names are those of one folder, by whatever links. It
// does not where one of them is not there.
func sameFolder(a, b string) bool {
	at, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(at, other)
}
