package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"reprise"
)

// planned is one edit with what was found in its place.
type planned struct {
	Path   string       `json:"path"`
	Append bool         `json:"append,omitempty"`
	Before reprise.Hash `json:"before"`
	After  reprise.Hash `json:"after"`
	// Offset is where an appended content begins, which is the size before.
	Offset int64 `json:"offset,omitempty"`
	// Content is the whole new content, or what is appended. A large one lies
	// in a file of its own and Object names it.
	Content []byte       `json:"content,omitempty"`
	Object  reprise.Hash `json:"object"`
	Why     string       `json:"why,omitempty"`

	info *Info  // of the file as found, nil if there is none
	temp string // where the new content waits
}

// intent is everything needed to finish a group of edits.
type intent struct {
	Gen   uint64    `json:"gen"`
	Edits []planned `json:"edits"`
}

const (
	intentVersion = "i1"
	maxInline     = 32 << 10
)

// Apply makes all the changes or none of them. It returns a
// *reprise.ChangedError, and has changed nothing, if a file is not what its
// edit was made for, and a *NotRegularError if there is no regular file. Two
// edits of one file are an error, and so is an edit of the state folder or of
// .git.
//
// If the process dies here, either nothing has changed or the next Take carries
// all of it to the end. A change that someone else makes in the meantime to
// one of the files is never overwritten: that edit becomes a Conflict.
func (s *Store) Apply(ctx context.Context, edits []reprise.Edit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.writable(); err != nil {
		return err
	}
	s.changes.Add(1)
	return s.apply(edits)
}

func (s *Store) apply(edits []reprise.Edit) error {
	plan, err := s.plan(edits)
	if err != nil || len(plan) == 0 {
		return err
	}
	if err := s.makeFolders(plan); err != nil {
		return err
	}
	// One replaced file is one rename, which needs no help to be whole.
	alone := len(plan) == 1 && !plan[0].Append
	if !alone {
		if err := s.writeIntent(plan); err != nil {
			return err
		}
	}
	// crash: intent-durable
	if err := s.carryOut(plan, alone); err != nil || alone {
		return err
	}
	// crash: edits-durable
	return s.clearIntent()
}

// plan reads every file and checks every edit. It changes nothing.
func (s *Store) plan(edits []reprise.Edit) ([]planned, error) {
	seen := map[string]bool{}
	var plan []planned
	for _, e := range edits {
		if err := checkPath(e.Path); err != nil {
			return nil, err
		}
		if seen[e.Path] {
			return nil, fmt.Errorf("edit %s: there are two edits of it", e.Path)
		}
		seen[e.Path] = true
		p, err := s.planOne(e)
		if err != nil {
			return nil, err
		}
		if p.Before != p.After {
			plan = append(plan, p)
		}
	}
	return plan, nil
}

func (s *Store) planOne(e reprise.Edit) (planned, error) {
	p := planned{Path: e.Path, Append: e.Append, Content: e.Content, Why: e.Why}
	have, info, err := s.readFile(e.Path)
	switch {
	case missing(err):
		have = nil
	case err != nil:
		return p, err
	default:
		p.info, p.Before = &info, reprise.HashOf(have)
	}
	if p.Before != e.Base {
		return p, &reprise.ChangedError{Path: e.Path, Want: e.Base, Got: p.Before}
	}
	if p.info == nil || info.Links > 1 {
		// A new file is made in one step. A file with other names too is
		// replaced: the other names belong to someone else.
		p.Append, p.Content = false, append(bytes.Clone(have), e.Content...)
		if !e.Append {
			p.Content = e.Content
		}
	}
	if p.Append {
		p.Offset = int64(len(have))
		p.After = reprise.HashOf(append(bytes.Clone(have), e.Content...))
	} else {
		p.After = reprise.HashOf(p.Content)
	}
	return p, nil
}

// checkPath refuses what an edit must not touch.
func checkPath(name string) error {
	switch {
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\x00"):
		return fmt.Errorf("edit %q: %w", name, fs.ErrInvalid)
	case isState(name):
		return fmt.Errorf("edit %s: it belongs to the state folder: %w", name, fs.ErrPermission)
	case (name == ".git" || strings.HasPrefix(name, ".git/")) && name != excludePath:
		return fmt.Errorf("edit %s: it belongs to git: %w", name, fs.ErrPermission)
	case isTemp(path.Base(name)):
		return fmt.Errorf("edit %s: the name is one of our temporary files: %w", name, fs.ErrInvalid)
	}
	return nil
}

// makeFolders makes what is missing for new files. An empty folder that is left
// after a crash does no harm.
func (s *Store) makeFolders(plan []planned) error {
	for _, p := range plan {
		if p.info == nil {
			if err := s.makeDirs(path.Dir(p.Path), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) writeIntent(plan []planned) error {
	in := intent{Gen: s.lease.holder.Generation}
	for _, p := range plan {
		if len(p.Content) > maxInline {
			p.Object = reprise.HashOf(p.Content)
			if err := s.putObject(p.Object, p.Content); err != nil {
				return err
			}
			p.Content = nil
		}
		in.Edits = append(in.Edits, p)
	}
	return s.installJSON(intentFile, intentVersion, in)
}

func (s *Store) clearIntent() error { return s.remove("clear the intent", intentFile) }

// carryOut makes the changes: first all new contents, then all renames, then
// the folders. checked tells that nothing was recorded yet, so that a file that
// changed under us stops it; otherwise the intent decides at the next Take.
func (s *Store) carryOut(plan []planned, alone bool) error {
	for i := range plan {
		p := &plan[i]
		if p.Append {
			continue
		}
		temp, err := s.stage(p.Path, p.Content, p.info)
		if err != nil {
			return err
		}
		p.temp = temp
	}
	for i, p := range plan {
		if err := s.stillBefore(p); err != nil {
			s.discardAll(plan[i:])
			if alone {
				return err
			}
			return s.stopHalfway(plan[:i], err)
		}
		if err := s.carryOne(p); err != nil {
			return err
		}
	}
	return s.syncFolders(plan)
}

// carryOne puts one new content in its place; the folder is synced later.
func (s *Store) carryOne(p planned) error {
	if p.Append {
		return s.appendAt(p)
	}
	// crash: before-rename
	return s.fail("rename to "+p.Path, s.fs.Rename(p.temp, p.Path))
}

func (s *Store) syncFolders(plan []planned) error {
	done := map[string]bool{}
	for _, p := range plan {
		dir := path.Dir(p.Path)
		if !p.Append && !done[dir] {
			if err := s.syncDirs(p.Path); err != nil {
				return err
			}
			done[dir] = true
		}
	}
	return nil
}

func (s *Store) discardAll(plan []planned) {
	for _, p := range plan {
		if p.temp != "" {
			s.discard(p.temp)
		}
	}
}

// stillBefore looks, just before the change, whether the file still is what it
// was when it was read.
func (s *Store) stillBefore(p planned) error {
	got, err := s.stateOf(p.Path)
	if err != nil {
		return err
	}
	if got != p.Before {
		return &reprise.ChangedError{Path: p.Path, Want: p.Before, Got: got}
	}
	return nil
}

// stopHalfway is called when a file changed after the intent was written. If
// nothing was done yet the intent is void; otherwise it is left for the next
// Take, which finishes the others and reports this one.
func (s *Store) stopHalfway(done []planned, cause error) error {
	if len(done) == 0 {
		return errors.Join(cause, s.clearIntent())
	}
	return s.fail("carry out the edits", errors.Join(cause, s.syncFolders(done)))
}
