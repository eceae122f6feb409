package gitx

import (
	"bufio"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// maxUnmerged bounds how many files of other branches are fetched.
const maxUnmerged = 256

// unmerged adds the files of state below the paths as other branches have them, where
// commits that the head does not have changed them. It starts one process, none
// where there are no such commits, and two for each branch of a run that a remote has.
func (r *Repo) unmerged(ctx context.Context, git *reprise.Git, ask Ask, refs []ref) {
	within := map[string]bool{}
	for _, p := range ask.Unmerged {
		within[p] = true
	}
	type place struct{ branch, file string }
	var places []place
	var names []string
	add := func(branch, head string, at time.Time, files []string) {
		for _, f := range files {
			here := within[f] || covered(within, f)
			if !here || !slices.Contains(stateTypes, path.Ext(f)) || strings.Contains(f, "\n") || slices.Contains(places, place{branch, f}) {
				continue
			}
			unmergedOf(git, branch, at)
			places = append(places, place{branch, f})
			names = append(names, head+":"+path.Clean(r.prefix+f))
		}
	}
	for _, c := range git.Commits { // the newest first
		at := slices.IndexFunc(git.Branches, func(b reprise.Branch) bool { return b.Name == c.Branch })
		if c.OnHead || at < 0 {
			continue
		}
		for _, f := range c.Files {
			add(c.Branch, git.Branches[at].Head, c.At, []string{f.Path})
		}
	}
	for _, t := range fetched(ask.Tracked, refs) {
		at, files, err := r.since(ctx, git, t.hash)
		if err != nil {
			r.missed("whether the fleet has a run was not looked at on "+t.name, r.refusal(err))
			continue
		}
		add(t.name, t.hash, at, files)
		for _, f := range files {
			if is, _ := path.Match(ask.Mark, f); is {
				unmergedOf(git, t.name, at).Mark = f
			}
		}
	}
	if len(names) > maxUnmerged {
		r.skip("only the latest changes on other branches were looked at for work that was done there")
		names = names[:maxUnmerged]
	}
	contents, err := r.objects(ctx, names)
	if err != nil {
		r.missed("whether a run is further along on another branch was not fully looked at", r.refusal(err))
	}
	for i, content := range contents {
		if content == nil {
			continue // the branch no longer has it
		}
		for _, u := range git.Unmerged {
			if u.Branch == places[i].branch {
				u.Files[places[i].file] = content
			}
		}
	}
}

// unmergedOf is what is known of a branch.
func unmergedOf(git *reprise.Git, branch string, at time.Time) *reprise.Unmerged {
	i := slices.IndexFunc(git.Unmerged, func(u reprise.Unmerged) bool { return u.Branch == branch })
	if i < 0 {
		i, git.Unmerged = len(git.Unmerged), append(git.Unmerged, reprise.Unmerged{Branch: branch, At: at, Files: map[string][]byte{}})
	}
	return &git.Unmerged[i]
}

// fetched are the branches of some names as the remotes had them when they were last asked, and
// those that only this repository has.
func fetched(names []string, refs []ref) (out []ref) {
	for _, name := range names {
		own := -1
		before := len(out)
		for i, ref := range refs {
			if short, remote := strings.CutPrefix(ref.name, "refs/remotes/"); remote {
				if _, branch, _ := strings.Cut(short, "/"); branch == name {
					out = append(out, refs[i])
					out[len(out)-1].name = short
				}
			} else if ref.name == "refs/heads/"+name {
				own = i
			}
		}
		if own >= 0 && len(out) == before {
			out = append(out, refs[own])
			out[len(out)-1].name = name
		}
	}
	return out
}

// since lists the files that a commit has and that were changed since the head left its history,
// and says when it was made.
func (r *Repo) since(ctx context.Context, git *reprise.Git, commit string) (at time.Time, files []string, err error) {
	if git.Head == "" || git.Head == commit {
		return at, nil, nil
	}
	made, err := r.git.line(ctx, "log", "-1", "--format=%ct", "--no-show-signature", "--no-color", commit, "--")
	if err != nil {
		return at, nil, err
	}
	seconds, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return at, nil, err
	}
	err = r.git.stream(ctx, nil, func(in *bufio.Reader) error {
		f := fields{in, 0}
		return f.each(func(name string) error {
			files = append(files, relSlash(r.prefix, name))
			return nil
		})
	}, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", "--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=all", git.Head+"..."+commit, "--")
	return time.Unix(seconds, 0), files, err
}
