package gitx

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reprise"
)

// What git keeps in plain files is read here without a process. Every read is
// bounded, and anything but a regular file is refused: a FIFO in the place of
// HEAD would hang us.

const maxSmall = 64 << 10

// readSmall reads a one-value file of git and trims the line end.
func readSmall(file string) (string, error) {
	data, err := readBounded(file, maxSmall)
	return strings.TrimRight(string(data), "\r\n"), err
}

func readBounded(file string, limit int64) ([]byte, error) {
	f, _, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("read %s: %w", file, errTooLong)
	}
	return data, err
}

// readEnd reads the last part of a file; its first line may be cut.
func readEnd(file string, limit int64) ([]byte, error) {
	f, size, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, max(0, size-limit), limit))
}

func openRegular(file string) (f *os.File, size int64, err error) {
	if f, err = os.OpenFile(file, openFlags, 0); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: not a regular file", file)
	}
	if err != nil {
		f.Close() // nothing was written to it
		return nil, 0, err
	}
	return f, info.Size(), nil
}

type placeKind uint8

const (
	placeNone    placeKind = iota
	placeNormal            // a .git folder, or a file that names one
	placeBare              // the folder itself looks like a git folder
	placeUnknown           // something is there that we cannot read; git may know
)

// place is a repository found by looking at names.
type place struct {
	kind      placeKind
	top       string
	gitDir    string
	commonDir string
}

// findGitDir walks from dir upwards to the first folder that is or has a git
// folder. It follows git's rules closely enough to say "there is none" and to
// read plain files; for anything more git itself is asked.
func findGitDir(dir string) (place, error) {
	for at := dir; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		if _, here := os.Lstat(dotGit); err != nil && here == nil {
			return place{kind: placeUnknown, top: at}, err
		}
		switch {
		case err == nil && info.IsDir():
			if isGitDir(dotGit) {
				return place{placeNormal, at, dotGit, commonDir(dotGit)}, nil
			}
			// An empty folder tells of no repository; one with something in it is what is left of one.
			if left, err := os.ReadDir(dotGit); err != nil || len(left) > 0 {
				return place{kind: placeUnknown, top: at}, cmp.Or(err, fmt.Errorf("read %s: it is no longer a whole repository", dotGit))
			}
		case err == nil:
			text, err := readSmall(dotGit)
			target, ok := strings.CutPrefix(text, "gitdir: ")
			if err == nil && (!ok || !isGitDir(absIn(at, target))) {
				err = fmt.Errorf("read %s: it names no folder that is a repository", dotGit)
			}
			if err != nil {
				return place{kind: placeUnknown, top: at}, err
			}
			target = absIn(at, target)
			return place{placeNormal, at, target, commonDir(target)}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return place{kind: placeUnknown, top: at}, err
		}
		if isGitDir(at) {
			return place{placeBare, "", at, commonDir(at)}, nil
		}
		if at == filepath.Dir(at) {
			return place{}, nil
		}
	}
}

// Top is the top of the checkout that a folder lies in, as far as names tell; "" if it
// lies in none.
func Top(dir string) string {
	at, _ := findGitDir(dir) // one that cannot be read has a top as well
	return at.top
}

