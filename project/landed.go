package project

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"reprise"
	"reprise/journal"
)

// tellLanded adds to an open run how the ends of its steps were accepted here, what
// they were to leave and is gone, and which work waits to be committed.
func tellLanded(fsys fs.FS, r *reprise.Run, hist *journal.History) {
	if hist.Started {
		r.Life, r.Began = reprise.TrailerLife(hist.Began), hist.Began
	}
	if !r.State.Open() {
		return
	}
	for i := range r.Steps {
		s, h := &r.Steps[i], hist.Step(r.Steps[i].ID)
		if h.Held != nil {
			s.Held = h.Held.Text
		}
		if h.Accepted == nil || s.Status != reprise.Done {
			continue
		}
		s.Accepted = &reprise.Acceptance{Commit: h.Accepted.Commit, Key: h.Accepted.Key, At: h.Accepted.At}
		if r.Kind != reprise.KindGraph {
			continue // only graphs tell who needs what a step leaves
		}
		for _, e := range h.Made {
			if strings.HasPrefix(e.Path, r.Path+"/") {
				continue // a file of the run itself
			}
			if _, err := fs.Stat(fsys, e.Path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				s.Accepted.Gone = append(s.Accepted.Gone, e.Path)
			}
		}
	}
	for i := range r.Next {
		if s := r.Step(r.Next[i].ID); s != nil && s.Held != "" {
			r.Next[i].Reason = "it was finished, and its work only has to be committed"
		}
	}
}

// forgetRedone takes out what was found of work that is done again.
func forgetRedone(r *reprise.Run, from string) {
	at := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return from != "" && s.ID == from })
	if at < 0 {
		return
	}
	again := r.RestsOn(at)
	r.Findings = slices.DeleteFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeWorkNotHere && again[f.Subject] })
}
