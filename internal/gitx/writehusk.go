package gitx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Linked lists the records of linked checkouts, the unfinished ones included.
func (r *Repo) Linked() []Linked { return linked(r.commonDir) }

// CheckedOut lists the folders a branch is checked out in, also those that are
// gone.
func (r *Repo) CheckedOut(branch string) []string {
	var out []string
	if head, _ := headFile(r.commonDir); head == branch && !r.bare {
		out = append(out, filepath.Dir(r.commonDir))
	}
	for _, l := range r.Linked() {
		if l.Branch == branch && l.Path != "" && !l.Begun {
			out = append(out, l.Path)
		}
	}
	return out
}

// Ours reports whether the .git in a folder is, or was going to be, a link to a record of
// this repository, whatever happened to the record. An incompletely written one counts.
func (r *Repo) Ours(dir string) bool {
	file := filepath.Join(dir, ".git")
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := readSmall(file)
	if err != nil {
		return false
	}
	head := "gitdir: " + filepath.Join(r.commonDir, "worktrees") + string(filepath.Separator)
	return strings.HasPrefix(text, head) || strings.HasPrefix(head, text)
}

// ofGit are the names that git itself puts into a record while it makes a
// checkout, or may leave there when it is killed while it removes one; anything else
// there is from work in it.
var ofGit = map[string]bool{
	"COMMIT_EDITMSG": true, // the message of a commit that was made
	"HEAD":           true, "ORIG_HEAD": true, "commondir": true, "gitdir": true, "index": true, "locked": true,
	"config.worktree": true, "logs": true, "logs/HEAD": true, "refs": true,
}

// ClearLinked removes git's record of a checkout that was begun and never
// finished. There is no command for that: git takes one that is being made for
// locked. A record that holds anything a finished checkout would, or a head
// that is on no branch, is left alone.
//
// If the process dies here, what is left is still such a record.
func (r *Repo) ClearLinked(l Linked) error {
	if !l.Begun || l.Commit != "" || l.Name == "" || l.Name != filepath.Base(l.Name) || strings.HasPrefix(l.Name, ".") {
		return fmt.Errorf("clear record %q: it is not one of an unfinished checkout", l.Name)
	}
	root := filepath.Join(r.commonDir, "worktrees", l.Name)
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel != "." && !ofGit[rel] && (d.IsDir() || !strings.HasSuffix(rel, ".lock")) {
			return fmt.Errorf("clear record %s: it holds %q, which a checkout that is being made does not", l.Name, rel)
		}
		files = append(files, p)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Folders stand before what is in them; the lock goes last of the files, so
	// that what is left keeps saying that it was begun.
	lock := filepath.Join(root, "locked")
	for i := len(files) - 1; i > 0; i-- {
		if files[i] == lock {
			continue
		}
		if err := os.Remove(files[i]); err != nil {
			return err
		}
	}
	for _, last := range []string{lock, root} {
		if err := os.Remove(last); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// git removes its folder of records with the last of them.
	if err := os.Remove(filepath.Dir(root)); err != nil && !errors.Is(err, fs.ErrNotExist) && !notEmpty(filepath.Dir(root)) {
		return err
	}
	return nil
}

func notEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// ClearBranchLock removes the lock that a killed git left on one branch, once
// it is older than age; it waits for that. Git holds such a lock for an
// instant only. No other process may work on the branch.
func (r *Repo) ClearBranchLock(ctx context.Context, branch string, age time.Duration) error {
	if !validBranch(branch) {
		return fmt.Errorf("unlock branch %q: this is no name of a branch", branch)
	}
	lock := filepath.Join(r.commonDir, "refs", "heads", filepath.FromSlash(branch)+".lock")
	for {
		info, err := os.Lstat(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > 1024 {
			return fmt.Errorf("unlock branch %s: its lock is not one that git makes", branch)
		}
		left := age - time.Since(info.ModTime())
		if left <= 0 {
			if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(left, age)):
		}
	}
}

// clearBlankRef removes the ref of a branch that holds nothing but zeros.
func (r *Repo) clearBlankRef(branch string) error {
	file := r.refOf(branch)
	if !validBranch(branch) || !blankRef(file) {
		return nil
	}
	return os.Remove(file)
}
