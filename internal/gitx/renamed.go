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
		from, err := r.renamed(ctx, r.git.history, a, asked)
		if err == nil && len(from) > 0 {
			err = r.touched(ctx, ask, a, merge(from), func(e entry) { a.files[e.Hash] = joined(a.files[e.Hash], e.Files) })
		}
		if err != nil {
			r.missed("the earlier names of files were not fully looked at", err)
		}
		if err != nil || len(from) == 0 {
			return
		}
	}
}

// renamed notes which files that a log tells as added only got another name, and gives the
// names they had. It starts one process where there are commits to ask that were not asked yet.
func (r *Repo) renamed(ctx context.Context, ask asking, a *answers, asked map[string]bool) (from []string, err error) {
	adding := a.adding(asked)
	if len(adding) == 0 {
		return nil, nil
	}
	args := append([]string{"--no-walk=unsorted", "--name-status", "--diff-filter=R", "-M100%"}, adding...)
	err = r.log(ctx, ask, nil, func(e entry) { from = append(from, named(a.files[e.Hash], e.Files)...) }, append(args, "--")...)
	return from, err
}

// adding gives the commits, newest first, that added a file, and marks them as asked.
func (a *answers) adding(asked map[string]bool) (out []string) {
	for _, e := range a.log {
		adds := slices.ContainsFunc(a.files[e.Hash], func(f reprise.FileChange) bool { return f.Added })
		if adds && len(e.parents) == 1 && !asked[e.Hash] && len(out) < maxRenamers {
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
