package journal

import (
	"encoding/json"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/durable"
)

// trail is what a journal tells about how far the layout's files have followed
// it.
type trail struct {
	// files are those of the last record that has any, group the events they
	// follow, and newest whether nothing was recorded behind it: only then can
	// they be on their way. An earlier one whose files are as they were before
	// it was taken back.
	files  []Touch
	group  []reprise.Event
	single bool // the group is one event that was recorded by itself
	newest bool
	// waiting are deferred events that no record of files covers.
	waiting []reprise.Event
	again   bool // what the last record of files covered waits again; not on record yet
	// known is what each file was to be after the last record about it.
	known map[string]reprise.Hash
	// own are the files written since the run was last begun. over is set once it has
	// ended: its files may be missing then.
	own  map[string]wrote
	over bool
}

// read moves the trail on by a record of the log, and hands it to fn if it is an
// event.
func (t *trail) read(rec durable.Record, fn func(*Entry)) (err error) {
	switch rec.Kind {
	case kindEvent:
		var e Entry
		if err = json.Unmarshal(rec.Payload, &e); err == nil {
			e.Seq, e.Generation, e.Source = rec.Seq, rec.Gen, reprise.Source{File: rec.File, Line: rec.Line}
			t.add(&e)
			fn(&e)
		}
	case kindFiles:
		var p projection
		if err = json.Unmarshal(rec.Payload, &p); err == nil {
			t.project(p)
		}
	}
	if err != nil {
		return fmt.Errorf("read journal entry %d: %w", rec.Seq, err)
	}
	return nil
}

// add moves the trail on by an entry.
func (t *trail) add(e *Entry) {
	t.newest = len(e.Files) > 0
	if e.Event.Kind == reprise.StepReset {
		for _, f := range e.Event.Expect {
			delete(t.own, f.Path)
		}
	}
	t.over = Over(&e.Event) || t.over && e.Event.Kind == reprise.EngineLeft
	switch {
	case e.Event.Kind == reprise.StateRestored:
		// The files are as they were at an earlier time: this event took back whatever was
		// recorded since.
		*t = trail{}
	case e.Event.Kind == reprise.RunRenewed, e.Event.Kind == reprise.RunStopped && e.Event.Outcome == "archived":
		t.own = nil // they are archived
	case e.Deferred:
		t.waiting = append(t.waiting, e.Event)
	case len(e.Files) > 0:
		t.single = true
		if e.Event.Kind == reprise.RunStarted {
			t.own = nil
		}
		t.follow([]reprise.Event{e.Event}, e.Files)
	}
}

// project moves the trail on by a record of files.
func (t *trail) project(p projection) {
	if p.Again && !t.again {
		t.takeBack()
	}
	t.again = false
	n := min(p.Events, len(t.waiting))
	if t.newest = len(p.Files) > 0; !t.newest {
		t.waiting = append(t.waiting[:0], t.waiting[n:]...)
		return
	}
	// The two change places: a long journal has many of them.
	told, rest := t.waiting[:n:n], append(t.group[:0], t.waiting[n:]...)
	t.single, t.waiting = false, rest
	t.follow(told, p.Files)
}

func (t *trail) follow(group []reprise.Event, files []Touch) {
	t.group, t.files = group, files
	if t.known == nil {
		t.known = map[string]reprise.Hash{}
	}
	for _, f := range files {
		t.known[f.Path] = f.After
	}
	if len(group) > 0 {
		t.keep(group[len(group)-1].Kind, files)
	}
}

// takeBack takes the last record of files back: they did not follow, the events
// wait.
func (t *trail) takeBack() {
	t.waiting = append(append([]reprise.Event(nil), t.group...), t.waiting...)
	for _, f := range t.files {
		t.known[f.Path] = f.Before
		if w, ok := t.own[f.Path]; ok {
			w.hash = f.Before
			t.own[f.Path] = w
		}
	}
	t.files, t.group, t.newest, t.again = nil, nil, false, true
}

// stand compares the files of the last record that has any with what they are:
// behind are those that are still as they were before it, changed those that are
// neither that nor what it made of them.
func (t *trail) stand(store *durable.Store) (behind, changed []string, err error) {
	for _, f := range t.files {
		now, err := hash(store, f.Path)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case now == f.After:
		case now != f.Before:
			changed = append(changed, f.Path)
		case t.newest:
			behind = append(behind, f.Path)
		}
	}
	return behind, changed, nil
}

// overdue returns the events that are not in the files yet, and the files that are
// behind. If someone else changed a file, there are none.
func (t *trail) overdue(store *durable.Store) (late []reprise.Event, behind, changed []string, err error) {
	behind, changed, err = t.stand(store)
	switch {
	case err != nil || len(changed) > 0:
		return nil, behind, changed, err
	case len(behind) > 0 && t.single:
		return t.group, behind, nil, nil
	case len(behind) > 0:
		return slices.Concat(t.group, t.waiting), behind, nil, nil
	}
	return t.waiting, nil, nil, nil
}

// last is the event that the last record of files ends with.
func (t *trail) last() reprise.Event {
	if len(t.group) == 0 {
		return reprise.Event{}
	}
	return t.group[len(t.group)-1]
}
