package gitx

import (
	"context"
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
// where there are no such commits.
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
