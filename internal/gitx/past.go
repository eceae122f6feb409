package gitx

import (
	"context"

	"reprise"
)

// maxPast bounds how many versions of one file are fetched.
const maxPast = 8

// past adds the latest versions of files to what is known of the repository, in one
// process: those that the commits on the head left, as far as these are listed. Files
// that were changed last come first where there are too many.
func (r *Repo) past(ctx context.Context, git *reprise.Git, files []string) {
	var want []At
	left := map[string]int{}
	for _, name := range files {
		left[name] = maxPast
	}
	for _, c := range git.Commits {
		for _, f := range c.Files {
			if c.OnHead && !c.Merge && left[f.Path] > 0 {
				left[f.Path]--
				want = append(want, At{c.Hash, f.Path})
			}
		}
	}
	if len(want) == 0 {
		return
	}
	contents, err := r.Contents(ctx, want)
	r.missed("earlier versions of lists were not looked at", r.refusal(err))
	git.Past = map[string][]reprise.Version{}
	for _, at := range want {
		if content, ok := contents[at]; ok {
			git.Past[at.Path] = append(git.Past[at.Path], reprise.Version{Commit: at.Commit, Content: content})
		}
	}
}
