package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"reprise"
	"reprise/convention"
	"reprise/journal"
)

// Later steps build on the output of accepted ones, and that output is in the project,
// where anyone can change it. The end of every attempt records these files, so that a
// change made by no attempt shows before anything is built on it.

// maxStanding limits the size of outputs that are compared by content, since they are
// read for every view.
const maxStanding = 64 << 20

// Standing returns the current hash of an output, zero if it does not exist. A file that
// is not read is identified by size and time alone, so its content never counts as
// unchanged; unread then says why.
func Standing(fsys fs.FS, name string) (now reprise.Hash, unread string) {
	info, err := fs.Stat(fsys, name)
	if err == nil && info.Mode().IsRegular() && info.Size() > maxStanding {
		unread = "it is too large to compare each time, and its size or time changed"
	} else if now, err = HashIn(fsys, name); err == nil {
		return now, ""
	} else {
		unread = "it cannot be read"
	}
	print := unread
	if info != nil {
		print = fmt.Sprintf("unread, %d bytes of %d", info.Size(), info.ModTime().UnixNano())
	}
	return reprise.HashOf([]byte(print)), unread
}

// unlanded drops a commit as proof of a step that is not on record as done where something
// that the step is to leave is not there.
func (v *View) unlanded(fsys fs.FS) {
	r := v.Run
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() || !s.Landed() {
			continue
		}
		var leaves []string
		if r.FromFile {
			leaves = s.Files
		} else if book, err := convention.Playbook(r.Layout, r.Kind); err == nil {
			a, _ := book.Assign(fsys, r, s.Unit("")) // what cannot be assigned is to leave nothing
			for _, e := range a.Expect {
				leaves = append(leaves, e.Path)
			}
		}
		for _, name := range leaves {
			if now, err := HashIn(fsys, name); err == nil && now != (reprise.Hash{}) {
				continue
			}
			why := name + ", which " + s.ID + " is to leave, is not there"
			for k := range s.Evidence {
				if e := &s.Evidence[k]; e.For && e.Kind == reprise.EvidenceCommit {
					e.For, e.Text = false, e.Text+", but "+why
				}
			}
			r.Report(reprise.Finding{
				Code: reprise.CodeWorkNotHere, Severity: reprise.Warning, Subject: s.ID, Source: s.Source,
				Message: "git has a commit for " + s.ID + ", but " + why + ": it is not taken for done",
				Hint:    "put it back if " + s.ID + " is done; otherwise it is done again",
			})
			break
		}
	}
}

// Outputs lists, by step, the files that accepted steps left and open steps need.
func Outputs(r *reprise.Run, h *journal.History) map[string][]string {
	if !r.Kind.Facts().Needs {
		return nil // nothing says who needs a step's output
	}
	needed, out := map[string]bool{}, map[string][]string{}
	for i := range r.Steps {
		for _, id := range r.Steps[i].Needs {
			needed[id] = needed[id] || !r.Steps[i].Status.Closed()
		}
	}
	for i := range r.Steps {
		s, step := &r.Steps[i], h.Step(r.Steps[i].ID)
		if !needed[s.ID] || s.Status != reprise.Done || step.Accepted == nil {
			continue
		}
		for _, e := range step.Made {
			if !strings.HasPrefix(e.Path, r.Path+"/") { // a file of the run itself
				out[s.ID] = append(out[s.ID], e.Path)
			}
		}
	}
	return out
}

// replaced reports whether there is no longer what counted as an output when it was accepted:
// a regular file, or a folder with a file in it, inside the project. was is what it was then,
// zero if that is not on record.
func (s *Scope) replaced(name string, info fs.FileInfo, err error, was reprise.Hash) bool {
	switch {
	case err != nil:
		return true
	case info.Mode().IsRegular():
		return was == ofFolder
	case !info.IsDir(), !was.IsZero() && was != ofFolder:
		return true
	}
	// Listings of s.Files leave out what holds no state.
	now, err := HashIn(os.DirFS(s.Dir), name)
	return err == nil && now.IsZero()
}

