package gitx

import (
	"bytes"
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
	f, err := os.OpenFile(file, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("read %s: %w", file, errTooLong)
	}
	return data, err
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
		switch {
		case err == nil && info.IsDir():
			if isGitDir(dotGit) {
				return place{placeNormal, at, dotGit, commonDir(dotGit)}, nil
			}
		case err == nil:
			text, err := readSmall(dotGit)
			target, ok := strings.CutPrefix(text, "gitdir: ")
			if err != nil || !ok {
				return place{kind: placeUnknown, top: at}, err
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(at, target)
			}
			target = filepath.Clean(target)
			if !isGitDir(target) {
				return place{kind: placeUnknown, top: at}, fmt.Errorf("read %s: it names a folder that is no repository", dotGit)
			}
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

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
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
	if !filepath.IsAbs(text) {
		text = filepath.Join(gitDir, text)
	}
	return filepath.Clean(text)
}

// Operation names what is under way in the checkout whose git folder this is:
// rebase, am, merge, cherry-pick, revert or bisect, or "" if nothing is. The
// outer operation wins: a rebase may stand in the middle of a merge.
func Operation(gitDir AbsPath) string {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(string(gitDir), name))
		return err == nil
	}
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

// indexLock tells of the lock on the checkout's index, nil if there is none.
// Who holds it is for others to find out.
func indexLock(gitDir string, rel func(string) string) *reprise.LockFile {
	file := filepath.Join(gitDir, "index.lock")
	info, err := os.Lstat(file)
	if err != nil {
		return nil
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

// headFile reads HEAD: the branch, or the commit of a detached head.
func headFile(gitDir string) (branch, commit string) {
	text, err := readSmall(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return "", ""
	}
	if ref, ok := strings.CutPrefix(text, "ref: "); ok {
		return strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/"), ""
	}
	if objectName(text) {
		return "", text
	}
	return "", ""
}

// refFile resolves a branch from loose files and packed-refs; "" if it is not
// there, or kept in another way.
func refFile(commonDir, branch string) string {
	if !validBranch(branch) {
		return ""
	}
	text, err := readSmall(filepath.Join(commonDir, "refs", "heads", filepath.FromSlash(branch)))
	if err == nil && objectName(text) {
		return text
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

// record is one linked worktree as git's files tell it.
type record struct {
	gitDir string
	path   string // the checkout
}

// maxWorktrees bounds how many records are looked at.
const maxWorktrees = 1000

// records lists the linked worktrees of a repository from its files.
func records(commonDir string) []record {
	dir, err := os.Open(filepath.Join(commonDir, "worktrees"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxWorktrees)
	var out []record
	for _, name := range names {
		gitDir := filepath.Join(commonDir, "worktrees", name)
		link, err := readSmall(filepath.Join(gitDir, "gitdir"))
		if err != nil || link == "" {
			continue
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(gitDir, link)
		}
		out = append(out, record{gitDir: gitDir, path: filepath.Dir(link)})
	}
	return out
}

// worktreesFromFiles is what `git worktree list` would say, as far as plain
// files tell.
func worktreesFromFiles(p place, rel func(string) string) []reprise.Worktree {
	var out []reprise.Worktree
	fill := func(w reprise.Worktree, gitDir string) {
		w.Branch, w.Head = headFile(gitDir)
		w.Detached = w.Branch == "" && w.Head != ""
		if w.Branch != "" {
			w.Head = refFile(p.commonDir, w.Branch)
		}
		out = append(out, w)
	}
	if filepath.Base(p.commonDir) == ".git" {
		fill(reprise.Worktree{Path: rel(filepath.Dir(p.commonDir)), Main: true}, p.commonDir)
	}
	for _, rec := range records(p.commonDir) {
		w := reprise.Worktree{Path: rel(rec.path)}
		if why, err := readSmall(filepath.Join(rec.gitDir, "locked")); err == nil {
			w.Locked, w.LockWhy = true, why
		}
		if _, err := os.Lstat(filepath.Join(rec.path, ".git")); errors.Is(err, fs.ErrNotExist) {
			w.Gone = true
		}
		fill(w, rec.gitDir)
	}
	return out
}
