package journal

import (
	"maps"
	"slices"
	"sync"

	"reprise"
	"reprise/internal/durable"
)

// Listener is told what is on record. Its copy can be told more without changing it.
type Listener[L any] interface {
	Hear(*Entry)
	Copy() L
}

// Kept is what a process keeps of the journals it opened last, so that it need not read
// everything anew: all that was told up to a record. Each record names the one before, so
// what is kept counts where a journal has that very record, wherever its files are now, and
// for nothing else. The zero value keeps nothing yet. It is safe for concurrent use.
type Kept[L Listener[L]] struct {
	mu   sync.Mutex
	last []*keptLog[L] // the last used first
}

// maxKept bounds how many journals are kept.
const maxKept = 16

type keptLog[L Listener[L]] struct {
	mu    sync.Mutex
	name  string
	mark  durable.Mark
	trail trail
	told  L
}

// of is what is kept of a journal.
func (k *Kept[L]) of(name string) *keptLog[L] {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.last, func(l *keptLog[L]) bool { return l.name == name })
	if at < 0 {
		k.last = append(k.last[:min(len(k.last), maxKept-1)], &keptLog[L]{name: name})
		at = len(k.last) - 1
	}
	l := k.last[at]
	copy(k.last[1:at+1], k.last[:at])
	k.last[0] = l
	return l
}

// Open is Open for a listener: a new one that hears everything, or one that has heard what
// is kept.
func (k *Kept[L]) Open(store *durable.Store, layout reprise.Layout, ref reprise.Ref, fresh func() L) (*Journal, L, error) {
	j := &Journal{store: store, layout: layout, ref: ref, name: Name(ref)}
	l := k.of(j.name)
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.open(j, fresh)
	if err != nil && l.mark != (durable.Mark{}) {
		l.mark = durable.Mark{} // what is kept told nothing about it
		err = l.open(j, fresh)
	}
	if err != nil {
		l.mark = durable.Mark{}
		return nil, l.told, err
	}
	l.mark, j.trail = j.log.Opened(), l.trail.copy()
	return j, l.told.Copy(), nil
}

func (l *keptLog[L]) open(j *Journal, fresh func() L) error {
	return j.open(l.mark, func(known bool) func(durable.Record) error {
		if !known {
			l.trail, l.told = trail{}, fresh()
		}
		return func(rec durable.Record) error { return l.trail.read(rec, l.told.Hear) }
	})
}

// copy is a trail that can be moved on by itself.
func (t *trail) copy() trail {
	c := *t
	c.group, c.waiting = slices.Clone(t.group), slices.Clone(t.waiting)
	c.known, c.own = maps.Clone(t.known), maps.Clone(t.own)
	return c
}

// Copy is a history that can be moved on by itself.
func (h *History) Copy() *History {
	c := *h
	steps := make([]StepHistory, 0, len(h.Steps)) // one allocation for thousands
	c.Steps = make(map[string]*StepHistory, len(h.Steps))
	for id, s := range h.Steps {
		steps = append(steps, *s)
		s := &steps[len(steps)-1]
		s.Left, s.Reported, s.Keys, s.LeftAs = slices.Clip(s.Left), slices.Clip(s.Reported), slices.Clip(s.Keys), maps.Clone(s.LeftAs)
		c.Steps[id] = s
	}
	c.Limits, c.Stands, c.Raised, c.latest = maps.Clone(h.Limits), maps.Clone(h.Stands), maps.Clone(h.Raised), maps.Clone(h.latest)
	c.compared = maps.Clone(h.compared)
	c.Spent, c.Earlier = slices.Clone(h.Spent), slices.Clip(h.Earlier)
	return &c
}
