package gitx

import (
	"context"
	"path"
	"slices"
	"strings"

	"reprise"
)

// maxUnmerged bounds how many files of other branches are fetched.
const maxUnmerged = 256

// unmerged adds the files of state below the paths as other branches have them, where
// commits that the head does not have changed them. It starts one process, and none
// where there are no such commits.
func (r *Repo) unmerged(ctx context.Context, git *reprise.Git, paths []string) {
	within := map[string]bool{}
	for _, p := range paths {
		within[p] = true
	}
	type place struct{ branch, file string }
	var places []place
	var names []string
	for _, c := range git.Commits { // the newest first
		at := slices.IndexFunc(git.Branches, func(b reprise.Branch) bool { return b.Name == c.Branch })
		if c.OnHead || at < 0 {
			continue
		}
		for _, f := range c.Files {
			here := within[f.Path] || covered(within, f.Path)
			if !here || !slices.Contains(stateTypes, path.Ext(f.Path)) || strings.Contains(f.Path, "\n") || slices.Contains(places, place{c.Branch, f.Path}) {
				continue
			}
			if !slices.ContainsFunc(git.Unmerged, func(u reprise.Unmerged) bool { return u.Branch == c.Branch }) {
				git.Unmerged = append(git.Unmerged, reprise.Unmerged{Branch: c.Branch, At: c.At, Files: map[string][]byte{}})
			}
			places = append(places, place{c.Branch, f.Path})
			names = append(names, git.Branches[at].Head+":"+path.Clean(r.prefix+f.Path))
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
