package ledger

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/splice"
)

// Load reads one run from a file system, as a convention does.
type Load func(fsys fs.FS) *reprise.Run

// cannot is the cause of an error for an event that the files have no place for.
type cannot struct{ why string }

func (e *cannot) Error() string { return e.why + ": " + reprise.ErrCannotRecord.Error() }
func (e *cannot) Unwrap() error { return reprise.ErrCannotRecord }

// Cannot says that the files have no place for an event, and why.
func Cannot(format string, args ...any) error { return &cannot{fmt.Sprintf(format, args...)} }

// Wanted is the status an event gives its step; ok is false for events of
// another kind.
func Wanted(kind reprise.EventKind) (status reprise.Status, ok bool) {
	status, ok = map[reprise.EventKind]reprise.Status{
		reprise.StepStarted: reprise.InProgress, reprise.StepFinished: reprise.Done, reprise.StepFailed: reprise.Failed,
		reprise.StepBlocked: reprise.Blocked, reprise.StepSkipped: reprise.Skipped, reprise.StepReset: reprise.Pending,
	}[kind]
	return status, ok
}

// Undisturbed reads the run with the edits in place and returns an error, which
// wraps reprise.ErrCannotRecord, if a step or question that the event is not
// about reads otherwise than before, or a file can no longer be read. about holds
// the ids that the event may change.
func Undisturbed(load Load, fsys fs.FS, edits []reprise.Edit, about ...string) error {
	if len(edits) == 0 {
		return nil
	}
	was, now := load(fsys), load(splice.Over(fsys, edits))
	for i := range was.Steps {
		s := &was.Steps[i]
		if after := now.Step(s.ID); !slices.Contains(about, s.ID) && (after == nil || after.Status != s.Status) {
			return Cannot("step %s: it would change what the files say of other work", s.ID)
		}
	}
	for _, q := range was.Questions {
		i := slices.IndexFunc(now.Questions, func(o reprise.Question) bool { return o.ID == q.ID })
		same := i >= 0 && now.Questions[i].Text == q.Text && now.Questions[i].Answered == q.Answered && now.Questions[i].Answer == q.Answer
		if !slices.Contains(about, q.ID) && !same {
			return Cannot("question %s: it would change what the files say of other work", q.ID)
		}
	}
	for _, f := range now.Findings {
		if (f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeSalvaged) && !Found(was.Findings, f.Source.File, f.Code) {
			return Cannot("%s: it could no longer be read", f.Source)
		}
	}
	return nil
}

// damage are the findings that a mend has to make go away in its files.
var damage = []string{reprise.CodeUnreadable, reprise.CodeSalvaged, reprise.CodeDamagedLine, reprise.CodeIntegrity, reprise.CodeAmbiguous}

// Proposal is one way to set damage right, before it was tried.
type Proposal struct {
	What string // the damage, one sentence
	From string // the ledger it is rebuilt from
	// Make makes the change, in the files as the proposals before it leave them. It
	// changes nothing where there is nothing to do.
	Make func(c *Changes)
	// Accept, if set, asks for more than every mend must hold.
	Accept func(was, now *reprise.Run) bool
}

// Mend tries proposals one after the other, each on top of those that were kept,
// and keeps what reads back: the damage in the files it touches is gone or less,
// every step is still there, what was closed is closed and nothing else is.
// Proposals for the same file become one mend.
func Mend(load Load, fsys fs.FS, proposals []Proposal) []reprise.Mend {
	var kept []reprise.Mend
	var edits []reprise.Edit
	was := load(fsys)
	for _, p := range proposals {
		c := NewChanges(splice.Over(fsys, edits))
		p.Make(c)
		made, err := c.Edits()
		if err != nil || len(made) == 0 {
			continue
		}
		next := merge(edits, made)
		now := load(splice.Over(fsys, next))
		if !mended(was, now, made) || p.Accept != nil && !p.Accept(was, now) {
			continue
		}
		edits, was = next, now
		kept = join(kept, reprise.Mend{What: p.What, From: p.From, Edits: made})
	}
	for i := range kept {
		for k, e := range kept[i].Edits {
			at := slices.IndexFunc(edits, func(o reprise.Edit) bool { return o.Path == e.Path })
			kept[i].Edits[k] = edits[at]
		}
	}
	return kept
}

// mended reports whether a change takes damage away and nothing else.
func mended(was, now *reprise.Run, edits []reprise.Edit) bool {
	for _, e := range edits {
		if count(now, e.Path) > 0 && count(now, e.Path) >= count(was, e.Path) {
			return false
		}
	}
	if now.Further(was) {
		return false
	}
	for i := range was.Steps {
		s := &was.Steps[i]
		if after := now.Step(s.ID); after == nil || s.Status.Closed() && !after.Status.Closed() {
			return false
		}
	}
	return true
}

func count(r *reprise.Run, file string) (n int) {
	for _, f := range r.Findings {
		if f.Source.File == file && slices.Contains(damage, f.Code) {
			n++
		}
	}
	return n
}

// merge puts edits over others: the later content of a file with the base of the
// first.
func merge(edits, more []reprise.Edit) []reprise.Edit {
	out := slices.Clone(edits)
	for _, e := range more {
		if i := slices.IndexFunc(out, func(o reprise.Edit) bool { return o.Path == e.Path }); i >= 0 {
			out[i].Content = e.Content
			continue
		}
		out = append(out, e)
	}
	return out
}

// join adds a mend to those before it, to the one of the same file where there is
// one.
func join(mends []reprise.Mend, m reprise.Mend) []reprise.Mend {
	for i := range mends {
		if mends[i].Edits[0].Path == m.Edits[0].Path {
			mends[i].What += "; " + m.What
			if !strings.HasSuffix(mends[i].From, m.From) {
				mends[i].From += ", " + m.From
			}
			return mends
		}
	}
	return append(mends, m)
}
