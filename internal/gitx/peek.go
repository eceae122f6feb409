package gitx

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"reprise"
)

// Peek is for answers that must be quick: what git's plain files tell, and one
// process, a log of the commits on the head that touched ask.Paths; none at all
// without paths. IndexAt stands in for Changed; Branches, Known and Unpushed stay empty and Complete
// false: they were not looked at.
//
// Git's settings are not listed first, as in Open. A log that compares commits
// with commits uses no filter and no driver once external programs and
// conversions to text are off.
func Peek(ctx context.Context, dir string, ask Ask, opts Options) (*reprise.Git, []string, error) {
	real, err := realDir(dir)
	if err != nil {
		return nil, nil, &NoAnswerError{AbsPath(dir), err}
	}
	p, err := findGitDir(real)
	switch {
	case err != nil || p.kind == placeUnknown:
		return nil, nil, &RefusedError{Dir: AbsPath(real), Reason: fmt.Sprintf("its git folder cannot be read: %v", err)}
	case p.kind == placeNone:
		return nil, nil, fmt.Errorf("open repository %s: %w", real, ErrNone)
	case p.kind == placeBare:
		return nil, nil, bareRefusal(real)
	}
	rel := func(abs string) string { return relAbs(real, abs) }
	git := &reprise.Git{Operation: Operation(AbsPath(p.gitDir)), IndexLock: lockOf(p.gitDir, p.commonDir, rel), Worktrees: worktreesFromFiles(p, rel)}
	tables := false
	git.Branch, git.Head = headFile(p.gitDir)
	if git.Branch == ".invalid" { // what stands there where references are kept in tables
		git.Branch, tables = "", true
	}
	git.Detached = git.Head != ""
	if git.Branch != "" {
		git.Head = refFile(p.commonDir, git.Branch)
	}
	if info, err := os.Stat(filepath.Join(p.gitDir, "index")); err == nil {
		git.IndexAt = info.ModTime()
	}
	if info, err := os.Stat(filepath.Join(p.commonDir, "shallow")); err == nil {
		git.Shallow = info.Size() > 0
	}
	r := &Repo{dir: real, prefix: slashPrefix(p.top, real)}
	ask = ask.clean(r.prefix)
	if len(ask.Paths) == 0 || (git.Head == "" && !tables) {
		return git, nil, nil
	}
	if r.git, err = newRunner(real, opts); err != nil {
		return git, []string{"the history was not looked at: " + err.Error()}, nil
	}
	packs, _ := filepath.Glob(filepath.Join(globQuote(p.commonDir), "objects", "pack", "*.promisor"))
	args := logArgs("--name-status", renames(len(packs) > 0), "--max-count="+strconv.Itoa(ask.MaxFileCommits), "HEAD", "--")
	err = r.git.stream(ctx, nil, func(in *bufio.Reader) error {
		return readLog(in, func(e entry) {
			e.OnHead, e.Branch, e.Files = true, git.Branch, r.relFiles(e.Files)
			e.Edge = git.Shallow && len(e.parents) == 0
			git.Commits = append(git.Commits, e.Commit)
		})
	}, append(args, ask.Paths...)...)
	if err != nil {
		r.missed("the history was not fully looked at", r.refusal(err))
	}
	r.past(ctx, git, ask.Past)
	return git, r.skipped, nil
}

// slashPrefix is dir below top in the form git gives it.
func slashPrefix(top, dir string) string {
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}
