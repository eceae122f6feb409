//go:build unix

package world

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"reprise/core"
)

// Slot gives a worktree of our own below the folder of reprise, for a step beside others. It
// is made when it is first asked for, and used again: what a step left in it that git ignores
// (what it built, what it fetched) is there for the next one.
func (r *Repo) Slot(ctx context.Context, name string) (*Repo, error) {
	if s := r.slots[name]; s != nil {
		return s, nil
	}
	if r.private {
		return nil, errors.New("steps side by side need a git repository")
	}
	top := filepath.Join(r.Top, Folder, "worlds", "own", name)
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		if r.looking {
			return nil, err
		}
		// What a killed command, or a power cut, left of it was named by no record.
		if err := os.RemoveAll(top); err != nil {
			return nil, err
		}
		if _, err := r.git(ctx, users, nil, "worktree", "add", "-q", "-f", "--detach", "--no-checkout", top, "HEAD"); err != nil {
			return nil, err
		}
	}
	s := *r
	s.Top, s.indexName, s.seen, s.last, s.staged, s.stamp, s.slots = top, "index."+name, "", "", "", "", nil
	out, err := r.command(ctx, top, clean(r.environ), nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	s.gitDir = strings.TrimSpace(string(out))
	if s.batch, err = startBatch(&s); err != nil {
		return nil, err
	}
	if r.slots == nil {
		r.slots = map[string]*Repo{}
	}
	r.slots[name] = &s
	return &s, nil
}

// Reset takes a slot to a commit, and gives it those files of the convention that git
// ignores. What another step left in it is in that step's world.
func (r *Repo) Reset(ctx context.Context, head HeadNow, from *Repo) error {
	now, err := r.Take(ctx)
	if err != nil {
		return err
	}
	if _, err := r.MoveFiles(ctx, now, core.World(head.Tree)); err != nil {
		return err
	}
	if _, err := r.git(ctx, users, nil, "update-ref", "--no-deref", "-m", "reprise: begin a step", "HEAD", head.Commit); err != nil {
		return err
	}
	if _, err := r.git(ctx, users, nil, "read-tree", "--reset", "HEAD"); err != nil {
		return err
	}
	var files []string
	for _, name := range from.Always {
		files = append(files, from.filesOf(name)...)
	}
	for _, name := range files {
		e, err := r.Entry(core.World(head.Tree), name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(from.Top, name))
		if !e.none() || errors.Is(err, os.ErrNotExist) {
			continue
		}
		path := filepath.Join(r.Top, name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o777)); err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
