// Package playbooktest plays the engine in memory: a playbook, a layout and a
// scripted agent in, what came of it out. It dies where it is told to and goes
// on from what was on disk then, as the engine does.
package playtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
)

// Job is one attempt as the scripted agent sees it. Files is the project: it
// may be read and written.
type Job struct {
	reprise.Assignment
	Run     *reprise.Run
	Attempt int
	Files   fstest.MapFS
}

// Write writes a file of the project.
func (j Job) Write(name, text string) {
	j.Files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: conventiontest.Epoch}
}

// Read reads a file of the project, "" if there is none.
func (j Job) Read(name string) string {
	if f := j.Files[name]; f != nil {
		return string(f.Data)
	}
	return ""
}

// Player is how a run is played.
type Player struct {
	Layout reprise.Layout
	Book   reprise.Playbook
	// Goal is what is asked for; with a Ref the run is there already.
	Goal reprise.Goal
	Ref  reprise.Ref
	// Agent does the work of one attempt.
	Agent func(Job) reprise.Reply
	// Answer is the person; nil where no one answers.
	Answer func(reprise.Question) (string, bool)
	// Books are the playbooks of child runs, by kind.
	Books map[reprise.Kind]reprise.Playbook
	// Between, if set, is called before each turn: the world continues.
	Between func(turn int, files fstest.MapFS)
	// Kill is the instruction at which the process dies, counted from 1; zero
	// stands for never. It is started again and does not die a second time.
	Kill int
	// Stride makes EveryKill die at every so many instructions only; zero
	// stands for each.
	Stride   int
	Attempts int // failures of a step in a row; zero stands for 3
	Turns    int // zero stands for 300
}

// Result is what came of it.
type Result struct {
	Files    fstest.MapFS
	Run      *reprise.Run
	Decision reprise.Decision
	Ref      reprise.Ref
	// Events are those of the run's journal; Children those of child runs, by path.
	Events   []reprise.Event
	Children map[string][]reprise.Event
	Launches []string // what agents were started for: role, blank, step
	// Ticks counts the instructions at which it could have died.
	Ticks int
	// GaveUp is why it stopped without the run being over or waiting.
	GaveUp string
}

// Ends counts the accepted ends of a step: finished and not sent back.
func (r Result) Ends(step string) int {
	n := 0
	for _, ev := range r.Events {
		if ev.Kind == reprise.StepFinished && ev.Step == step && ev.Outcome != "rejected" && ev.Outcome != "failed" {
			n++
		}
	}
	return n
}

// Count counts events of a kind about a step; "" stands for any step.
func (r Result) Count(kind reprise.EventKind, step string) int {
	n := 0
	for _, ev := range r.Events {
		if ev.Kind == kind && (step == "" || ev.Step == step) {
			n++
		}
	}
	return n
}

// EveryKill plays it once through and then once for every instruction, dying
// there, and gives each result to check.
func (p Player) EveryKill(t *testing.T, fsys fstest.MapFS, check func(t testing.TB, r Result)) {
	t.Helper()
	p.Kill = 0
	whole := p.Play(t, fsys)
	check(t, whole)
	for at := 1; at <= whole.Ticks && !t.Failed(); at += max(p.Stride, 1) {
		p.Kill = at
		r := p.Play(t, fsys)
		check(t, r)
		if t.Failed() {
			t.Logf("killed at instruction %d of %d; events:\n%s", at, whole.Ticks, r.Story())
		}
	}
}

// Story tells the events one by one.
func (r Result) Story() string {
	out := ""
	for _, ev := range r.Events {
		out += fmt.Sprintf("  %s %s%s %s %s %q\n", ev.Kind, ev.Step, ev.Question, ev.Phase, ev.Outcome, ev.Text)
	}
	return out + "  gave up: " + r.GaveUp + "\n"
}

