package gitx

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"reprise"
)

// Changes lists the files of this checkout that no commit holds, as paths below
// its top, untracked ones one by one. It changes nothing.
func (r *Repo) Changes(ctx context.Context) ([]string, error) {
	st, err := r.git.status(ctx, maxListed, "all", "dirty")
	if err == nil && st.more > 0 {
		err = fmt.Errorf("list changes in %s: %w", r.top, errTooLong)
	}
	var out []string
	for _, c := range st.changes {
		out = append(out, c.Path)
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// Print is a fingerprint of what git would commit of a file, by its path below the
// top: what is in it, where a link leads to, which commit another repository stands
// at. It is zero where nothing is there.
func (r *Repo) Print(name string) (reprise.Hash, error) {
	at := filepath.Join(r.top, filepath.FromSlash(name))
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return reprise.Hash{}, nil
	case err != nil:
		return reprise.Hash{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(at)
		return reprise.HashOf([]byte("link " + to)), err
	case info.IsDir():
		p, err := findGitDir(at)
		if err != nil {
			return reprise.Hash{}, err
		}
		branch, commit := headFile(p.gitDir)
		return reprise.HashOf([]byte("at " + cmp.Or(commit, refFile(p.commonDir, branch)))), nil
	case !info.Mode().IsRegular():
		return reprise.Hash{}, fmt.Errorf("read %s: it is no plain file", name)
	}
	f, err := os.Open(at)
	if err != nil {
		return reprise.Hash{}, err
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintf(h, "file %t\n", info.Mode()&0o100 != 0)
	_, err = io.Copy(h, f)
	return reprise.Hash(h.Sum(nil)), err
}

// maxListed bounds a list that is acted on: a part of it would be worse than
// none.
const maxListed = 100_000

// State is a fingerprint of a checkout: its head, and the size and time of every
// file that no commit holds, except those to be left out. Two equal ones mean
// that nothing else happened there.
func (r *Repo) State(ctx context.Context, except func(name string) bool) (string, error) {
	head, err := r.git.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		head = "none"
	}
	changed, err := r.Changes(ctx)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", head)
	for _, name := range changed {
		if except(name) {
			continue
		}
		fmt.Fprintf(h, "%q", name)
		if info, err := os.Lstat(filepath.Join(r.top, filepath.FromSlash(name))); err == nil {
			fmt.Fprintf(h, " %v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
