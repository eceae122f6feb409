//go:build unix

package world

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"reprise/core"
)

// Merge gives a world in which the difference of base and theirs is applied to mine, and
// the files that stay as in mine because both changed the same lines. The files in
// except stay too.
func (r *Repo) Merge(ctx context.Context, base, mine, theirs core.World, except ...string) (core.World, []string, error) {
	changes, err := r.Diff(base, theirs)
	if err != nil {
		return "", nil, err
	}
	files, torn := map[string]Entry{}, []string(nil)
	for _, c := range changes {
		if slices.ContainsFunc(except, func(of string) bool { return Below(c.Path, of) }) {
			continue
		}
		now, err := r.Entry(mine, c.Path)
		if err != nil {
			return "", nil, err
		}
		e, ok, err := r.merge(ctx, c.Old, now, c.New)
		if err != nil {
			return "", nil, err
		}
		if !ok {
			torn = append(torn, c.Path)
		} else if e != now {
			files[c.Path] = e
		}
	}
	id, err := r.build(ours, string(mine), files)
	return core.World(id), torn, err
}

// merge gives what a file is after two changes of it. ok is false if both changed the
// same lines, or if it cannot be merged by lines.
func (r *Repo) merge(ctx context.Context, base, mine, theirs Entry) (_ Entry, ok bool, err error) {
	switch {
	case mine == theirs || theirs == base:
		return mine, true, nil
	case mine == base:
		return theirs, true, nil
	case !base.regular() || !mine.regular() || !theirs.regular():
		return Entry{}, false, nil
	}
	dir, err := os.MkdirTemp(filepath.Join(r.own, "tmp"), "merge")
	if err != nil {
		return Entry{}, false, err
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "-q"}
	for i, e := range []Entry{mine, base, theirs} {
		_, _, data, err := r.read(e.ID)
		if err != nil {
			return Entry{}, false, err
		}
		args = append(args, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(args[len(args)-1], data, 0o600); err != nil {
			return Entry{}, false, err
		}
	}
	out, err := r.git(ctx, ours, nil, args...)
	if _, failed := ended(err); failed { // with the number of conflicts, or 255 if it is not text
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, err
	}
	if mine.Mode == base.Mode {
		mine.Mode = theirs.Mode
	}
	mine.ID, err = r.write(ours, "blob", out)
	return mine, true, err
}
