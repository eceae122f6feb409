package durable

import (
	"bytes"
	"errors"
	"path"
	"syscall"

	"reprise"
)

// rollForward finishes what an earlier process had begun. Each step can be repeated: a
// file that already is what it should become is only made durable.
func (s *Store) rollForward(rep *Report) error {
	b, _, err := s.readFile(intentFile)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var in intent
	if err := openJSON(intentFile, intentVersion, b, &in); err != nil {
		return err
	}
	var todo []planned
	var clashes []Conflict
	for _, p := range in.Edits {
		if err := checkPath(p.Path); err != nil {
			return &DamageError{Path: intentFile, Cause: err.Error()}
		}
		if !p.Object.IsZero() {
			if p.Content, err = s.getObject(p.Object); err != nil {
				return err
			}
		}
		if err := s.sweep(path.Dir(p.Path)); inTheWay(err) {
			clashes = append(clashes, Conflict{Path: p.Path, Reason: err.Error()})
			continue
		} else if err != nil {
			return err
		}
		todo = append(todo, p)
	}
	s.changes.Add(1)
	// crash: rolling-forward
	for _, p := range todo {
		conflict, err := s.rollOne(p, rep)
		if err != nil {
			return err
		}
		if conflict != nil {
			clashes = append(clashes, *conflict)
		}
	}
	if err := s.syncFolders(todo); err != nil {
		return err
	}
	if len(clashes) > 0 {
		kept, err := s.keepAs(conflictDir, "/%04d", b) // all of it, so that no content is lost
		if err != nil {
			return err
		}
		for _, c := range clashes {
			c.Kept = kept
			rep.Conflicts = append(rep.Conflicts, c)
		}
	}
	// crash: rolled-forward
	return s.clearIntent()
}

// inTheWay reports whether an error tells that something else stands where a folder
// was: as long as it does, nothing can be done behind it.
func inTheWay(err error) bool {
	var link *LinkError
	return errors.As(err, &link) || errors.Is(err, syscall.ENOTDIR)
}

// rollOne brings one file to what it should become, or tells why not.
func (s *Store) rollOne(p planned, rep *Report) (*Conflict, error) {
	have, info, err := s.readFile(p.Path)
	var found reprise.Hash
	switch {
	case err == nil:
		found, p.info = reprise.HashOf(have), &info
	case !missing(err):
		return &Conflict{Path: p.Path, Reason: err.Error()}, nil
	}
	clash := func(reason string) *Conflict {
		return &Conflict{Path: p.Path, Reason: reason}
	}
	switch {
	case p.Append:
		if err != nil {
			return clash("the file is gone"), nil
		}
		return s.rollAppend(p, have, clash, rep)
	case found == p.After:
		return nil, nil // the rename was done; syncFolders makes it durable
	case found != p.Before:
		return clash("it was changed since by someone else"), nil
	}
	if err := s.makeFolders([]planned{p}); err != nil {
		return nil, err
	}
	if p.temp, err = s.stage(p.Path, p.Content, p.info); err != nil {
		return nil, err
	}
	rep.RolledForward = append(rep.RolledForward, p.Path)
	return nil, s.carryOne(p)
}

func (s *Store) rollAppend(p planned, have []byte, clash func(string) *Conflict, rep *Report) (*Conflict, error) {
	if int64(len(have)) >= p.Offset && reprise.HashOf(have[:p.Offset]) != p.Before {
		return clash("it was changed since by someone else"), nil
	}
	switch howAppended(have, p) {
	case appendForeign:
		return clash("someone else has written to its end since"), nil
	case appendDone:
		if !bytes.HasPrefix(have[p.Offset:], p.Content) {
			return nil, nil
		}
	default:
		rep.RolledForward = append(rep.RolledForward, p.Path)
	}
	return nil, s.completeAppend(p)
}
