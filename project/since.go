package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/internal/tree"
	"reprise/journal"
)

// An attempt at one run is not there to change the files of another one. How they are is on
// record before it begins: in the snapshot that whoever takes the lease makes first, and in the
// commit that it begins on. Whoever judges its end, the engine that saw it or the next one,
// compares the files with that. What the other runs' own journals do not explain is in doubt there.

// Attempt is one at a step of a run.
type Attempt struct {
	Of   *reprise.Run
	Step string
	// Began is when it did, Dated that by the clock that files are dated by, and Gen the holder of
	// the lease who began it: what is changed after a later one has taken it is not the attempt's.
	Began, Dated time.Time
	Gen          uint64
	// Base is the commit that it began on, and Elsewhere whether that is in a checkout of its own.
	Base      string
	Elsewhere bool
	// Expect are the files that it was to leave. Unlike are those that were not as is on record
	// when it began.
	Expect, Unlike []reprise.Expected
	// wrote is what journals say was written under that holder, which is not the attempt's doing.
	wrote []journal.Touch
}

// Missed is what a folder has no longer, or not as it was when an attempt began.
type Missed struct {
	// Gone are, in words, the open runs, those with more open steps, and the documents with
	// more acceptance criteria. BringsBack says how they are had again.
	Gone       []string
	BringsBack string
	// Were are their files one by one, as they were.
	Were []reprise.Expected
	// Changed are the runs that were open and whose files say something else, Removed
	// those that are gone.
	Changed, Removed []Changed
}

// Changed is a run whose files something changed. Marked has an event for each step that it
// closed, and one for the rest. since is when that was put on record with which the files were
// compared, and gen who held the lease then: what a later holder did is not meant.
type Changed struct {
	Ref    reprise.Ref
	Marked []reprise.Event
	since  time.Time
	gen    uint64
}

// ErrUnrecorded is why nobody can tell what an attempt changed.
var ErrUnrecorded = errors.New("how they were when it began is not on record")

// Since tells what was changed in the folder of the project since an attempt began. Nothing is
// known where the error is an ErrUnrecorded, or another one.
func (a *Attempt) Since(ctx context.Context, store *durable.Store, environ []string) (*Missed, error) {
	from, was, err := a.recorded(ctx, store, environ)
	if err != nil || from == nil {
		return &Missed{}, err
	}
	return a.compare(ctx, was, from)
}

// SinceCommit is Since for another folder, of which the attempt's commit alone is known. was are
// the files that differ from it, as it has them.
func (a *Attempt) SinceCommit(ctx context.Context, dir string, was map[string][]byte) (*Missed, error) {
	return a.compare(ctx, was, &record{dir: dir, base: a.Base, at: a.Began})
}

// Differ gives the files that are not as is on record before the attempt begins.
func (a *Attempt) Differ(ctx context.Context, store *durable.Store, environ []string) (out []reprise.Expected, err error) {
	_, was, err := a.recorded(ctx, store, environ)
	for name := range was {
		if is, err := HashIn(store, name); err == nil {
			out = append(out, reprise.Expected{Path: name, Before: is})
		}
	}
	slices.SortFunc(out, func(a, b reprise.Expected) int { return strings.Compare(a.Path, b.Path) })
	return out, err
}

// record is where it stands how the files of a folder were when an attempt began: in a commit,
// and in a snapshot unless that is nil. only are the files of which the commit does not tell.
type record struct {
	dir, base string
	at        time.Time
	snap      *durable.Snapshot
	only      map[string]bool
}

// recorded gives the files of the project that an attempt may have changed, as they were when it
// began. The record is nil if a later holder of the lease has told that.
func (a *Attempt) recorded(ctx context.Context, store *durable.Store, environ []string) (*record, map[string][]byte, error) {
	snap, later, err := store.Base(a.Began, a.Gen)
	switch {
	case later, err != nil:
		return nil, nil, err
	case snap == nil || snap.Tree == nil || a.Base == "":
		return nil, nil, ErrUnrecorded
	}
	from := &record{dir: store.Dir(), base: a.Base, at: snap.At, snap: snap}
	if a.Elsewhere {
		from.base = snap.Tree.Head // it began elsewhere, and this is how it was here
	}
	differ, err := store.Since(ctx, snap, func(name string) bool {
		return evidence.StateType(name) && name != a.Of.Path && !slices.ContainsFunc(a.Expect, func(e reprise.Expected) bool { return within(name, e.Path) })
	})
	if err != nil || len(differ) == 0 {
		return from, nil, err
	}
	was, only, err := evidence.Began(ctx, from.dir, snap.Tree.Head, from.base, differ, environ)
	for name, content := range was {
		var then reprise.Hash
		if content != nil {
			then = reprise.HashOf(content)
		}
		for _, t := range a.wrote {
			if t.Path == name && t.Before == then {
				then = t.After
			}
		}
		noted, known := reprise.Finds(a.Unlike, name)
		if is, err := HashIn(store, name); err == nil && (is == then || known && is == noted.Before) {
			delete(was, name)
		}
	}
	from.only = only
	return from, was, err
}

