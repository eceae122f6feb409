package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/journal"
)

// logged is the journal of a run as far as it was read.
type logged struct {
	entries []journal.Entry
	hist    *journal.History
}

// meanwhile is what an attempt changed in another run, nothing where that is unknown. told says it
// in the run that the attempt is of, if that is known.
type meanwhile struct {
	by, in *reprise.Run
	since  time.Time
	gen    uint64
	marked []reprise.Event
	told   reprise.Finding
}

// ChangedElsewhere tells that an attempt at a step closed steps of another run or, for a step
// without a name, changed what else the files of that say.
func ChangedElsewhere(step string, in reprise.Ref, steps []string) reprise.Finding {
	closed := slices.DeleteFunc(slices.Clone(steps), func(id string) bool { return id == "" })
	var did []string
	if len(closed) < len(steps) {
		did = append(did, "changed what the files of "+in.ID+" say")
	}
	if len(closed) > 0 {
		did = append(did, fmt.Sprintf("marked as done in %s: %s", in.ID, strings.Join(closed, ", ")))
	}
	return reprise.Finding{
		Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: step, Source: reprise.Source{File: in.Path},
		Message: fmt.Sprintf("the attempt at %s, whose job it was not, %s", step, strings.Join(did, ", and ")),
		Hint:    "`reprise resume " + reprise.Pasted(in.ID, "RUN") + "` asks before anything builds on it",
	}
}