func isGitDir(dir string) bool {
	if !exists(filepath.Join(dir, "HEAD")) {
		return false
	}
	common := commonDir(dir)
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// commonDir is where a git folder keeps what all checkouts share.
func commonDir(gitDir string) string {
	text, err := readSmall(filepath.Join(gitDir, "commondir"))
	if err != nil || text == "" {
		return gitDir
	}
	return absIn(gitDir, text)
}

// absIn gives a path that may be relative to a folder.
func absIn(dir, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	return filepath.Clean(p)
}

// recorded reads which .git a linked worktree's git folder says it belongs to.
func recorded(gitDir string) (string, error) {
	link, err := readSmall(filepath.Join(gitDir, "gitdir"))
	if err == nil && link == "" {
		err = errors.New("the record is empty")
	}
	return absIn(gitDir, link), err
}

// Operation names what is under way in the checkout whose git folder this is:
// rebase, am, merge, cherry-pick, revert or bisect, or "" if nothing is. The
// outer operation wins: a rebase may stand in the middle of a merge.
func Operation(gitDir AbsPath) string {
	has := func(name string) bool { return exists(filepath.Join(string(gitDir), name)) }
	switch {
	case has("rebase-merge"):
		return "rebase"
	case has("rebase-apply/applying"):
		return "am"
	case has("rebase-apply"):
		return "rebase"
	case has("MERGE_HEAD"):
		return "merge"
	case has("CHERRY_PICK_HEAD"):
		return "cherry-pick"
	case has("REVERT_HEAD"):
		return "revert"
	}
	// Between two commits of a longer series only the to-do list is there.
	if data, err := readBounded(filepath.Join(string(gitDir), "sequencer", "todo"), 1<<20); err == nil {
		if bytes.HasPrefix(data, []byte("revert")) {
			return "revert"
		}
		return "cherry-pick"
	}
	if has("BISECT_LOG") {
		return "bisect"
	}
	return ""
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// lockFile is the first of the locks that keep git from committing in a checkout, on its
// index, its head or its branch; "" if there is none. One that our own core took is none: it is
// a link to a file of ours, and where its engine was killed the next one takes it away.
func lockFile(gitDir, commonDir string) string {
	locks := []string{filepath.Join(gitDir, "index.lock"), filepath.Join(gitDir, "HEAD.lock")}
	if branch, _ := headFile(gitDir); branch != "" {
		locks = append(locks, filepath.Join(commonDir, "refs", "heads", filepath.FromSlash(branch)+".lock"))
	}
	mine, err := os.Lstat(filepath.Join(gitDir, "reprise.lock"))
	for _, lock := range locks {
		if info, errLock := os.Lstat(lock); errLock == nil && (err != nil || !os.SameFile(mine, info)) {
			return lock
		}
	}
	return ""
}

// lockOf tells of the lock that keeps git from committing in a checkout, nil if there is
// none. Who holds it is for others to find out.
func lockOf(gitDir, commonDir string, rel func(string) string) *reprise.LockFile {
	file := lockFile(gitDir, commonDir)
	if file == "" {
		return nil
	}
	info, err := os.Lstat(file)
	if err != nil {
		return nil // it was taken away since
	}
	return &reprise.LockFile{Path: rel(file), Since: info.ModTime().UTC(), Life: reprise.LifeUnknown}
}

// splitIndex reports whether the index is split in two files. Git marks the
// shared part as used whenever it reads it, which is a write.
func splitIndex(gitDir string) bool {
	shared, err := filepath.Glob(filepath.Join(globQuote(gitDir), "sharedindex.*"))
	if err != nil || len(shared) == 0 {
		return false
	}
	index, err := readBounded(filepath.Join(gitDir, "index"), 512<<20)
	if err != nil {
		return true
	}
	for _, file := range shared {
		// The index names its other half by the bytes of its hash. A shared
		// part that is not named is left over and not read.
		id, err := hex.DecodeString(strings.TrimPrefix(filepath.Base(file), "sharedindex."))
		if err != nil || bytes.Contains(index, id) {
			return true
		}
	}
	return false
}

func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// headFile reads HEAD: the branch, or the commit of a detached head. Neither is told where
// references are kept in tables.
func headFile(gitDir string) (branch, commit string) {
	text, err := readSmall(filepath.Join(gitDir, "HEAD"))
	ref, ok := strings.CutPrefix(text, "ref: ")
	branch = strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/")
	switch {
	case err != nil:
	case ok && branch != ".invalid": // what stands there for old versions of git
		return branch, ""
	case objectName(text):
		return "", text
	}
	return "", ""
}

// refFile resolves a branch from loose files and packed-refs; "" if it is not
// there, stands for another one, or is kept in another way.
func refFile(commonDir, branch string) string {
	if !validBranch(branch) {
		return ""
	}
	text, err := readSmall(filepath.Join(commonDir, "refs", "heads", filepath.FromSlash(branch)))
	if objectName(text) {
		return text
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	packed, err := readBounded(filepath.Join(commonDir, "packed-refs"), 64<<20)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(packed) {
		hash, name, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if ok && name == "refs/heads/"+branch && objectName(hash) {
			return hash
		}
	}
	return ""
}

// validBranch refuses names that could leave the folder of references or be
// taken for something else than a branch.
func validBranch(name string) bool {
	if name == "" || name[0] == '-' || name[0] == '/' || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".lock") || len(name) > 1024 {
		return false
	}
	for _, bad := range []string{"..", "@{", "//", "\\", "/."} {
		if strings.Contains(name, bad) {
			return false
		}
	}
	if name[0] == '.' || strings.HasSuffix(name, ".") {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune("~^:?*[", c) })
}

// maxWorktrees bounds how many records are looked at.
const maxWorktrees = 1000

// Linked is git's own record of a linked checkout, also of one that was never
// finished.
type Linked struct {
	Name   string // of the record
	Path   string // the checkout, "" if the record does not say
	Branch string // "" if the record does not say or no branch is checked out
	Commit string // of a detached head
	// Begun tells that git was making the checkout and has not said that it
	// is whole.
	Begun  bool
	Locked bool // by a person

	gitDir string
	lock   bool // there is a lock, a person's or git's while it makes the checkout
	why    string
}

// linked lists the records of a repository's linked checkouts from its files.
func linked(commonDir string) []Linked {
	home := filepath.Join(commonDir, "worktrees")
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var out []Linked
	for _, e := range entries[:min(len(entries), maxWorktrees)] {
		if !e.IsDir() {
			continue
		}
		l := Linked{Name: e.Name(), gitDir: filepath.Join(home, e.Name())}
		if link, err := recorded(l.gitDir); err == nil {
			l.Path = filepath.Dir(link)
		}
		l.Branch, l.Commit = headFile(l.gitDir)
		if strings.Trim(l.Commit, "0") == "" {
			l.Commit = "" // what git writes before it knows
		}
		l.why, err = readSmall(filepath.Join(l.gitDir, "locked"))
		l.Begun = l.Path == "" || l.why == "initializing"
		for _, name := range []string{"HEAD", "commondir", "index"} {
			l.Begun = l.Begun || !exists(filepath.Join(l.gitDir, name))
		}
		l.lock, l.Locked = err == nil, err == nil && !l.Begun
		out = append(out, l)
	}
	return out
}

// worktreesFromFiles is what `git worktree list` would say, as far as plain
// files tell.
func worktreesFromFiles(p place, rel func(string) string) []reprise.Worktree {
	var out []reprise.Worktree
	add := func(w reprise.Worktree) {
		w.Detached = w.Branch == "" && w.Head != ""
		if w.Branch != "" {
			w.Head = refFile(p.commonDir, w.Branch)
		}
		out = append(out, w)
	}
	if filepath.Base(p.commonDir) == ".git" {
		w := reprise.Worktree{Path: rel(filepath.Dir(p.commonDir)), Main: true}
		w.Branch, w.Head = headFile(p.commonDir)
		add(w)
	}
	for _, l := range linked(p.commonDir) {
		if l.Path == "" {
			continue
		}
		_, err := os.Lstat(filepath.Join(l.Path, ".git"))
		add(reprise.Worktree{
			Path: rel(l.Path), Branch: l.Branch, Head: l.Commit, Gone: errors.Is(err, fs.ErrNotExist),
			Locked: l.lock, LockWhy: l.why,
		})
	}
	return out
}
