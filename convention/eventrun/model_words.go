package eventrun

import (
	"bytes"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// kind is what an event means for the state of a run.
type kind uint8

const (
	kindOther kind = iota // activity that does not affect the state

	taskPending
	taskStarted
	taskImplemented // made, waiting for verification
	taskDone
	taskFailed
	taskBlocked
	taskSkipped
	taskUnknown // says something about a task that has no known meaning

	escalated
	escalationResolved

	phaseMoved
	runStarted
	runDone
	runFailed
	runCancelled
	cleanupDone
	prepDone
	reviewReady
	consolidationStarted
	consolidationDone
	gateShown
	gateAnswered
	bootGateShown
	bootGateAnswered
	depsPending
	depsSettled
	approvalGiven
	unifiedMarker // an event only the later version of the workflow writes

	kinds
)

func (k kind) aboutTask() bool { return k >= taskPending && k <= taskUnknown }

// status returns the status of a task after an event of this kind.
func (k kind) status() reprise.Status {
	switch k {
	case taskPending:
		return reprise.Pending
	case taskStarted, taskImplemented:
		return reprise.InProgress
	case taskDone:
		return reprise.Done
	case taskFailed:
		return reprise.Failed
	case taskBlocked:
		return reprise.Blocked
	case taskSkipped:
		return reprise.Skipped
	}
	return reprise.Unknown
}

// foldWord normalizes the spellings of an event type: task-started, task_started,
// TASK_STARTED and taskStarted are one word.
func foldWord(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return doc.Fold(b.String())
}

// kindOf returns the meaning of a folded word. The words come from all descriptions of
// the format, which contradict each other, and their plain variations.
func kindOf(word string) kind {
	switch word {
	case "phase transition", "phase started", "phase entered":
		return phaseMoved
	case "escalation", "escalation raised", "escalated", "task escalated":
		return escalated
	case "escalation resolved", "escalation closed":
		return escalationResolved
	case "run started", "run resumed", "session resumed", "session started":
		return runStarted
	case "run completed", "run complete", "run finished":
		return runDone
	case "run failed", "run failure":
		return runFailed
	case "run cancelled", "run canceled", "run aborted":
		return runCancelled
	case "cleanup completed", "cleanup complete":
		return cleanupDone
	case "pr prep completed", "pr prep complete", "pr checklist created":
		return prepDone
	case "ready for human review":
		return reviewReady
	case "consolidation started":
		return consolidationStarted
	case "consolidation completed", "consolidation complete", "stm archived":
		return consolidationDone
	case "development gate presented", "planning gate presented":
		return gateShown
	case "development gate response", "planning gate response":
		return gateAnswered
	case "bootstrap gate presented":
		return bootGateShown
	case "bootstrap gate response":
		return bootGateAnswered
	case "dependency installation pending":
		return depsPending
	case "dependency installation verified", "dependency check complete", "dependency check completed":
		return depsSettled
	case "phase gate passed", "artifact approved":
		return approvalGiven
	case "bootstrap plan created", "dependency check started", "dependency script generated",
		"unified execution started", "bootstrap phase complete", "development phase started":
		return unifiedMarker
	case "task graph created": // is about no particular task
		return kindOther
	case "recovery attempt":
		return taskStarted
	}
	if rest, ok := strings.CutPrefix(word, "task "); ok {
		return taskKind(rest)
	}
	return kindOther
}

// taskKind returns the meaning of what follows "task" in an event type, and of the status
// words of a task graph.
func taskKind(word string) kind {
	switch word {
	case "created", "ready", "pending", "queued", "todo", "not started", "reopened", "reset", "requeued", "unblocked":
		return taskPending
	case "claimed", "started", "in progress", "restarted", "resumed", "retried", "retry", "retry started", "assigned", "delegated":
		return taskStarted
	case "implemented", "verifying", "verification started", "awaiting verification":
		return taskImplemented
	case "completed", "complete", "verified", "done":
		return taskDone
	case "failed", "failure", "verification failed", "error":
		return taskFailed
	case "blocked":
		return taskBlocked
	case "skipped", "cancelled", "canceled":
		return taskSkipped
	case "progress", "updated", "update", "note", "heartbeat", "contract created":
		return kindOther
	}
	return taskUnknown
}

// word is an event type as written, with its meaning.
type word struct {
	text string
	kind kind
	// bare is the meaning if the event names a task: some writers omit the "task-"
	// ("completed").
	bare kind
	// claim marks claiming a task as opposed to starting it: a launch may have both.
	claim bool
	// back marks a reset task: what was made before is not enough.
	back bool
	// damaged marks a word from an incomplete line or file.
	damaged bool
}

func newWord(text string) *word {
	folded := foldWord(text)
	w := &word{text: text, kind: kindOf(folded), claim: strings.HasSuffix(folded, "claimed")}
	w.bare = w.kind
	switch strings.TrimPrefix(folded, "task ") {
	case "reopened", "reset", "requeued":
		w.back = true
	}
	switch folded {
	case "pending", "ready", "claimed", "started", "in progress", "implemented", "verifying", "verified", "verification failed",
		"failed", "blocked", "completed", "done":
		w.bare = taskKind(folded)
	}
	return w
}

// meaning returns the kind of an event of this type.
func (w *word) meaning(hasTask bool) kind {
	if hasTask {
		return w.bare
	}
	return w.kind
}

// doubted returns the word as read from a damaged file: it cannot finish anything, and
// the task it names stays unknown.
func (w *word) doubted() *word {
	weaker := func(k kind) kind {
		switch k {
		case taskDone, taskSkipped:
			return taskUnknown
		case runDone, runFailed, runCancelled, approvalGiven, gateAnswered, bootGateAnswered, depsSettled:
			return kindOther
		}
		return k
	}
	return &word{text: w.text, kind: weaker(w.kind), bare: weaker(w.bare), claim: w.claim, back: w.back, damaged: true}
}

// word returns the meaning of an event type, nil if it has none. If the event has several
// type keys, the first whose word has a meaning counts.
func (lr *logReader) word(types [][]byte) *word {
	var first *word
	for _, text := range types {
		if len(text) == 0 || len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		w := lr.words[string(text)]
		if w == nil {
			w = newWord(string(text))
			if len(lr.words) < 10_000 { // a hostile log may have a new word on every line
				lr.words[w.text] = w
			}
		}
		if first == nil || first.kind == kindOther && w.kind != kindOther {
			first = w
		}
	}
	if first != nil && lr.doubt {
		return first.doubted()
	}
	return first
}
