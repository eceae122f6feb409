//go:build unix

package world

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"reprise/core"
)

// Has reports whether a commit is another one or has it below it. No commit at all is below
// every one.
func (r *Repo) Has(ctx context.Context, head, commit string) (bool, error) {
	if commit == "" || head == commit {
		return true, nil
	}
	if head == "" {
		return false, nil
	}
	_, err := r.git(ctx, users, nil, "merge-base", "--is-ancestor", commit, head)
	if status, failed := ended(err); failed && (status == 1 || status == 128) { // no, or it is not here
		return false, nil
	}
	return err == nil, err
}

// WithCommits gives a world with what others did to the branch since it was at a commit:
// every move of HEAD that the reflog does not note for the action of an agent. Where both
// changed the same lines the world keeps its own. Without a reflog nobody's commits are
// known, and the world is as it was.
func (r *Repo) WithCommits(ctx context.Context, w core.World, since, action string) (core.World, error) {
	if r.private {
		return w, nil
	}
	data, err := os.ReadFile(filepath.Join(r.gitDir, "logs", "HEAD"))
	if err != nil {
		if os.IsNotExist(err) {
			err = nil
		}
		return w, err
	}
	var moves []string
	for line := range bytes.Lines(data) {
		entry := strings.TrimSuffix(string(line), "\n")
		moves = append(moves, entry)
		if was, _, _ := strings.Cut(entry[min(len(entry), r.idLen+1):], " "); was == since {
			moves = nil
		}
	}
	for _, entry := range moves {
		head, message, _ := strings.Cut(entry, "\t")
		if message == action || strings.HasPrefix(message, action+":") || strings.HasPrefix(message, action+" ") {
			continue
		}
		f := strings.Fields(head)
		if len(f) < 2 {
			continue
		}
		var trees [2]string
		for i, id := range f[:2] {
			if strings.Trim(id, "0") != "" && err == nil {
				_, trees[i], err = r.parse(id)
			}
		}
		if errors.Is(err, ErrMissing) { // a power cut took a part of the line
			err = nil
			continue
		}
		if err != nil {
			return w, err
		}
		if w, _, err = r.Merge(ctx, core.World(trees[0]), w, core.World(trees[1])); err != nil {
			return w, err
		}
	}
	return w, nil
}
