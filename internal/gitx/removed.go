package gitx

import (
	"context"
	"os"
	"strings"
)

// Removed tells of commits, by whole hash, which of their files are neither in the head nor
// in the checkout, under any name. It changes nothing.
func (r *Repo) Removed(ctx context.Context, commits []string) (map[string][]string, error) {
	var lines []string
	for _, c := range commits[:min(len(commits), MaxRemains)] {
		if objectName(c) && objectName(r.head) {
			lines = append(lines, c+" "+r.head) // what it adds to the head, as if that were its parent
		}
	}
	out := map[string][]string{}
	if len(lines) == 0 {
		return out, nil
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return out, err
	}
	defer root.Close()
	err = r.diffTrees(ctx, lines, func(commit, name, _, is string) {
		if now := blobAt(root, name, len(is)); now != "" && strings.Trim(now, "0") == "" {
			out[commit] = append(out[commit], relSlash(r.prefix, name))
		}
	}, renames(r.partial), "--diff-filter=A")
	return out, err
}

// Wrote tells of commits, by whole hash, which files they added or changed.
func (r *Repo) Wrote(ctx context.Context, commits []string) (map[string][]string, error) {
	var known []string
	for _, c := range commits {
		if objectName(c) {
			known = append(known, c)
		}
	}
	out := map[string][]string{}
	err := r.diffTrees(ctx, known, func(commit, name, _, _ string) {
		out[commit] = append(out[commit], relSlash(r.prefix, name))
	}, "--root", "--no-renames", "--diff-filter=AM")
	return out, err
}
