package gitx

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
)

// HasTrailer looks for the latest commit of what is checked out that carries a trailer with
// the first of the values that one has. since is a commit that has none of them in its
// history, "" if none is known: without it all of the history is read. A repository without
// any commit but our own snapshots has none that does.
func (r *Repo) HasTrailer(ctx context.Context, since, key string, values ...string) (commit string, found bool, err error) {
	where := []string{"--end-of-options", "HEAD^{commit}"}
	if objectName(since) {
		if now, ok := plainCommit(r.location, "HEAD"); ok && now == since {
			return "", false, nil
		}
		if commit, found, err = r.latest(ctx, key, values, append(where, "^"+since)...); err == nil {
			return commit, found, nil
		}
	}
	if commit, found, err = r.latest(ctx, key, values, where...); err != nil {
		if any, no := r.git.theirs().line(ctx, "rev-list", "-n", "1", "--branches", "--reflog"); no == nil && any == "" {
			err = nil
		}
	}
	return commit, found, err
}

// StrayTrailer is HasTrailer for commits that are not in rev, wherever they are: on
// other branches, or on none and made not long ago.
func (r *Repo) StrayTrailer(ctx context.Context, rev, key, value string) (commit string, found bool, err error) {
	at, err := spelled(rev)
	if err != nil {
		return "", false, err
	}
	return r.latest(ctx, key, []string{value}, "--branches", "--reflog", "--not", "--end-of-options", at+"^{commit}")
}

// AllTrailers lists the commits that carry a trailer with one of the values, the oldest
// first, wherever they are: on a branch, or on none and made not long ago. All values
// begin with the first.
func (r *Repo) AllTrailers(ctx context.Context, key string, values ...string) (commits []string, err error) {
	err = r.findTrailer(ctx, key, values[:1], func(commit, value string) error {
		if slices.Contains(values, value) {
			commits = append(commits, commit)
		}
		return nil
	}, "--reverse", "--all", "--reflog")
	return commits, err
}

// LastTrailers gives the last commit that changed a file, with its values of a trailer;
// "" if there is none.
func (r *Repo) LastTrailers(ctx context.Context, name, key string) (commit string, values []string, err error) {
	out, err := r.git.output(ctx, 1<<16, "log", "-n", "1", "--format=%H%n%(trailers:key="+key+",valueonly)", "--", path.Clean(name))
	if all := strings.Fields(string(out)); len(all) > 0 {
		commit, values = all[0], all[1:]
	}
	return commit, values, err
}

// Patch is what a commit changed since its first parent, as a unified diff of at most
// limit bytes. whole is false where more was changed than that.
func (r *Repo) Patch(ctx context.Context, commit string, limit int64) (text string, whole bool, err error) {
	at, err := r.resolveAll(ctx, commit)
	if err != nil {
		return "", false, err
	}
	out, err := r.git.output(ctx, limit, "diff-tree", "-p", "-r", "-M", "--root", "--diff-merges=first-parent", "--no-commit-id", "--no-color",
		"--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short", "--end-of-options", at[0], "--")
	if whole = !errors.Is(err, errTooLong); !whole {
		out, err = out[:bytes.LastIndexByte(out, '\n')+1], nil
	}
	return string(out), whole, err
}

// latest is the newest commit among those that git log lists whose trailer has the first
// of the values that one has.
func (r *Repo) latest(ctx context.Context, key string, values []string, where ...string) (commit string, found bool, err error) {
	better := values
	err = r.findTrailer(ctx, key, values, func(hash, has string) error {
		if i := slices.Index(better, has); i >= 0 {
			commit, better = hash, better[:i]
		}
		if len(better) == 0 {
			return errEnough
		}
		return nil
	}, where...)
	return commit, commit != "", err
}

// findTrailer hands the commits whose trailer may begin with one of the values to use,
// each with each value of that trailer.
func (r *Repo) findTrailer(ctx context.Context, key string, values []string, use func(commit, value string) error, where ...string) error {
	if strings.ContainsAny(key+strings.Join(values, ""), "\r\n\x00") || slices.Contains(values, "") {
		return nil // none of our commits carries that
	}
	args := []string{
		"log", "-z", "--no-show-signature", "--no-mailmap", "--no-decorate", "--no-notes", "--encoding=UTF-8", "--fixed-strings",
		"--format=tformat:%H%x00%(trailers:key=" + key + ",valueonly,separator=%x1f)",
	}
	for _, value := range values {
		args = append(args, "--grep="+key+": "+value)
	}
	args = append(append(args, where...), "--")
	return words(ctx, r.git.theirs().stream, nil, func(hash string, f *fields) error {
		values, err := f.need()
		if err != nil || !objectName(hash) {
			return err
		}
		for v := range strings.SplitSeq(values, "\x1f") {
			if err := use(hash, strings.TrimSpace(v)); err != nil {
				return err
			}
		}
		return nil
	}, args...)
}