// compare tells what a folder misses. was are the files that differ from a record, as they are
// there; the content is nil for what was not there. It leaves out the attempt's own run, whose
// journal tells, and what that run is in the eyes of others.
func (a *Attempt) compare(ctx context.Context, was map[string][]byte, from *record) (*Missed, error) {
	out := &Missed{}
	if len(was) == 0 {
		return out, nil
	}
	fsys, err := openBeside(from.dir, a.Of.Ref)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	then, err := overlaid(ctx, fsys, was)
	if err != nil {
		return nil, err
	}
	changed := then.lost()
	had := slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return was[name] == nil || convention.Passing(path.Base(name)) })
	var files []string
	missing := func(name string) reprise.Expected {
		e := reprise.Expected{Path: name, Before: reprise.HashOf(was[name]), Changed: true}
		files, out.Were = append(files, outermost(fsys, name)), append(out.Were, e)
		return e
	}
	for _, name := range had {
		_, before := measured(then, name)
		if text, n := measured(fsys, name); text != nil && n < before {
			out.Gone = append(out.Gone, "some acceptance criteria of "+name)
			missing(name)
		}
	}
	if slices.ContainsFunc(changed, func(name string) bool { return !within(name, a.Of.Path) }) {
		now, err := neighbours(fsys, a.Of)
		if err != nil {
			return nil, err
		}
		for _, n := range now {
			if marked := a.changedIn(then, fsys, &n, changed); len(marked) > 0 {
				for i := range marked {
					if back := wereThere(&marked[i]); len(back) > 0 {
						marked[i].Text += "; " + from.bringsBack(back, from.snap != nil && from.snap.Tree.Head == from.base)
					}
				}
				out.Changed = append(out.Changed, Changed{n.Ref, marked, from.at, a.Gen})
			}
		}
		before, err := neighbours(then, a.Of)
		if err != nil {
			return nil, err
		}
		for _, n := range before {
			lost := slices.DeleteFunc(slices.Clone(had), func(name string) bool { return !n.reads[name] })
			what := n.Ref.ID
			gone := !isIn(fsys, n.Ref)
			if n.run == nil || !n.run.State.Open() || n.run.State == reprise.Unreadable || len(lost) == 0 || gone && putAway(fsys, &n) {
				continue // nothing that is known is gone
			}
			if !gone {
				have, err := reprise.Load(n.of, fsys, n.Ref)
				steps := openSteps(n.run)
				if err == nil {
					steps = slices.DeleteFunc(steps, func(id string) bool { return have.Step(id) != nil })
				}
				if err != nil || len(steps) == 0 || !slices.ContainsFunc(had, func(name string) bool { return within(name, n.Ref.Path) }) {
					continue
				}
				what = strings.Join(steps, ", ") + " of " + n.Ref.ID
			}
			out.Gone = append(out.Gone, what)
			ev := a.doubts(reprise.Event{Run: (*reprise.Place)(&n.Ref), Text: "removed " + n.Ref.Path})
			for _, name := range lost {
				ev.Expect = append(ev.Expect, missing(name))
			}
			if gone {
				ev.Text += "; " + from.bringsBack(lost, false)
				out.Removed = append(out.Removed, Changed{n.Ref, []reprise.Event{ev}, from.at, a.Gen})
			}
		}
	}
	if len(files) > 0 {
		slices.Sort(files)
		out.BringsBack = from.bringsBack(slices.Compact(files), false)
	}
	return out, nil
}

