package eventrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

var _ reprise.Tracker = Layout{}

// Track implements reprise.Tracker for a run that stands at its execution with
// nothing in doubt and nothing beside its events that says how it is. Of any other
// run nothing can be told without its files.
func (Layout) Track(fsys fs.FS, r *reprise.Run) reprise.Track {
	l := &loading{r: doc.NewReader(fsys), dir: r.Path}
	t := &track{run: r, fsys: fsys}
	t.known = t.plain() && !slices.ContainsFunc(ledgerNames, func(name string) bool { return l.find(name) != "" })
	return t
}

// track is a run that is moved on in memory.
type track struct {
	run     *reprise.Run
	fsys    fs.FS
	style   style          // of its events; zero until it is needed
	known   bool           // something can be told of it
	indexed bool           // what follows is filled
	place   map[string]int // of a step in the run; nil where nothing can be told of them
	// dependents are the steps that wait for one, and left counts the open
	// ones each waits for.
	dependents [][]int32
	left       []int32
	started    []bool // by an event of ours
	done       int
	begun      int // units at the front of Next that are being worked on
	lines      []told
}

// told is what the files are to be told of one event.
type told struct {
	ev   reprise.Event
	line line
}

// plain reports whether the run is worked off by its graph alone.
func (t *track) plain() bool {
	r := t.run
	if r.State != reprise.Interrupted || len(r.PendingQuestions()) > 0 || r.Worst() >= reprise.Warning || len(r.Next) == 0 {
		return false
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if isBootstrap(s.ID) || isDevelopment(s.ID) || s.Status == reprise.Blocked || s.Status == reprise.Unknown || s.Status == reprise.Failed {
			return false
		}
	}
	return true
}

func (t *track) index() {
	t.indexed = true
	steps := t.run.Steps
	place := make(map[string]int, len(steps))
	for i := range steps {
		place[steps[i].ID] = i
	}
	t.dependents, t.left, t.started = make([][]int32, len(steps)), make([]int32, len(steps)), make([]bool, len(steps))
	for i := range steps {
		if steps[i].Status.Closed() {
			t.done++
		}
		for _, need := range steps[i].Needs {
			n, known := place[need]
			if !known {
				return
			}
			if !steps[n].Status.Closed() {
				t.dependents[n] = append(t.dependents[n], int32(i))
				t.left[i]++
			}
		}
	}
	for _, u := range t.run.Next {
		i, known := place[u.ID]
		if !known || u.Role == "verifier" {
			return
		}
		if steps[i].Status == reprise.InProgress {
			t.begun++
		}
	}
	t.place = place
}

// Advance implements reprise.Track for the start, the end and the skipping of a
// task, for one that was cut off and is open again, and for going on with the run.
// What fails, is blocked or closes the last task changes more than the task.
func (t *track) Advance(ev reprise.Event) bool {
	if ev.Kind == reprise.RunResumed {
		return t.resume(ev)
	}
	if t.known && !t.indexed {
		t.index()
	}
	i, known := t.place[ev.Step]
	if !known || ev.At.IsZero() || ev.Outcome != "" && ev.Kind != reprise.StepReset {
		return false
	}
	s := &t.run.Steps[i]
	at := t.unit(s.ID)
	if at < 0 || s.Role == "verifier" || !strings.HasPrefix(path.Base(s.Source.File), graphStem) {
		return false // one that only events or a contract name is found where the last of them is
	}
	switch ev.Kind {
	case reprise.StepStarted:
		if s.Attempts > 0 && !t.started[i] || s.Status != reprise.Pending {
			return false
		}
	case reprise.StepFinished, reprise.StepSkipped:
		if t.done+1 == len(t.run.Steps) {
			return false
		}
	case reprise.StepReset:
		if !leftNothing(s) {
			return false
		}
	default:
		return false
	}
	rec := &recording{run: t.run, ev: ev, dir: t.run.Path}
	lines := rec.task(s)
	if len(lines) != 1 {
		return false
	}
	t.lines = append(t.lines, told{ev, lines[0]})
	t.claim(s, ev, lines[0])
	switch ev.Kind {
	case reprise.StepStarted:
		s.Attempts++
		t.started[i] = true
		t.begin(s, at)
	case reprise.StepReset:
		t.take(at)
		t.offer(i)
	default:
		t.take(at)
		t.close(i)
	}
	t.run.Active(lines[0].at, reprise.Source{File: s.Claims[0].Source.File})
	t.explain()
	return true
}

// resume tells that somebody goes on with the run, which changes nothing in it.
func (t *track) resume(ev reprise.Event) bool {
	if !t.known || ev.At.IsZero() {
		return false
	}
	rec := &recording{run: t.run, ev: ev, dir: t.run.Path}
	lines, err := rec.lines()
	if err != nil || len(lines) != 1 {
		return false
	}
	t.lines = append(t.lines, told{ev, lines[0]})
	t.run.Active(lines[0].at, reprise.Source{File: ownFolder(t.run.Path)})
	return true
}

// unit finds a step in Next. What is worked on stands at its front.
func (t *track) unit(id string) int {
	return slices.IndexFunc(t.run.Next, func(u reprise.Unit) bool { return u.ID == id })
}

