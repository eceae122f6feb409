package gitx

import (
	"context"
	"slices"

	"reprise"
)

// How many commits are asked what the files they added were called before, and how often
// a file is followed.
const (
	maxRenamers = 64
	maxRenames  = 4
)

// askRenamed follows files that only got another name to the commit that made their
// content: a log of paths tells a file that comes from elsewhere as an added one.
func (r *Repo) askRenamed(ctx context.Context, ask Ask, a *answers) {
	asked := map[string]bool{}
	for range maxRenames {
		adding := a.adding(asked)
		if len(adding) == 0 {
			return
		}
		var from []string
		args := append([]string{"--no-walk=unsorted", "--name-status", "--diff-filter=R", "-M100%"}, adding...)
		err := r.log(ctx, r.git.history, nil, func(e entry) { from = append(from, named(a.files[e.Hash], e.Files)...) }, append(args, "--")...)
		if err == nil && len(from) > 0 {
			err = r.touched(ctx, ask, merge(from), func(e entry) { a.files[e.Hash] = joined(a.files[e.Hash], e.Files) })
		}
		if err != nil {
			r.missed("the earlier names of files were not fully looked at", err)
			return
		}
	}
}

// adding gives the commits, newest first, that added a file which none changed since, and
// marks them as asked.
func (a *answers) adding(asked map[string]bool) (out []string) {
	later := map[string]bool{}
	for _, e := range a.log {
		fresh := false
		for _, f := range a.files[e.Hash] {
			fresh = fresh || f.Added && !later[f.Path]
			// What only got another name here was made before.
			later[f.Path] = !slices.ContainsFunc(a.files[e.Hash], func(o reprise.FileChange) bool { return o.Same && o.From == f.Path })
		}
		if fresh && len(e.parents) == 1 && !asked[e.Hash] && len(out) < maxRenamers {
			asked[e.Hash] = true
			out = append(out, e.Hash)
		}
	}
	return out
}

// named notes in a list of files which of the added ones had another name, and gives those
// names.
func named(files, renamed []reprise.FileChange) (from []string) {
	for _, was := range renamed {
		i := slices.IndexFunc(files, func(f reprise.FileChange) bool { return f.Added && f.Path == was.Path })
		if i >= 0 {
			files[i] = was
			from = append(from, was.From)
		}
	}
	return from
}

// joined adds the files that a list does not have yet.
func joined(files, more []reprise.FileChange) []reprise.FileChange {
	for _, f := range more {
		if !slices.ContainsFunc(files, func(o reprise.FileChange) bool { return o.Path == f.Path }) {
			files = append(files, f)
		}
	}
	return files
}
