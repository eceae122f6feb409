package gitx

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A decision asks about the same folder several times. Where the repository is and what
// its settings say is asked of git once, and again as soon as one of the files that
// tell it is another one.

// knownFor is how long an answer holds at most: some of what it rests on, as settings of
// the whole machine that lie in an unusual place, is in no file that we know of.
const knownFor = 10 * time.Second

// maxKnown bounds how many answers are kept.
const maxKnown = 64

// racy is how close to an answer a file may have been written: two writes within one
// tick of the file system's clock look the same.
const racy = 50 * time.Millisecond

// known are answers of git, by what was asked in which folder and environment.
var known struct {
	sync.Mutex
	answers map[string]knownAnswer
}

type knownAnswer struct {
	basis basis
	at    time.Time
	value any
}

// basis is what an answer about a folder rests on.
type basis struct {
	place place
	files []fs.FileInfo // nil where there is none
}

// basis looks at the files that tell where the repository of a folder is and what its
// settings are. It is false where that is not told by plain files alone.
func (g *runner) basis(dir string) (basis, bool) {
	p, err := findGitDir(dir)
	if err != nil || p.kind != placeNormal {
		return basis{}, false
	}
	home, _ := lookup(g.env, "HOME")
	own, _ := lookup(g.env, "XDG_CONFIG_HOME")
	b := basis{place: p}
	for _, file := range []string{
		g.program, filepath.Join(p.top, ".git"), filepath.Join(p.commonDir, "config"), filepath.Join(p.gitDir, "config.worktree"),
		filepath.Join(p.commonDir, "shallow"), filepath.Join(home, ".gitconfig"),
		filepath.Join(cmp.Or(own, filepath.Join(home, ".config")), "git", "config"), "/etc/gitconfig",
	} {
		info, err := os.Stat(file)
		if err != nil && !os.IsNotExist(err) {
			return basis{}, false
		}
		b.files = append(b.files, info)
	}
	return b, true
}

// same reports whether nothing of the basis changed.
func (b basis) same(now basis) bool {
	return b.place == now.place && slices.EqualFunc(b.files, now.files, func(a, c fs.FileInfo) bool {
		if a == nil || c == nil {
			return a == nil && c == nil
		}
		return os.SameFile(a, c) && a.Mode() == c.Mode() && (a.IsDir() || a.ModTime().Equal(c.ModTime()) && a.Size() == c.Size())
	})
}

// settled reports whether every file of the basis was written well before a moment.
func (b basis) settled(at time.Time) bool {
	return !slices.ContainsFunc(b.files, func(f fs.FileInfo) bool {
		return f != nil && !f.IsDir() && f.ModTime().After(at.Add(-racy))
	})
}

// once gives what ask says about a folder, or said of it before if that still holds.
// lasting tells of an answer whether it rests on the basis alone; nothing else is kept,
// and no error is.
func once[T any](g *runner, what, dir string, lasting func(T) bool, ask func() (T, error)) (T, error) {
	b, plain := g.basis(dir)
	if !plain {
		return ask()
	}
	key := strings.Join(append([]string{what, dir, g.program}, g.env...), "\x00")
	now := time.Now()
	known.Lock()
	have, ok := known.answers[key]
	known.Unlock()
	if ok && now.Sub(have.at) < knownFor && have.basis.same(b) {
		return have.value.(T), nil
	}
	value, err := ask()
	if err == nil && lasting(value) && b.settled(now) {
		known.Lock()
		defer known.Unlock()
		if known.answers == nil || len(known.answers) >= maxKnown {
			known.answers = map[string]knownAnswer{}
		}
		known.answers[key] = knownAnswer{b, now, value}
	}
	return value, err
}

// plainHead reads the commit that is checked out. It is false where plain files do not
// tell it as git would: there is none yet, or references are kept in another way.
func plainHead(p location, length int) (string, bool) {
	branch, commit := headFile(p.gitDir)
	if branch != "" {
		if !validBranch(branch) || branch == ".invalid" {
			return "", false
		}
		file := filepath.Join(p.commonDir, "refs", "heads", filepath.FromSlash(branch))
		text, err := readSmall(file)
		switch {
		case err == nil:
			commit = text
		case !os.IsNotExist(err):
			return "", false
		default:
			commit = refFile(p.commonDir, branch)
		}
	}
	return commit, len(commit) == length && objectName(commit) && strings.Trim(commit, "0") != ""
}
