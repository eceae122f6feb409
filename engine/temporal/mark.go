package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reprise/internal/durable"
)

// While the fleet has a run open, its branch says so: each journal there has a mark beside
// it, which the plain program reads (project.Elsewhere). A turn takes the marks away, since
// it is the fleet that works, and leaves them unless it left the run. They are part of the
// same push as what the turn did.

// mark marks the journals of a project in a checkout as the fleet's.
func mark(root, branch string) error {
	logs, err := journals(root)
	if err != nil {
		return err
	}
	text := []byte(branch + "\n")
	for _, log := range logs {
		file := filepath.Join(root, filepath.FromSlash(durable.FleetMark(log)))
		if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) {
			continue
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// unmark takes the marks away.
func unmark(root string) error {
	files, err := filepath.Glob(filepath.Join(literal(root), filepath.FromSlash(durable.FleetMark("*"))))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// literal keeps a path from being a pattern.
func literal(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// journals names the journals of a project.
func journals(root string) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(root, durable.StateDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil, err
	}
	return store.Logs()
}

// release takes the marks off the branch of a run that no workflow has open, such as one that
// was terminated or failed. It reports whether there were any.
func (f *Fleet) release(ctx context.Context, name string) (had bool, err error) {
	err = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(name)
		found, err := m.fetchRun(ctx, name, "")
		if found[branch] == "" {
			if gone := new(NoBranchError); errors.As(err, &gone) {
				return nil // there is nothing to take them off
			}
		}
		if err != nil || found[branch] == "" {
			return err
		}
		c, err := m.Checkout(ctx, found[branch], Branch(name))
		if err != nil {
			return err
		}
		marks, err := c.git(ctx, "ls-files", "--", filepath.Join(f.Folder, filepath.FromSlash(durable.FleetMark("*"))))
		if had = marks != ""; err != nil || !had {
			return err
		}
		if err := unmark(filepath.Join(c.Dir, filepath.FromSlash(f.Folder))); err != nil {
			return err
		}
		commit, _, err := c.Commit(ctx, fmt.Sprintf("reprise: the fleet has left %s\n", name), CommitOptions{Parents: []string{c.Base}, Folder: f.Folder, Journal: true, Ignored: true})
		if err != nil {
			return err
		}
		return c.Push(ctx, commit, branch, c.Base)
	})
	return had, err
}