// Play plays it on a copy of the tree.
func (p Player) Play(t testing.TB, fsys fstest.MapFS) Result {
	t.Helper()
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Turns == 0 {
		p.Turns = 300
	}
	w := &world{Player: p, t: t, files: fstest.MapFS{}, journals: map[string]*journal{}, replies: map[string]reprise.Reply{}}
	for name, f := range fsys {
		w.files[name] = &fstest.MapFile{Data: slices.Clone(f.Data), Mode: f.Mode, ModTime: f.ModTime}
	}
	var out Result
	for !w.life(func() { out = w.run(p.Book, p.Goal, p.Ref) }) {
		w.catchUp()
	}
	out.Files, out.Ticks, out.Launches = w.files, w.ticks, w.launches
	out.Children = map[string][]reprise.Event{}
	for path, j := range w.journals {
		if path != out.Ref.Path {
			out.Children[path] = j.events()
		}
	}
	return out
}

// world is what outlives the process, and the process.
type world struct {
	Player
	t        testing.TB
	files    fstest.MapFS
	journals map[string]*journal
	replies  map[string]reprise.Reply // result files, by key of the attempt
	launches []string
	ticks    int
	turns    int
	minutes  int
}

type journal struct {
	ref     reprise.Ref
	entries []entry
}

type entry struct {
	ev        reprise.Event
	projected bool
}

func (j *journal) events() []reprise.Event {
	out := make([]reprise.Event, len(j.entries))
	for i := range j.entries {
		out[i] = j.entries[i].ev
	}
	return out
}

// killed is how the process dies.
type killed struct{}

func (w *world) tick() {
	if w.ticks++; w.ticks == w.Kill {
		panic(killed{})
	}
}

// life runs one process; false if it was killed.
func (w *world) life(do func()) (ended bool) {
	defer func() {
		if e := recover(); e != nil {
			if _, ok := e.(killed); !ok {
				panic(e)
			}
			ended = false
		}
	}()
	do()
	return true
}

func (w *world) journal(ref reprise.Ref) *journal {
	j := w.journals[ref.Path]
	if j == nil {
		j = &journal{ref: ref}
		w.journals[ref.Path] = j
	}
	return j
}

// now is a clock that continues by a minute with each look.
func (w *world) now() time.Time {
	w.minutes++
	return conventiontest.Epoch.Add(time.Duration(w.minutes) * time.Minute)
}

func (w *world) load(book reprise.Playbook, j *journal) *reprise.Run {
	w.t.Helper()
	r, err := reprise.Load(w.Layout, w.files, j.ref)
	if err != nil {
		w.t.Fatalf("load %s: %v", j.ref.Path, err)
	}
	r.Recall(j.events())
	if book, ok := book.(reprise.Aimer); ok {
		book.Aim(w.files, r)
	}
	return r
}

func (w *world) record(j *journal, ev reprise.Event) {
	w.t.Helper()
	if ev.At.IsZero() {
		ev.At = w.now()
	}
	j.entries = append(j.entries, entry{ev: ev})
	w.tick()
	w.project(j, &j.entries[len(j.entries)-1])
	w.tick()
}

// project brings an event into the files; asked again it must change nothing,
// which is looked at where no one dies.
func (w *world) project(j *journal, e *entry) {
	w.t.Helper()
	times := 1
	if w.Kill == 0 {
		times = 2
	}
	for again := range times {
		r, err := reprise.Load(w.Layout, w.files, j.ref)
		if err != nil {
			w.t.Fatalf("load %s: %v", j.ref.Path, err)
		}
		edits, err := w.Layout.Record(w.files, r, e.ev)
		if errors.Is(err, reprise.ErrCannotRecord) {
			break
		}
		if err != nil {
			w.t.Fatalf("record %s %s of %s: %v", e.ev.Kind, e.ev.Step, j.ref.ID, err)
		}
		if again > 0 && len(edits) > 0 {
			w.t.Errorf("record %s %s of %s twice: %s would change again (%s)", e.ev.Kind, e.ev.Step, j.ref.ID, edits[0].Path, edits[0].Why)
		}
		if w.files, err = conventiontest.Apply(w.files, edits); err != nil {
			w.t.Fatal(err)
		}
	}
	e.projected = true
}

func (w *world) catchUp() {
	for _, j := range w.journals {
		for i := range j.entries {
			if !j.entries[i].projected {
				w.project(j, &j.entries[i])
			}
		}
	}
}
