package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
)

// maxDiff bounds how much of what one attempt changed is shown.
const maxDiff = 1 << 20

// Change is what one attempt at a step changed.
type Change struct {
	Commits []string // those whose trailer names the attempt, and the one it was accepted with; the oldest first
	Diff    string   // what they changed, one after the other
	Cut     bool     // they changed more than Diff holds
	Left    []string // files that it left uncommitted
	Now     string   // of the last attempt that left any: how these differ from the last commit by now
}

// Changes tells, by their numbers, what the attempts at a step changed, as far as git and
// the journal know: a commit that carries neither the trailer of an attempt nor its
// acceptance is no one's. It changes nothing. Without a repository there are no commits.
func (t Tender) Changes(ctx context.Context, h *History, step string) (map[int]Change, error) {
	out := map[int]Change{}
	keys := map[int]string{}
	for _, e := range h.Entries {
		ev := e.Event
		if ev.Step != step || ev.Attempt == 0 {
			continue
		}
		c := out[ev.Attempt]
		if ev.Key != "" {
			keys[ev.Attempt] = ev.Key
		}
		if ev.Commit != "" && !slices.Contains(c.Commits, ev.Commit) {
			c.Commits = append(c.Commits, ev.Commit)
		}
		if len(ev.Left) > 0 {
			c.Left = ev.Left
		}
		out[ev.Attempt] = c
	}
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	repo, err := gitx.Open(ctx, store.Dir(), gitx.Options{})
	if gitx.Absent(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	last := 0
	for attempt, c := range out {
		if out[attempt], err = committed(ctx, repo, c, keys[attempt]); err != nil {
			return nil, err
		}
		if len(c.Left) > 0 {
			last = max(last, attempt)
		}
	}
	if c, is := out[last]; is && h.Run.Worktree == "" {
		c.Now, err = uncommitted(ctx, repo, c.Left)
		out[last] = c
	}
	return out, err
}

// committed adds the commits that name the attempt, and what all of them changed.
func committed(ctx context.Context, repo *gitx.Repo, c Change, key string) (Change, error) {
	named, err := repo.AllTrailers(ctx, reprise.TrailerKey, key, key+reprise.TrailerAccepted)
	if err != nil {
		return c, err
	}
	for _, commit := range c.Commits {
		if !slices.Contains(named, commit) {
			named = append(named, commit)
		}
	}
	c.Commits = named
	for _, commit := range c.Commits {
		_, known, err := repo.Resolve(ctx, commit)
		if err != nil {
			return c, err
		}
		if !known {
			continue // it was removed since
		}
		text, whole, err := repo.Patch(ctx, commit, int64(maxDiff-len(c.Diff)))
		if err != nil {
			return c, err
		}
		c.Diff += text
		if c.Cut = !whole; c.Cut {
			break
		}
	}
	return c, nil
}

// maxFile bounds a file whose changes are shown.
const maxFile = 256 << 10

// uncommitted compares files, named from the top of the repository, with the last commit.
func uncommitted(ctx context.Context, repo *gitx.Repo, names []string) (string, error) {
	root, err := os.OpenRoot(string(repo.Top()))
	if err != nil {
		return "", err
	}
	defer root.Close()
	var want []gitx.At
	for _, name := range names {
		if below, is := strings.CutPrefix(name, repo.Prefix()); is {
			want = append(want, gitx.At{Commit: repo.Head(), Path: below})
		}
	}
	was, err := repo.Contents(ctx, want)
	if err != nil {
		return "", err
	}
	var diff strings.Builder
	for _, at := range want[:min(len(want), gitx.MaxContents)] {
		is, err := readRegular(root, path.Join(repo.Prefix(), at.Path))
		if err != nil {
			fmt.Fprintf(&diff, "%s: %v\n", at.Path, err)
			continue
		}
		diff.WriteString(durable.Diff(at.Path, was[at], is))
	}
	return diff.String()[:min(diff.Len(), maxDiff)], nil
}

// readRegular reads a small regular file; nil if it is not there.
func readRegular(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, errors.New("not shown: it is large or not a regular file")
	}
	return root.ReadFile(filepath.FromSlash(name))
}
