package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/tree"
	"reprise/journal"
)

// A state file that the head has and that is missing or truncated here counts as unread:
// its content is unknown. A committed removal is a decision; an uncommitted one may be an
// accident, and the run would continue as if the file had never existed.

// restore looks for runs that read files of which git has more. Such a run is shown with
// what git has, and the files as unread: where it stands is not all that is in them, since
// agents get them to read. A missing file counts even if the run stands the same with it: it
// may tell of commits or of earlier attempts. One that was moved does not count, nor does a
// run that is over and missing entirely, unless another one would be mistaken for it.
func (res *Result) restore(ctx context.Context, fsys *tree.FS, ours *home, runs []*reprise.Run, opts Options) ([]*reprise.Run, error) {
	full, err := withLost(ctx, fsys, opts.git)
	if err != nil || full == nil {
		return runs, err
	}
	for _, e := range res.entries {
		refs, err := e.Find(full)
		if err != nil {
			return nil, fmt.Errorf("look for runs as git has them: %w", err)
		}
		for _, ref := range refs {
			at := slices.IndexFunc(runs, func(r *reprise.Run) bool { return r.Layout == ref.Layout && r.Path == ref.Path })
			seen := &noting{FS: full, names: map[string]bool{}}
			then, err := reprise.Load(e.Layout, seen, ref)
			if err != nil {
				continue // loading it from disk reports it
			}
			same := at >= 0 && standsAs(runs[at], then)
			names := slices.DeleteFunc(full.lost(), func(name string) bool {
				return !seen.names[name] || then.Remade(name) || full.gone[name] && full.moved(name, then, opts.git)
			})
			gone := slices.ContainsFunc(names, func(name string) bool { return full.gone[name] })
			if len(names) == 0 || at >= 0 && !gone && ours.settles(runs[at], then) || ours.explains(ref, opts.git, names) {
				continue
			}
			// One that was found for want of the file is this run, under its name.
			taken := func(r *reprise.Run) bool {
				is := func(a reprise.Ref) bool { return a.Layout == r.Layout && a.Path == r.Path }
				return slices.ContainsFunc(then.Also, is) || r.Layout == then.Layout && r.ID == then.ID && !slices.ContainsFunc(refs, is)
			}
			switch {
			case same, at >= 0 && res.held.is(ref):
				then = runs[at]
			case at >= 0:
				runs[at] = then
			case !gone:
				runs = append(runs, then) // it is there, and too little is left of it to be known
			case slices.ContainsFunc(runs, taken):
				runs = append(slices.DeleteFunc(runs, taken), then)
			case !then.State.Open(), ours.entriesOf(ref) != nil, slices.ContainsFunc(runs, func(r *reprise.Run) bool { return movedTo(r, then, opts.git) }):
				continue // it is over, its journal tells of it, or it has another place
			default:
				runs = append(runs, then)
			}
			full.tell(then, names)
		}
	}
	return runs, nil
}

// standsAs reports whether two readings of a run are equivalent.
func standsAs(a, b *reprise.Run) bool {
	same := func(x, y reprise.Unit) bool { return x.ID == y.ID && x.Phase == y.Phase }
	dated := b.LastActivitySource.Line == 0 || a.LastActivity.Equal(b.LastActivity)
	return a.State == b.State && a.Reason == b.Reason && sameSteps(a, b) && slices.EqualFunc(a.Next, b.Next, same) && len(a.PendingQuestions()) == len(b.PendingQuestions()) && dated
}

// takesAway are the events after which files of a run are missing on purpose.
var takesAway = []reprise.EventKind{reprise.RunStarted, reprise.RunRenewed, reprise.RunStopped, reprise.StateRestored}

// explains reports whether a run's journal accounts for its files differing from git: the
// run was begun anew, given up or restored after they were committed.
func (h *home) explains(ref reprise.Ref, git *reprise.Git, names []string) bool {
	entries := h.entriesOf(ref)
	if entries == nil {
		return false
	}
	var since time.Time
	for i := range entries {
		if ev := entries[i].Event; slices.Contains(takesAway, ev.Kind) {
			since = ev.At
		}
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		at, _ := git.ContentAt(name)
		for i := 0; at.IsZero() && i < len(git.Commits); i++ {
			if git.Commits[i].OnHead {
				at = git.Commits[i].At
			}
		}
		return !at.Before(since)
	})
}

// settles reports whether what is missing of a run, compared with git's version of it, are
// steps about which nothing is left to decide: they are closed there, or the run's journal
// has them: they were done, taken back or left out, or their attempt is still to be
// settled. A failed one is open.
func (h *home) settles(now, then *reprise.Run) bool {
	hist, missing := journal.Fold(h.entriesOf(now.Ref)), 0
	for i := range then.Steps {
		s := &then.Steps[i]
		if now.Step(s.ID) != nil {
			continue
		}
		if known := hist.Steps[s.ID]; !s.Status.Closed() && (known == nil || known.LastFailure != nil) {
			return false
		}
		missing++
	}
	return missing > 0
}

// entriesOf reads the journal of a run; nil if it has none that can be read.
func (h *home) entriesOf(ref reprise.Ref) []journal.Entry {
	if h == nil || h.store == nil || !slices.Contains(h.names, journal.Name(ref)) {
		return nil
	}
	entries, _, err := journal.Read(h.store, journal.Name(ref))
	if err != nil {
		return nil // recallJournals reports it
	}
	return entries
}

// committed is a project with the files it lost relative to git.
type committed struct {
	*durable.DryRun
	gone map[string]bool // the file is missing; otherwise it is another one
}