// changedMeanwhile gives what was changed in runs since an attempt at another one began, where
// that attempt has no end on record and their own journals do not explain it. Whoever takes the
// lease records that before anything else: a snapshot that a later holder took shows that it is
// done, and what is changed after that is not the attempt's. What an attempt in a checkout of its
// own changed there is judged when that is merged. Where nothing is on record to compare with, it
// may have changed whatever was written to since.
func (res *Result) changedMeanwhile(ctx context.Context, store *durable.Store, runs []*reprise.Run, logs map[*reprise.Run]logged, environ []string, only *Ending) (out []meanwhile, err error) {
	for _, own := range runs {
		log, known := logs[own]
		if !known {
			continue
		}
		for _, open := range log.hist.Open() {
			at := slices.IndexFunc(log.entries, func(e journal.Entry) bool { return e.Event.Kind == reprise.StepStarted && e.Event.Key == open.Key })
			if at < 0 || only != nil && (only.Of != own.Ref || only.Step != open.Step) || open.Base == "" && isChild(own.Step(open.Step), runs, own) {
				continue
			}
			gen := log.entries[at].Generation
			snap, told, err := store.Base(open.At, gen)
			if told {
				continue
			}
			var changed []meanwhile
			since := open.At
			switch {
			case err == nil && snap != nil && snap.Tree != nil && open.Base != "":
				since = snap.At
				if log.hist.Worktree != nil {
					open.Base = snap.Tree.Head // it began elsewhere, and this is how it was here
				}
				changed, err = res.changedBy(ctx, store, snap, runs, own, &open, environ)
			case !slices.ContainsFunc(outputs(store.Dir()), func(log string) bool { return strings.HasPrefix(log, own.LogPrefix()) }):
				continue // it did not run here
			case err == nil:
				err = errUnrecorded
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if err != nil {
				since = open.At.Add(-coarse)
				written := since
				if only != nil {
					written = only.Began.Add(-coarse)
				}
				if changed = res.writtenSince(store, runs, own, &open, written); len(changed) > 0 {
					out = append(out, meanwhile{by: own, in: own, told: reprise.Finding{
						Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: open.Step, Source: reprise.Source{File: own.Path},
						Message: fmt.Sprintf("whether the attempt at %s changed the files of other runs is unknown: %s", open.Step, err),
						Hint:    "look at the files of the other runs; `reprise check` lists them",
					}})
				}
			}
			for _, m := range changed {
				if m.marked = unexplained(logs[m.in], m.marked, since, gen); len(m.marked) > 0 {
					m.since, m.gen = since, gen
					if err == nil {
						m.by, m.told = own, ChangedElsewhere(open.Step, m.in.Ref, stepsOf(m.marked))
					}
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// errUnrecorded is why nobody can tell what an attempt changed.
var errUnrecorded = errors.New("how they were when it began is not on record")

// isChild reports whether another run does a step.
func isChild(s *reprise.Step, runs []*reprise.Run, own *reprise.Run) bool {
	return s != nil && slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r != own && isStep(r, s) })
}

// coarse is by how much the time of a file may lie before the moment it was written.
const coarse = 20 * time.Millisecond

// writtenSince gives the other runs whose files, or the folders that are theirs alone, were written
// to since a time.
func (res *Result) writtenSince(store *durable.Store, runs []*reprise.Run, own *reprise.Run, open *reprise.Event, since time.Time) (out []meanwhile) {
	written := func(name string) bool {
		info, err := os.Lstat(filepath.Join(store.Dir(), filepath.FromSlash(name)))
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist) // the folder tells of that
		}
		return !info.ModTime().Before(since)
	}
	for _, r := range runs {
		if !concerns(r, own) {
			continue
		}
		for name := range res.read[r] {
			if _, shared := res.read[own][name]; shared {
				continue // it may be there to write to that
			}
			if in := path.Dir(name); within(in, r.Path) && written(in) || written(name) {
				out = append(out, meanwhile{in: r, marked: []reprise.Event{{
					Kind: reprise.StepOverstepped, At: open.At, By: open.Step + " of " + own.ID, Actor: "reprise",
					Text: "may have changed its files: they were written to since it began, and " + errUnrecorded.Error(),
				}}})
				break
			}
		}
	}
	return out
}

// concerns reports whether an attempt at another run is not there to change a run.
func concerns(r, own *reprise.Run) bool {
	return r.State != reprise.Unreadable && !storyOf(r.Ref, own) && !together(r.Ref, own.Ref) &&
		!slices.ContainsFunc(own.Also, func(also reprise.Ref) bool { return also.Path == r.Path })
}

// changedBy gives what is said otherwise in the files of other runs than in a snapshot, as far as
// an attempt that began on it is not there to change it.
func (res *Result) changedBy(ctx context.Context, store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run, own *reprise.Run, open *reprise.Event, environ []string) (out []meanwhile, err error) {
	counts := func(name string) bool {
		return !slices.ContainsFunc(open.Expect, func(e reprise.Expected) bool { return within(name, e.Path) })
	}
	var others []*reprise.Run
	names := map[string]bool{}
	for _, r := range runs {
		if !concerns(r, own) {
			continue
		}
		others = append(others, r)
		for name := range res.read[r] {
			names[name] = counts(name)
		}
	}
	maps.DeleteFunc(names, func(_ string, counts bool) bool { return !counts })
	unlike := store.Unlike(snap, names)
	maps.Copy(unlike, store.Gone(snap, func(name string) bool { return evidence.StateType(name) && counts(name) }))
	fresh, err := store.Fresh(ctx, snap, names)
	if err != nil {
		return nil, err
	}
	for _, name := range fresh {
		unlike[name] = ""
	}
	maps.DeleteFunc(unlike, func(name, _ string) bool {
		then, known := reprise.Finds(open.Unlike, name)
		is, err := HashIn(store, name)
		return known && err == nil && is == then.Before
	})
	if len(unlike) == 0 {
		return nil, nil
	}
	was, err := evidence.Began(ctx, store.Dir(), snap.Tree.Head, open.Base, unlike, environ)
	if err != nil {
		return nil, err
	}
	then, err := overlaid(ctx, store, was)
	if err != nil {
		return nil, err
	}
	for _, r := range others {
		marked := res.changedIn(then, store, r, own)
		for i := range marked {
			ev := &marked[i]
			ev.By, ev.At, ev.Actor = open.Step+" of "+own.ID, open.At, "reprise"
			if back := WereThere(ev); len(back) > 0 && snap.Tree.Head == open.Base {
				ev.Text += "; " + bringsBack(store, snap, back)
			}
		}
		if len(marked) > 0 {
			out = append(out, meanwhile{in: r, marked: marked})
		}
	}
	return out, nil
}

// changedIn gives what the files of a run say otherwise than then, under the name that it had.
func (res *Result) changedIn(then *committed, now *durable.Store, r, own *reprise.Run) (out []reprise.Event) {
	l, lost := convention.Find(r.Layout), then.lost()
	read := res.read[r]
	beside := map[string]bool{}
	for name := range read {
		beside[path.Dir(name)] = true
	}
	if l == nil || !slices.ContainsFunc(lost, func(name string) bool { return within(name, r.Path) || beside[path.Dir(name)] }) {
		return nil
	}
	is, err := reprise.Load(l, now, r.Ref)
	if err != nil || is.State == reprise.Unreadable {
		return nil // which is told
	}
	seen := &noting{FS: then, names: map[string]bool{}}
	was, err := reprise.Load(l, seen, r.Ref)
	switch {
	case err != nil || was.State == reprise.Unreadable:
		return renamedSince(then, now, l, is, own)
	case !was.State.Open():
		return nil // nothing of it was to be settled
	}
	return changedSince(then, now, was, is, own, slices.DeleteFunc(lost, func(name string) bool {
		_, reads := read[name]
		return !reads && !seen.names[name]
	}))
}

// renamedSince gives the closed steps of a run that was not there, and were open then in one
// that is no longer there.
func renamedSince(then, now fs.FS, l reprise.Layout, is, own *reprise.Run) (out []reprise.Event) {
	refs, _ := l.Find(then) // what is not found is nothing that is known
	for _, ref := range refs {
		if isIn(now, ref) || is.Kind.Facts().Phased && ref.ID != is.ID {
			continue
		}
		was, err := reprise.Load(l, then, ref)
		if err != nil {
			continue
		}
		for _, id := range openSteps(was) {
			if s := is.Step(id); s != nil && s.Status.Closed() && s.Title == was.Step(id).Title && !isStep(own, s) && !slices.Contains(stepsOf(out), id) {
				out = append(out, markedNow(now, s))
			}
		}
	}
	return out
}

// bringsBack says which command brings files back as a snapshot has them.
func bringsBack(store *durable.Store, snap *durable.Snapshot, files []string) string {
	if _, err := os.Lstat(filepath.Join(store.Dir(), ".git")); err != nil {
		return "`reprise undo " + snap.ID + " --all` brings that back, with all else since then"
	}
	how := "git restore --source=" + snap.Tree.Ref + ":files --"
	for _, name := range files {
		how += " " + reprise.Pasted(name, "FILE")
	}
	return "`" + how + "` brings that back"
}

// unexplained keeps what an attempt changed in a run, as far as the journal of that has neither
// told so since a time nor an accepted end of the step. A run with an attempt of its own that is
// not settled asks about its steps when that is, and one that was worked on since then changed its
// files itself. Where a later holder of the lease than gen has worked on it, all was told before.
func unexplained(log logged, marked []reprise.Event, since time.Time, gen uint64) []reprise.Event {
	if log.hist == nil {
		return marked
	}
	open, worked := len(log.hist.Open()) > 0, false
	for _, e := range log.entries {
		if e.Event.Kind == reprise.StepOverstepped {
			continue
		}
		if e.Generation > gen {
			return nil
		}
		worked = worked || !e.Event.At.Before(since)
	}
	return slices.DeleteFunc(slices.Clone(marked), func(ev reprise.Event) bool {
		return open || ev.Step == "" && worked || ev.Step != "" && log.hist.Step(ev.Step).Accepted != nil || slices.ContainsFunc(log.entries, func(e journal.Entry) bool {
			return e.Event.Kind == ev.Kind && e.Event.Step == ev.Step && !e.Event.At.Before(since)
		})
	})
}

// inherited gives the doubts on record in the journals of runs that are no longer there, for those
// of the same kind without a journal in which the same steps are closed: a run that is renamed
// takes its doubts along.
func inherited(orphans map[string]logged, runs []*reprise.Run, recorded func(*reprise.Run) bool) (out []meanwhile) {
	for name, log := range orphans {
		doubts := reprise.Doubts(log.events())
		for _, r := range runs {
			if len(doubts) == 0 || r.Gone() != nil || recorded(r) || !strings.HasPrefix(name, r.Layout+"-") || r.Kind.Facts().Phased && !journal.Names(name, r.Ref) {
				continue
			}
			m := meanwhile{in: r, gen: math.MaxUint64}
			for _, d := range doubts {
				if s := r.Step(d.Step); s != nil && s.Status.Closed() && d.Listed == nil && s.Title == log.title(&d) {
					m.marked = append(m.marked, d)
				}
			}
			if len(m.marked) > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

func (l *logged) events() (out []reprise.Event) {
	for i := range l.entries {
		out = append(out, l.entries[i].Event)
	}
	return out
}

// title is what a step in doubt was called.
func (l *logged) title(d *reprise.Event) string {
	for _, at := range l.hist.Listed {
		if at.ID == d.Step {
			return at.Title
		}
	}
	return d.Text
}

// DoubtIn records in the journal of a run what something else changed in it since a time, and
// gives the steps, "" for what is none, that its journal does not explain and did not have on
// record. The lease must be held.
func DoubtIn(store *durable.Store, of reprise.Ref, marked []reprise.Event, since time.Time) (steps []string, err error) {
	return doubtIn(store, of, marked, since, math.MaxUint64)
}

func doubtIn(store *durable.Store, of reprise.Ref, marked []reprise.Event, since time.Time, gen uint64) (steps []string, err error) {
	account, err := journal.ReadAccount(store, journal.Name(of))
	if err != nil {
		return nil, err
	}
	for _, ev := range unexplained(logged{account.Entries, journal.Fold(account.Entries)}, marked, since, gen) {
		j, err := journal.Open(store, convention.Find(of.Layout), of)
		if err == nil {
			err = j.Note(ev)
		}
		if err != nil {
			return steps, err
		}
		steps = append(steps, ev.Step)
	}
	return steps, nil
}

// DoubtOthers records what attempts that were cut off changed in other runs: whoever holds the
// lease calls it before anything else, since from then on the attempts may be settled, undone or
// put away. It returns what is worth telling.
func DoubtOthers(ctx context.Context, store *durable.Store, now time.Time) ([]reprise.Finding, error) {
	return doubtOthers(ctx, store, now, nil)
}

// Ending is an attempt at a step of a run whose end is about to be recorded, and when it began by
// the clock that files are dated by.
type Ending struct {
	Of    reprise.Ref
	Step  string
	Began time.Time
}

// DoubtAfter is DoubtOthers for one attempt that ended, where neither git nor a snapshot tells what
// it changed.
func DoubtAfter(ctx context.Context, store *durable.Store, now time.Time, a Ending) ([]reprise.Finding, error) {
	return doubtOthers(ctx, store, now, &a)
}

func doubtOthers(ctx context.Context, store *durable.Store, now time.Time, only *Ending) (found []reprise.Finding, err error) {
	names, err := store.Logs()
	if err != nil {
		return nil, err
	}
	read := map[string]logged{}
	cut := false
	for _, name := range names {
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			continue // it blocks its run, and is told there
		}
		log := logged{account.Entries, journal.Fold(account.Entries)}
		cut = cut || len(log.hist.Open()) > 0 || len(reprise.Doubts(log.events())) > 0
		read[name] = log
	}
	if !cut {
		return nil, nil
	}
	res, runs, err := gatherRuns(ctx, store.Dir(), Options{Now: now}, false, nil)
	if err != nil {
		return nil, err
	}
	logs, orphans := map[*reprise.Run]logged{}, maps.Clone(read)
	for _, r := range runs {
		name := journalOf(store, names, r)
		if log, known := read[name]; known {
			logs[r] = log
		}
		if r.Gone() == nil {
			delete(orphans, name)
		}
	}
	changed, err := res.changedMeanwhile(ctx, store, runs, logs, nil, only)
	changed = append(changed, inherited(orphans, runs, func(r *reprise.Run) bool { return journalOf(store, names, r) != "" })...)
	for i := range changed {
		m := &changed[i]
		for k := range m.marked {
			m.marked[k].At = now
		}
		steps, failed := doubtIn(store, m.in.Ref, m.marked, m.since, m.gen)
		if failed != nil {
			return found, failed
		}
		if m.by != nil && (len(steps) > 0 || len(m.marked) == 0) {
			found = append(found, m.told)
		}
	}
	return found, err
}

// changedElsewhere gives what DoubtOthers would record, by run. Who is at work here has done that,
// and judges its own attempts.
func (j *Judgement) changedElsewhere(ctx context.Context, h *home, runs []*reprise.Run, logs map[*reprise.Run]logged, opts JudgeOptions) map[*reprise.Run][]reprise.Event {
	out := map[*reprise.Run][]reprise.Event{}
	owner := reprise.Owner{Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks}
	if opts.Alone || opts.Held != nil || evidence.Life(owner, opts.Now).Life == reprise.Alive {
		return out
	}
	changed, _ := j.changedMeanwhile(ctx, h.store, runs, logs, opts.Environ, nil) // who stops it asks for no answer
	orphans := map[string]logged{}
	for _, name := range h.names {
		if slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r.Gone() == nil && journal.Name(r.Ref) == name }) {
			continue
		}
		h.look()
		if last, known := h.entries[name]; known && journal.Over(&last.Event) {
			continue // nothing was left in doubt
		}
		if account, err := journal.ReadAccount(h.store, name); err == nil { // otherwise it is told
			orphans[name] = logged{account.Entries, journal.Fold(account.Entries)}
		}
	}
	changed = append(changed, inherited(orphans, runs, func(r *reprise.Run) bool { return journalOf(h.store, h.names, r) != "" })...)
	for _, m := range changed {
		if m.by != nil {
			m.by.Report(m.told)
		}
		out[m.in] = append(out[m.in], m.marked...)
	}
	return out
}

// believe takes events that the next holder of the lease has yet to record as recorded.
func (v *View) believe(events []reprise.Event) {
	if len(events) == 0 {
		return
	}
	v.Unrecorded = append(v.Unrecorded, events...)
	v.Events, v.History = slices.Concat(v.Events, events), v.History.Copy()
	for i := range events {
		v.History.Add(&events[i])
	}
}

// storyOf reports whether a run lies within the state of another one: it is a step of it, such as
// a story of an epic.
func storyOf(ref reprise.Ref, whole *reprise.Run) bool {
	return within(ref.Path, whole.Path) || slices.ContainsFunc(whole.Steps, func(s reprise.Step) bool { return s.Path != "" && within(ref.Path, s.Path) })
}
