package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// putBack reports whether a run was begun here with steps that nobody else is to
// change. Where something else changed them, the run becomes what it is once whoever
// resumes it has put them back; a finding says so.
func putBack(ctx context.Context, store *durable.Store, r *reprise.Run, hist *journal.History) (own bool) {
	l := convention.Find(r.Layout)
	if l == nil || r.State == reprise.Unreadable && r.Gone() != nil {
		return false
	}
	file, content, own, stands := hist.Defined(l, r.Ref)
	if !stands {
		return own
	}
	have, err := fs.ReadFile(store, file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(have, content) {
		return own // one that is gone is another matter
	}
	dry := durable.NewDryRun(store)
	if err == nil {
		err = dry.Apply(ctx, []reprise.Edit{{Path: file, Base: reprise.HashOf(have), Content: content}})
	}
	var then *reprise.Run
	if err == nil {
		then, err = l.Load(dry, r.Ref)
	}
	if err != nil {
		f := journal.StepsChanged(r.Ref, file)
		f.Severity, f.Message = reprise.Blocking, f.Message+", and it cannot be put back: "+err.Error()
		r.Report(f)
		return own
	}
	then.Also = r.Also
	*r = *then
	r.Report(journal.StepsChanged(r.Ref, file))
	return own
}
