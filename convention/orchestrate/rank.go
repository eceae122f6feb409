package orchestrate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"reprise"
)

// Rank sorts the runs in the order in which one would resume them.
//
// Open states come first while they are current: an orchestrator that wrote
// down where it stands knows better than any guess. Then the stories, by the
// rules below, which were found by looking at what people really did next in
// many histories. Then what waits for a person or does not say, then what has
// ended.
//
// R1 The story touched last goes on: a status alone is no evidence, because an
// old InProgress is mostly a forgotten one.
// R2 Work stays in one epic. Its activity is that of all its stories, the done
// ones too: a story that was just finished hands on to its neighbour.
// R3 Where an epic (or, if it is young, the project) leaves its reviews open,
// a story in review is finished as far as people are concerned and stands
// behind the others of its epic.
// R4 So does a review that was left while a later story was closed, and a story
// still called Ready although its tasks are ticked: its status was forgotten.
// R5 On the same day what was begun goes before what was not.
// R6 Of several reviews the latest number is the one just handed in; all
// others go by number, upwards.
// R7 The epic worked on last is followed by the one with the next number.
// R8 A date that is nearly a year old to the day is one with last year's
// number: models get the year wrong in January, and all year long.
//
// Where git's history of the stories is observed, it is the clock: what was
// committed last was touched last, whatever dates people and models write. R7
// and R8 mend written dates and are not needed then; written dates break ties.
//
// What is blocked or waits for a person stands last, among it the story that
// another ledger calls done. The story that an epic in front of the list offers
// first is not offered at the top a second time: it follows the others.
func (*Layout) Rank(runs []*reprise.Run, o reprise.Observed) {
	k := newRanking(runs, o)
	keys := make(map[*reprise.Run]rankKey, len(runs))
	for _, r := range runs {
		keys[r] = k.key(r)
	}
	slices.SortStableFunc(runs, func(a, b *reprise.Run) int { return compareKeys(keys[a], keys[b]) })
}

// The tiers of the list.
const (
	tierCurrent = iota // open states that are current
	tierStory          // stories
	tierState          // states that the stories have left behind, specifications
	tierVague          // no status, a word without a meaning, unreadable
	tierStopped
	tierComplete
)

// staleAfter is how long the stories may have gone on without a state before
// it counts as left behind. It is the age at which the seed calls a state stale.
const staleAfter = 7 * 24 * time.Hour

// habit is how many finished stories show whether reviews are closed, and
// habitLeast how many it takes to show anything.
const (
	habit      = 7
	habitLeast = 2
)

// entry is a story as the ranking sees it.
type entry struct {
	run   *reprise.Run
	key   key
	epic  epicKey
	class class
	clock time.Time
	// bulk and written break ties of the clock: the last commit of any size,
	// and the newest date in the file.
	bulk, written time.Time
}

// ranking is what the rules need to know of all runs together.
type ranking struct {
	limit    time.Time // the last moment of today
	stories  []*entry
	byRun    map[*reprise.Run]*entry
	finished []*entry // in review or done, the latest first
	epics    map[epicKey]time.Time
	heir     epicKey
	hasHeir  bool
	heirAt   time.Time
	newest   time.Time // of all stories
	offered  map[string]bool
	history  history
}

