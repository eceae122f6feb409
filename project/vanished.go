package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/tree"
)

// Vanished gives, in words, the open runs that a project would have with other versions of
// some of its files, and has not, and those that would have more open steps, with the
// files that tell of them, or the folders that are gone with them; and so the documents that
// would have more acceptance criteria.
// It leaves out one run, whose own journal tells.
func Vanished(ctx context.Context, dir string, was map[string][]byte, but reprise.Ref) (gone, files []string, err error) {
	fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks()})
	if err != nil {
		return nil, nil, err
	}
	defer fsys.Close()
	then, err := overlaid(ctx, fsys, was)
	if err != nil {
		return nil, nil, err
	}
	others := func(name string) bool { return !within(name, but.Path) }
	for _, name := range then.lost() {
		_, had := measured(then, name)
		if text, n := measured(fsys, name); text != nil && n < had {
			gone, files = append(gone, "some acceptance criteria of "+name), append(files, name)
		}
	}
	for _, e := range convention.All() {
		if !slices.ContainsFunc(then.lost(), others) {
			break
		}
		before, err := e.Find(then)
		if err != nil {
			return nil, nil, fmt.Errorf("look for runs as they were: %w", err)
		}
		now, err := e.Find(fsys)
		if err != nil {
			return nil, nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range before {
			there := slices.Contains(now, ref)
			if together(ref, but) || there && !slices.ContainsFunc(then.lost(), func(name string) bool { return within(name, ref.Path) }) {
				continue
			}
			seen := &noting{FS: then, names: map[string]bool{}}
			r, err := reprise.Load(e.Layout, seen, ref)
			if err != nil || !r.State.Open() || r.State == reprise.Unreadable {
				continue // nothing that is known is gone
			}
			if e.PutAway != nil && !there {
				if to, ok := e.PutAway(fsys, ref); ok {
					if r, err := reprise.Load(e.Layout, fsys, to); err == nil && r.State == reprise.Complete {
						continue
					}
				}
			}
			what := ref.ID
			if there {
				have, err := reprise.Load(e.Layout, fsys, ref)
				if err != nil {
					return nil, nil, err
				}
				steps := openSteps(r)
				steps = slices.DeleteFunc(steps, func(id string) bool { return have.Step(id) != nil })
				if len(steps) == 0 {
					continue
				}
				what = strings.Join(steps, ", ") + " of " + ref.ID
			}
			gone = append(gone, what)
			files = append(files, slices.DeleteFunc(then.lost(), func(name string) bool { return !seen.names[name] })...)
		}
	}
	for i, name := range files {
		files[i] = outermost(fsys, name)
	}
	slices.Sort(files)
	return gone, slices.Compact(files), nil
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

func openSteps(r *reprise.Run) (out []string) {
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Status.Closed() {
			out = append(out, s.ID)
		}
	}
	return out
}

// together reports whether two runs are told by the same files: one run, in another checkout
// perhaps, or the same work in the eyes of another convention.
func together(a, b reprise.Ref) bool {
	if a.Layout != b.Layout {
		return within(a.Path, b.Path) || within(b.Path, path.Dir(a.Path))
	}
	return a.Path == b.Path || strings.HasSuffix(b.Path, "/"+a.Path)
}

// within reports whether a file is a folder, or in it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
