package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"reprise"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/journal"
)

// tellElsewhere reports open runs that are worked on from another folder. A run is inside
// every folder around it, and its copies are inside those of other checkouts; each of
// these may be a project. It has one journal and one lease, in the folder from which it
// was last worked on. From any other folder, what was begun and who is working are
// unknown.
func (j *Judgement) tellElsewhere(runs []*reprise.Run, opts JudgeOptions) {
	homes := map[string]*home{}
	for _, r := range runs {
		if !r.State.Open() {
			continue
		}
		here, top := j.here(r)
		last := j.lastIn(homes, top, here, opts)
		if last.Kind == reprise.EngineLeft && (last.Outcome == reprise.HandedOver || last.Outcome == reprise.HandingOver) {
			r.Report(handedOver(r, last.Text, durable.StateDir))
		} else if file := j.fleetMark(homes, top, here); file != "" {
			r.Report(handedOver(r, "", file))
		} else if top != "." {
			r.Report(elsewhere(r, here, top, "it is in another checkout of the repository, "+top))
		}
		if top != "." {
			for _, dir := range aroundCopy(j.Root, r.Path) {
				j.hold(r, homeAt(homes, dir), r.Path, opts.Now, opts) // is someone working there?
			}
			continue
		}
		ours := last.At
		for _, dir := range Around(j.Root, r.Path) {
			j.hold(r, homeAt(homes, dir), r.Path, ours, opts)
		}
		for _, other := range r.Also {
			for _, dir := range aroundCopy(j.Root, other.Path) {
				j.hold(r, homeAt(homes, dir), other.Path, ours, opts)
			}
		}
	}
}

// Elsewhere returns the runs, including closed ones, that must not be changed from root,
// and why: one is being worked on from another folder, or the journal there is the one
// that knows what was begun. Call it while holding the lease of root, before changing
// anything: if two callers do so, at least one sees the other.
func Elsewhere(root string, runs []*reprise.Run, now time.Time) map[*reprise.Run]reprise.Finding {
	j := &Judgement{Result: &Result{Root: root}}
	seen := make([]*reprise.Run, len(runs))
	for i, r := range runs {
		seen[i] = &reprise.Run{Ref: r.Ref, State: reprise.Interrupted}
	}
	j.tellElsewhere(seen, JudgeOptions{Options: Options{Now: now}})
	out := map[*reprise.Run]reprise.Finding{}
	for i, r := range seen {
		blocking := slices.IndexFunc(r.Findings, func(f reprise.Finding) bool { return f.Severity == reprise.Blocking })
		switch {
		case r.Owner != nil:
			out[runs[i]] = reprise.Finding{
				Code: reprise.CodeLiveOwner, Severity: reprise.Blocking, Subject: r.ID, Source: r.Owner.Source,
				Message: fmt.Sprintf("process %d is working on it from another folder", r.Owner.PID),
				Hint:    "wait until it ends, or stop it yourself first",
			}
		case blocking >= 0:
			out[runs[i]] = r.Findings[blocking]
		}
	}
	return out
}

// hold compares what a state folder elsewhere, if there is one, knows of a run with what
// ours knows. name is the run, or a copy of it in another checkout.
func (j *Judgement) hold(r *reprise.Run, h *home, name string, ours time.Time, opts JudgeOptions) {
	if h == nil {
		return
	}
	rel, err := filepath.Rel(h.dir, filepath.Join(j.Root, filepath.FromSlash(name)))
	if err != nil {
		return
	}
	there := reprise.Ref{Layout: r.Layout, Path: filepath.ToSlash(rel)}
	at, err := filepath.Rel(j.Root, h.dir)
	if err != nil {
		at = h.dir
	}
	at = filepath.ToSlash(at)
	if h.look(); h.err != nil {
		r.Report(problemElsewhere(r, there, at, h.err))
		return
	}
	lock := path.Join(at, durable.LockPath)
	last, known := h.last(there)
	if name := h.named(there); !known && name != "" {
		// Its end says nothing: the journal has no event yet, or is damaged.
		if _, err := journal.ReadAccount(h.store, name); err != nil {
			r.Report(problemElsewhere(r, there, at, err))
			return
		}
	}
	switch {
	case known && works(h.holder, &last), h.quiet():
		takeOwner(r, h, lock, true, opts)
		if r.Owner != nil && r.Owner.Source.File == lock {
			r.Owner.Dir = at
		}
	}
	// The files of a copy that was left in an orderly way say what was done.
	settled := name != r.Path && (last.Event.Kind == reprise.EngineLeft || journal.Over(&last.Event))
	if known && last.Event.At.After(ours) && !settled {
		r.Report(elsewhere(r, there, at, "it was last worked on from "+at+", whose journal knows what was begun"))
	}
}

// problemElsewhere reports that a run's journal in another folder, which knows the run as there,
// cannot be read.
func problemElsewhere(r *reprise.Run, there reprise.Ref, dir string, err error) reprise.Finding {
	f := journalProblem(r.ID, err)
	f.Source.File = path.Join(dir, f.Source.File)
	if f.Code == reprise.CodePermission {
		f.Severity = reprise.Warning // it may be unrelated to the run
		return f
	}
	f.Hint = "repair it there: `" + commandThere("repair", there, dir) + "`"
	return f
}

func elsewhere(r *reprise.Run, there reprise.Ref, dir, message string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeElsewhere, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: dir},
		Message: message, Hint: "resume it there: `" + commandThere("resume", there, dir) + "`", There: there.Exact(),
	}
}

// commandThere is one of our commands for a run that another folder knows as there.
func commandThere(verb string, there reprise.Ref, dir string) string {
	return fmt.Sprintf("reprise %s %s -C %s", verb, reprise.Pasted(there.Exact(), "RUN"), reprise.Pasted(dir, "DIR"))
}

