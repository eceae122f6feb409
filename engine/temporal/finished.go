package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reprise"
	"reprise/convention"
)

// A story of an epic is there without the epic: whoever finishes it on the default branch, or in
// a checkout of the clone, need not know that the fleet has left the epic open. So before the
// fleet takes a run up, what was finished of it since its branch was made comes to its branch.

// place is where something of a run may have been finished beside its branch.
type place struct {
	name string // in words
	root string // of the project in a folder with its files
	base string // the commit that the files are of
	of   *localCopy
}

// catchUp merges into the branch of a run what was finished of it, or of a run inside it, on the
// default branch of the remote or in a checkout of the clone. The error is an *UnmergedError
// if that cannot be merged.
func (h *handing) catchUp(ctx context.Context) error {
	if h.Client != nil {
		if open, err := h.Open(ctx, h.ref.ID); err != nil || open {
			return err // its turns move the branch
		}
	}
	places, err := h.places(ctx)
	for i := 0; err == nil && i < len(places); i++ {
		err = h.catchUpWith(ctx, places[i])
	}
	return err
}

// places are the checkouts of the clone that are not of the run's branch, and the default branch.
func (h *handing) places(ctx context.Context) (out []place, err error) {
	for _, c := range h.copies {
		if c.dir != "" && c.base != "" && c.branch != h.branch() {
			out = append(out, place{c.dir, h.root(c), c.base, c})
		}
	}
	found, err := h.mirror.Fetch(ctx, "HEAD")
	if err != nil || found["HEAD"] == "" {
		return out, err
	}
	has, err := h.mirror.in(ctx, found["HEAD"], h.was)
	if err != nil || has {
		return out, err
	}
	c, err := h.mirror.Checkout(ctx, found["HEAD"], "reprise-default")
	if err != nil {
		return nil, err
	}
	return append(out, place{"the default branch of the remote", filepath.Join(c.Dir, filepath.FromSlash(h.Folder)), found["HEAD"], nil}), nil
}

// catchUpWith is catchUp with one place.
func (h *handing) catchUpWith(ctx context.Context, p place) error {
	at, err := h.mirror.forTurn(ctx, h.was, Branch(h.ref.ID), h.Folder)
	if err != nil {
		return err
	}
	defer at.Close()
	root := filepath.Join(at.Dir, filepath.FromSlash(h.Folder))
	inside, err := insideOf(root, h.ref)
	if err != nil {
		return err
	}
	does := append([]reprise.Ref{h.ref}, inside...)
	done, err := h.finishedIn(ctx, p, root, does)
	if err != nil || len(done) == 0 {
		return err
	}
	theirs, err := h.committed(ctx, p)
	if err != nil {
		return err
	}
	if goesOn, err := h.goesOn(ctx, p, root); err != nil {
		return err
	} else if goesOn {
		if err = at.Push(ctx, theirs, h.branch(), h.was); err == nil {
			h.was = theirs
		}
		return err
	}
	_, conflicts, err := at.Bring(ctx, theirs, commit{})
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return h.unmergeable(p, done, conflicts)
	}
	merged, _, err := at.Commit(ctx, fmt.Sprintf("reprise: %s has %s, finished elsewhere\n", h.ref.ID, strings.Join(done, ", ")), CommitOptions{Parents: []string{h.was, theirs}, Folder: h.Folder})
	if err != nil || merged == "" {
		return err
	}
	if err = at.Push(ctx, merged, h.branch(), h.was); err == nil {
		h.was = merged
	}
	return err
}

// goesOn reports whether the default branch has the branch of the run, whose checkout is root, and
// all that is recorded there: someone merged it and went on.
func (h *handing) goesOn(ctx context.Context, p place, root string) (bool, error) {
	if p.of != nil {
		return false, nil // what a copy has on record was looked at
	}
	if has, err := h.mirror.in(ctx, h.was, p.base); err != nil || !has {
		return false, err
	}
	ours, err := recorded(root, h.ref)
	if err != nil {
		return false, err
	}
	theirs, err := recorded(p.root, h.ref)
	if err != nil || len(theirs) < len(ours) {
		return false, err
	}
	return begins(ours, theirs)
}

