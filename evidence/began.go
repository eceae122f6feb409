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
// was not there, and what is unknown is left out. only are those that the commit does not have so.
func Began(ctx context.Context, root, head, base string, kept map[string]string, environ []string) (was map[string][]byte, only map[string]bool, err error) {
	repo, err := gitx.Open(ctx, root, gitx.Options{Environ: environ})
	if err != nil {
		return nil, nil, err
	}
	had, err := repo.Files(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(had)
	was, only = map[string][]byte{}, map[string]bool{}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(kept)), gitx.MaxContents/2) {
		var ofKept, blobs []string
		var want []gitx.At
		for _, name := range names {
			want = append(want, gitx.At{Commit: head, Path: name}, gitx.At{Commit: base, Path: name})
			if kept[name] != "" {
				ofKept, blobs = append(ofKept, name), append(blobs, kept[name])
			}
		}
		commits, err := repo.Contents(ctx, want)
		if err != nil {
			return nil, nil, err
		}
		contents, err := repo.Blobs(ctx, blobs)
		if err != nil {
			return nil, nil, err
		}
		for i, content := range contents {
			was[ofKept[i]] = content
		}
		for _, name := range names {
			earlier, before := commits[gitx.At{Commit: head, Path: name}]
			then, known := commits[gitx.At{Commit: base, Path: name}]
			_, has := slices.BinarySearch(had, repo.Prefix()+name)
			switch {
			case kept[name] == "", before != known, !slices.Equal(earlier, then):
				if was[name] = then; has && !known {
					delete(was, name)
				}
			case was[name] == nil:
				delete(was, name)
			default:
				only[name] = !known || !slices.Equal(was[name], then)
			}
		}
	}
	return was, only, nil
}
