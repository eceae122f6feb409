package project

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"reprise"
	"reprise/convention"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/journal"
)

// owed finds the steps whose last attempt was rejected although, because of what it left,
// the files mark them done or no longer offer them. They are not done; one that was left out
// after that is skipped. Files changed since then count as they are.
func (v *View) owed(fsys fs.FS, book reprise.Playbook) {
	if v.Changed != nil && v.Changed.Asks {
		return // a person has yet to decide whether it is built again
	}
	for id, h := range v.History.Steps {
		if _, busy := v.AtWork[id]; h.Open != nil && !busy && v.endedSince(h.Open) {
			const why = "it was started, and no end of it is on record"
			u := reprise.Unit{ID: id, Phase: cmp.Or(h.Open.Phase, id), Role: h.Open.Actor, Reason: why}
			if s := v.Run.Step(id); s != nil {
				u = s.Unit(why)
			}
			v.Run.Owed = append(v.Run.Owed, u)
			v.notOver(id + ": " + why)
			continue
		}
		if len(h.Rejected) == 0 && h.Owed == nil {
			continue
		}
		if s := v.Run.Step(id); s != nil && s.Status == reprise.Done && ByPresence(s, h.Rejected) && untouched(fsys, h.Rejected) {
			s.Status = reprise.Skipped
		}
		s, unaccepted := v.Run.Step(id), false
		if s != nil {
			unaccepted = s.Unaccepted()
		}
		whole := v.Run.Step(v.Run.Whole(id))
		if _, busy := v.AtWork[id]; busy || h.Owed == nil || h.Open != nil || s == nil && whole != nil && whole.Status.Closed() || !unaccepted && !untouched(fsys, h.Owed.Expect) {
			continue
		}
		switch {
		case unaccepted, s != nil && v.overtaken(fsys, book, id):
			v.Run.Owed = append(v.Run.Owed, s.Unit(notAccepted))
		case s == nil && (len(h.Owed.Expect) > 0 || v.still(h.Said)) && !v.offers(fsys, book, id):
			u := reprise.Unit{ID: id, Phase: cmp.Or(h.Owed.Phase, id), Role: h.Owed.Actor, Reason: notAccepted}
			if h.First != nil {
				u.Role = h.First.Actor // whoever gave the attempt up is not who does it
			}
			v.Run.Owed = append(v.Run.Owed, u)
		case s != nil && s.Status.Closed() && ByPresence(s, h.Owed.Expect):
			if s.Status = reprise.Pending; h.Owed.Kind == reprise.StepFailed {
				s.Status = reprise.Failed
			}
			v.Run.Owed = append(v.Run.Owed, s.Unit(notAccepted))
		}
		if len(v.Run.Owed) > 0 && (v.Run.State == reprise.Complete || v.still(h.Said)) {
			v.notOver(id + ": " + notAccepted)
		}
	}
	v.sentBack(fsys, book)
	slices.SortStableFunc(v.Run.Owed, func(a, b reprise.Unit) int { return strings.Compare(a.ID, b.ID) })
}

const notAccepted = "its last attempt was not accepted"

// overtaken reports whether the files offer what comes after a phase that they themselves
// call open, as a story does of which all boxes are ticked: that is a guess. In a loop any
// other phase comes after it.
func (v *View) overtaken(fsys fs.FS, book reprise.Playbook, id string) bool {
	r := v.Run
	at := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == id })
	if at < 0 || !OneWord(r) || !begins(r.Steps[at].Status) || v.offers(fsys, book, id) {
		return false
	}
	after := r.Steps[at+1:]
	if convention.Of(r.Layout).Reopens != nil {
		after = r.Steps
	}
	return slices.ContainsFunc(after, func(s reprise.Step) bool { return v.offers(fsys, book, s.ID) })
}

// begins reports whether a step with this status can be started.
func begins(s reprise.Status) bool {
	return s == reprise.Pending || s == reprise.InProgress || s == reprise.InReview
}

// sentBack finds the phase that a person wants done again, or whose work a review sent
// back, where the files offer only what comes after it.
func (v *View) sentBack(fsys fs.FS, book reprise.Playbook) {
	for i := range v.Run.Steps {
		s, why := &v.Run.Steps[i], "a person asked for it"
		if next := i + 1; !s.Again && next < len(v.Run.Steps) && v.Run.Steps[next].Rejected > 0 && v.History.Step(s.ID).Accepted == nil {
			why = v.Run.Steps[next].ID + " sent its work back"
		} else if !s.Again {
			continue
		}
		if len(v.Run.Owed) == 0 && v.History.Step(s.ID).Open == nil && v.overtaken(fsys, book, s.ID) {
			v.Run.Owed = append(v.Run.Owed, s.Unit(why))
		}
	}
}