// changedIn gives what the files of a run say otherwise than then, under the name that it had.
func (a *Attempt) changedIn(then *committed, now fs.FS, n *neighbour, changed []string) (out []reprise.Event) {
	beside := map[string]bool{}
	for name := range n.reads {
		beside[path.Dir(name)] = true
	}
	if n.run == nil || !concerns(n.run, a.Of) || !slices.ContainsFunc(changed, func(name string) bool { return within(name, n.Ref.Path) || beside[path.Dir(name)] }) {
		return nil
	}
	seen := &noting{FS: then, names: map[string]bool{}}
	switch was, err := reprise.Load(n.of, seen, n.Ref); {
	case err != nil || was.State == reprise.Unreadable:
		out = bornSince(then, now, n.of, n.run, a.Of)
	case was.State.Open(): // otherwise nothing of it was to be settled
		out = changedSince(then, now, was, n.run, a.Of, slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return !n.reads[name] && !seen.names[name] }))
	}
	for i := range out {
		out[i] = a.doubts(out[i])
	}
	return out
}

// Written gives the other runs whose files, or the folders that are theirs alone, were written to
// since an attempt began: where nothing is on record to compare with, it may have changed them.
func (a *Attempt) Written(store *durable.Store) (*Missed, error) {
	fsys, err := openBeside(store.Dir(), a.Of.Ref)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	since := a.Dated.Add(-coarse)
	written := func(name string, folder bool) bool {
		info, err := os.Lstat(filepath.Join(store.Dir(), filepath.FromSlash(name)))
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist) // the folder tells of that
		}
		return info.IsDir() == folder && !info.ModTime().Before(since)
	}
	own := &noting{FS: fsys, names: map[string]bool{}}
	_, _ = reprise.Load(convention.Find(a.Of.Layout), own, a.Of.Ref) // what it reads is noted
	now, err := neighbours(fsys, a.Of)
	out := &Missed{}
	for _, n := range now {
		if n.run == nil || !concerns(n.run, a.Of) {
			continue
		}
		for name := range n.reads {
			if own.names[name] {
				continue // it may be there to write to that
			}
			if in := path.Dir(name); within(in, n.Ref.Path) && written(in, true) || written(name, false) {
				ev := a.doubts(reprise.Event{Text: "may have changed its files: they were written to, and " + ErrUnrecorded.Error()})
				out.Changed = append(out.Changed, Changed{n.Ref, []reprise.Event{ev}, a.Began.Add(-coarse), a.Gen})
				break
			}
		}
	}
	return out, err
}

// coarse is by how much the time of a file may lie before the moment it was written.
const coarse = 20 * time.Millisecond

// doubts completes an event that something was changed in another run since the attempt began.
func (a *Attempt) doubts(ev reprise.Event) reprise.Event {
	ev.Kind, ev.By, ev.At, ev.Actor = reprise.StepOverstepped, a.Step+" of "+a.Of.ID, a.Began, "reprise"
	return ev
}

// neighbour is a run beside another one: nil if it cannot be read. reads are the files that tell
// of it.
type neighbour struct {
	reprise.Ref
	of    convention.Entry
	run   *reprise.Run
	reads map[string]bool
}

// neighbours lists the runs beside one.
func neighbours(fsys fs.FS, own *reprise.Run) (out []neighbour, err error) {
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range refs {
			if together(ref, own.Ref) {
				continue
			}
			seen := &noting{FS: fsys, names: map[string]bool{}}
			run, _ := reprise.Load(e.Layout, seen, ref) // which is told of the run
			out = append(out, neighbour{ref, e, run, seen.names})
		}
	}
	return out, nil
}

// putAway reports whether a run is in the archive of its tool.
func putAway(fsys fs.FS, n *neighbour) bool {
	if n.of.PutAway == nil {
		return false
	}
	to, ok := n.of.PutAway(fsys, n.Ref)
	if !ok {
		return false
	}
	r, err := reprise.Load(n.of, fsys, to)
	return err == nil && r.State == reprise.Complete
}

// maxNamed bounds how long the names of files in a command may be together: a question holds only
// so much, and what it says to do is not cut.
const maxNamed = 120

