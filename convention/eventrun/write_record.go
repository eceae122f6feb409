package eventrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Recorder = Layout{}

// Record implements reprise.Recorder: every event adds one or more lines to our own log,
// `events/reprise/`. Except for the graph of a changed workflow file, which is replaced,
// no other file is touched: the log is append-only with one writer per actor's folder,
// and the state files next to it are caches kept by their own writer.
//
// The latest event of a task decides its status, so a line must be later than what it
// follows. If the event's time is not, because another writer's clock was ahead or both
// fall into the same instant, the line gets the first instant after that, with the
// event's own time in its details.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	rec := &recording{fsys: fsys, changes: ledger.NewChanges(fsys), run: r, ev: ev, dir: r.Path, id: eventID(ev)}
	if err := rec.take(); err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	edits, err := rec.changes.Edits()
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, nil
}

// recording is one event being written to the files.
type recording struct {
	fsys    fs.FS
	changes *ledger.Changes
	run     *reprise.Run
	ev      reprise.Event
	dir     string
	id      string
}

// take makes the changes for the event; none if the files already reflect it.
func (rec *recording) take() error {
	begins := rec.ev.Kind == reprise.RunStarted
	switch {
	case rec.ev.At.IsZero():
		return errors.New("the event has no time")
	case rec.dir == "" && begins && plainRunID(rec.run.ID):
		rec.dir = path.Join(memoryDir, "runs", rec.run.ID)
	case rec.dir == "" && begins:
		return fmt.Errorf("%q cannot be the name of a run", doc.Clip(rec.run.ID, 60))
	case rec.dir == "":
		return fmt.Errorf("run %q is not on disk", doc.Clip(rec.run.ID, 60))
	case rec.ev.Kind == reprise.RunRevised:
		return rec.revise()
	}
	hour := hourOf(rec.dir, rec.ev.At)
	last, full, err := ownLogs(rec.fsys, rec.dir, hour)
	if err != nil {
		return err
	}
	own := ownName(hour, last)
	for _, name := range append(full, own) {
		if holds(doc.NewReader(rec.fsys).Open(name).Data, rec.id) {
			return nil
		}
	}
	var lines []line
	if begins {
		lines, err = rec.begin()
	} else {
		lines, err = rec.lines()
	}
	if err != nil {
		return err
	}
	rec.append(own, lines)
	return nil
}

// lines returns what to add; nothing if the files already reflect it.
func (rec *recording) lines() ([]line, error) {
	switch ev := &rec.ev; ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset:
		if s := rec.run.Step(ev.Step); s != nil {
			return rec.task(s), nil
		}
		return rec.unit()
	case reprise.QuestionAsked:
		return rec.asked(), nil
	case reprise.QuestionAnswered:
		return rec.answered()
	case reprise.AnswerApplied, reprise.QuestionSkipped:
		return rec.closed()
	case reprise.PhaseEnded:
		return rec.phase()
	case reprise.RunResumed:
		return []line{rec.line("session-resumed", rec.about("continuation_point", ev.Text))}, nil
	case reprise.RunEnded:
		return rec.ended()
	case reprise.RunStopped:
		return rec.stopped()
	}
	return nil, ledger.Cannot("an event of this kind is unknown here")
}

// task returns the line about a task of the run.
func (rec *recording) task(s *reprise.Step) []line {
	ev := &rec.ev
	last := deciding(s)
	is := func(st reprise.Status) bool { return last != nil && s.Status == st }
	// A finished task waits for verification: another role, other words.
	verifying := s.Status == reprise.InProgress && s.Role == "verifier"
	word, key, told := "", "reason", false
	switch ev.Kind {
	case reprise.StepStarted:
		word, key = "task-started", "summary"
		told = is(reprise.InProgress) && !verifying && s.Attempts >= ev.Attempt
		if verifying && (ev.Actor == "" || doc.Fold(ev.Actor) == "verifier") {
			word = "task-verification-started"
			told = last != nil && foldWord(last.Word) == "task verification started"
		}
	case reprise.StepFinished:
		word, key = "task-completed", "summary"
		told = is(reprise.Done)
		switch implemented := doc.Fold(ev.Outcome) == "implemented"; {
		case verifying && implemented:
			told = true // the maker of the task already wrote it
		case verifying:
			word = "task-verified"
		case implemented:
			word = "task-implemented"
		}
	case reprise.StepFailed:
		word = "task-failed"
		told = is(reprise.Failed) && s.Attempts >= ev.Attempt
		if verifying {
			word = "task-verification-failed"
		}
	case reprise.StepBlocked:
		word, key = "task-blocked", "blocker_description"
		told = is(reprise.Blocked)
	case reprise.StepSkipped:
		word = "task-skipped"
		told = is(reprise.Skipped)
	case reprise.StepReset:
		word = "task-reset"
		told = s.Status == reprise.Pending
	}
	if told {
		return nil
	}
	l := line{word: word, task: s.ID, at: ev.At, details: rec.about(key, ev.Text)}
	if last != nil {
		l.at = after(ev.At, last.At)
	}
	return []line{l}
}

// deciding returns the claim of the events, if that decides the status of a step.
func deciding(s *reprise.Step) *reprise.Claim {
	for i := range s.Claims {
		if s.Claims[i].Won && s.Claims[i].Ledger == eventLedger {
			return &s.Claims[i]
		}
	}
	return nil
}

