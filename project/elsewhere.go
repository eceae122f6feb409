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

// tellElsewhere reports open runs that are worked on from another folder. A run lies in
// every folder around it, its copies in those of other checkouts, and each of them may
// be a project; it has one journal and one lease, those of the folder from which it was
// last worked on. From another folder it is not known what was begun, nor who is at work.
func (j *Judgement) tellElsewhere(runs []*reprise.Run, opts JudgeOptions) {
	homes := map[string]*home{}
	for _, r := range runs {
		if !r.State.Open() {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(r.Path)) {
			top := j.checkoutOf(r.Path)
			r.Report(elsewhere(r, top, "it is in another checkout of the repository, "+top))
			for _, dir := range aroundCopy(j.Root, r.Path) {
				j.hold(r, homeAt(homes, dir), r.Path, opts.Now, opts) // is someone at work there?
			}
			continue
		}
		ours := j.lastHere(homes, r, opts)
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

// Elsewhere tells which of the runs are not to be changed from the folder root, and
// why, closed ones too: one is being worked on from another folder, or the journal there
// is the one that knows what was begun. Ask while holding the lease of root, before
// anything is changed: of two that do so, at least one sees the other.
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
// ours does. name is the run, or a copy of it in another checkout.
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
		r.Report(problemElsewhere(r, at, h.err))
		return
	}
	lock := path.Join(at, durable.LockPath)
	last, known := h.last(there)
	if name := h.named(there); !known && name != "" {
		// Its end shows nothing: it holds no event yet, or it is damaged.
		if _, err := journal.ReadAccount(h.store, name); err != nil {
			r.Report(problemElsewhere(r, at, err))
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
	// A copy that was left in good order says in its files what was done.
	settled := name != r.Path && (last.Event.Kind == reprise.EngineLeft || journal.Over(&last.Event))
	if known && last.Event.At.After(ours) && !settled {
		r.Report(elsewhere(r, at, "it was last worked on from "+at+", whose journal knows what was begun"))
	}
}

// problemElsewhere tells that the journal of a run in another folder cannot be read.
func problemElsewhere(r *reprise.Run, dir string, err error) reprise.Finding {
	f := journalProblem(r.ID, err)
	f.Source.File = path.Join(dir, f.Source.File)
	if f.Code == reprise.CodePermission {
		f.Severity = reprise.Warning // it may have nothing to do with the run
		return f
	}
	f.Hint = fmt.Sprintf("repair it there: `reprise repair -C %s`", reprise.Pasted(dir, "DIR"))
	return f
}

func elsewhere(r *reprise.Run, dir, message string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeElsewhere, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: dir},
		Message: message, Hint: fmt.Sprintf("resume it there: `reprise resume -C %s`", reprise.Pasted(dir, "DIR")),
	}
}

// lastHere is when something was last recorded of a run in the state folder of the
// project itself.
func (j *Judgement) lastHere(homes map[string]*home, r *reprise.Run, opts JudgeOptions) (at time.Time) {
	if opts.Held.is(r.Ref) {
		if n := len(opts.Held.Events); n > 0 {
			at = opts.Held.Events[n-1].At
		}
		return at
	}
	if h := homeAt(homes, j.Root); h != nil {
		h.look()
		last, _ := h.last(r.Ref)
		at = last.Event.At
	}
	return at
}

// Around lists the folders that a run lies in, but for the project's own: those
// above it, and those on the way down to the run. Each of them may be a
// project with a lease of its own.
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

// aroundCopy lists the folders that a copy of a run lies in, up to the top of its
// checkout, but for those that the project lies in.
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

// checkoutOf is the folder that stands for the project in the checkout that holds a file
// outside of it.
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

// home is a state folder of ours.
type home struct {
	store   *durable.Store
	names   []string                 // of its journals
	entries map[string]journal.Entry // the last of each journal, as far as its end shows it; nil before look
	holder  durable.Holder
	err     error

	dir    string
	looked bool            // for what its dead holder left running
	left   []reprise.Owner // that
}

// heirs finds what its holder, which is dead, left running.
func (h *home) heirs(dead reprise.Owner) []reprise.Owner {
	if !h.looked {
		h.looked = true
		h.left = evidence.Heirs(filepath.Join(h.dir, filepath.FromSlash(durable.LockPath)), h.dir, dead)
	}
	return h.left
}

// homeAt reads the state folder in a folder, nil if there is none.
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
		h.names, err = store.Logs()
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

// named is the name of the journal of a run, "" if there is none.
func (h *home) named(ref reprise.Ref) string {
	if i := slices.IndexFunc(h.names, func(name string) bool { return journal.Placed(name, ref) }); i >= 0 {
		return h.names[i]
	}
	return ""
}

// last is what was recorded last of a run.
func (h *home) last(ref reprise.Ref) (journal.Entry, bool) {
	e, known := h.entries[h.named(ref)]
	return e, known
}

// quiet reports whether its holder has not recorded anything yet: what it is about to
// do is unknown.
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