// finishedIn names what is finished of runs in a place, and neither on the branch, whose checkout is
// root, nor where the two split.
func (h *handing) finishedIn(ctx context.Context, p place, root string, does []reprise.Ref) (done []string, err error) {
	if p.of != nil {
		if err := h.idle(ctx, p.of, does[1:]); err != nil {
			return nil, err
		}
	}
	_, order, err := closedIn(p.root, does)
	if err != nil {
		return nil, fmt.Errorf("hand over %s: see what was finished in %s: %w", h.ref.ID, p.name, err)
	}
	here, _, err := closedIn(root, does)
	if err != nil {
		return nil, err
	}
	more := func(than map[string]bool) (out []string) {
		for _, name := range order {
			if !than[name] {
				out = append(out, name)
			}
		}
		return out
	}
	if order = more(here); len(order) == 0 {
		return nil, nil
	}
	if p.of != nil {
		if err := h.fetch(ctx, p.base); err != nil {
			return nil, err
		}
	}
	split, err := git(ctx, filepath.Join(h.mirror.Dir, "mirror.git"), nil, "merge-base", h.was, p.base)
	if err != nil && !isExit(err) {
		return nil, err
	}
	if split == "" {
		return order, nil
	}
	was, err := h.mirror.Checkout(ctx, split, "reprise-split")
	if err != nil {
		return nil, err
	}
	defer was.Close()
	before, _, err := closedIn(filepath.Join(was.Dir, filepath.FromSlash(h.Folder)), does)
	return more(before), err
}

// idle checks that no one works on a run inside the one that is handed over, in a checkout that
// has something of it on record, and keeps it so.
func (h *handing) idle(ctx context.Context, c *localCopy, inside []reprise.Ref) error {
	for _, ref := range inside {
		if has, err := recorded(h.root(c), ref); err != nil {
			return err
		} else if len(has) > 0 && c.store == nil {
			return h.take(ctx, c)
		}
	}
	return nil
}

// committed is a commit with what a place has.
func (h *handing) committed(ctx context.Context, p place) (string, error) {
	if p.of == nil {
		return p.base, nil
	}
	dirty, err := h.changed(ctx, p.of)
	if err != nil || !dirty {
		return p.base, err
	}
	c, err := h.mirror.Checkout(ctx, p.base, "reprise-begin")
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, others, err := h.apartFrom(ctx, p.root)
	if err != nil {
		return "", err
	}
	for _, dir := range h.within(p.of) {
		others = append(others, ":(literal)"+dir)
	}
	in := &Checkout{Dir: p.of.dir, Base: p.base, mirror: h.mirror, index: filepath.Join(c.Dir, ".git", "index")}
	commit, _, err := in.Commit(ctx, "reprise: what was finished in a clone\n", CommitOptions{Parents: []string{p.base}, Folder: h.Folder, Without: others})
	if err == nil {
		err = h.fetch(ctx, commit)
	}
	return commit, err
}

// closedIn are the steps of runs that are closed in a project, and their names in order.
func closedIn(root string, refs []reprise.Ref) (closed map[string]bool, order []string, err error) {
	closed = map[string]bool{}
	for _, ref := range refs {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(ref.Path))); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r, err := reprise.Load(convention.Find(ref.Layout), os.DirFS(root), ref)
		if err != nil {
			return nil, nil, err
		}
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Status.Closed() {
				name := ref.ID + "/" + s.ID
				closed[name], order = true, append(order, name)
			}
		}
	}
	return closed, order, nil
}

// unmergeable says that what was finished in a place cannot be merged into the branch.
func (h *handing) unmergeable(p place, done, conflicts []string) error {
	git1, dir := h.beside(Branch(h.ref.ID), "")
	dir = reprise.Pasted(dir, "DIR")
	merge := fmt.Sprintf("git -C %[1]s fetch origin HEAD && git -C %[1]s merge FETCH_HEAD", dir)
	if p.of != nil {
		merge = fmt.Sprintf("git -C %s merge \"$(git -C %s rev-parse HEAD)\"", dir, reprise.Pasted(p.of.dir, "CHECKOUT"))
	}
	return &UnmergedError{h.ref.ID, p.name, done, conflicts, dir, fmt.Sprintf("%s fetch origin %s && %s worktree add --detach %s FETCH_HEAD && %s", git1, Branch(h.ref.ID), git1, dir, merge)}
}

// UnmergedError says that something of a run was finished beside its branch, and conflicts with
// it: whoever went on with the branch would do that again.
type UnmergedError struct {
	Run, Place    string
	Done, Files   []string
	dir, commands string
}

func (e *UnmergedError) Error() string {
	return fmt.Sprintf("hand over %s: %s was finished in %s, and does not merge with its branch: %s", e.Run, strings.Join(e.Done, ", "), e.Place, strings.Join(e.Files, ", "))
}

// Hint says what a person can do.
func (e *UnmergedError) Hint() string {
	return fmt.Sprintf("merge what is committed there: `%s`; settle the conflict and commit, then `git -C %s push origin HEAD:%s` and this command again", e.commands, e.dir, Branch(e.Run))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *UnmergedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
