package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"reprise"
	"reprise/internal/durable"
)

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// CatchUp brings the layout's files up to the journal after a crash: to the
// event, or to the deferred ones, that were on their way. Files that someone else
// has changed since are left as they are, and a finding says so; the journal keeps
// the events. Where what the run was made with is gone, nothing is written: half of
// a run would hide that.
func (j *Journal) CatchUp(ctx context.Context) ([]reprise.Finding, error) {
	findings, _, err := j.catchUp(ctx)
	return findings, err
}

// Resume is CatchUp and Current at once, for less than both. Steps of deferred
// events may lack the lines of their sources.
func (j *Journal) Resume(ctx context.Context) ([]reprise.Finding, *reprise.Run, error) {
	findings, run, err := j.catchUp(ctx)
	if err == nil && run == nil {
		run, err = j.Current()
	}
	return append(givenUp(j.ref, j.log.Lost()), findings...), run, err
}

// OpenRun is Open and Resume at once.
func OpenRun(ctx context.Context, store *durable.Store, layout reprise.Layout, ref reprise.Ref, each ...func(*Entry)) (*Journal, []reprise.Finding, *reprise.Run, error) {
	j, err := Open(store, layout, ref, each...)
	if err != nil {
		return nil, nil, nil, err
	}
	findings, run, err := j.Resume(ctx)
	return j, findings, run, err
}

// catchUp gives the run where it had to be read.
func (j *Journal) catchUp(ctx context.Context) ([]reprise.Finding, *reprise.Run, error) {
	if err := j.Project(ctx); err != nil {
		return nil, nil, err
	}
	if err := j.refresh(); err != nil {
		return nil, nil, err
	}
	t := &j.trail
	gone, err := t.gone(j.store, j.ref)
	if err != nil {
		return nil, nil, err
	}
	lost := FindGone(j.ref, gone)
	if len(lost) > 0 && lost[0].Severity == reprise.Blocking {
		return lost, nil, nil
	}
	findings, run, err := j.bringUp(ctx)
	return append(lost, findings...), run, err
}

// bringUp is catchUp once all files are there that it takes.
func (j *Journal) bringUp(ctx context.Context) ([]reprise.Finding, *reprise.Run, error) {
	t := &j.trail
	late, behind, changed, err := t.overdue(j.store)
	if err != nil {
		return nil, nil, err
	}
	if len(behind) > 0 && len(changed) == 0 && !t.single {
		t.takeBack()
	}
	switch {
	case len(changed) > 0:
		return []reprise.Finding{changedElsewhere(j.ref, changed[0], t.last())}, nil, j.leave()
	case len(behind) > 0 && t.single:
		// The files are what they were when the event was recorded, so the
		// layout gives the same edits again.
		done, err := j.redo(ctx, t.last())
		if err != nil {
			return nil, nil, err
		}
		if !done {
			// It does not: the rest of the file has changed.
			return []reprise.Finding{changedElsewhere(j.ref, behind[0], t.last())}, nil, nil
		}
		return []reprise.Finding{broughtUp(j.ref, behind[0], t.last(), 1)}, nil, nil
	case len(late) == 0:
		return nil, nil, nil
	}
	last, n := late[len(late)-1], len(late)
	run, moved, err := j.bring(ctx, append([]reprise.Event(nil), late...))
	switch {
	case err != nil:
		return nil, nil, err
	case moved != "":
		return []reprise.Finding{changedElsewhere(j.ref, moved, last)}, nil, j.leave()
	}
	return []reprise.Finding{broughtUp(j.ref, j.ref.Path, last, n)}, run, nil
}

// refresh reads the journal again if someone else in this process has added to
// it.
func (j *Journal) refresh() error {
	if j.seq == j.log.Seq() {
		return nil
	}
	var fresh trail
	_, err := j.store.ReadLog(j.name, func(rec durable.Record) error {
		return fresh.read(rec, func(*Entry) {})
	})
	if err != nil {
		return err
	}
	j.trail, j.seq = fresh, j.log.Seq()
	return nil
}

// redo makes the changes of an event that is in the journal, and reports whether
// there are any.
func (j *Journal) redo(ctx context.Context, ev reprise.Event) (bool, error) {
	run, err := j.Current()
	if err != nil {
		return false, err
	}
	edits, _, err := j.edits(run, ev)
	if err != nil || len(edits) == 0 {
		return false, err
	}
	if err := j.store.Apply(ctx, edits); err != nil {
		return false, fmt.Errorf("catch up with %s: %w", ev.Kind, err)
	}
	return true, nil
}

