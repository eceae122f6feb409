package project

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"reprise"
	"reprise/convention"
	"reprise/internal/doc"
	"reprise/internal/durable"
)

// refused determines whether a run that would be resumed can be. It reports if the
// settings or the workflow file cannot be read or are not trusted, and if resuming or
// starting the next step cannot be recorded, because of the layout or a full disk.
func (v *View) refused(fsys fs.FS, root string, opts JudgeOptions) bool {
	r, d := v.Run, v.Decision
	l := convention.Find(r.Layout)
	if d.Action != reprise.Start && d.Action != reprise.Ask || d.Verdict == reprise.BlockedVerdict || l == nil || v.Now.IsZero() {
		return false // an event needs a time
	}
	if full := noRoom(root, r); full != nil {
		r.Report(*full)
		return true
	}
	if opts.Budget != nil {
		if _, err := opts.Budget(r.Ref); err != nil {
			r.Findings = append(r.Findings, misread(root, r.Ref, err)...)
			return true
		}
	}
	if opts.Distrusts != nil {
		if file := opts.Distrusts(r.Ref); file != "" {
			r.Report(reprise.Finding{
				Code: reprise.CodeNotTrusted, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: file},
				Message: file + " names commands that are not trusted here: nothing is started until you trust them", Hint: "`reprise trust " + file + "` shows them and asks",
			})
			return true
		}
	}
	if _, err := fs.Stat(fsys, r.Path); errors.Is(err, fs.ErrNotExist) {
		return false // its beginning was cut off: resuming creates its files first
	}
	events := []reprise.Event{{Kind: reprise.RunResumed, At: v.Now}}
	if d.Action == reprise.Start && d.Point != nil {
		step, err := startable(fsys, r, d)
		if err != nil {
			r.Report(reprise.Finding{
				Code: reprise.CodeAmbiguous, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path},
				Message: "nothing can be started: " + err.Error(), Hint: "do it with the tool that created these files; then resume what comes after it",
			})
			return true
		}
		if f := v.blockedBelow(fsys); f != nil {
			r.Report(*f)
			return true
		}
		events = append(events, reprise.Event{Kind: reprise.StepStarted, At: v.Now, Step: step, Phase: d.Point.Phase, Attempt: 1, Actor: d.Point.Role})
	}
	for _, ev := range events {
		if _, err := l.Record(fsys, v.Files, ev); err != nil && !errors.Is(err, reprise.ErrCannotRecord) {
			r.Report(reprise.Finding{
				Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path},
				Message: "nothing can be recorded in its files: " + err.Error(), Hint: "`reprise repair` shows what can be rebuilt",
			})
			return true
		}
	}
	return false
}

// blockedBelow returns that a unit which would be started is done by a run of its own that
// is blocked, nil if there is none.
func (v *View) blockedBelow(fsys fs.FS) *reprise.Finding {
	book, err := convention.Playbook(v.Run.Layout, v.Run.Kind)
	if err != nil {
		return nil
	}
	for _, u := range v.Decision.Units {
		a, err := book.Assign(fsys, v.Run, u)
		if err != nil || a.Child == nil {
			continue
		}
		for _, p := range v.Observed.Peers {
			at := slices.IndexFunc(p.Findings, func(f reprise.Finding) bool { return f.Severity == reprise.Blocking })
			if p.Layout == a.Child.Layout && p.Path == a.Child.Path && at >= 0 {
				return &reprise.Finding{
					Code: p.Findings[at].Code, Severity: reprise.Blocking, Subject: u.ID, Source: p.Findings[at].Source,
					Message: u.ID + " cannot be resumed: " + p.Findings[at].Message, Hint: "`reprise check " + reprise.Pasted(p.ID, "RUN") + "` shows what to do about it",
				}
			}
		}
	}
	return nil
}

// noRoom returns that working on a run could not be recorded, nil if there is room on the
// disk and all of it can be written.
func noRoom(root string, r *reprise.Run) *reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path}, Hint: "make room on the disk",
	}
	err := durable.Room(root)
	if err == nil {
		err = durable.Writable(root, r.Path)
	}
	if err == nil {
		return nil
	}
	if fixed := new(durable.ReadOnlyError); errors.As(err, &fixed) {
		f.Code, f.Source.File = reprise.CodePermission, fixed.Path
		file := reprise.Pasted(fixed.Path, "FILE")
		switch {
		case errors.Is(err, syscall.EROFS):
			f.Hint = "its file system is read-only: work on a copy that can be written"
		case errors.Is(err, syscall.EPERM):
			f.Hint = "it is marked as not to be changed; `sudo chattr -i " + file + "` allows it again"
		default:
			f.Hint = "`chmod u+w " + file + "`, or work as the user that it belongs to"
		}
	}
	f.Message = "nothing can be recorded: " + err.Error()
	return &f
}

// misread returns what keeps settings or a workflow file from being read: each mistake in
// it with its place, named from the project's folder where it is inside.
func misread(root string, ref reprise.Ref, err error) (out []reprise.Finding) {
	f := reprise.Finding{
		Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: ref.ID, Source: reprise.Source{File: ref.Path},
		Message: "nothing can be started: " + err.Error(), Hint: "fix or restore the file first",
	}
	var problems doc.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		return []reprise.Finding{f}
	}
	for _, p := range problems {
		if inside, err := filepath.Rel(root, p.File); err == nil && filepath.IsLocal(inside) {
			p.File = filepath.ToSlash(inside)
		}
		f.Source, f.Message, f.Hint = reprise.Source{File: p.File, Line: p.Line}, "nothing can be started: "+p.Brief(), p.Do()
		out = append(out, f)
	}
	return out
}

// startable returns the step that the first unit of a decision begins with. The error
// says why none of its units can be worked on, nil if one can.
func startable(fsys fs.FS, r *reprise.Run, d reprise.Decision) (step string, refused error) {
	book, err := convention.Playbook(r.Layout, r.Kind)
	if err != nil {
		return d.Point.ID, nil // no one works on such a run
	}
	for _, u := range append([]reprise.Unit{*d.Point}, d.Units...) {
		a, err := book.Assign(fsys, r, u)
		if err == nil {
			return cmp.Or(a.Step, u.ID), nil
		}
		refused = cmp.Or(refused, err)
	}
	return d.Point.ID, refused
}
