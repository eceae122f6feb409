package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/tree"
)

// Missed is what a project would have with other versions of some of its files, and has not.
type Missed struct {
	// Gone are, in words, the open runs, those with more open steps, and the documents with
	// more acceptance criteria. Files are those that tell of them, or the folders that are
	// gone with them.
	Gone, Files []string
	// Were are those files one by one, as they would be.
	Were []reprise.Expected
	// Changed are the runs that would be open and whose files say something else, Removed
	// those that are gone.
	Changed, Removed []Changed
}

// Changed is a run whose files something changed. Marked has an event for each step that it
// closed, and one for the rest.
type Changed struct {
	Ref    reprise.Ref
	Marked []reprise.Event
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

// Vanished tells what a project misses. The content is nil for a file that it would not have. It
// leaves out one run, whose own journal tells, and what that run is in the eyes of others.
func Vanished(ctx context.Context, dir string, was map[string][]byte, own *reprise.Run) (*Missed, error) {
	fsys, err := openBeside(dir, own.Ref)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	began, err := overlaid(ctx, fsys, was)
	if err != nil {
		return nil, err
	}
	had := maps.Clone(was)
	maps.DeleteFunc(had, func(_ string, content []byte) bool { return content == nil })
	then, err := overlaid(ctx, fsys, lasting(had)) // what is there hides nothing
	if err != nil {
		return nil, err
	}
	lost, changed := then.lost(), began.lost()
	var out Missed
	missing := func(name string) (e reprise.Expected) {
		e = reprise.Expected{Path: name, Changed: true}
		if e.Before, err = HashIn(then, name); err == nil {
			out.Files, out.Were = append(out.Files, name), append(out.Were, e)
		}
		return e
	}
	but := own.Ref
	others := func(name string) bool { return !within(name, but.Path) }
	for _, name := range lost {
		_, had := measured(then, name)
		if text, n := measured(fsys, name); text != nil && n < had {
			out.Gone = append(out.Gone, "some acceptance criteria of "+name)
			missing(name)
		}
	}
	for _, e := range convention.All() {
		if !slices.ContainsFunc(changed, others) {
			break
		}
		before, err := e.Find(then)
		if err != nil {
			return nil, fmt.Errorf("look for runs as they were: %w", err)
		}
		now, err := e.Find(fsys)
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range before {
			inside := func(name string) bool { return within(name, ref.Path) }
			there := slices.Contains(now, ref) || isIn(fsys, ref)
			if together(ref, but) || there && !slices.ContainsFunc(changed, inside) {
				continue
			}
			var have *reprise.Run
			if there {
				if have, err = reprise.Load(e.Layout, fsys, ref); err != nil {
					return nil, err
				}
				if r, err := reprise.Load(e.Layout, began, ref); err == nil && r.State.Open() && r.State != reprise.Unreadable {
					names := slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return !inside(name) })
					if marked := changedSince(began, fsys, r, have, own, names); len(marked) > 0 {
						out.Changed = append(out.Changed, Changed{ref, marked})
					}
				}
				if !slices.ContainsFunc(lost, inside) {
					continue
				}
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
				steps := slices.DeleteFunc(openSteps(r), func(id string) bool { return have.Step(id) != nil })
				if len(steps) == 0 {
					continue
				}
				what = strings.Join(steps, ", ") + " of " + ref.ID
			}
			out.Gone = append(out.Gone, what)
			ev := reprise.Event{Kind: reprise.StepOverstepped, Run: (*reprise.Place)(&ref), Text: "removed " + ref.Path}
			for _, name := range lost {
				if seen.names[name] {
					ev.Expect = append(ev.Expect, missing(name))
				}
			}
			if !there {
				out.Removed = append(out.Removed, Changed{ref, []reprise.Event{ev}})
			}
		}
	}
	for i, name := range out.Files {
		out.Files[i] = outermost(fsys, name)
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	return &out, nil
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
