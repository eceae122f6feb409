package eventrun

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

var _ reprise.Tracker = Layout{}

// Track implements reprise.Tracker for a run in execution with nothing in doubt and
// nothing but its events to determine its state. Nothing can be said about any other run
// without its files.
func (Layout) Track(fsys fs.FS, r *reprise.Run) reprise.Track {
	t := &track{m: load(fsys, r.Ref), run: r}
	if !t.plain() {
		return t
	}
	t.known = true
	t.style = (&recording{fsys: fsys, dir: r.Path}).style()
	// Events recorded along the way are not in a file yet, only in a folder.
	t.m.files = append(t.m.files, ownFolder(r.Path))
	t.m.log.enter(int32(len(t.m.files)-1), ownFolder(r.Path))
	for i, s := range t.m.steps {
		s.place = i
		for _, n := range s.needs {
			if n != nil {
				n.dependents = append(n.dependents, s)
			}
		}
	}
	return t
}

// track advances the model of a run in memory, line by line as its log would be read,
// together with the given run.
type track struct {
	m     *model
	run   *reprise.Run
	style style
	known bool // something can be said about the run
	lines []told
}

// told is what the files still need for one event.
type told struct {
	ev   reprise.Event
	line line
}

// plain reports whether the run follows its graph alone, and matches its files.
func (t *track) plain() bool {
	r, m := t.run, t.m
	if r.State != reprise.Interrupted || len(r.PendingQuestions()) > 0 || r.Worst() >= reprise.Warning || len(r.Next) == 0 ||
		len(m.states) > 0 || m.run.Phase != r.Phase || len(m.steps) != len(r.Steps) || len(m.run.Next) != len(r.Next) {
		return false
	}
	for i, s := range m.steps {
		if s.ID != r.Steps[i].ID || s.Status != r.Steps[i].Status || isBootstrap(s.ID) || isDevelopment(s.ID) || inTrouble(s.Status) {
			return false
		}
	}
	for _, u := range r.Next {
		if u.Role == "verifier" || m.step(u.ID) == nil {
			return false
		}
	}
	return true
}

// Advance implements reprise.Track for starting, ending and skipping a task, for one that
// was cut off and is open again, and for resuming the run. A failure, a block, or the end
// of the last task changes more than the task.
func (t *track) Advance(ev reprise.Event) bool {
	if !t.known || ev.At.IsZero() {
		return false
	}
	s := t.m.byID[ev.Step]
	if ev.Kind != reprise.RunResumed && !t.moves(s, ev) {
		return false
	}
	rec := &recording{run: t.run, ev: ev, dir: t.run.Path, id: eventID(ev)}
	lines, err := rec.lines()
	if err != nil || len(lines) != 1 {
		return false
	}
	raw, err := json.Marshal(rec.record(lines[0], rec.id, t.style))
	if err != nil || !t.m.log.event(raw, 0, 0) {
		return false
	}
	t.lines = append(t.lines, told{ev, lines[0]})
	t.run.Active(t.m.log.last.at.time(), t.m.sourceOf(t.m.log.last))
	if ev.Kind != reprise.RunResumed {
		t.move(s)
	}
	return true
}

// moves reports whether an event changes only its task and what waits for it.
func (t *track) moves(s *step, ev reprise.Event) bool {
	if s == nil || s.node == nil || s.Role == "verifier" || ev.Outcome != "" && ev.Kind != reprise.StepReset || t.unit(s) < 0 {
		return false
	}
	if slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Ledger != eventLedger && c.Status != reprise.Pending }) {
		return false // the graph may contradict the event
	}
	switch ev.Kind {
	case reprise.StepStarted:
		return s.Status == reprise.Pending
	case reprise.StepFinished, reprise.StepSkipped:
		return t.m.closed+1 < len(t.m.steps)
	case reprise.StepReset:
		return s.Status == reprise.InProgress
	}
	return false
}

// unit finds a step in Next. Units in progress come first.
func (t *track) unit(s *step) int {
	return slices.IndexFunc(t.run.Next, func(u reprise.Unit) bool { return u.ID == s.ID })
}

// move updates a step to its latest event, and Next with it.
func (t *track) move(s *step) {
	at := t.unit(s)
	if at == 0 {
		t.run.Next = t.run.Next[1:]
	} else {
		t.run.Next = slices.Delete(t.run.Next, at, at+1)
	}
	s.events = t.m.log.tasks[s.ID]
	s.Claims, s.Commits, s.Files = nil, nil, nil
	t.m.judge(s)
	to := &t.run.Steps[s.place]
	to.Status, to.Attempts, to.Role, to.Claims, to.Commits, to.Files = s.Status, s.Attempts, s.Role, s.Claims, s.Commits, s.Files
	for _, next := range append([]*step{s}, s.dependents...) {
		if s.Status.Closed() == (next == s) || next.Status.Closed() || !next.ready() {
			continue
		}
		group, u := t.m.offer(next)
		to, _ := slices.BinarySearchFunc(t.run.Next, u, func(have, _ reprise.Unit) int {
			o := t.m.byID[have.ID]
			if g := o.group(); g != group {
				return g - group
			}
			return o.place - next.place
		})
		t.run.Next = slices.Insert(t.run.Next, to, u)
	}
	if len(t.run.Next) > 0 {
		t.run.Reason = t.m.standing(t.run.Next[0].ID)
	}
}

// Edits implements reprise.Track: an addition to our log, and new files if it is full.
func (t *track) Edits(fsys fs.FS) ([]reprise.Edit, error) {
	changes := ledger.NewChanges(fsys)
	why := "record " + counted(len(t.lines), "event")
	hour, number, size := "", 0, 0
	var there map[string]bool
	for _, tl := range t.lines {
		rec := &recording{ev: tl.ev}
		if h := hourOf(t.run.Path, tl.ev.At); h != hour || size >= maxOwn {
			last, _, err := ownLogs(fsys, t.run.Path, h)
			if err != nil {
				return nil, fmt.Errorf("record %s: %w", tl.ev.Kind, err)
			}
			if h == hour {
				last = max(last, number+1)
			}
			hour, number = h, last
			data := doc.NewReader(fsys).Open(ownName(hour, number)).Data
			size, there = len(data), idsIn(data)
		}
		if id := eventID(tl.ev); !there[id] {
			size = changes.AppendRecord(ownName(hour, number), rec.record(tl.line, id, t.style), why)
		}
	}
	return changes.Edits()
}

// Told implements reprise.Track.
func (t *track) Told() { t.lines = t.lines[:0] }
