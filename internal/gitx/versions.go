package gitx

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is a file as git has it.
type Version struct {
	Commit  string    // Index for what is staged
	At      time.Time // of the commit; zero for the index
	Content []byte
}

// maxVersions bounds how far back Versions looks.
const maxVersions = 20

// Versions gives a file as the index has it and as the last commits left that changed
// it, the newest first. What is too large, or no file there, is left out.
func (r *Repo) Versions(ctx context.Context, name string) ([]Version, error) {
	log, err := r.git.output(ctx, 1<<16, "log", "-n", strconv.Itoa(maxVersions), "--format=%H %ct", "--", path.Clean(name))
	if err != nil && r.head != "" {
		return nil, fmt.Errorf("look for versions of %s: %w", name, err)
	}
	versions := []Version{{Commit: Index}}
	for line := range strings.Lines(string(log)) {
		commit, when, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seconds, err := strconv.ParseInt(when, 10, 64); err == nil {
			versions = append(versions, Version{Commit: commit, At: time.Unix(seconds, 0).UTC()})
		}
	}
	var want []At
	for _, v := range versions {
		want = append(want, At{v.Commit, name})
	}
	contents, err := r.Contents(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("look for versions of %s: %w", name, err)
	}
	for i := range versions {
		versions[i].Content = contents[want[i]]
	}
	versions = slices.DeleteFunc(versions, func(v Version) bool { return v.Content == nil })
	if len(versions) > 1 && bytes.Equal(versions[0].Content, versions[1].Content) {
		versions = versions[1:] // nothing else is staged than what was committed
	}
	return versions, nil
}