// bringsBack says which commands bring files and folders back. kept tells that the snapshot has
// them all; otherwise it is asked only for what the commit does not have.
func (f *record) bringsBack(files []string, kept bool) string {
	var theirs, ours []string
	for _, name := range files {
		only := kept
		for one := range f.only {
			only = only || f.only[one] && within(one, name)
		}
		if only {
			ours = append(ours, reprise.Pasted(name, "FILE"))
		} else {
			theirs = append(theirs, name)
		}
	}
	var how []string
	if len(theirs) > 0 {
		how = append(how, f.checksOut(theirs))
	}
	if len(ours) == 0 {
		return strings.Join(how, "; ")
	}
	restore := "git restore --source=" + f.snap.Tree.Ref + ":files -- " + strings.Join(ours, " ")
	_, top := os.Lstat(filepath.Join(f.dir, ".git"))
	switch {
	case kept && top == nil:
		how = append(how, "`"+restore+"` brings that back")
	case kept:
		how = append(how, "`reprise undo "+f.snap.ID+" --all` brings that back, with all else since then")
	case top == nil && len(restore) <= 2*maxNamed:
		how = append(how, "`"+restore+"` brings back what git does not know")
	default:
		how = append(how, "`reprise undo "+f.snap.ID+"` brings back what git does not know, and takes back what the run did since")
	}
	return strings.Join(how, "; ")
}

// checksOut says which command brings files back as the commit has them.
func (f *record) checksOut(files []string) string {
	var all, changed strings.Builder
	for _, name := range files {
		all.WriteString(" " + reprise.Pasted(name, "FILE"))
		if _, err := os.Lstat(filepath.Join(f.dir, filepath.FromSlash(name))); err == nil {
			changed.WriteString(" " + reprise.Pasted(name, "FILE"))
		}
	}
	checkout := fmt.Sprintf("git checkout %.12s --", f.base)
	if all.Len() <= maxNamed {
		return "`" + checkout + all.String() + "` brings that back"
	}
	deleted := fmt.Sprintf("git diff --relative --name-only -z --diff-filter=D %.12[1]s | git checkout %.12[1]s --pathspec-from-file=- --pathspec-file-nul", f.base)
	if changed.Len() > 0 {
		deleted += "; " + checkout + changed.String()
	}
	return "`" + deleted + "` brings that back, with all else that was deleted since"
}

// Places gives where the runs of a project are, as a run sees it.
func Places(dir string, own reprise.Ref) (out []string, err error) {
	fsys, err := openBeside(dir, own)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range refs {
			out = append(out, ref.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// openBeside opens a project to look for the runs beside one. A folder beside its own counts
// though git ignores it.
func openBeside(dir string, own reprise.Ref) (*tree.FS, error) {
	marks := convention.Marks()
	if in := path.Dir(path.Dir(own.Path)); in != "." {
		beside, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(in))) // the tree reports it
		for _, e := range beside {
			marks = append(marks, e.Name())
		}
	}
	return tree.Open(dir, tree.Options{Marks: marks})
}

// outermost returns the largest folder around a file in which nothing is left, or the file: what
// else was in it is gone too.
func outermost(fsys fs.FS, name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if left, err := fs.ReadDir(fsys, dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = dir
	}
	return name
}

// isIn reports whether something is at the place of a run, which git may ignore.
func isIn(fsys fs.FS, ref reprise.Ref) bool {
	_, err := fs.Stat(fsys, ref.Path)
	return err == nil
}

func openSteps(r *reprise.Run) (out []string) {
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Status.Closed() {
			out = append(out, s.ID)
		}
	}
	return out
}

// concerns reports whether an attempt at another run is not there to change a run.
func concerns(r, own *reprise.Run) bool {
	return r.State != reprise.Unreadable && !storyOf(r.Ref, own) && !together(r.Ref, own.Ref) &&
		!slices.ContainsFunc(own.Also, func(also reprise.Ref) bool { return also.Path == r.Path })
}

// storyOf reports whether a run lies within the state of another one: it is a step of it, such as
// a story of an epic.
func storyOf(ref reprise.Ref, whole *reprise.Run) bool {
	return within(ref.Path, whole.Path) || slices.ContainsFunc(whole.Steps, func(s reprise.Step) bool { return s.Path != "" && within(ref.Path, s.Path) })
}

// together reports whether two runs are told by the same files: one run, in another checkout
// perhaps, or the same work in the eyes of another convention.
func together(a, b reprise.Ref) bool {
	if a.Layout != b.Layout {
		in := path.Dir(a.Path)
		return within(a.Path, b.Path) || within(b.Path, a.Path) || in == path.Dir(b.Path) && in != "."
	}
	return a.Path == b.Path || strings.HasSuffix(b.Path, "/"+a.Path)
}

// within reports whether a file is a folder, or in it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
