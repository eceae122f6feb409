package gitx

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
)

// maxUnmerged bounds how many files of other branches are fetched.
const maxUnmerged = 256

// remotes is what the names of branches begin with as a remote had them.
const remotes = "refs/remotes/"

// unmerged adds the files of state below the paths as other branches have them, where
// commits that the head does not have changed them. It starts one process, none
// where there are no such commits, and one more where the fleet has branches.
func (r *Repo) unmerged(ctx context.Context, git *reprise.Git, ask Ask, a *answers) {
	within := map[string]bool{}
	for _, p := range ask.Unmerged {
		within[p] = true
	}
	type place struct{ branch, file string }
	var places []place
	var names []string
	add := func(branch, head string, at time.Time, files []reprise.FileChange) {
		for _, change := range files {
			f := change.Path
			if !within[f] && !covered(within, f) || !slices.Contains(stateTypes, path.Ext(f)) || strings.Contains(f, "\n") || slices.Contains(places, place{branch, f}) {
				continue
			}
			if !slices.ContainsFunc(git.Unmerged, func(u reprise.Unmerged) bool { return u.Branch == branch }) {
				git.Unmerged = append(git.Unmerged, reprise.Unmerged{Branch: branch, At: at, Files: map[string][]byte{}})
			}
			places = append(places, place{branch, f})
			names = append(names, head+":"+path.Clean(r.prefix+f))
		}
	}
	heads := map[string]string{strings.TrimPrefix(a.upstream.name, remotes): a.upstream.hash}
	for _, b := range git.Branches {
		heads[b.Name] = b.Head
	}
	for _, c := range git.Commits { // the newest first
		if !c.OnHead && heads[c.Branch] != "" {
			add(c.Branch, heads[c.Branch], c.At, c.Files)
		}
	}
	for _, e := range r.fleetLog(ctx, git, ask, a.refs.list) {
		add(e.Branch, e.source, e.At, e.Files)
	}
	if len(names) > maxUnmerged {
		r.skip("only the latest changes on other branches were looked at for work that was done there")
		names = names[:maxUnmerged]
	}
	contents, err := r.objects(ctx, "blob", names)
	r.missed("whether a run is further along on another branch was not fully looked at", r.refusal(err))
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

// branchesOf are the branches by name, as the remotes have them, else this repository, with the
// names that git takes for them.
func branchesOf(refs []ref) map[string][]ref {
	there, own := map[string][]ref{}, map[string][]ref{}
	for _, at := range refs {
		if short, remote := strings.CutPrefix(at.name, remotes); remote {
			_, branch, _ := strings.Cut(short, "/")
			at.name = short
			there[branch] = append(there[branch], at)
		} else if branch, is := strings.CutPrefix(at.name, "refs/heads/"); is {
			at.name = branch
			own[branch] = []ref{at}
		}
	}
	maps.Copy(own, there)
	return own
}
