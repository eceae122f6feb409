package project

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// tellForgotten reports an open run that has no journal where an agent's output shows that one
// was lost: what was begun and done is unknown then, and only a person can say that it goes on.
func (h *home) tellForgotten(r *reprise.Run) {
	if !r.State.Open() || len(r.Asks) > 0 || slices.ContainsFunc(h.names, func(name string) bool { return journal.Names(name, r.Ref) }) {
		return
	}
	output := outputOf(h.dir, r)
	if output == "" {
		return
	}
	r.Report(reprise.Finding{
		Code: reprise.CodeJournalLost, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: output},
		Message: "an agent worked on it here, and the journal that says what was begun and done is gone",
		Hint:    "look at what is there; `reprise resume " + reprise.Pasted(r.ID, "RUN") + " --option continue` goes on by its files alone",
	})
}

// outputOf is a file with what an agent at work on a run printed here, "" if there is none.
func outputOf(dir string, r *reprise.Run) string {
	in := path.Join(durable.StateDir, "logs")
	logs, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(in))) // without any there is nothing to tell
	at := slices.IndexFunc(logs, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), r.LogPrefix()) })
	if at < 0 {
		return ""
	}
	return path.Join(in, logs[at].Name())
}