// unit returns the line about a workflow step that is not a task: making a document, the
// clean-up, the consolidation. What it leaves determines the run's state; the line says
// when.
func (rec *recording) unit() ([]line, error) {
	ev := &rec.ev
	document, known := false, true
	switch ev.Step {
	case "prd", "plan", "task-graph", "constitution":
		document = true
	case "cleanup", "pr-prep", "consolidation":
	default:
		known = false
	}
	if !known {
		return nil, ledger.Cannot("%q is neither a task nor a step of this run", doc.Clip(ev.Step, 60))
	}
	word := ""
	details := rec.about("summary", ev.Text)
	switch ev.Kind {
	case reprise.StepStarted:
		word = ev.Step + "-started"
	case reprise.StepFinished:
		word = ev.Step + "-completed"
	case reprise.StepFailed:
		details = append(splice.Object{{Key: "context", Value: ev.Step}}, rec.about("error", ev.Text)...)
		return []line{rec.line("execution-error", details)}, nil
	default:
		return nil, ledger.Cannot("only tasks can be that, and %s is none", ev.Step)
	}
	if document {
		// "task-graph-…" would read as a task event.
		word = strings.Replace(strings.Replace(word, ev.Step, "artifact", 1), "completed", "created", 1)
		details = append(splice.Object{{Key: "artifact_type", Value: ev.Step}}, details...)
	}
	return []line{rec.line(word, details)}, nil
}

// phase moves the run to the phase after the one that ended.
func (rec *recording) phase() ([]line, error) {
	name := cmp.Or(rec.ev.Phase, rec.run.Phase)
	n, no := numberOf(name)
	switch {
	case n == nil:
		return nil, ledger.Cannot("%q is not a phase of this workflow", doc.Clip(name, 60))
	case n[no].stage == consolidation:
		return []line{rec.line("consolidation-completed", rec.about("summary", rec.ev.Text))}, nil
	}
	l := rec.line("phase-transition", rec.about("notes", rec.ev.Text))
	l.top = splice.Object{{Key: "from_phase", Value: no}, {Key: "to_phase", Value: no + 1}, {Key: "to_phase_name", Value: n[no+1].name}}
	return []line{l}, nil
}

// numberOf finds a phase by its label ("2 execution"), number or name.
func numberOf(label string) (numbering, int) {
	number, name, _ := strings.Cut(strings.TrimSpace(label), " ")
	if nums := doc.Numbers(number); len(nums) != 1 || strings.Trim(number, "0123456789") != "" {
		number, name = "", label
	}
	for _, n := range []numbering{seedNumbers, unifiedNumbers, stateNumbers} {
		for i := range n {
			same := name != "" && doc.Fold(name) == n[i].name
			if number == "" && same || number == fmt.Sprint(i) && (same || name == "") {
				return n, i
			}
		}
	}
	return nil, 0
}

// stopped ends a run with open work; a complete run has none.
func (rec *recording) stopped() ([]line, error) {
	switch rec.run.State {
	case reprise.Stopped:
		return nil, nil
	case reprise.Complete:
		return nil, ledger.Cannot("the run is complete")
	}
	return []line{rec.line("run-cancelled", rec.about("reason", rec.ev.Text))}, nil
}

// ended ends a run. It is completed only if every task is closed: otherwise the line
// would contradict the tasks' own events.
func (rec *recording) ended() ([]line, error) {
	ev, r := &rec.ev, rec.run
	p := r.Progress()
	switch outcome := doc.Fold(ev.Outcome); {
	case outcome == "aborted", outcome == "cancelled", outcome == "canceled", outcome == "rejected", outcome == "stopped":
		return rec.stopped()
	case r.State == reprise.Complete:
		return nil, nil
	case outcome == "failed", outcome == "failure":
		return []line{rec.line("run-failed", rec.about("reason", ev.Text))}, nil
	case r.State == reprise.Unreadable:
		return nil, fmt.Errorf("the run cannot be read: %s", r.Reason)
	case p.Total == 0:
		return nil, ledger.Cannot("no task is on record")
	case p.Done < p.Total:
		return nil, ledger.Cannot("%s of %d not closed", counted(p.Total-p.Done, "task"), p.Total)
	}
	counts := splice.Object{{Key: "total_tasks", Value: p.Total}, {Key: "tasks_completed", Value: p.Done}}
	return []line{rec.line("run-completed", append(counts, rec.about("summary", ev.Text)...))}, nil
}

// about returns the details that every line may have, and the text under its key.
func (rec *recording) about(key, text string) splice.Object {
	ev := &rec.ev
	var out splice.Object
	add := func(key string, value any, set bool) {
		if set {
			out = append(out, splice.Member{Key: key, Value: value})
		}
	}
	add("attempt", ev.Attempt, ev.Attempt > 0)
	add("role", plain(ev.Actor, 100), ev.Actor != "")
	add("agent", plain(ev.Agent, 200), ev.Agent != "")
	add("commit", plain(ev.Commit, 100), ev.Commit != "")
	add(key, plain(text, maxText), text != "")
	add("outcome", plain(ev.Outcome, 100), ev.Outcome != "" && ev.Kind != reprise.RunEnded)
	return out
}

// maxText limits the text of one event. A log line has the gist; a transcript belongs in
// a file.
const maxText = 8000

// plain makes text that JSON can hold unchanged, of limited length.
func plain(s string, limit int) string {
	return doc.Clip(strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd")), limit)
}

// after returns t, or the first instant after last if t is not later.
func after(t, last time.Time) time.Time {
	if t.After(last) {
		return t
	}
	return last.Add(1)
}

// begun returns the latest recorded time in the run, for lines that must follow
// everything. A file's date is not a recorded time.
func (rec *recording) begun() time.Time {
	var last time.Time
	// A run advanced in memory does not know the lines of our log.
	if at := rec.run.LastActivitySource; at.Line > 0 || at.File == ownFolder(rec.dir) {
		last = rec.run.LastActivity
	}
	for i := range rec.run.Steps {
		if c := deciding(&rec.run.Steps[i]); c != nil && c.At.After(last) {
			last = c.At
		}
	}
	return last
}
