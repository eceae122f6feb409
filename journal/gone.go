package journal

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// Gone is a file of a run that its journal wrote and that is no longer there. No
// event takes a file away, so someone else did: an agent, or git.
type Gone struct {
	Path string
	// Whole is set if the run cannot be identified without the file: only its beginning
	// wrote it, or none of the written files is left.
	Whole bool
}

// wrote is what a journal wrote last to a file.
type wrote struct {
	hash  reprise.Hash
	began bool // nothing but the beginning wrote it
}

// begins are the events that say what a run is.
var begins = []reprise.EventKind{reprise.RunStarted, reprise.RunRevised}

// keep remembers which files the run has since it was last begun.
func (t *trail) keep(kind reprise.EventKind, files []Touch) {
	if t.own == nil {
		t.own = map[string]wrote{}
	}
	for _, f := range files {
		was, known := t.own[f.Path]
		t.own[f.Path] = wrote{f.After, slices.Contains(begins, kind) && (!known || was.began)}
	}
}

// empty is the hash of a file with nothing in it: that it is gone loses nothing.
var empty = reprise.HashOf(nil)

// gone lists the files of a run that are no longer there. What a record is still
// on its way to is not.
func (t *trail) gone(store *durable.Store, ref reprise.Ref) (out []Gone, err error) {
	if t.over {
		return nil, nil
	}
	left := false
	for name, w := range t.own {
		if w.hash == empty || w.hash.IsZero() || !below(name, ref.Path) {
			continue
		}
		if t.newest && slices.ContainsFunc(t.files, func(f Touch) bool { return f.Path == name && f.Before.IsZero() }) {
			continue
		}
		switch is, err := isThere(store, name); {
		case err != nil:
			return nil, err
		case is:
			left = true
		default:
			out = append(out, Gone{name, w.began})
		}
	}
	if !left {
		for i := range out {
			out[i].Whole = true
		}
	}
	slices.SortStableFunc(out, func(a, b Gone) int {
		if a.Whole != b.Whole {
			if a.Whole {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out, nil
}

// below reports whether a file is a run's path or lies in it.
func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// Differs reports whether a file of the run is there and not as the journal wrote it.
// It is false for a file that the journal did not write.
func (a *Account) Differs(store *durable.Store, ref reprise.Ref, name string) bool {
	was, known := a.trail.own[name]
	if !known || was.hash.IsZero() || !below(name, ref.Path) {
		return false
	}
	now, err := hash(store, name)
	return err == nil && !now.IsZero() && now != was.hash
}

// Wrote reports whether the journal wrote a file.
func (a *Account) Wrote(name string) bool { _, known := a.trail.own[name]; return known }

// Untouched reports whether every file that the journal wrote is as it wrote it last, or gone.
func (a *Account) Untouched(store *durable.Store) bool {
	for name, was := range a.trail.own {
		if now, err := hash(store, name); err != nil || !now.IsZero() && now != was.hash {
			return false
		}
	}
	return len(a.trail.own) > 0
}

// Gone lists the files that the journal wrote and that are missing now, those that
// identify the run first.
func (a *Account) Gone(store *durable.Store, ref reprise.Ref) ([]Gone, error) {
	return a.trail.gone(store, ref)
}

// Gone returns a missing file that identifies the run, "" if there is none.
func (j *Journal) Gone() (string, error) {
	gone, err := j.trail.gone(j.store, j.ref)
	if err != nil || len(gone) == 0 || !gone[0].Whole {
		return "", err
	}
	return gone[0].Path, nil
}

// FindGone reports missing files, nil if there are none. The finding blocks if the run
// can no longer be identified.
func FindGone(ref reprise.Ref, gone []Gone) []reprise.Finding {
	if len(gone) == 0 {
		return nil
	}
	f := reprise.Finding{
		Code: reprise.CodeStateGone, Severity: reprise.Warning, Subject: ref.ID, Source: reprise.Source{File: gone[0].Path},
		Message: gone[0].Path + " is gone, and the journal has its contents",
		Hint:    GoneHint(ref.ID),
	}
	if n := len(gone); n > 1 {
		f.Message = fmt.Sprintf("%s and %s more are gone, and the journal has their contents", gone[0].Path, files(n-1))
	}
	if gone[0].Whole {
		f.Severity = reprise.Blocking
		f.Message += "; without it there is no telling what is left to do"
	}
	return []reprise.Finding{f}
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// GoneHint says what a person can do about a run whose files are gone.
func GoneHint(run string) string {
	return "`reprise repair " + run + "` rebuilds it from the journal, `reprise undo` lists what was kept before, `reprise clean " + run + "` gives the run up; `git stash list` or another branch may have it"
}

// Ends returns the entries with accepted ends that were not taken back later, in order.
// hist is the fold of the entries.
func Ends(entries []Entry, hist *History) []Entry {
	var out []Entry
	for i := range entries {
		ev := &entries[i].Event
		if ev.Kind != reprise.StepFinished {
			continue
		}
		if end := hist.Step(ev.Step).Accepted; end != nil && end.At.Equal(ev.At) && end.Attempt == ev.Attempt {
			out = append(out, entries[i])
		}
	}
	return out
}

// Reopened gives the end of a step that was accepted, that nothing on record took
// back, and that the files call open all the same without a word of it from then or
// later; nil for any other step.
func (s StepHistory) Reopened(step *reprise.Step) *reprise.Event {
	if step == nil || step.Status.Closed() || step.Status == reprise.InReview {
		return nil
	}
	if s.Accepted == nil || slices.ContainsFunc(step.Claims, func(c reprise.Claim) bool { return !c.At.Before(s.Accepted.At) }) {
		return nil
	}
	return s.Accepted
}

// StepsChanged tells that something else changed the file that holds what a run is made
// of.
func StepsChanged(ref reprise.Ref, file string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeStepsChanged, Severity: reprise.Warning, Subject: ref.ID, Source: reprise.Source{File: file},
		Message: "something else changed the steps that the run was begun with",
		Hint:    "resuming puts them back; to change what is to be done, change the workflow file",
	}
}
