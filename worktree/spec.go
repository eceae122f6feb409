package worktree

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/gitx"
)

// What is copied between the two folders of a spec.
const (
	maxSpecFiles = 400
	maxSpecFile  = 8 << 20
)

// copyDir is where the second copy of the spec is, in a checkout: in the folder
// the project has in its repository.
func (s *site) copyDir(place string) string {
	state := ".auto-claude"
	if path.Base(path.Dir(path.Dir(s.Run.Path))) == "auto-claude" {
		state = "auto-claude"
	}
	return path.Join(place, s.Repo.Prefix(), state, "specs", s.spec)
}

// copySpec gives the checkout its copy of the spec, which agents work on. A file
// that is there already stays, unless it is what the checkout began with: then
// no one has worked on it, and the project's is newer.
func (s *site) copySpec(ctx context.Context, place, base string) error {
	from, to := s.Run.Path, s.copyDir(place)
	if from == to || strings.HasPrefix(from, place+"/") {
		return nil // the only copy is the one in the checkout
	}
	edits, err := s.copyEdits(from, to, "the checkout's copy of the spec")
	if err != nil {
		return err
	}
	began := func(e reprise.Edit) gitx.At {
		return gitx.At{Commit: base, Path: path.Join(from, strings.TrimPrefix(e.Path, to+"/"))}
	}
	var there []gitx.At
	for _, e := range edits {
		if !e.Base.IsZero() {
			there = append(there, began(e))
		}
	}
	first, err := s.Repo.Contents(ctx, there)
	if err != nil {
		return err
	}
	return s.Store.Apply(ctx, slices.DeleteFunc(edits, func(e reprise.Edit) bool {
		content, tracked := first[began(e)]
		return !e.Base.IsZero() && (!tracked || reprise.HashOf(content) != e.Base)
	}))
}

// backEdits bring the project's copy of the spec up to the checkout's, where that is
// the one that counts: it is about to be merged or given up.
func (s *site) backEdits(place string) ([]reprise.Edit, error) {
	from, to := s.copyDir(place), s.Run.Path
	counts := slices.ContainsFunc(s.Run.Steps, func(step reprise.Step) bool { return strings.HasPrefix(step.Source.File, from+"/") })
	if !counts || from == to {
		return nil, nil
	}
	return s.copyEdits(from, to, "the state of the checkout, which counts")
}

// copyEdits make the files of one folder of a spec those of another.
func (s *site) copyEdits(from, to, why string) ([]reprise.Edit, error) {
	names, err := s.specFiles(from)
	if err != nil {
		return nil, err
	}
	var edits []reprise.Edit
	for _, name := range names {
		data, err := fs.ReadFile(s.Store, path.Join(from, name))
		if err != nil {
			return nil, err
		}
		edit := reprise.Edit{Path: path.Join(to, name), Content: data, Why: why}
		switch old, err := fs.ReadFile(s.Store, edit.Path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case bytes.Equal(old, data):
			continue
		default:
			edit.Base = reprise.HashOf(old)
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

// specFiles lists the files of a spec folder that are copied: not those with
// secrets, not what is left of a write, not what is too large to be state.
func (s *site) specFiles(dir string) ([]string, error) {
	var out []string
	err := fs.WalkDir(s.Store, dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != dir {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || !d.Type().IsRegular() || len(out) == maxSpecFiles {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxSpecFile {
			return err
		}
		out = append(out, strings.TrimPrefix(name, dir+"/"))
		return nil
	})
	return out, err
}
