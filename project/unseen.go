package project

import (
	"errors"
	"io/fs"
	"slices"

	"reprise"
)

// tellUnseen blocks a run if an interrupted attempt was to leave something in an
// unreadable place: whether it exists is unknown, and another attempt could not be
// started.
func (v *View) tellUnseen(fsys fs.FS) {
	var unseen []string
	for _, open := range v.History.Open() {
		if _, busy := v.AtWork[open.Step]; busy {
			continue
		}
		for _, e := range open.Expect {
			f, err := fsys.Open(e.Path)
			if err == nil {
				_ = f.Close() // nothing was written to it
			}
			if errors.Is(err, fs.ErrPermission) {
				unseen = append(unseen, e.Path)
			}
		}
	}
	slices.Sort(unseen)
	for _, file := range slices.Compact(unseen) {
		v.Run.Report(reprise.Finding{
			Code: reprise.CodePermission, Severity: reprise.Blocking, Subject: v.Run.ID, Source: reprise.Source{File: file},
			Message: "permission denied, so whether the attempt that was cut off left " + file + " is unknown",
			Hint:    "see with `ls -ld` who owns it and its folders; run reprise as that user or change their permissions",
		})
	}
}