func newRanking(runs []*reprise.Run, o reprise.Observed) *ranking {
	k := &ranking{limit: endOfDay(o.Now), byRun: map[*reprise.Run]*entry{}, epics: map[epicKey]time.Time{}, offered: map[string]bool{}}
	k.history = newHistory(runs, o)
	for _, r := range runs {
		if r.Kind != reprise.KindStory {
			continue
		}
		sk := storyKey(r.Path)
		e := &entry{run: r, key: sk, epic: sk.epic(), class: classOf(r), written: k.written(r)}
		e.clock = e.written
		if k.history.known() {
			e.clock, e.bulk = k.history.of(r.Path)
		}
		k.stories = append(k.stories, e)
		k.byRun[r] = e
		if e.class <= unknown {
			continue
		}
		k.epics[e.epic] = later(k.epics[e.epic], e.clock)
		k.newest = later(k.newest, e.written)
		if at := k.history.at(r.Path); !at.After(k.limit) {
			k.newest = later(k.newest, at)
		}
		if e.class == inReview || e.class == done || e.class == dropped {
			k.finished = append(k.finished, e)
		}
	}
	slices.SortStableFunc(k.finished, func(a, b *entry) int {
		return cmp.Or(b.clock.Compare(a.clock), compareOrder(b.key, a.key), strings.Compare(a.run.Path, b.run.Path))
	})
	if !k.history.known() {
		k.findHeir()
	}
	for _, r := range runs {
		if r.Kind == reprise.KindEpic && r.State.Open() && k.current(r) && len(r.Next) > 0 {
			k.offered[r.Next[0].Path] = true
		}
	}
	return k
}

// endOfDay is the end of today, by the local or the universal calendar,
// whichever is later: files are written in both.
func endOfDay(now time.Time) time.Time {
	y, m, d := now.Date()
	local := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	y, m, d = now.UTC().Date()
	universal := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return later(local, universal).Add(24*time.Hour - time.Second)
}

// written is the latest day on record for a story that is not in the future.
// The time of the file itself says nothing: a checkout sets it for all alike.
func (k *ranking) written(r *reprise.Run) time.Time {
	var best time.Time
	for _, d := range r.Dates {
		if !d.At.After(k.limit) {
			best = later(best, d.At)
		}
	}
	return k.rightYear(best)
}

// rightYear mends a date whose year is wrong (R8).
func (k *ranking) rightYear(t time.Time) time.Time {
	if t.IsZero() || k.limit.Sub(t) <= 300*24*time.Hour {
		return t
	}
	for _, year := range []int{k.limit.Year(), k.limit.Year() - 1} {
		moved := date(year, int(t.Month()), t.Day())
		if age := k.limit.Sub(moved); !moved.IsZero() && age >= 0 && age <= 31*24*time.Hour {
			return moved
		}
	}
	return t
}