// withLost returns the project with the files of which git has more, or nil if there are
// none.
func withLost(ctx context.Context, fsys *tree.FS, git *reprise.Git) (*committed, error) {
	if git == nil {
		return nil, nil
	}
	files := lasting(git.Lost)
	dropMoved(fsys, git, files)
	c, err := overlaid(ctx, fsys, files)
	if err != nil {
		return nil, err
	}
	if len(c.gone) == 0 {
		return nil, nil
	}
	return c, nil
}

// lasting leaves out the files that are taken away again in the course of the work.
func lasting(files map[string][]byte) map[string][]byte {
	out := maps.Clone(files)
	maps.DeleteFunc(out, func(name string, _ []byte) bool { return convention.Passing(path.Base(name)) })
	return out
}

// dropMoved leaves out the files that are missing where the head has them and lie elsewhere
// unchanged: as a file that is new to git, staged or of the same name. A file of another name
// that nobody staged may be what a rewrite that was cut off put aside. Each new file stands for
// one that is missing.
func dropMoved(fsys *tree.FS, git *reprise.Git, files map[string][]byte) {
	var gone, added []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) && len(files[name]) > 0 {
			gone = append(gone, name)
			for _, dir := range fsys.Index()[path.Base(name)] {
				added = append(added, path.Join(dir, path.Base(name)))
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, c := range git.Changed {
		if c.Added {
			added = append(added, c.Path)
		}
	}
	slices.Sort(added)
	holding := map[reprise.Hash]int{}
	for _, name := range slices.Compact(added) {
		if now, err := fs.ReadFile(fsys, name); err == nil && isNew(git, name) {
			holding[reprise.HashOf(now)]++
		}
	}
	for _, name := range gone {
		if was := reprise.HashOf(files[name]); holding[was] > 0 {
			holding[was]--
			delete(files, name)
		}
	}
}

// overlaid returns a project with other versions of some of its files.
func overlaid(ctx context.Context, fsys fs.FS, files map[string][]byte) (*committed, error) {
	c := &committed{durable.NewDryRun(readOnly{fsys}), map[string]bool{}}
	for name, content := range files {
		if !fs.ValidPath(name) {
			continue
		}
		edit := reprise.Edit{Path: name, Content: content}
		have, err := fs.ReadFile(fsys, name)
		if err == nil {
			edit.Base = reprise.HashOf(have)
		} else if !errors.Is(err, fs.ErrNotExist) {
			continue // loading the run reports it
		}
		if err := c.Apply(ctx, []reprise.Edit{edit}); err != nil {
			return nil, fmt.Errorf("read %s as git has it: %w", name, err)
		}
		c.gone[name] = err != nil
	}
	return c, nil
}

func (c *committed) lost() (out []string) {
	for name := range c.gone {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// moved reports whether a missing file lies elsewhere, perhaps changed: a file of its name tells of the
// same steps, and is the same, or git does not have it yet.
func (c *committed) moved(name string, r *reprise.Run, git *reprise.Git) bool {
	places, had := map[string]int{}, 0
	for i := range r.Steps {
		files := map[string]bool{r.Steps[i].Source.File: true}
		for _, claim := range r.Steps[i].Claims {
			files[claim.Source.File] = true
		}
		if !files[name] {
			continue
		}
		had++
		for file := range files {
			places[file]++
		}
	}
	was, err := fs.ReadFile(c, name)
	for file, n := range places {
		if err != nil || n < had || file == name || path.Base(file) != path.Base(name) || c.gone[file] {
			continue
		}
		if now, err := fs.ReadFile(c, file); err == nil && (bytes.Equal(now, was) || isNew(git, file)) {
			return true
		}
	}
	return false
}

// movedTo reports whether r has all the steps of a run that is missing, in files that are new
// to git: they were moved and changed.
func movedTo(r, was *reprise.Run, git *reprise.Git) bool {
	return r.Layout == was.Layout && len(was.Steps) > 0 && !slices.ContainsFunc(was.Steps, func(s reprise.Step) bool {
		now := r.Step(s.ID)
		return now == nil || now.Title != s.Title || !isNew(git, now.Source.File)
	})
}

// isNew reports whether a file is one that the head does not have.
func isNew(git *reprise.Git, name string) bool {
	return slices.ContainsFunc(git.Changed, func(c reprise.Change) bool {
		folder := strings.TrimSuffix(c.Path, "/") + "/" // git lists a new folder as a whole
		return c.Worktree == "" && (c.Untracked || c.Added) && (c.Path == name || strings.HasPrefix(name, folder))
	})
}

// tell marks files of a run as unread.
func (c *committed) tell(r *reprise.Run, names []string) {
	for _, name := range names {
		text := path.Base(name) + " ends early: the version in the last commit is longer. The rest is unknown, unless you commit the file as it is"
		if c.gone[name] {
			text = path.Base(name) + " is in the last commit but not on disk: its content counts as unknown unless you commit its removal"
		}
		r.Unread, r.Lost = append(r.Unread, name), append(r.Lost, name)
		r.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: name}, Message: text,
			Hint: fmt.Sprintf("`reprise repair` brings it back; `git commit -m removed -- %s` keeps it as it is", reprise.Pasted(name, "FILE")),
		})
	}
}

// noting is a file system that remembers what was opened.
type noting struct {
	fs.FS
	mu    sync.Mutex
	names map[string]bool
}

// Open implements fs.FS.
func (n *noting) Open(name string) (fs.File, error) {
	n.mu.Lock()
	n.names[name] = true
	n.mu.Unlock()
	return n.FS.Open(name)
}

// readOnly is a store that is only read.
type readOnly struct{ fs.FS }

// Apply implements reprise.Store.
func (readOnly) Apply(context.Context, []reprise.Edit) error { return fs.ErrPermission }