// isUnread reports whether the system could not say what is at a place, or refuses to show
// what a file or folder there holds. A link that leads nowhere, in a circle or out of the
// project is nothing.
func isUnread(fsys fs.FS, name string, info fs.FileInfo, err error) bool {
	if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		var f fs.File
		if f, err = fsys.Open(name); err == nil {
			f.Close()
		}
	}
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && errno != syscall.ENOENT && errno != syscall.ENOTDIR && errno != syscall.ELOOP
}

// tellOverwritten finds files that open steps need and that are not as the run left them.
// An interrupted attempt may have changed them; the engine determines that first and then
// asks.
func (v *View) tellOverwritten(fsys fs.FS) {
	if !v.Run.State.Open() || len(v.AtWork) > 0 || len(v.History.Stands) == 0 {
		return
	}
	for step, names := range Outputs(v.Run, v.History) {
		s := v.Run.Step(step)
		for _, name := range names {
			was, recorded := v.History.Stands[name]
			if !recorded || slices.Contains(s.Accepted.Unread, name) { // which is told, and blocks
				continue
			}
			if now, unread := Standing(fsys, name); !now.IsZero() && now != was {
				s.Accepted.Changed = append(s.Accepted.Changed, reprise.Expected{Path: name, Before: now, Lacks: unread})
			}
		}
	}
}

// tellLeft finds the files that git calls changed and that are what a step of the run left.
func (v *View) tellLeft(fsys fs.FS, git *reprise.Git) {
	if git == nil || len(v.History.Stands) == 0 {
		return
	}
	v.Run.Left = nil
	for _, ch := range git.Changed {
		was, recorded := v.History.Stands[ch.Path]
		if !recorded || ch.Worktree != "" || ch.Conflict {
			continue
		}
		if now, unread := Standing(fsys, ch.Path); unread == "" && now == was {
			v.Run.Left = append(v.Run.Left, ch.Path)
		}
	}
}

// overwritten asks about each step whose outputs something other than the run changed.
// While an attempt is open it may be the cause, and the finding is only a warning.
func (v *View) overwritten() (out []Doubt) {
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		if s.Accepted == nil || len(s.Accepted.Changed) == 0 {
			continue
		}
		var names, unread []string
		for _, e := range s.Accepted.Changed {
			names = append(names, e.Path)
			if e.Lacks != "" {
				unread = append(unread, e.Path+" was not compared: "+e.Lacks)
			}
		}
		what := fmt.Sprintf("%s left %s, which changed since it was accepted at %s", s.ID, strings.Join(names, ", "), clock(s.Accepted.At))
		if len(unread) > 0 {
			what = fmt.Sprintf("%s left %s, which may have changed since it was accepted at %s (%s)", s.ID, strings.Join(names, ", "), clock(s.Accepted.At), strings.Join(unread, "; "))
		}
		if len(v.History.Open()) > 0 {
			v.Run.Report(reprise.Finding{
				Code: reprise.CodeFilesChanged, Severity: reprise.Warning, Subject: s.ID, Source: reprise.Source{File: names[0]},
				Message: what + "; the attempt that was cut off may have done it, or something else",
				Hint:    "look at it: the next steps build on it",
			})
			continue
		}
		end := *v.History.Step(s.ID).Accepted
		end.Actor, end.Text, end.Stands = reprise.Person, "a person said to use what it left as it is now", slices.Clone(s.Accepted.Changed)
		d := Doubt{Prefix: OverwrittenPrefix, Ends: []reprise.Event{end}, Done: "use it as it is", Again: "do it again"}
		d.Finding = reprise.Finding{
			Code:    reprise.CodeFilesChanged,
			Message: what + ", and reprise did not do that: nothing builds on it until you decide",
		}
		out = append(out, d.about(v.Run, what+", and reprise did not do that. Use it as it is, or do "+s.ID+" again?"))
	}
	return out
}
