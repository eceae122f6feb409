package gitx

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A decision asks about the same folder several times. Where the repository is and what
// its settings say is asked of git once, and again as soon as the files that tell it say
// something else.

// knownFor is how long an answer holds at most: some of what it rests on, as settings of
// the whole machine that lie in an unusual place, is in no file that we know of.
const knownFor = 10 * time.Second

// maxKnown bounds how many answers are kept.
const maxKnown = 64

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

// basis is what an answer about a folder rests on: where its repository is by the names
// of folders, and what is written in the files that git reads before anything else.
type basis struct {
	place   place
	shallow bool
	files   string
}

// basis looks at that. It is false where plain files alone do not tell it.
func (g *runner) basis(dir string) (b basis, plain bool) {
	var err error
	if b.place, err = findGitDir(dir); err != nil || b.place.kind != placeNormal {
		return b, false
	}
	home, _ := lookup(g.env, "HOME")
	own, _ := lookup(g.env, "XDG_CONFIG_HOME")
	var all strings.Builder
	for _, file := range []string{
		filepath.Join(b.place.commonDir, "config"), filepath.Join(b.place.gitDir, "config.worktree"), filepath.Join(home, ".gitconfig"),
		filepath.Join(cmp.Or(own, filepath.Join(home, ".config")), "git", "config"), "/etc/gitconfig",
	} {
		text, err := readBounded(file, maxSmall)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return b, false
		}
		fmt.Fprintf(&all, "%t %d %s", err == nil, len(text), text)
	}
	info, err := os.Stat(filepath.Join(b.place.commonDir, "shallow"))
	b.shallow, b.files = err == nil && info.Size() > 0, all.String()
	return b, true
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
	if ok && now.Sub(have.at) < knownFor && have.basis == b {
		return have.value.(T), nil
	}
	value, err := ask()
	if err == nil && lasting(value) {
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
