package evidence

import (
	"context"
	"maps"
	"slices"

	"reprise/internal/gitx"
)

// StateType reports whether a file has the ending of one that programs keep their state in.
func StateType(name string) bool { return gitx.StateType(name) }

// Began gives files of a project as they were when something began on a commit. kept is what a
// snapshot has of each, by the names of git, "" where it has none, and head the commit that it was
// taken on. What was committed after that is as the commit has it. The content is nil for what
// was not there, and what is unknown is left out.
func Began(ctx context.Context, root, head, base string, kept map[string]string, environ []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	repo, err := gitx.Open(ctx, root, gitx.Options{Environ: environ})
	if err != nil {
		return nil, err
	}
	var had []string
	if base != head || slices.Contains(slices.Collect(maps.Values(kept)), "") {
		if had, err = repo.Files(ctx, base); err != nil {
			return nil, err
		}
		slices.Sort(had)
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(kept)), gitx.MaxContents/2) {
		var blobs []string
		var want []gitx.At
		for _, name := range names {
			if kept[name] != "" {
				blobs = append(blobs, kept[name])
			}
			if base != head || kept[name] == "" {
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
		for _, name := range names {
			was, known := then[gitx.At{Commit: base, Path: name}]
			earlier, tracked := then[gitx.At{Commit: head, Path: name}]
			_, has := slices.BinarySearch(had, repo.Prefix()+name)
			if kept[name] == "" {
				if known || !has {
					out[name] = was
				}
				continue
			}
			if tracked && base != head && !has {
				out[name], contents = nil, contents[min(1, len(contents)):]
				continue
			}
			if !known || slices.Equal(was, earlier) {
				was = nil
				if len(contents) > 0 {
					was = contents[0]
				}
			}
			contents = contents[min(1, len(contents)):]
			if was != nil {
				out[name] = was
			}
		}
	}
	return out, nil
}
