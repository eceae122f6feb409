package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// CleanPlan is what giving up a run would do: statuses left in the middle are
// reset, the state is archived, and both are logged.
type CleanPlan struct {
	Run *reprise.Run
	// Resets are the steps whose transitional status is taken back, Diff what
	// that changes in the layout's files.
	Resets []string
	Diff   string
	// Archive is what is moved to the archive, "" where the run's state is a
	// file of the user, as a story or a list of tasks is: that stays.
	Archive string
	// Ends is set if such a file is gone: all that is left of the run is its record.
	Ends bool
	// Refused says why it must not be done, if it must not, and Hint what a
	// person can do; Live that it is being worked on right now.
	Refused, Hint string
	Live          bool
}

// Outcome gives the plan in one word; OK where there is something to do.
func (p *CleanPlan) Outcome() reprise.Outcome {
	switch {
	case p.Refused != "" && !p.Live:
		return reprise.OutcomeBlocked
	case p.Refused != "":
		return reprise.OutcomeHeld
	case p.Archive == "" && len(p.Resets) == 0 && !p.Ends:
		return reprise.OutcomeNothing
	}
	return reprise.OutcomeOK
}

// PlanClean tells what Clean would do. It changes nothing.
func (t Tender) PlanClean(ctx context.Context, r *reprise.Run, d reprise.Decision) (*CleanPlan, error) {
	plan := &CleanPlan{Run: r}
	if d.State == reprise.Running {
		plan.Refused, plan.Live = "it is being worked on", true
		return plan, nil
	}
	if !r.Kind.Facts().Kept {
		plan.Archive = r.Path
	}
	plan.Ends = r.Kind.Facts().Kept && r.Gone() != nil
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	if f, is := project.Elsewhere(store.Dir(), []*reprise.Run{r}, t.Now)[r]; is {
		e := &ElsewhereError{Op: "clean", Finding: f}
		plan.Archive, plan.Ends, plan.Refused, plan.Hint, plan.Live = "", false, f.Message, e.Hint(), e.Live()
		return plan, nil
	}
	there, err := begun(ctx, store, r)
	if err != nil {
		return nil, err
	}
	dry := durable.NewDryRun(there)
	for _, ev := range Resets(r, t.Now) {
		edits, err := record(dry, r, ev)
		if err != nil {
			return nil, err
		}
		if len(edits) == 0 {
			continue
		}
		if err := dry.Apply(ctx, edits); err != nil {
			return nil, err
		}
		plan.Resets = append(plan.Resets, ev.Step)
	}
	plan.Diff = dry.Diff()
	return plan, nil
}

// begun shows a store as it will be once a run has begun whose beginning was cut off;
// any other is there.
func begun(ctx context.Context, store *durable.Store, r *reprise.Run) (reprise.Store, error) {
	l, err := layoutOf(r)
	if err != nil {
		return nil, err
	}
	b, err := project.BeginningOf(store, r.Ref)
	if err != nil || !b.Behind(store) {
		return store, err
	}
	return b.Play(ctx, store, l)
}

// Resets are the events that take transitional statuses of a run back when it is
// given up. A unit whose status is archived with the state, or is gone with it, needs none.
func Resets(r *reprise.Run, now time.Time) []reprise.Event {
	var out []reprise.Event
	for i := range r.Steps {
		s := &r.Steps[i]
		if (s.Path == "" || within(s.Path, r.Path)) && (!r.Kind.Facts().Kept || r.Gone() != nil) {
			continue
		}
		if s.Status == reprise.InProgress || s.Status == reprise.InReview {
			out = append(out, reprise.Event{Kind: reprise.StepReset, At: now, Step: s.ID, Actor: "reprise", Text: "cleaned up"})
		}
	}
	return out
}

// within reports whether a name is that of a file or folder, or of something in it.
func within(name, of string) bool { return name == of || strings.HasPrefix(name, of+"/") }

// record asks the run's layout what an event means, as the files stand in store.
func record(store reprise.Store, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	l, run, err := load(store, r)
	if err != nil {
		return nil, err
	}
	edits, err := l.Record(store, run, ev)
	if errors.Is(err, reprise.ErrCannotRecord) {
		return nil, nil
	}
	return edits, err
}

// Cleaned is what a clean-up did.
type Cleaned struct {
	Resets   []string
	Archived string // where the state is now
	Snapshot string // brings all of it back
}

// Clean gives up a run as planned: a snapshot first, then the resets, then the
// journal, then the archive.
func (t Tender) Clean(ctx context.Context, plan *CleanPlan) (*Cleaned, error) {
	if plan.Refused != "" {
		return nil, fmt.Errorf("clean %s: %s", plan.Run.ID, plan.Refused)
	}
	store, err := t.take(ctx, "clean", plan.Run)
	if err != nil {
		return nil, err
	}
	defer store.Release()
	// What the journal alone tells is to be in the snapshot, too.
	if _, err := caughtUp(ctx, store, plan.Run); err != nil {
		return nil, err
	}
	snapshot, err := Keep(ctx, store, []*reprise.Run{plan.Run}, "before clean "+plan.Run.ID)
	if err != nil {
		return nil, err
	}
	done, err := GiveUp(ctx, store, plan.Run, t.Now)
	done.Snapshot = snapshot
	return done, err
}

// GiveUp resets statuses that a run left in the middle and archives its state,
// both in the journal first. The lease must be held; what is given up should be
// in a snapshot already.
//
// If the process dies here, giving it up again comes to the same end.
func GiveUp(ctx context.Context, store *durable.Store, r *reprise.Run, now time.Time) (*Cleaned, error) {
	done := &Cleaned{}
	j, err := caughtUp(ctx, store, r)
	if err != nil {
		return done, err
	}
	for _, ev := range Resets(r, now) {
		edits, err := j.Record(ctx, ev)
		if err != nil {
			return done, err
		}
		if len(edits) > 0 {
			done.Resets = append(done.Resets, ev.Step)
		}
	}
	kept := r.Kind.Facts().Kept // the state is the user's own file
	if kept && r.Gone() == nil {
		return done, nil
	}
	note := reprise.Event{Kind: reprise.RunStopped, At: now, Actor: "reprise", Outcome: "archived", Text: "the state was archived"}
	if kept {
		note.Text = "its files are gone"
	}
	if err := j.Note(note); err != nil || kept {
		return done, err
	}
	done.Archived, err = store.Archive(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil // it was begun, and nothing of it is there yet
	}
	return done, err
}

// caughtUp opens the journal of a run and brings its files up to it.
func caughtUp(ctx context.Context, store *durable.Store, r *reprise.Run) (*journal.Journal, error) {
	l, err := layoutOf(r)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(store, l, r.Ref)
	if err != nil {
		return nil, err
	}
	_, err = j.CatchUp(ctx)
	return j, err
}
