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
	"strconv"
	"strings"
	"syscall"
	"time"

	"reprise"
)

// Changes lists the files of this checkout that no commit holds, as paths below
// its top, untracked ones one by one. It changes nothing.
func (r *Repo) Changes(ctx context.Context) ([]string, error) {
	l, err := r.Look(ctx)
	return l.Changed, err
}

// Look is what a checkout held at one moment that no commit had.
type Look struct {
	Head      string   // the commit that was checked out, "" if there was none yet
	Changed   []string // as Changes lists them
	Untracked []string // those that git does not know
	st        status
	index     fs.FileInfo
}

// Look looks at this checkout. It changes nothing, and it gives no part beside an error.
func (r *Repo) Look(ctx context.Context) (*Look, error) { return r.git.look(ctx, r.location) }

func (g *runner) look(ctx context.Context, at location) (l *Look, err error) {
	l = &Look{}
	l.index, _ = os.Lstat(filepath.Join(at.gitDir, "index")) // without it the look holds for no one
	if l.st, err = g.status(ctx, maxListed, "all", "dirty"); err == nil && l.st.more > 0 {
		err = fmt.Errorf("list changes in %s: %w", g.dir, errTooLong)
	}
	if err != nil {
		return &Look{}, err
	}
	for _, c := range l.st.changes {
		l.Changed = append(l.Changed, c.Path)
		if c.Untracked {
			l.Untracked = append(l.Untracked, c.Path)
		}
	}
	slices.Sort(l.Changed)
	l.Head, l.Changed = l.st.head, slices.Compact(l.Changed)
	return l, nil
}

// holds reports whether no git has written the index or moved the head since the look.
func (l *Look) holds(at location) bool {
	if l == nil || l.index == nil {
		return false
	}
	now, err := os.Lstat(filepath.Join(at.gitDir, "index"))
	head, plain := plainHead(at, len(l.Head))
	return err == nil && os.SameFile(now, l.index) && now.ModTime().Equal(l.index.ModTime()) && now.Size() == l.index.Size() && plain && head == l.Head
}

// Stash gives the latest stash of the repository, which all its checkouts share, and when
// and on which branch it was made; "" if there is none.
func (r *Repo) Stash(ctx context.Context) (commit, branch string, at time.Time, err error) {
	if r.noStash() {
		return "", "", at, nil
	}
	line, err := r.git.line(ctx, "for-each-ref", "--format=%(objectname) %(committerdate:unix) %(contents:subject)", "refs/stash")
	if err != nil || line == "" {
		return "", "", at, err
	}
	commit, rest, _ := strings.Cut(line, " ")
	seconds, subject, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", "", at, fmt.Errorf("read the stash: %w", err)
	}
	_, subject, _ = strings.Cut(subject, "n ") // "WIP on B: …" or "On B: …"
	branch, _, _ = strings.Cut(subject, ":")
	return commit, branch, time.Unix(n, 0), nil
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
		if err != nil || p.top != at {
			return reprise.Hash{}, err // of a folder that is no repository git commits nothing
		}
		branch, commit := headFile(p.gitDir)
		return reprise.HashOf([]byte("at " + cmp.Or(commit, refFile(p.commonDir, branch)))), nil
	case !info.Mode().IsRegular():
		return reprise.Hash{}, fmt.Errorf("read %s: it is not a regular file", name)
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
const maxListed = 200_000

// State is a fingerprint of a checkout: its head, and the size and time of every
// file that no commit holds, except those to be left out. Two equal ones mean
// that nothing else happened there.
func (r *Repo) State(ctx context.Context, except func(name string) bool) (string, error) {
	l, err := r.Look(ctx)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", l.Head)
	for _, name := range l.Changed {
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

// maxSince bounds how many commits Since lists: a part of them would be worse than none.
const maxSince = 10_000

// Since lists the commits that the current branch got since base, the latest first,
// each with the files that it changed there, seen from this folder. Without a base they
// are all of them. It is false where the branch does not hold base.
func (r *Repo) Since(ctx context.Context, base string) (commits []reprise.Commit, held bool, err error) {
	if r.head == "" {
		return nil, base == "", nil
	}
	args := []string{"--first-parent", "--diff-merges=first-parent", "--name-status", "--no-renames", "--max-count=" + strconv.Itoa(maxSince+1),
		"--end-of-options", r.head}
	if base != "" {
		if held, err = r.IsAncestor(ctx, base, r.head); err != nil || !held {
			return nil, held, err
		}
		args = append(args, "^"+base)
	}
	err = r.log(ctx, r.git.stream, nil, func(e entry) { commits = append(commits, e.Commit) }, append(args, "--")...)
	if err == nil && len(commits) > maxSince {
		err = fmt.Errorf("list commits since %s: %w", base, errTooLong)
	}
	return commits, true, err
}
