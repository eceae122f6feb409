package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise/convention"
	"reprise/journal"
)

// Checkout is a folder with the files of a commit, for one activity.
type Checkout struct {
	Dir    string
	Base   string // the commit that was checked out
	mirror *Mirror
	index  string    // in place of the folder's own, "" for that
	own    *Checkout // has the git folder in place of that in Dir, nil for that one
	branch string
	folder string // of the project in it
	tip    commit // what Base says; only a turn's
	still  *journal.Still
	unread []string // files that no commit has because git cannot read them

	adopted bool // the index has what an agent committed
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
	if err := c.readsAlso(m.objects()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// readsAlso has the repository read the objects of others.
func (c *Checkout) readsAlso(objects ...string) error {
	info := filepath.Join(c.Dir, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(strings.Join(objects, "\n")+"\n"), 0o600)
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
	if err := c.joinsLogs(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// joinsLogs has git keep the entries of both sides where a log is merged.
func (c *Checkout) joinsLogs() error {
	var rules strings.Builder
	for _, l := range convention.All() {
		for _, name := range l.Logs {
			rules.WriteString(name + " merge=union\n")
		}
	}
	info := filepath.Join(c.Dir, ".git", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "attributes"), []byte(rules.String()), 0o600)
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
	if c != nil {
		c.folder = folder
	}
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
		c.folder = folder
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

// setApart has git of ours work with a git folder of its own from here on. What an agent does
// to that in the checkout no longer counts: a lock that it leaves, its settings, what it
// marks as unchanged or has git ignore. The commits that it makes can be read.
func (c *Checkout) setApart(ctx context.Context) error {
	own, err := c.mirror.reader(ctx)
	if err != nil {
		return err
	}
	c.own = own
	// The index keeps its age: by that, git knows which files it has to read again.
	index := filepath.Join(c.Dir, ".git", "index")
	info, err := os.Stat(index)
	if err == nil {
		err = copyContent(index, filepath.Join(own.Dir, ".git", "index"), 0o600, info.ModTime())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(own.Dir, ".git", "HEAD"), []byte(c.Base+"\n"), 0o600)
	}
	if err == nil {
		err = own.readsAlso(c.mirror.objects(), filepath.Join(c.Dir, ".git", "objects"))
	}
	return err
}

// Close removes the folder.
func (c *Checkout) Close() error {
	var err error
	if c.own != nil {
		err = c.own.Close()
	}
	return errors.Join(os.RemoveAll(c.Dir), err)
}

// keepAs moves the files to another folder, which Close does not remove. A worker that begins
// clears the folders of those before it; not this one.
func (c *Checkout) keepAs(name string) (string, error) {
	dir := filepath.Join(c.mirror.Dir, name)
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			break
		}
		dir = filepath.Join(c.mirror.Dir, fmt.Sprintf("%s-%d", name, n))
	}
	return dir, os.Rename(c.Dir, dir)
}

func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	return c.feed(ctx, nil, args...)
}

func (c *Checkout) feed(ctx context.Context, in []byte, args ...string) (string, error) {
	return gitWith(ctx, c.Dir, c.where(), in, args...)
}

// where says where git finds what is not in the folder.
func (c *Checkout) where() []string {
	switch {
	case c.own != nil:
		return []string{"GIT_DIR=" + filepath.Join(c.own.Dir, ".git"), "GIT_WORK_TREE=" + c.Dir}
	case c.index != "":
		return []string{"GIT_INDEX_FILE=" + c.index}
	}
	return nil
}

// adopt puts into the index what the agent committed up to head, and files that it staged
// although git ignores them.
func (c *Checkout) adopt(ctx context.Context, head string) error {
	was, err := os.ReadFile(filepath.Join(c.own.Dir, ".git", "index"))
	if err != nil {
		return err
	}
	is, _ := os.ReadFile(filepath.Join(c.Dir, ".git", "index"))
	if head == c.Base && bytes.Equal(is, was) {
		return nil // it staged nothing
	}
	if c.adopted = head != c.Base; c.adopted {
		if _, err := c.git(ctx, "read-tree", head); err != nil {
			return err
		}
	}
	// An index that it damaged tells of no such files.
	staged, _ := git(ctx, c.Dir, nil, "--git-dir=.git", "--work-tree=.", "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	var there strings.Builder
	for name := range strings.SplitSeq(staged, "\x00") {
		if info, err := os.Lstat(filepath.Join(c.Dir, name)); name != "" && err == nil && !info.IsDir() {
			there.WriteString(name + "\x00")
		}
	}
	if there.Len() == 0 {
		return nil
	}
	_, err = c.feed(ctx, []byte(there.String()), "update-index", "-z", "--add", "--stdin")
	return err
}

// head is the commit that the agent in the checkout left it at: Base, or one on top of that.
// Where it went astray, its files count and its commits do not.
func (c *Checkout) head(ctx context.Context) string {
	ref := "refs/heads/" + c.branch
	at, _ := os.ReadFile(filepath.Join(c.Dir, ".git", "HEAD"))
	is, _ := os.ReadFile(filepath.Join(c.Dir, ".git", filepath.FromSlash(ref)))
	if string(at) == "ref: "+ref+"\n" && string(is) == c.Base+"\n" {
		return c.Base // nobody made any
	}
	head, err := git(ctx, c.Dir, nil, "--git-dir=.git", "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil || head == c.Base {
		return c.Base
	}
	if _, err := c.git(ctx, "merge-base", "--is-ancestor", c.Base, head); err != nil {
		return c.Base
	}
	// A commit that lacks objects could not be pushed.
	if _, err := c.git(ctx, "rev-list", "--objects", "--quiet", head, "--not", c.Base); err != nil {
		return c.Base
	}
	return head
}
