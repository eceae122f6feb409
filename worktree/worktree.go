// Package worktree keeps the checkout of its own that a run works in: made,
// used again, reviewed, merged and given up.
//
// A checkout counts once it is whole and durable; then the caller records it.
// One that git was killed in while making it is told by git's own record of it,
// moved to the archive with all that is in it, and made again. Nothing of a
// user's is ever deleted: folders are archived, branches are kept or renamed,
// what was not committed is committed first.
package worktree

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
	"reprise/internal/durable"
	"reprise/internal/gitx"
)

// Project is one run and where it lives.
type Project struct {
	Store *durable.Store // the lease must be held
	Repo  *gitx.Repo     // opened from the project's folder
	Run   *reprise.Run
	// Ready is the last worktree_ready of the run's journal, nil if none.
	Ready *reprise.Event
	// Age is how long what looks half made must have been left alone before
	// it is taken for dead; zero stands for two seconds.
	Age time.Duration
}

// Made is a checkout that can be worked in.
type Made struct {
	// Path is its folder, a slash path in the project.
	Path   string
	Branch string
	Base   string // the commit it began from
	// Record must be recorded before anything works there; nil if that is on
	// record already.
	Record *reprise.Event
	// Notes are for a person: what was found half made and where it is kept.
	Notes []string
}

// RefusedError tells why a checkout cannot be used. Nothing was changed.
type RefusedError struct {
	Op                 string // what was refused, "" for using the checkout
	Path, Reason, Todo string
}

// Error names what was refused and the reason.
func (e *RefusedError) Error() string {
	if e.Op != "" {
		return e.Op + ": " + e.Reason
	}
	return fmt.Sprintf("use checkout %s: %s", e.Path, e.Reason)
}

// Hint says what a person can do.
func (e *RefusedError) Hint() string { return e.Todo }

// Branch is the branch that the checkout of a run is on.
func Branch(r *reprise.Run) string {
	if r.Branch != "" {
		return r.Branch
	}
	return "auto-claude/" + r.ID
}

// site is a project while its checkout is looked at.
type site struct {
	Project
	root   string // the project's folder
	base   string // the folder of the spec's project in it, a slash path
	spec   string
	branch string
	keptAs string // what branches that are put aside are called after
	notes  []string
}

func (p Project) open() (*site, error) {
	id := p.Run.ID
	if id == "" || id != path.Base(id) || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "-") || !fs.ValidPath(id) {
		return nil, &RefusedError{Path: id, Reason: "this is not a valid folder name", Todo: "rename the spec"}
	}
	if p.Repo == nil {
		return nil, &RefusedError{Path: id, Reason: "the project is not in a git repository", Todo: "what was built stands in its files; `reprise resume` without a choice continues"}
	}
	s := &site{Project: p, root: string(p.Repo.Dir()), spec: id, branch: Branch(p.Run), base: ".", keptAs: "discarded"}
	if at, ok := strings.CutSuffix(p.Run.Path, "/specs/"+id); ok {
		s.base = path.Dir(at)
	}
	if s.Age == 0 {
		s.Age = 2 * time.Second
	}
	p.Repo.Inherit(p.Store.LockFile())
	return s, nil
}

// places are where a checkout may be, the latest convention first. The last one
// was shared by all specs and is used only if it is there.
func (s *site) places() []string {
	all := []string{
		path.Join(s.base, ".auto-claude/worktrees/tasks", s.spec),
		path.Join(s.base, ".worktrees", s.spec),
		path.Join(s.base, ".worktrees/auto-claude"),
	}
	if w := s.Run.Worktree; w != "" && fs.ValidPath(w) && !slices.Contains(all, w) {
		all = append([]string{w}, all...)
	}
	return all
}

func (s *site) abs(place string) string { return filepath.Join(s.root, filepath.FromSlash(place)) }

// condition is what a place looks like.
type condition uint8

const (
	absent condition = iota // nothing there, or an empty folder
	whole
	half // git was killed while making it, or what is there is no checkout
	gone // git has a whole record of it and the folder is not there
)

