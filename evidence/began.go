package evidence

import (
	"context"
	"maps"
	"slices"

	"reprise/internal/gitx"
)

// Began gives files of a project as they were when something began on a commit. kept is what a
// snapshot has of each, by the names of git, and head the commit that it was taken on. What was
// committed after that is as the commit has it.
func Began(ctx context.Context, root, head, base string, kept map[string]string, environ []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	repo, err := gitx.Open(ctx, root, gitx.Options{Environ: environ})
	if err != nil {
		return nil, err
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(kept)), gitx.MaxContents/2) {
		var blobs []string
		var want []gitx.At
		for _, name := range names {
			blobs = append(blobs, kept[name])
			if base != head {
				want = append(want, gitx.At{Commit: head, Path: name}, gitx.At{Commit: base, Path: name})
			}
		}
		then, err := repo.Contents(ctx, want)
		if err != nil {
			return nil, err
		}
		contents, err := repo.Blobs(ctx, blobs)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			was, known := then[gitx.At{Commit: base, Path: name}]
			if !known || slices.Equal(was, then[gitx.At{Commit: head, Path: name}]) {
				was = nil
				if i < len(contents) {
					was = contents[i]
				}
			}
			if was != nil {
				out[name] = was
			}
		}
	}
	return out, nil
}
