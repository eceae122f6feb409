package autoclaude

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// itemStatus gives the meaning of an item's status: the spellings that the
// program's own repair step accepts, and no others. That step turns a word it
// does not know into pending; here it is Unknown, which is not done either but
// is not redone in silence. A status that is absent is pending, as every
// version of the program reads it.
func itemStatus(n *doc.Node) (status reprise.Status, word string, known bool) {
	if n.IsNull() {
		return reprise.Pending, "", true
	}
	if n.Kind == doc.List || n.Kind == doc.Map {
		n.Str() // reports the type
		return reprise.Unknown, "", true
	}
	word = n.Str()
	if status := meaning(word); status != 0 {
		return status, word, true
	}
	return reprise.Unknown, word, false
}

// meaning returns the status a word stands for, or 0.
func meaning(word string) reprise.Status {
	switch doc.Fold(word) {
	case "pending", "not started", "todo", "to do", "backlog", "queued":
		return reprise.Pending
	case "in progress", "inprogress", "working", "running", "active", "wip":
		return reprise.InProgress
	case "completed", "complete", "done", "finished", "success", "completed successfully":
		return reprise.Done
	case "blocked", "stuck", "waiting":
		return reprise.Blocked
	case "failed", "error", "errored":
		return reprise.Failed
	}
	return 0
}

// closing reports whether a plan's status is a decision to end the spec. All
// other values of it lag behind the items and decide nothing.
func closing(word string) bool {
	switch doc.Fold(word) {
	case "done", "completed", "complete", "pr created":
		return true
	}
	return false
}

// qaState is how far QA has come, ordered by progress.
type qaState uint8

const (
	qaNone     qaState = iota // no sign-off, or one that only waits for QA
	qaRejected                // found wanting, to be fixed
	qaFixed                   // fixed, to be reviewed again
	qaOdd                     // a word without a meaning: a person decides
	qaApproved
)

func qaMeaning(word string) qaState {
	switch doc.Fold(word) {
	case "", "pending", "not started", "in review", "in progress":
		return qaNone
	case "rejected", "failed":
		return qaRejected
	case "fixes applied":
		return qaFixed
	case "approved", "passed":
		return qaApproved
	}
	return qaOdd
}

// oneLine brings a text to a short single line for titles and messages.
func oneLine(s string, n int) string {
	return doc.Clip(strings.Join(strings.Fields(s), " "), n)
}
