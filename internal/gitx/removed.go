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

// Passed is a file that a commit added or took away.
type Passed struct {
	Commit, Path  string
	Gone, Renamed bool
}

// Bounds of how many commits are looked through for files that are not there, and of how many it
// is asked whether they only gave them another name.
const (
	maxPassing = 20_000
	maxRenamer = 500
)

// Passing lists the commits of the head and of all branches, newest first, that added files or took
// them away whose last name, in small letters, is one of these. whole tells that no older commit can have.
func (r *Repo) Passing(ctx context.Context, last map[string]bool) (out []Passed, whole bool, err error) {
	n, took, seen := 0, []string{}, map[string]bool{}
	err = r.log(ctx, r.git.history, nil, func(e entry) {
		n++
		for _, f := range e.Files {
			if !last[strings.ToLower(path.Base(f.Path))] {
				continue
			}
			out = append(out, Passed{Commit: e.Hash, Path: f.Path, Gone: !f.Added})
			if !f.Added && !seen[e.Hash] && len(took) < maxRenamer {
				seen[e.Hash], took = true, append(took, e.Hash)
			}
		}
	}, "--topo-order", "--no-renames", "--diff-filter=AD", "--name-status", "--max-count="+strconv.Itoa(maxPassing), "--branches", "HEAD", "--")
	if err != nil || len(took) == 0 {
		return out, err == nil && n < maxPassing && !r.shallow, err
	}
	was := map[[2]string]bool{}
	err = r.log(ctx, r.git.history, nil, func(e entry) {
		for _, f := range e.Files {
			was[[2]string{e.Hash, f.From}] = true
		}
	}, append(append([]string{"--no-walk=unsorted", renames(r.partial), "--diff-filter=R", "--name-status"}, took...), "--")...)
	for i := range out {
		out[i].Renamed = out[i].Gone && was[[2]string{out[i].Commit, out[i].Path}]
	}
	return out, err == nil && n < maxPassing && !r.shallow, err
}

// Told is a commit with the files it changed. First says that it has no parent: all there was came with it.
type Told struct {
	Subject string
	Files   []string
	First   bool
}

// Latest hands over the latest commits of the head, newest first.
func (r *Repo) Latest(ctx context.Context, most int, use func(Told)) error {
	return r.log(ctx, r.git.stream, nil, func(e entry) {
		c := Told{Subject: e.Subject, First: len(e.parents) == 0}
		for _, f := range e.Files {
			c.Files = append(c.Files, f.Path)
		}
		use(c)
	}, "--topo-order", "--no-renames", "--name-status", "--max-count="+strconv.Itoa(most), "HEAD", "--")
}

// Ignored tells which of these paths, seen from this folder, git ignores.
func (r *Repo) Ignored(ctx context.Context, names []string) (out []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	git := r.git
	git.env = append(slices.Clone(git.env), "GIT_LITERAL_PATHSPECS=0") // it takes names alone, and refuses the setting
	err = words(ctx, git.stream, []byte(strings.Join(names, "\x00")+"\x00"), func(name string, _ *fields) error {
		out = append(out, name)
		return nil
	}, "check-ignore", "-z", "--stdin", "--no-index")
	if exitCode(err) == 1 { // none of them
		return nil, nil
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
