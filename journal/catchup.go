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

// standing is how the files of the layout stand to the last event.
type standing struct {
	entry Entry
	// behind are files that are still as they were before the event, changed
	// those that are neither that nor what the event made of them.
	behind, changed []string
}

// stand compares the files of the last event that has any with what they are.
// Only the very last event can be on its way: the next is recorded after its
// files have followed. An earlier one whose files are as they were before it was
// taken back.
func stand(store *durable.Store, entries []Entry) (s standing, found bool, err error) {
	for i := len(entries) - 1; i >= 0; i-- {
		if len(entries[i].Files) == 0 {
			continue
		}
		s.entry = entries[i]
		for _, t := range entries[i].Files {
			now, err := hash(store, t.Path)
			if err != nil {
				return s, true, err
			}
			switch now {
			case t.After:
			case t.Before:
				if i == len(entries)-1 {
					s.behind = append(s.behind, t.Path)
				}
			default:
				s.changed = append(s.changed, t.Path)
			}
		}
		return s, true, nil
	}
	return s, false, nil
}

// CatchUp brings the layout's files up to the journal after a crash: only the
// last event can be on its way. Files that somebody else has changed since are
// left as they are, and a finding says so; the journal keeps the event.
func (j *Journal) CatchUp(ctx context.Context) ([]reprise.Finding, error) {
	entries, _, err := Read(j.store, j.name)
	if err != nil {
		return nil, err
	}
	s, found, err := stand(j.store, entries)
	if err != nil || !found {
		return nil, err
	}
	if len(s.changed) > 0 {
		return []reprise.Finding{changedElsewhere(j.ref, s)}, nil
	}
	if len(s.behind) == 0 {
		return nil, nil
	}
	// The files are what they were when the event was recorded, so the layout
	// gives the same edits again.
	edits, _, err := j.edits(s.entry.Event)
	if err != nil {
		return nil, err
	}
	if err := j.store.Apply(ctx, edits); err != nil {
		return nil, fmt.Errorf("catch up with %s: %w", s.entry.Event.Kind, err)
	}
	return []reprise.Finding{{
		Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: j.ref.ID, Source: reprise.Source{File: s.behind[0]},
		Message: fmt.Sprintf("%s was on its way when the work was cut off; its files have been brought up to it", words(s.entry.Event)),
	}}, nil
}

// Look tells, without changing anything, how the layout's files stand to the
// journal of a run.
func Look(store *durable.Store, ref reprise.Ref) ([]reprise.Finding, error) {
	entries, info, err := Read(store, Name(ref))
	var damage *durable.DamageError
	if errors.As(err, &damage) {
		return []reprise.Finding{{
			Code: reprise.CodeJournalDamaged, Severity: reprise.Blocking, Subject: ref.ID, Source: reprise.Source{File: damage.Path},
			Message: "the journal of this run is damaged: " + damage.Cause, Hint: "`reprise repair` shows what can be saved",
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []reprise.Finding
	for _, lost := range info.Lost {
		out = append(out, reprise.Finding{
			Code: reprise.CodeJournalDamaged, Severity: reprise.Warning, Subject: ref.ID,
			Message: fmt.Sprintf("an earlier repair of the journal gave records up: %+v", lost),
		})
	}
	s, found, err := stand(store, entries)
	switch {
	case err != nil || !found:
		return out, err
	case len(s.changed) > 0:
		out = append(out, changedElsewhere(ref, s))
	case len(s.behind) > 0:
		out = append(out, reprise.Finding{
			Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: s.behind[0]},
			Message: words(s.entry.Event) + " was on its way when the work was cut off; its files are one event behind the journal",
			Hint:    "the next resume brings them up to it",
		})
	}
	return out, nil
}

func changedElsewhere(ref reprise.Ref, s standing) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeMovedOn, Severity: reprise.Info, Subject: ref.ID, Source: reprise.Source{File: s.changed[0]},
		Message: fmt.Sprintf("the file was changed by something else since %s was recorded; the file counts", words(s.entry.Event)),
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
