package gitx

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Removed tells of commits, by whole hash, which of their files are neither in the head nor
// in the checkout. One that has another name now is not removed, unless a commit
// deleted it and only a later one made the other. What was found is returned also
// with an error, which tells what was not looked at. It changes nothing.
func (r *Repo) Removed(ctx context.Context, commits []string) (map[string][]string, error) {
	out := map[string][]string{}
	lines, over := bounded(commits)
	if len(lines) == 0 || !objectName(r.head) {
		return out, nil
	}
	for i := range lines {
		lines[i] += " " + r.head // what it adds to the head, as if that were its parent
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return out, err
	}
	defer root.Close()
	gone, plain := map[string][]string{}, map[string]map[string]bool{}
	err = r.diffTrees(ctx, lines, func(e Edited) {
		if none(blobAt(root, e)) {
			gone[e.Commit] = append(gone[e.Commit], relSlash(r.prefix, e.Name))
		}
	}, "--no-renames", "--diff-filter=A")
	if len(gone) == 0 {
		return out, cmp.Or(err, over)
	}
	missed := r.diffTrees(ctx, lines, func(e Edited) {
		if plain[e.Commit] == nil {
			plain[e.Commit] = map[string]bool{}
		}
		plain[e.Commit][relSlash(r.prefix, e.Name)] = true
	}, renames(r.partial), "--diff-filter=A")
	for commit, names := range gone {
		var deleted map[string]bool
		if slices.ContainsFunc(names, func(name string) bool { return !plain[commit][name] }) {
			var err error
			deleted, err = r.deletedSince(ctx, commit)
			missed = cmp.Or(missed, err)
		}
		for _, name := range names {
			if plain[commit][name] || deleted[name] {
				out[commit] = append(out[commit], name)
			}
		}
	}
	return out, cmp.Or(err, missed, over)
}

// deletedSince tells of the files that commits since base took away, seen from this folder,
// whether the last of those commits deleted it, and did not give it another name.
func (r *Repo) deletedSince(ctx context.Context, base string) (map[string]bool, error) {
	out, n := map[string]bool{}, 0
	err := r.log(ctx, r.git.stream, nil, func(e entry) {
		n++
		for _, f := range e.Files {
			name := cmp.Or(f.From, f.Path)
			if _, later := out[name]; !later {
				out[name] = f.From == ""
			}
		}
	}, "--topo-order", "--name-status", renames(r.partial), "--diff-filter=DR", "--max-count="+strconv.Itoa(maxSince), "--end-of-options", r.head, "^"+base, "--")
	if err == nil && n == maxSince {
		err = fmt.Errorf("list what was deleted since %.12s: %w", base, errTooLong)
	}
	return out, err
}

// Wrote tells of commits, by whole hash, which files they added or changed. What was found is
// returned also with an error, which tells what was not looked at.
func (r *Repo) Wrote(ctx context.Context, commits []string) (map[string][]string, error) {
	known, over := bounded(commits)
	out := map[string][]string{}
	err := r.diffTrees(ctx, known, func(e Edited) {
		out[e.Commit] = append(out[e.Commit], relSlash(r.prefix, e.Name))
	}, "--root", "--no-renames", "--diff-filter=AM")
	return out, cmp.Or(err, over)
}

// Filled lists the files to which the commits of the head since base gave content.
func (r *Repo) Filled(ctx context.Context, base string) (out []string, err error) {
	if !objectName(r.head) || !objectName(base) {
		return nil, nil
	}
	err = r.diffTrees(ctx, []string{r.head + " " + base}, func(e Edited) {
		if !none(e.Is) && e.Is != empty(len(e.Is)) {
			out = append(out, relSlash(r.prefix, e.Name))
		}
	}, "--no-renames")
	return out, err
}

// Before gives the files of state, by their names below the top, that no longer are in the
// checkout what they were in a commit, as they were in it: nil for those that it does not have.
// It changes nothing.
func (r *Repo) Before(ctx context.Context, base string) (map[string][]byte, error) {
	out := map[string][]byte{}
	l, err := r.Look(ctx)
	head, names := l.Head, l.Changed
	if err != nil || !objectName(base) {
		return out, err
	}
	if head != base && head != "" {
		err = r.diffTrees(ctx, []string{head + " " + base}, func(e Edited) { names = append(names, e.Name) }, "--no-renames")
	}
	if err != nil {
		return out, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.Contains(stateTypes, path.Ext(name)) || strings.ContainsAny(name, "\n\x00")
	})
	slices.Sort(names)
	names = slices.Compact(names)
	objects := make([]string, len(names))
	for i, name := range names {
		objects[i] = base + ":" + name
	}
	contents, failed := r.objects(ctx, "blob", objects)
	var known []string
	if slices.ContainsFunc(contents, func(content []byte) bool { return content == nil }) {
		if known, err = r.Files(ctx, base); err != nil {
			return out, err
		}
		slices.Sort(known)
	}
	for i, content := range contents {
		if _, has := slices.BinarySearch(known, names[i]); content != nil || !has { // or what it was is unknown
			out[names[i]] = content
		}
	}
	return out, failed
}