// bring brings the files up to the deferred events, in order, and gives the run
// if it could be moved on to the last of them in memory. moved is a file that is
// not as the journal left it: then nothing more is changed.
func (j *Journal) bring(ctx context.Context, late []reprise.Event) (run *reprise.Run, moved string, err error) {
	for len(late) > 0 {
		if run, err = j.Current(); err != nil {
			return nil, "", err
		}
		n := 0
		var edits []reprise.Edit
		if tracker, ok := j.layout.(reprise.Tracker); ok {
			t := tracker.Track(j.store, run)
			for n < len(late) && t.Advance(late[n]) {
				n++
			}
			if edits, err = t.Edits(j.store); err != nil {
				return nil, "", err
			}
		}
		tracked := n == len(late)
		if n == 0 {
			// It takes the files to tell what the first one means.
			if edits, _, err = j.edits(run, late[0]); err != nil {
				return nil, "", err
			}
			n = 1
		}
		for _, e := range edits {
			if was, known := j.trail.known[e.Path]; known && was != e.Base {
				return nil, e.Path, nil
			}
		}
		if err := j.carry(ctx, n, edits); err != nil {
			return nil, "", fmt.Errorf("catch up with %d events: %w", n, err)
		}
		if late = late[n:]; !tracked {
			run = nil
		}
	}
	return run, "", nil
}

// leave lets the files be: what waits for them stays in the journal alone.
func (j *Journal) leave() error {
	if n := len(j.trail.waiting); n > 0 {
		return j.tell(projection{Events: n, Left: true})
	}
	return nil
}

// Stand tells, without changing anything, how the layout's files stand to the journal
// of a run.
func (a *Account) Stand(store *durable.Store, ref reprise.Ref) ([]reprise.Finding, error) {
	t := &a.trail
	out := givenUp(ref, a.Info.Lost)
	late, behind, changed, err := t.overdue(store)
	switch {
	case err != nil:
		return out, err
	case len(changed) > 0:
		out = append(out, changedElsewhere(ref, changed[0], t.last()))
	case len(late) == 1 && len(behind) > 0:
		out = append(out, reprise.Finding{
			Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: behind[0]},
			Message: words(t.last()) + " was on its way when the work was cut off; its files are one event behind the journal",
			Hint:    "the next resume brings them up to it",
		})
	case len(late) > 0:
		out = append(out, reprise.Finding{
			Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: ref.Path},
			Message: fmt.Sprintf("the work was cut off; its files are %d events behind the journal", len(late)),
			Hint:    "the next resume brings them up to it",
		})
	}
	return out, nil
}

// Bring is CatchUp without the lease, played on a store that keeps its changes to
// itself: it says the same and changes nothing else.
func (a *Account) Bring(ctx context.Context, store *durable.Store, on reprise.Store, layout reprise.Layout, ref reprise.Ref) ([]reprise.Finding, error) {
	t := &a.trail
	out := givenUp(ref, a.Info.Lost)
	late, behind, changed, err := t.overdue(store)
	switch {
	case err != nil:
		return out, err
	case len(changed) > 0:
		return append(out, changedElsewhere(ref, changed[0], t.last())), nil
	case len(late) == 0:
		return out, nil
	}
	brought := map[string]bool{}
	for _, ev := range late {
		run, err := reprise.Load(layout, on, ref)
		if err != nil {
			return out, err
		}
		edits, _, err := editsOf(layout, on, run, ev)
		if err != nil {
			return out, err
		}
		if len(behind) > 0 && t.single && len(edits) == 0 {
			return append(out, changedElsewhere(ref, behind[0], ev)), nil
		}
		for _, e := range edits {
			if was, known := t.known[e.Path]; known && !brought[e.Path] && len(behind) == 0 && was != e.Base {
				return append(out, changedElsewhere(ref, e.Path, late[len(late)-1])), nil
			}
			brought[e.Path] = true
		}
		if err := on.Apply(ctx, edits); err != nil {
			return out, fmt.Errorf("catch up with %s: %w", ev.Kind, err)
		}
	}
	at := ref.Path
	if len(behind) > 0 && t.single {
		at = behind[0]
	}
	return append(out, broughtUp(ref, at, late[len(late)-1], len(late))), nil
}

// givenUp tells what earlier repairs of a journal gave up.
func givenUp(ref reprise.Ref, all []durable.Lost) (out []reprise.Finding) {
	for _, lost := range all {
		out = append(out, reprise.Finding{
			Code: reprise.CodeJournalDamaged, Severity: reprise.Warning, Subject: ref.ID,
			Message: "an earlier repair of the journal gave up " + lost.String(), Source: reprise.Source{File: lost.Copy},
		})
	}
	return out
}

func broughtUp(ref reprise.Ref, file string, last reprise.Event, n int) reprise.Finding {
	what := words(last) + " was on its way when the work was cut off; its files have been brought up to it"
	if n > 1 {
		what = fmt.Sprintf("%d events up to %s were on their way when the work was cut off; the files have been brought up to them", n, words(last))
	}
	return reprise.Finding{Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: file}, Message: what}
}

func changedElsewhere(ref reprise.Ref, file string, last reprise.Event) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeMovedOn, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: file},
		Message: fmt.Sprintf("the file was changed by something else since %s was recorded; the file counts", words(last)),
		Hint:    "`reprise log` shows what was recorded",
	}
}

// words names an event in a sentence.
func words(ev reprise.Event) string {
	what := string(ev.Kind)
	for _, id := range []string{ev.Step, ev.Phase, ev.Question} {
		if id != "" {
			return fmt.Sprintf("%s of %q", what, id)
		}
	}
	return what
}
