package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"reprise/journal"
)

// Checkout is a folder with the files of a commit, for one activity.
type Checkout struct {
	Dir    string
	Base   string // the commit that was checked out
	mirror *Mirror
	index  string // in place of the folder's own, "" for that
	branch string
	tip    commit // what Base says; only a turn's
	still  *journal.Still
}

// Checkout makes a folder with the files of a commit of the mirror, which writes nothing to
// the mirror. Close removes it.
func (m *Mirror) Checkout(ctx context.Context, commit, branch string) (*Checkout, error) {
	c, err := m.reader(ctx)
	if err != nil {
		return nil, err
	}
	if near := m.takeKept(commit, branch); near != nil {
		same := copyFiles(near.Dir, c.Dir)
		if same == nil && near.Base == commit && near.branch == branch {
			c.Base, c.branch, c.still = commit, branch, near.still.Copy()
		}
		if err := m.giveBack(near); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if same != nil { // git checks out everything
			if err := c.Close(); err != nil {
				return nil, err
			}
			if c, err = m.reader(ctx); err != nil {
				return nil, err
			}
		}
	}
	if c.Base == "" {
		err = c.checkOut(ctx, commit, branch)
	} else if err = c.point(commit); err == nil {
		err = os.WriteFile(filepath.Join(c.Dir, ".git", "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// reader makes a folder with a repository that has what the mirror has and no files.
func (m *Mirror) reader(ctx context.Context) (*Checkout, error) {
	c, err := m.blank(ctx)
	if err != nil {
		return nil, err
	}
	info := filepath.Join(c.Dir, ".git", "objects", "info")
	err = os.MkdirAll(info, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(info, "alternates"), []byte(m.objects()+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// point moves the branch to a commit and changes nothing else.
func (c *Checkout) point(name string) error {
	ref := filepath.Join(c.Dir, ".git", "refs", "heads", filepath.FromSlash(c.branch))
	if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
		return err
	}
	return os.WriteFile(ref, []byte(name+"\n"), 0o600)
}

// blank makes a folder with a repository that has nothing.
func (m *Mirror) blank(ctx context.Context) (*Checkout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, err := m.initial(ctx, "blank")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.Dir, "work-")
	if err != nil {
		return nil, err
	}
	c := &Checkout{Dir: dir, mirror: m}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// checkOut makes the files those of a commit. What else is there stays.
func (c *Checkout) checkOut(ctx context.Context, commit, branch string) error {
	c.Base, c.branch, c.still = commit, branch, &journal.Still{}
	_, err := c.git(ctx, "checkout", "-q", "-f", "-B", branch, commit) // a folder of ours: nothing is lost
	return err
}

// forTurn gives a checkout for a turn, in a project at folder. It is one that an earlier turn
// of this process left, if there is one: that has the files of its commit, and beside them
// nothing but our own folder.
func (m *Mirror) forTurn(ctx context.Context, commit, branch, folder string) (*Checkout, error) {
	c := m.takeKept(commit, branch)
	if c != nil && c.Base == commit && c.branch == branch {
		return c, nil
	}
	var err error
	if c == nil {
		if c, err = m.blank(ctx); err != nil {
			return nil, err
		}
		objects := filepath.Join(c.Dir, ".git", "objects")
		if err = os.RemoveAll(objects); err == nil {
			err = os.Symlink(m.objects(), objects)
		}
	} else {
		for _, own := range []string{filepath.Join(folder, stateDir), ".git/refs/heads", ".git/logs"} {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.Dir, own)))
		}
	}
	if err == nil {
		err = c.checkOut(ctx, commit, branch)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	read, err := m.about(ctx, commit)
	c.tip = read[commit]
	return c, err
}

// takeKept takes the kept checkout that is nearest to a commit of a branch; nil if none is.
func (m *Mirror) takeKept(commit, branch string) *Checkout {
	m.mu.Lock()
	defer m.mu.Unlock()
	best := len(m.kept) - 1
	for i, c := range m.kept {
		if c.branch == branch && (c.Base == commit || m.kept[best].branch != branch) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := m.kept[best]
	m.kept = slices.Delete(m.kept, best, best+1)
	return c
}

// keep leaves the checkout of a turn to the next one, with the files of a commit.
func (c *Checkout) keep(name string, tip commit) error {
	if name != c.Base {
		if err := c.point(name); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	c.Base, c.tip = name, tip
	return c.mirror.giveBack(c)
}

// giveBack keeps a checkout for the next that takes one.
func (m *Mirror) giveBack(c *Checkout) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = slices.Insert(m.kept, 0, c)
	if len(m.kept) <= m.Keep {
		return nil
	}
	last := m.kept[m.Keep]
	m.kept = m.kept[:m.Keep]
	return last.Close()
}

// Close removes the folder.
func (c *Checkout) Close() error { return os.RemoveAll(c.Dir) }

func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	return c.feed(ctx, nil, args...)
}

func (c *Checkout) feed(ctx context.Context, in []byte, args ...string) (string, error) {
	return gitWith(ctx, c.Dir, c.index, in, args...)
}

// head is the commit that is checked out now, whoever made it.
func (c *Checkout) head(ctx context.Context) (string, error) {
	ref := "refs/heads/" + c.branch
	at, _ := os.ReadFile(filepath.Join(c.Dir, ".git", "HEAD"))
	is, _ := os.ReadFile(filepath.Join(c.Dir, ".git", filepath.FromSlash(ref)))
	if string(at) == "ref: "+ref+"\n" && string(is) == c.Base+"\n" {
		return c.Base, nil // nobody made any
	}
	return c.git(ctx, "rev-parse", "HEAD")
}
