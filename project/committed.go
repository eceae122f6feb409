package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/tree"
	"reprise/journal"
)

// A file of state that the head has and that is missing or cut off here is unread: what
// it told is unknown. A removal that was committed is a decision; one that was not may
// be an accident, and the run would continue as if nothing had ever been there.

// restore looks for the runs that read files which git has more of. Where such a run
// stands differently with them, it is shown as they tell it, with the files as unread.
// A run that is not there at all counts only if another one is taken for it: whoever
// removes or moves all of a run means it.
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
				continue // loading it from disk tells of it
			}
			names := slices.DeleteFunc(full.lost(), func(name string) bool { return !seen.names[name] || then.Remade(name) })
			if len(names) == 0 || at >= 0 && standsAs(runs[at], then) || ours.explains(ref, opts.git, names) {
				continue
			}
			taken := func(r *reprise.Run) bool {
				return slices.ContainsFunc(then.Also, func(a reprise.Ref) bool { return a.Layout == r.Layout && a.Path == r.Path })
			}
			switch {
			case at >= 0 && res.held.is(ref):
				then = runs[at]
			case at >= 0:
				runs[at] = then
			case slices.ContainsFunc(runs, taken):
				runs = append(slices.DeleteFunc(runs, taken), then)
			default:
				continue
			}
			full.tell(then, names)
		}
	}
	return runs, nil
}

// standsAs reports whether two readings of a run come to the same.
func standsAs(a, b *reprise.Run) bool {
	same := func(x, y reprise.Unit) bool { return x.ID == y.ID && x.Phase == y.Phase }
	dated := b.LastActivitySource.Line == 0 || a.LastActivity.Equal(b.LastActivity)
	return sameSteps(a, b) && slices.EqualFunc(a.Next, b.Next, same) && len(a.PendingQuestions()) == len(b.PendingQuestions()) && dated
}

// takesAway are the events after which files of a run are missing on purpose.
var takesAway = []reprise.EventKind{reprise.RunStarted, reprise.RunRenewed, reprise.RunStopped, reprise.StateRestored}

// explains reports whether the journal of a run tells why its files are no longer what
// git has: it was begun anew, given up or brought back after they were committed.
func (h *home) explains(ref reprise.Ref, git *reprise.Git, names []string) bool {
	if h == nil || h.store == nil || !slices.Contains(h.names, journal.Name(ref)) {
		return false
	}
	entries, _, err := journal.Read(h.store, journal.Name(ref))
	if err != nil {
		return false // recallJournals says so
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

// committed shows a project with what it lost against git.
type committed struct {
	*durable.DryRun
	gone map[string]bool // whether the file is missing; else it was cut off
}

// withLost gives the project with the files that git has more of, nil if there are none.
func withLost(ctx context.Context, fsys *tree.FS, git *reprise.Git) (*committed, error) {
	if git == nil {
		return nil, nil
	}
	c, err := overlaid(ctx, fsys, git.Lost)
	if err != nil {
		return nil, err
	}
	if len(c.gone) == 0 {
		return nil, nil
	}
	return c, nil
}

// overlaid gives a project with other versions of some of its files.
func overlaid(ctx context.Context, fsys fs.FS, files map[string][]byte) (*committed, error) {
	c := &committed{durable.NewDryRun(readOnly{fsys}), map[string]bool{}}
	for name, content := range files {
		if !fs.ValidPath(name) || convention.Passing(path.Base(name)) {
			continue
		}
		edit := reprise.Edit{Path: name, Content: content}
		have, err := fs.ReadFile(fsys, name)
		if err == nil {
			edit.Base = reprise.HashOf(have)
		} else if !errors.Is(err, fs.ErrNotExist) {
			continue // loading the run tells of it
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

// tell marks files of a run as unread.
func (c *committed) tell(r *reprise.Run, names []string) {
	for _, name := range names {
		text := path.Base(name) + " ends early: the version in the last commit is longer. The rest is unknown, unless you commit the file as it is"
		if c.gone[name] {
			text = path.Base(name) + " is in the last commit but not on disk: its content counts as unknown unless you commit its removal"
		}
		r.Unread, r.Lost = append(r.Unread, name), append(r.Lost, name)
		r.Report(reprise.Finding{Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: name}, Message: text})
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
