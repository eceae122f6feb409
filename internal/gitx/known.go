package gitx

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A decision asks about the same folder several times. Where the repository is, what its
// settings say and what its history holds is asked of git once, and again as soon as the
// files that tell it say something else.

// knownFor is how long an answer holds at most: some of what it rests on, as settings of
// the whole machine that lie in an unusual place, is in no file that we know of.
const knownFor = 10 * time.Second

// maxKnown bounds how many answers are kept, maxKept how many bytes of one, and maxCompared how
// many references are read one by one to learn that none has changed.
const (
	maxKnown    = 256
	maxKept     = 1 << 20
	maxCompared = 256
)

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
// of folders, what is written in the files that git reads before anything else, and for
// what is said of its history the references.
type basis struct {
	place   place
	shallow bool
	files   string
	refs    string
}

// basis looks at all of that but the references. It is false where plain files alone do not
// tell it.
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

// references adds to a basis what the branches and remote branches point at. It is false where
// that is kept in another way than in plain files, or in too many.
func (b *basis) references() bool {
	var all strings.Builder
	common := b.place.commonDir
	for _, table := range []string{"reftable", filepath.Join("refs", "replace"), filepath.Join("info", "grafts")} {
		if _, err := os.Lstat(filepath.Join(common, table)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	for _, file := range []string{"packed-refs", "shallow"} {
		text, err := readBounded(filepath.Join(common, file), maxKept)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		fmt.Fprintf(&all, "%d %s", len(text), text)
	}
	loose := 0
	for _, kind := range []string{"heads", "remotes"} {
		err := filepath.WalkDir(filepath.Join(common, "refs", kind), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if loose++; loose > maxCompared {
				return errTooLong
			}
			text, err := readSmall(file)
			fmt.Fprintf(&all, "%q %q\n", file, text)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	b.refs = all.String()
	return true
}

// once gives what ask says about a folder, or said of it before if that still holds.
// lasting tells of an answer whether it rests on the basis alone; nothing else is kept,
// and no error is.
func once[T any](g *runner, what, dir string, lasting func(T) bool, ask func() (T, error)) (T, error) {
	b, plain := g.basis(dir)
	if !plain {
		return ask()
	}
	if value, ok := recall[T](g, what, dir, b); ok {
		return value, nil
	}
	value, err := ask()
	if err == nil && lasting(value) {
		keep(g, what, dir, b, value)
	}
	return value, err
}

// history is stream for what rests on the references and on the arguments alone: what was
// printed for the same ones a moment ago is read again.
func (g *runner) history(ctx context.Context, input []byte, read func(*bufio.Reader) error, args ...string) error {
	b, plain := g.basis(g.dir)
	if plain = plain && b.references(); !plain {
		return g.stream(ctx, input, read, args...)
	}
	what := strings.Join(append([]string{"history", string(input)}, args...), "\x00")
	if out, ok := recall[[]byte](g, what, g.dir, b); ok {
		if err := read(bufio.NewReader(bytes.NewReader(out))); !errors.Is(err, errEnough) {
			return err
		}
		return nil
	}
	out := &head{limit: maxKept}
	err := g.stream(ctx, input, func(in *bufio.Reader) error {
		return read(bufio.NewReader(io.TeeReader(in, out)))
	}, args...)
	// What changed while git read is told by neither.
	after, plain := g.basis(g.dir)
	if err == nil && plain && after.references() && after == b && out.buf.Len() < maxKept {
		keep(g, what, g.dir, b, out.buf.Bytes())
	}
	return err
}

// recall gives an answer that was kept and still holds.
func recall[T any](g *runner, what, dir string, b basis) (value T, ok bool) {
	known.Lock()
	defer known.Unlock()
	have, ok := known.answers[knownKey(g, what, dir)]
	if !ok || time.Since(have.at) >= knownFor || have.basis != b {
		return value, false
	}
	return have.value.(T), true
}

// keep keeps an answer, and drops those that hold no longer.
func keep(g *runner, what, dir string, b basis, value any) {
	known.Lock()
	defer known.Unlock()
	maps.DeleteFunc(known.answers, func(_ string, a knownAnswer) bool { return time.Since(a.at) >= knownFor })
	if known.answers == nil || len(known.answers) >= maxKnown {
		known.answers = map[string]knownAnswer{}
	}
	known.answers[knownKey(g, what, dir)] = knownAnswer{b, time.Now(), value}
}

func knownKey(g *runner, what, dir string) string {
	return strings.Join(append([]string{what, dir, g.program}, g.env...), "\x00")
}

// plainHead reads the commit that is checked out. It is false where plain files do not
// tell it as git would: there is none yet, or references are kept in another way.
func plainHead(p location, length int) (string, bool) {
	branch, commit := headFile(p.gitDir)
	if branch != "" {
		commit = refFile(p.commonDir, branch)
	}
	return commit, len(commit) == length && objectName(commit) && strings.Trim(commit, "0") != ""
}

// plainCommit reads the commit that HEAD or a branch, "refs/heads/…", stands for. It is false
// where plain files do not tell, and where the commit is in no file of its own: whether it is
// there at all is for git to say.
func plainCommit(p location, rev string) (commit string, ok bool) {
	branch, named := strings.CutPrefix(rev, "refs/heads/")
	if rev == "HEAD" {
		branch, commit = headFile(p.gitDir)
		named = branch != ""
	}
	if named {
		commit = refFile(p.commonDir, branch)
	}
	if !objectName(commit) {
		return "", false
	}
	info, err := os.Lstat(filepath.Join(p.commonDir, "objects", commit[:2], commit[2:]))
	return commit, err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// noStash reports whether plain files tell that nothing was ever put away.
func (r *Repo) noStash() bool {
	b := basis{place: place{commonDir: r.commonDir}}
	_, err := os.Lstat(filepath.Join(r.commonDir, "refs", "stash"))
	return errors.Is(err, fs.ErrNotExist) && b.references() && !strings.Contains(b.refs, " refs/stash\n")
}