// here returns a run as the checkout that has it names it, and the folder of the project in that
// checkout, which is "." for this one.
func (j *Judgement) here(r *reprise.Run) (ref reprise.Ref, top string) {
	ref = r.Ref
	if own := j.checkoutIn(r.Path); own == "" || own == path.Clean(r.Worktree) {
		return ref, "."
	}
	top = j.checkoutOf(r.Path)
	ref.Path = strings.TrimPrefix(r.Path, top+"/")
	return ref, top
}

// away lists the files of open runs that another checkout has, as they would be in this one.
func (j *Judgement) away(runs []*reprise.Run) (out []string) {
	for _, r := range runs {
		if ref, top := j.here(r); top != "." && r.State.Open() {
			out = append(out, ref.Path)
			for i := range r.Steps {
				out = append(out, strings.TrimPrefix(r.Steps[i].Path, top+"/"))
			}
		}
	}
	return out
}

// lastIn returns what was last recorded about a run in the state folder of the project in a checkout.
func (j *Judgement) lastIn(homes map[string]*home, top string, ref reprise.Ref, opts JudgeOptions) (last reprise.Event) {
	if top == "." && opts.Held.is(ref) {
		if n := len(opts.Held.Events); n > 0 {
			last = opts.Held.Events[n-1]
		}
		return last
	}
	if h := homeAt(homes, filepath.Join(j.Root, filepath.FromSlash(top))); h != nil {
		h.look()
		e, _ := h.last(ref)
		last = e.Event
	}
	return last
}

// Around lists the folders that contain a run, except the project itself: those above it,
// and those between it and the run. Each may be a project with its own lease.
func Around(root, run string) (out []string) {
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for dir := path.Dir(run); dir != "."; dir = path.Dir(dir) {
		out = append(out, filepath.Join(root, filepath.FromSlash(dir)))
	}
	return out
}

// aroundCopy lists the folders that contain a copy of a run, up to the top of its
// checkout, except those that contain the project.
func aroundCopy(root, name string) (out []string) {
	at := filepath.Join(root, filepath.FromSlash(name))
	for dir := filepath.Dir(at); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if in, err := filepath.Rel(dir, root); err == nil && filepath.IsLocal(in) {
			break
		}
		out = append(out, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
	}
	return out
}

// checkoutIn returns the other checkout that a file is in, "" for none: one beside this one, or
// a linked one inside it.
func (j *Judgement) checkoutIn(name string) string {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return j.checkoutOf(name)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		at := filepath.Join(j.Root, filepath.FromSlash(dir))
		if own := gitDir(at); own != "" && own != filepath.Join(at, ".git") {
			return dir
		}
	}
	return ""
}

// checkoutOf returns the folder that corresponds to the project in the checkout
// containing a file outside it.
func (j *Judgement) checkoutOf(name string) string {
	root := real(j.Root)
	below, err := filepath.Rel(checkoutTop(root), root)
	for dir := path.Dir(name); strings.Trim(dir, "./") != ""; dir = path.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(j.Root, filepath.FromSlash(dir), ".git")); err != nil {
			continue
		}
		if here := path.Join(dir, filepath.ToSlash(below)); err == nil && strings.HasPrefix(name, here+"/") {
			return here
		}
		return dir
	}
	return path.Dir(name)
}

// home is one of our state folders.
type home struct {
	store   *durable.Store
	names   []string                 // of its journals
	entries map[string]journal.Entry // the last entry of each journal, as far as its end can be read; nil before look
	holder  durable.Holder
	err     error

	dir    string
	looked bool            // whether left has been determined
	left   []reprise.Owner // what its dead holder left running
}

// heirs returns what its dead holder left running.
func (h *home) heirs(dead reprise.Owner) []reprise.Owner {
	if !h.looked {
		h.looked = true
		h.left = evidence.Heirs(filepath.Join(h.dir, filepath.FromSlash(durable.LockPath)), h.dir, dead)
	}
	return h.left
}

// homeAt reads the state folder inside a folder, or returns nil if there is none.
func homeAt(known map[string]*home, dir string) *home {
	if h, ok := known[dir]; ok {
		return h
	}
	known[dir] = nil
	_, err := os.Lstat(filepath.Join(dir, durable.StateDir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	h := &home{dir: dir, err: err}
	known[dir] = h
	if err != nil {
		return h
	}
	store, err := durable.Open(dir, durable.Options{AllowNetwork: true, Adopt: true})
	if h.store = store; err == nil {
		h.names, err = journal.Logs(store)
	}
	if err == nil {
		if h.holder, err = store.Who(); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	h.err = err
	return h
}

// look reads the ends of its journals, once.
func (h *home) look() {
	if h.err == nil && h.entries == nil {
		if h.entries, h.err = journal.LastEntries(h.store); h.entries == nil {
			h.entries = map[string]journal.Entry{}
		}
	}
}

// named returns the name of a run's journal, or "".
func (h *home) named(ref reprise.Ref) string {
	if i := slices.IndexFunc(h.names, func(name string) bool { return journal.Placed(name, ref) }); i >= 0 {
		return h.names[i]
	}
	return ""
}

// last returns the last entry recorded for a run.
func (h *home) last(ref reprise.Ref) (journal.Entry, bool) {
	e, known := h.entries[h.named(ref)]
	return e, known
}

// quiet reports whether its holder has not recorded anything yet, so that what it is
// about to do is unknown.
func (h *home) quiet() bool {
	if h.holder.PID == 0 {
		return false
	}
	for _, e := range h.entries {
		if e.Generation == h.holder.Generation {
			return false
		}
	}
	return true
}