// look tells what is at a place; linked is git's record of it, if there is one.
func (s *site) look(ctx context.Context, place string) (c condition, linked *gitx.Linked, err error) {
	abs := s.abs(place)
	for _, l := range s.Repo.Linked() {
		if l.Path == abs || l.Path == "" && l.Begun && s.named(l.Name, path.Base(place)) {
			linked = &l
			if l.Path != "" {
				break
			}
		}
	}
	begun := linked != nil && linked.Begun
	info, err := os.Lstat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		switch {
		case begun:
			return half, linked, nil
		case linked != nil:
			return gone, linked, nil
		}
		return absent, nil, nil
	case err != nil:
		return absent, nil, err
	case !info.IsDir():
		return absent, nil, &RefusedError{Path: place, Reason: "there is something else in its place, not a folder", Todo: "move it away"}
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return absent, nil, err
	}
	if len(entries) == 0 && linked == nil {
		return absent, nil, nil
	}
	_, inErr := s.Repo.In(ctx, abs)
	switch {
	case begun:
		return half, linked, nil
	case inErr == nil:
		return whole, linked, nil
	case ctx.Err() != nil:
		return absent, nil, ctx.Err()
	}
	if _, err := os.Lstat(filepath.Join(abs, ".git")); errors.Is(err, fs.ErrNotExist) || s.Repo.Ours(abs) && linked == nil {
		return half, linked, nil
	}
	return absent, nil, &RefusedError{Path: place, Reason: "its .git does not lead to this repository (" + inErr.Error() + ")", Todo: "look at its .git file; move the folder away if it is not needed"}
}

// named reports whether git would call its record of a folder so: as the
// folder, with a number where that name was taken.
func (s *site) named(record, folder string) bool {
	rest, ok := strings.CutPrefix(record, folder)
	return ok && strings.Trim(rest, "0123456789") == ""
}

// find gives the place of the run's checkout and what is there.
func (s *site) find(ctx context.Context) (place string, c condition, linked *gitx.Linked, err error) {
	all := s.places()
	for _, place := range all {
		c, linked, err := s.look(ctx, place)
		shared := path.Base(place) == "auto-claude" && path.Base(path.Dir(place)) == ".worktrees" && s.spec != "auto-claude"
		if shared && (err != nil || c != whole || linked == nil || linked.Branch != s.branch) {
			continue // another spec's
		}
		if err != nil || c != absent {
			return place, c, linked, err
		}
	}
	return all[0], absent, nil, nil
}

// Ensure gives the run's checkout: the one that is there, or a new one. It is
// whole and durable when Ensure returns.
//
// If the process dies here, the next Ensure finds what it left and comes to the
// same end. A git that outlives us keeps the lease until it is done.
func Ensure(ctx context.Context, p Project) (Made, error) {
	s, err := p.open()
	if err != nil {
		return Made{}, err
	}
	head, ok, err := s.Repo.Resolve(ctx, "HEAD")
	if err != nil {
		return Made{}, err
	}
	if !ok {
		return Made{}, &RefusedError{Path: ".", Reason: "the repository has no commit to create a checkout from", Todo: "create a first commit"}
	}
	place, linked, err := s.complete(ctx, s.find, head)
	if err != nil {
		return Made{}, err
	}
	return s.use(ctx, place, linked, head)
}

// finder tells where a checkout is or is to be, and what is there.
type finder func(context.Context) (place string, c condition, linked *gitx.Linked, err error)

// complete makes the checkout whole that find looks for, at a commit if it has to be
// made: what is half made or gone is put out of the way first.
func (s *site) complete(ctx context.Context, find finder, commit string) (string, *gitx.Linked, error) {
	for range 4 {
		place, c, linked, err := find(ctx)
		if err != nil || c == whole {
			return place, linked, err
		}
		if c != absent {
			err = s.clear(ctx, place, c, linked)
		} else if err = s.Repo.ClearBranchLock(ctx, s.branch, s.Age); err == nil {
			// crash: worktree-add
			err = s.Repo.AddWorktree(ctx, s.abs(place), s.branch, commit)
			// crash: worktree-added
			s.Ready = nil
		}
		if err != nil {
			return "", nil, err
		}
	}
	return "", nil, &RefusedError{Path: s.places()[0], Reason: "it stays incomplete", Todo: "`git worktree list` shows more"}
}

// use finishes a checkout that is whole.
func (s *site) use(ctx context.Context, place string, linked *gitx.Linked, head string) (Made, error) {
	if err := s.own(place, linked); err != nil {
		return Made{}, err
	}
	made := Made{Path: place, Branch: s.branch, Notes: s.notes}
	if s.Ready != nil && s.Ready.Text == place {
		made.Base = s.Ready.Commit
		return made, nil
	}
	base, err := s.Repo.MergeBase(ctx, s.branch, head)
	if err != nil {
		return Made{}, err
	}
	if err := s.copySpec(ctx, place, base); err != nil {
		return Made{}, err
	}
	// crash: worktree-whole
	if err := s.Store.Flush(); err != nil {
		return Made{}, err
	}
	made.Base = base
	made.Record = &reprise.Event{Kind: reprise.WorktreeReady, Text: place, Commit: base, Outcome: strings.Join(s.notes, "; ")}
	return made, nil
}