// explained reports whether the journal knows where it comes from that the files call a step
// done: its end is on record here, or it was open when an attempt began that was not accepted
// and may have written it.
func (v *View) explained(id string) bool {
	if s := v.Run.Step(id); s != nil && (s.Claimed || s.Ended > 0) {
		return true
	}
	if !slices.ContainsFunc(v.History.Listed, func(l reprise.Listed) bool { return l.ID == id }) {
		return false
	}
	for _, h := range v.History.Steps {
		if h.Open != nil || h.Owed != nil {
			return true
		}
	}
	return false
}

// notOver opens a run that its files call over, and drops what they say of that.
func (v *View) notOver(why string) {
	r := v.Run
	r.State, r.Reason = reprise.Interrupted, why
	r.Findings = slices.DeleteFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeClosedOpen && f.Subject == r.ID })
}

// endedSince reports whether only the files say that the run is over, although an attempt
// has no recorded end: its agent may have written that.
func (v *View) endedSince(open *reprise.Event) bool {
	return !v.Own && (v.Run.State == reprise.Complete || v.Run.State == reprise.Stopped) && v.Run.State == v.Files.State &&
		!slices.ContainsFunc(v.Events, func(ev reprise.Event) bool { return journal.Over(&ev) && !ev.At.Before(open.At) })
}

// still reports whether the files say of the run what they said, in the same words.
func (v *View) still(said *reprise.Says) bool {
	return said != nil && said.State == v.Files.State && said.Word == v.Files.Reason
}

// offers reports whether the files offer a step.
func (v *View) offers(fsys fs.FS, book reprise.Playbook, step string) bool {
	return Offers(fsys, book, v.Run, step)
}

// Offers reports whether a run offers a step.
func Offers(fsys fs.FS, book reprise.Playbook, r *reprise.Run, step string) bool {
	return book != nil && slices.ContainsFunc(r.Next, func(u reprise.Unit) bool {
		a, err := book.Assign(fsys, r, u)
		return err == nil && (a.Step == step || a.Step == "" && u.ID == step)
	})
}

// ByPresence reports whether a step is marked done merely because its output exists. The
// file may be incomplete.
func ByPresence(s *reprise.Step, expect []reprise.Expected) bool {
	for _, c := range s.Claims {
		if c.Won && slices.ContainsFunc(expect, func(e reprise.Expected) bool {
			return c.Source.File == e.Path || strings.HasPrefix(e.Path, c.Source.File+"/") && c.Source.Line == 0
		}) {
			return true
		}
	}
	return false
}

// untouched reports whether files are as they were when an attempt was given up.
func untouched(fsys fs.FS, files []reprise.Expected) bool {
	for _, e := range files {
		if now, err := HashIn(fsys, e.Path); err != nil || now != e.Before {
			return false
		}
	}
	return true
}

// HashIn returns the hash of a file in the project, see durable.HashOf, or zero if there is
// none. All folders that contain a file have the same hash; an empty one counts as
// nothing. What is neither is an error, and is not opened.
func HashIn(fsys fs.FS, name string) (reprise.Hash, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a file is where one of its folders would be
		return reprise.Hash{}, nil
	case err != nil:
		return reprise.Hash{}, err
	case info.Mode().IsRegular():
		return hashFile(fsys, name)
	case !info.IsDir():
		return reprise.Hash{}, &durable.NotRegularError{Path: name, Mode: info.Mode()}
	}
	empty := true
	walkErr := fs.WalkDir(fsys, name, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			empty = false // also if that is unknown
			return fs.SkipAll
		}
		return nil
	})
	if empty && walkErr == nil {
		return reprise.Hash{}, nil
	}
	return ofFolder, nil
}

// ofFolder is the hash of every folder that contains a file.
var ofFolder = reprise.HashOf([]byte("folder"))

func hashFile(fsys fs.FS, name string) (reprise.Hash, error) {
	if store, ok := fsys.(interface {
		HashFile(name string, behind ...[]byte) (reprise.Hash, error)
	}); ok {
		return store.HashFile(name)
	}
	f, info, err := doc.OpenRegular(fsys, name)
	if err != nil {
		return reprise.Hash{}, err
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return reprise.Hash{}, &fs.PathError{Op: "hash", Path: name, Err: errors.ErrUnsupported}
	}
	return durable.HashOf(at, info.Size(), info.ModTime())
}
