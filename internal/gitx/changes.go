package gitx

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Changes lists the files of this checkout that no commit holds, as paths below
// its top, untracked ones one by one. It changes nothing.
func (r *Repo) Changes(ctx context.Context) ([]string, error) {
	var out []string
	err := r.git.stream(ctx, nil, func(in *bufio.Reader) error {
		st, err := readStatus(in, maxListed)
		for _, c := range st.changes {
			out = append(out, c.Path)
		}
		if err == nil && st.more > 0 {
			err = errTooLong
		}
		return err
	}, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	slices.Sort(out)
	return slices.Compact(out), err
}

// maxListed bounds a list that is acted on: a part of it would be worse than
// none.
const maxListed = 100_000

// State is a fingerprint of a checkout: its head, and the size and time of every
// file that no commit holds, except those to be left out. Two equal ones mean
// that nothing else happened there.
func (r *Repo) State(ctx context.Context, except func(name string) bool) (string, error) {
	head, err := r.git.output(ctx, 256, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		head = []byte("none")
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