// own refuses a checkout that is whole and not on the run's branch: it is a
// person's, and nothing in it is ours to commit, to copy from or to move.
func (s *site) own(place string, linked *gitx.Linked) error {
	if linked != nil && linked.Branch == s.branch {
		return nil
	}
	on := "no branch"
	if linked != nil && linked.Branch != "" {
		on = linked.Branch
	}
	return &RefusedError{Path: place, Reason: fmt.Sprintf("%s is checked out there, not %s", on, s.branch), Todo: "check out " + s.branch + " there, or move the checkout away"}
}

// clear takes a checkout out of the way: the folder into the archive, git's record
// of it away.
func (s *site) clear(ctx context.Context, place string, c condition, linked *gitx.Linked) error {
	what := "the checkout"
	if c == half {
		if err := s.settle(ctx, place); err != nil {
			return err
		}
		what = "a half-made checkout"
	}
	if c != gone {
		if err := s.archive(ctx, place, what); err != nil {
			return err
		}
	}
	if linked == nil {
		return nil
	}
	if linked.Begun {
		return s.Repo.ClearLinked(*linked)
	}
	return s.forget(ctx, place, linked)
}

// forget lets git drop its record of a checkout whose folder is not there any
// more. What was staged in it is kept at a ref of ours.
func (s *site) forget(ctx context.Context, place string, linked *gitx.Linked) error {
	if linked.Locked {
		return &RefusedError{Path: place, Reason: "git's record of it is locked (`git worktree lock`), but the folder is not there", Todo: "restore the folder, or `git worktree unlock` it"}
	}
	ref, err := s.freeRef(ctx, "refs/reprise/kept/"+s.spec)
	if err != nil {
		return err
	}
	kept, err := s.Repo.KeepIndex(ctx, *linked, ref)
	if err != nil {
		// An index that cannot be written as a tree holds conflicts; their
		// contents are on their branches.
		s.notes = append(s.notes, fmt.Sprintf("what was staged in %s could not be kept: %v", place, err))
	} else if kept != "" {
		s.notes = append(s.notes, fmt.Sprintf("what was staged in %s is kept as %s", place, ref))
	}
	if linked.Commit != "" {
		if err := s.Repo.KeepCommit(ctx, ref+"-head", linked.Commit); err != nil {
			return err
		}
	}
	// crash: worktree-kept
	return s.Repo.RemoveWorktree(ctx, s.abs(place))
}

func (s *site) freeRef(ctx context.Context, stem string) (string, error) {
	for n := 1; n < 10_000; n++ {
		ref := fmt.Sprintf("%s-%d", stem, n)
		taken, err := s.Repo.HasRef(ctx, ref)
		if err != nil || !taken {
			return ref, err
		}
	}
	return "", fmt.Errorf("keep %s: no free name", stem)
}

// settle waits until no one has touched what looks half made for a while: it
// may be someone else's that is being made just now.
func (s *site) settle(ctx context.Context, place string) error {
	for {
		var last time.Time
		for _, name := range []string{".", ".git"} {
			if info, err := os.Lstat(filepath.Join(s.abs(place), name)); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
		left := s.Age - time.Since(last)
		if left <= 0 || left > s.Age {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(left):
		}
	}
}

// archive moves a checkout's folder to the archive, its link to git first: the
// record it names will be another checkout's.
func (s *site) archive(ctx context.Context, place, what string) error {
	if _, err := os.Lstat(s.abs(place)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	own, err := s.strangers(ctx, place)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(s.abs(place), ".git")); err == nil {
		if _, err := s.Store.Archive(place + "/.git"); err != nil {
			return err
		}
		// crash: link-archived
	}
	to, err := s.Store.Archive(place)
	if err != nil {
		return err
	}
	// crash: checkout-archived
	note := fmt.Sprintf("%s was moved to %s", what, to)
	if len(own) > 0 {
		note += fmt.Sprintf(" with %d uncommitted files, including %q", len(own), own[0])
	}
	s.notes = append(s.notes, note)
	return nil
}

// strangers lists files in a folder that the branch does not have.
func (s *site) strangers(ctx context.Context, place string) ([]string, error) {
	rev := s.branch
	if _, ok, err := s.Repo.Resolve(ctx, rev); err != nil || !ok {
		rev = "HEAD"
	}
	names, err := s.Repo.Files(ctx, rev)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	var out []string
	err = filepath.WalkDir(s.abs(place), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.abs(place), p)
		if rel = filepath.ToSlash(rel); err == nil && !d.IsDir() && rel != ".git" && !known[rel] {
			out = append(out, rel)
		}
		return err
	})
	return out, err
}