// claim lets the event decide about its step.
func (t *track) claim(s *reprise.Step, ev reprise.Event, l line) {
	switch ev.Kind {
	case reprise.StepStarted:
		s.Status = reprise.InProgress
	case reprise.StepFinished:
		s.Status = reprise.Done
	case reprise.StepSkipped:
		s.Status = reprise.Skipped
	case reprise.StepReset:
		s.Status = reprise.Pending
	}
	if hash := strings.ToLower(ev.Commit); ev.Kind == reprise.StepFinished && isHash(hash) && !slices.Contains(s.Commits, hash) {
		s.Commits = append(s.Commits, hash)
		slices.Sort(s.Commits)
	}
	if t.style.key == "" {
		t.style = (&recording{reader: doc.NewReader(t.fsys), dir: t.run.Path}).style()
	}
	c := reprise.Claim{Ledger: "events", Status: s.Status, Word: t.style.spell(l.word), Source: reprise.Source{File: ownFolder(t.run.Path)}, At: l.at.UTC(), Won: true}
	if len(s.Claims) > 0 && s.Claims[0].Ledger == "events" {
		s.Claims[0] = c
		return
	}
	for i := range s.Claims {
		s.Claims[i].Won = false
	}
	s.Claims = append([]reprise.Claim{c}, s.Claims...)
}

// begin puts the unit of a step that was started among the others that are.
func (t *track) begin(s *reprise.Step, at int) {
	u := t.run.Next[at]
	u.Reason = startedWords(s.Claims[0].Source)
	to, _ := slices.BinarySearchFunc(t.run.Next[:t.begun], t.place[s.ID], func(v reprise.Unit, i int) int { return t.place[v.ID] - i })
	copy(t.run.Next[to+1:at+1], t.run.Next[to:at])
	t.run.Next[to] = u
	t.begun++
}

// leftNothing reports whether a step is being worked on and its files tell nothing
// else of it: then taking it back leaves a step that was never begun.
func leftNothing(s *reprise.Step) bool {
	if s.Status != reprise.InProgress || len(s.Commits) > 0 || len(s.Files) > 0 {
		return false
	}
	return !slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return !c.Won && c.Status != reprise.Pending })
}

// take takes a unit out.
func (t *track) take(at int) {
	if at < t.begun {
		t.begun--
	}
	if at == 0 {
		t.run.Next = t.run.Next[1:]
	} else {
		t.run.Next = slices.Delete(t.run.Next, at, at+1)
	}
}

// close puts in what waited for a step.
func (t *track) close(i int) {
	t.done++
	for _, d := range t.dependents[i] {
		if t.left[d]--; t.left[d] == 0 && t.run.Steps[d].Status == reprise.Pending {
			t.offer(int(d))
		}
	}
}

// offer puts the unit of a step that may be started in its place.
func (t *track) offer(i int) {
	s := &t.run.Steps[i]
	u := reprise.Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: readyWords(s)}
	if u.Path == "" {
		u.Path = t.run.Path
	}
	to, _ := slices.BinarySearchFunc(t.run.Next[t.begun:], i, func(v reprise.Unit, i int) int { return t.place[v.ID] - i })
	t.run.Next = slices.Insert(t.run.Next, t.begun+to, u)
}

// explain says where the run stands.
func (t *track) explain() {
	if len(t.run.Next) == 0 {
		return
	}
	p := fmt.Sprintf("%d of %s done", t.done, counted(len(t.run.Steps), "task"))
	if t.begun > 0 {
		t.run.Reason = p + ", " + t.run.Next[0].ID + " was being worked on"
		return
	}
	t.run.Reason = p + ", " + t.run.Next[0].ID + " is next"
}

// Edits implements reprise.Track: an addition to our log, and new files where it
// is full.
func (t *track) Edits(fsys fs.FS) ([]reprise.Edit, error) {
	if len(t.lines) == 0 {
		return nil, nil
	}
	var edits []reprise.Edit
	rec := &recording{reader: doc.NewReader(fsys), run: t.run, dir: t.run.Path}
	st := rec.style()
	var next []byte
	var there map[string]bool
	added := 0
	flush := func() error {
		if added == 0 {
			return nil
		}
		e, err := rec.edit(next, "record "+counted(added, "event"))
		edits, added = append(edits, e), 0
		return err
	}
	for i, tl := range t.lines {
		rec.ev, rec.id = tl.ev, eventID(tl.ev)
		if i == 0 || len(next) >= maxOwn || !strings.HasPrefix(rec.own, rec.hour()) {
			if err := flush(); err != nil {
				return nil, err
			}
			if err := rec.openBehind(edits); err != nil {
				return nil, err
			}
			next, there = slices.Clone(rec.data), idsIn(rec.data)
		}
		if there[rec.id] {
			continue
		}
		var err error
		if next, err = appendLine(next, rec.object(tl.line, rec.id, st)); err != nil {
			return nil, fmt.Errorf("record %s: %s: %w", tl.ev.Kind, rec.own, err)
		}
		added++
	}
	return edits, flush()
}

// Told implements reprise.Track.
func (t *track) Told() { t.lines = t.lines[:0] }
