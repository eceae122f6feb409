package gitx

import (
	"cmp"
	"context"
	"os"
)

// Removed tells of commits, by whole hash, which of their files are neither in the head nor
// in the checkout, under any name. What was found is returned also with an error, which
// tells what was not looked at. It changes nothing.
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
	err = r.diffTrees(ctx, lines, func(e Edited) {
		if none(blobAt(root, e)) {
			out[e.Commit] = append(out[e.Commit], relSlash(r.prefix, e.Name))
		}
	}, renames(r.partial), "--diff-filter=A")
	return out, cmp.Or(err, over)
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