// classOf reads the class back from the claim that won: the ranking knows the
// story only by its run.
func classOf(r *reprise.Run) class {
	if r.State == reprise.Unreadable {
		return unknown
	}
	for i := range r.Steps {
		for _, c := range r.Steps[i].Claims {
			if !c.Won {
				continue
			}
			switch s := r.Steps[len(r.Steps)-1].Status; {
			case c.Ledger == "folder":
				if s == reprise.Done {
					return done
				}
				return dropped
			case c.Status == reprise.Unknown:
				return unknown
			case s == reprise.Done:
				return done
			case s == reprise.Skipped:
				return dropped
			case s == reprise.InReview:
				return inReview
			}
			switch r.Steps[2].Status {
			case reprise.InProgress:
				return inProgress
			case reprise.Blocked:
				return blocked
			}
			if r.Steps[1].Status == reprise.Done {
				return ready
			}
			return draft
		}
	}
	return noClass
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// findHeir finds the epic that follows the one worked on last (R7).
func (k *ranking) findHeir() {
	var cur epicKey
	found := false
	for _, e := range k.stories {
		if e.epic.num < 0 || e.class <= unknown {
			continue
		}
		c := k.epics[e.epic].Compare(k.epics[cur])
		if !found || c > 0 || (c == 0 && e.epic.num > cur.num) {
			cur, found = e.epic, true
		}
	}
	if !found {
		return
	}
	for _, e := range k.stories {
		if e.epic.prefix != cur.prefix || e.epic.num <= cur.num || !isOpen(e.class) {
			continue
		}
		if !k.hasHeir || e.epic.num < k.heir.num {
			k.heir, k.hasHeir = e.epic, true
		}
	}
	k.heirAt = k.epics[cur]
}

func isOpen(c class) bool { return c >= draft && c <= inReview }

// parked reports whether reviews are left open here (R3).
func (k *ranking) parked(e *entry) bool {
	for _, same := range []bool{true, false} {
		total, open := 0, 0
		for _, f := range k.finished {
			if f == e || (f.epic == e.epic) != same || total == habit {
				continue
			}
			total++
			if f.class == inReview {
				open++
			}
		}
		if total >= habitLeast {
			return 2*open > total
		}
	}
	// Nothing shows that reviews are closed here. Where nothing else is open
	// this costs nothing: the story only goes behind those of its own epic.
	return true
}

// overtaken reports whether a later story of the epic was closed since (R4).
func (k *ranking) overtaken(e *entry) bool {
	for _, f := range k.finished {
		if f.class != inReview && f.epic == e.epic && compareOrder(f.key, e.key) > 0 && !f.clock.Before(e.clock) {
			return true
		}
	}
	return false
}

// current reports whether the stories have not left a state behind.
func (k *ranking) current(r *reprise.Run) bool {
	if r.State != reprise.Interrupted {
		return false
	}
	at := r.LastActivity
	return at.IsZero() || at.After(k.limit) || k.newest.Sub(at) <= staleAfter
}

// rankKey is compared field by field; smaller comes first.
type rankKey struct {
	tier      int
	held      bool // blocked, or waiting for somebody
	twice     bool // an epic in front of it offers it already
	epic      time.Time
	inherited bool
	aside     bool
	clock     time.Time
	bulk      time.Time
	written   time.Time
	class     int
	down      bool // numbers count downwards
	key       key
	place     int
	path      string
}

func compareKeys(a, b rankKey) int {
	order := compareOrder(a.key, b.key)
	if a.down && b.down {
		order = -order
	}
	return cmp.Or(
		cmp.Compare(a.tier, b.tier), boolean(a.held, b.held), boolean(a.twice, b.twice), b.epic.Compare(a.epic), boolean(a.inherited, b.inherited),
		boolean(a.aside, b.aside), b.clock.Compare(a.clock), b.bulk.Compare(a.bulk), b.written.Compare(a.written), cmp.Compare(a.class, b.class), cmp.Compare(a.place, b.place),
		order, strings.Compare(a.path, b.path),
	)
}

func boolean(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (k *ranking) key(r *reprise.Run) rankKey {
	out := rankKey{path: r.Path, clock: r.LastActivity}
	switch {
	case r.State == reprise.Complete:
		out.tier = tierComplete
		return out
	case r.State == reprise.Stopped:
		out.tier = tierStopped
		return out
	case r.State == reprise.Unreadable:
		out.tier = tierVague
		return out
	}
	if e := k.byRun[r]; e != nil {
		return k.storyRank(e)
	}
	out.place = slices.Index([]reprise.Kind{reprise.KindEpic, reprise.KindQALoop, reprise.KindWorkflow, reprise.KindSpecPipeline}, r.Kind)
	out.tier = tierState
	if k.current(r) && r.Kind != reprise.KindSpecPipeline {
		out.tier = tierCurrent
	}
	out.held = r.State == reprise.Waiting
	return out
}

func (k *ranking) storyRank(e *entry) rankKey {
	out := rankKey{tier: tierStory, path: e.run.Path, clock: e.clock, bulk: e.bulk, written: e.written, key: e.key, epic: k.epics[e.epic]}
	if e.class <= unknown {
		out.tier = tierVague
		return out
	}
	if k.hasHeir && e.epic == k.heir && out.epic.Before(k.heirAt) {
		out.epic, out.inherited = k.heirAt, true
	}
	out.held = e.run.State == reprise.Waiting
	out.twice = k.offered[e.run.Path]
	ticked := e.class == ready && e.run.State == reprise.Interrupted
	out.aside = e.class == inReview && k.parked(e) || (e.class == inReview || ticked) && k.overtaken(e)
	out.down = e.class == inReview
	out.class = slices.Index([]class{inProgress, inReview, ready, draft, blocked}, e.class)
	return out
}
