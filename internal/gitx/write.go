package gitx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/proc"
)

// What changes a repository is in the files write*.go. The profile is the same
// as for reading: nothing of the repository's settings is run, no prompt is shown,
// no hook is called. Nothing here is durable before the caller has flushed the
// file system: git itself does not sync the names of what it writes.
//
// Nothing is ever reset, cleaned, stashed, deleted or forced.

// writeTimeout is how long a call that writes may take at least: a checkout of
// a large repository is no matter of seconds.
const writeTimeout = 10 * time.Minute

// writing are the settings that calls which write have beside the profile: what
// a repository asks for must not change what a call does.
var writing = []setting{
	// Git flushes neither references nor the index by itself, and a power cut then
	// leaves a branch of zeros.
	{section: "core", name: "fsync", value: "all"},
	{section: "core", name: "fsyncmethod", value: "batch"},
	{section: "rerere", name: "enabled", value: "false"},
	{section: "merge", name: "autostash", value: "false"},
	{section: "merge", name: "verifysignatures", value: "false"},
	{section: "merge", name: "ff", value: "true"},
	{section: "merge", name: "branchdesc", value: "false"},
	{section: "merge", name: "log", value: "false"},
	{section: "commit", name: "cleanup", value: "verbatim"},
	{section: "i18n", name: "commitencoding", value: "UTF-8"},
	{section: "checkout", name: "guess", value: "false"},
	{section: "worktree", name: "guessremote", value: "false"},
	{section: "advice", name: "detachedhead", value: "false"},
}

// The author of our commits where the user's settings name none.
const (
	identityName  = "reprise"
	identityEmail = "reprise@localhost"
)

// NotReadyError tells that a checkout is in no state in which it could be
// changed. Nothing was changed.
type NotReadyError struct {
	Op     string
	Dir    AbsPath
	Reason string
	Paths  []string // what stands in the way, relative to the checkout
	// Locked tells that another git has its index or a ref, or one that was killed
	// left the lock; Since is when that was locked, zero where that is not known.
	// Lock is its file.
	Locked bool
	Since  time.Time
	Lock   string
	// Untracked tells that Paths are files git does not know and would overwrite.
	Untracked bool
	// Base is, for a merge that Paths are in the way of, where the branch begins.
	Base string
	// Todo is what a person can do, if that is known better.
	Todo string
}

// Error gives the operation, the folder and the reason.
func (e *NotReadyError) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Op, e.Dir, e.Reason)
	if len(e.Paths) > 0 {
		text += " (" + listed(e.Paths) + ")"
	}
	return text
}

// Hint says what a person can do.
func (e *NotReadyError) Hint() string {
	if e.Todo != "" {
		return e.Todo
	}
	if e.Locked {
		return e.lockHint()
	}
	if e.Untracked {
		return "move them out of the way or commit them, then merge again; nothing was changed"
	}
	return "`git status` in that folder shows more"
}

// lockHint says what to do about a lock. Only a person removes it: a program of theirs that
// we do not see may hold it.
func (e *NotReadyError) lockHint() string {
	remove := "remove the file " + fmt.Sprintf("%q", e.Lock)
	if file := reprise.Pasted(e.Lock, ""); file != "" {
		remove = "`rm " + file + "` removes it"
	}
	switch u := proc.WhoUses(e.Lock, "git", string(e.Dir), filepath.Dir(e.Lock)); {
	case len(u.Open) > 0:
		return fmt.Sprintf("wait for process %d (%q), which has it open", u.Open[0].PID, u.Open[0].Name)
	case len(u.Near) > 0:
		return fmt.Sprintf("wait for the git process %d, which works there; if it has ended and the file is left, %s", u.Near[0].PID, remove)
	case u.Blind != "":
		return "make sure that no git is at work there, which cannot be told here (" + u.Blind + "); then " + remove
	}
	return "no process has it open, and no git works there: one that was killed left it; " + remove
}

// ConflictError tells which files two branches changed in ways that do not go
// together. The merge was taken back; the checkout is as it was.
type ConflictError struct {
	Branch string
	Files  []string
}

// Error names the branch and the files.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("merge %s: conflicts in %s", e.Branch, listed(e.Files))
}

// Hint says what a person can do.
func (e *ConflictError) Hint() string {
	return "`git merge " + reprise.Pasted(e.Branch, "BRANCH") + "` merges it, and you settle the conflicts; nothing was changed"
}

// listed names a few of many.
func listed(names []string) string {
	const few = 5
	var out []string
	for _, n := range names[:min(few, len(names))] {
		out = append(out, fmt.Sprintf("%q", n))
	}
	if more := len(names) - few; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// checkout makes sure that a folder is a checkout of this repository: its .git
// leads here, and the record there names this folder. Anything else is a
// *NotReadyError.
func (r *Repo) checkout(op, dir string) (place, error) {
	refuse := func(format string, args ...any) error {
		return &NotReadyError{Op: op, Dir: AbsPath(dir), Reason: fmt.Sprintf(format, args...)}
	}
	real, err := realDir(dir)
	if err != nil {
		return place{}, fmt.Errorf("%s %s: %w", op, dir, err)
	}
	p, err := findGitDir(real)
	switch {
	case err != nil:
		return p, refuse("it cannot be told which repository it belongs to: %v", err)
	case p.kind != placeNormal || p.top != real:
		return p, refuse("it is no checkout: it has no .git of its own")
	case !sameFile(p.commonDir, r.commonDir):
		return p, refuse("its .git leads to another repository (%s)", p.commonDir)
	case p.gitDir == p.commonDir:
		if p.gitDir != filepath.Join(real, ".git") && (r.gitDir != r.commonDir || r.top != real) {
			return p, refuse("its .git leads to that of another checkout")
		}
		return p, nil
	}
	if link, err := recorded(p.gitDir); err != nil || !sameFile(link, filepath.Join(real, ".git")) {
		return p, refuse("git's record of this checkout names another folder")
	}
	return p, nil
}

// checkout is one working tree of the repository, looked at just now.
type checkout struct {
	dir, gitDir, commonDir string
	git                    runner
}

func (c *checkout) location() location { return location{gitDir: c.gitDir, commonDir: c.commonDir} }

// at opens a checkout for one call that may change it. Git is told all three
// places, so that what is put into the folder afterwards leads it nowhere else.
func (r *Repo) at(ctx context.Context, op, dir string) (*checkout, error) {
	p, err := r.checkout(op, dir)
	if err != nil {
		return nil, err
	}
	git, err := r.writer(ctx, p.top, p)
	if err != nil {
		return nil, err
	}
	return &checkout{dir: p.top, gitDir: p.gitDir, commonDir: r.commonDir, git: git}, nil
}

// writer is a runner for calls that write, in a folder whose settings are
// listed first. The user's own name goes into commits if the
// settings have one.
func (r *Repo) writer(ctx context.Context, dir string, p place) (runner, error) {
	git, settings, err := r.git.neutral(ctx, dir, p, writing...)
	if err != nil {
		return git, err
	}
	git.timeout, git.inherit = max(git.timeout, writeTimeout), r.inherit
	has := func(name string) bool {
		return slices.ContainsFunc(settings, func(s setting) bool { return s.section == "user" && s.name == name && s.value != "" })
	}
	if !has("name") || !has("email") {
		for _, who := range []string{"AUTHOR", "COMMITTER"} {
			git.env = append(git.env, "GIT_"+who+"_NAME="+identityName, "GIT_"+who+"_EMAIL="+identityEmail)
		}
	}
	return git, nil
}

// quiet refuses to change a checkout in which something is under way.
func (c *checkout) quiet(op string) error {
	if what := Operation(AbsPath(c.gitDir)); what != "" {
		return &NotReadyError{Op: op, Dir: AbsPath(c.dir), Reason: "a " + what + " is under way in it"}
	}
	if lock := lockFile(c.gitDir, c.commonDir); lock != "" {
		return c.locked(op, lock)
	}
	return nil
}

func (c *checkout) locked(op, lock string) error {
	e := &NotReadyError{Op: op, Dir: AbsPath(c.dir), Locked: true, Lock: lock}
	e.Reason = fmt.Sprintf("it is locked by %s: another git works in it, or one was killed there", lock)
	if info, err := os.Lstat(lock); err == nil {
		e.Since = info.ModTime()
		e.Reason = fmt.Sprintf("it is locked by %s since %s: another git works in it, or one was killed there", lock, e.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return e
}

// met gives the error of a call that met the lock of another git as such: on the
// index, which came after quiet looked, or on a ref.
func (c *checkout) met(op string, err error) error {
	failed, ok := errors.AsType[*callError](err)
	if !ok {
		return err
	}
	if _, rest, found := strings.Cut(failed.stderr, "Unable to create '"); found {
		if lock, _, found := strings.Cut(rest, ".lock': File exists"); found && !strings.Contains(lock, "\n") {
			return c.locked(op, lock+".lock")
		}
	}
	return err
}

// status lists what is not committed, every untracked file by its name, and every repository
// in it that has changes of its own.
func (c *checkout) status(ctx context.Context) (status, error) { return c.git.deepStatus(ctx, c.dir) }

func (g *runner) deepStatus(ctx context.Context, dir string) (status, error) {
	st, err := g.status(ctx, maxListed, "all", "dirty")
	if err == nil && st.more > 0 {
		err = fmt.Errorf("list changes in %s: there are more than %d", dir, maxListed)
	}
	if err != nil {
		return st, err
	}
	inner, err := g.inner(ctx, dir)
	for name, p := range inner {
		if err != nil || slices.ContainsFunc(st.changes, func(ch reprise.Change) bool { return ch.Path == name }) {
			continue
		}
		var git runner
		if git, _, err = g.neutral(ctx, p.top, p); err == nil {
			var in status
			if in, err = git.deepStatus(ctx, p.top); len(in.changes) > 0 {
				st.changes = append(st.changes, reprise.Change{Path: name})
			}
		}
	}
	return st, err
}

// inner gives the repositories that a checkout has in the places of submodules, by their names.
// Git would look into each with the settings of that one.
func (g *runner) inner(ctx context.Context, dir string) (map[string]place, error) {
	out := map[string]place{}
	err := words(ctx, g.stream, nil, func(line string, _ *fields) error { // MODE OBJECT STAGE, a tab and the name
		about, name, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(about, "160000 ") || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if real, err := filepath.EvalSymlinks(at); err != nil || real != at || !exists(filepath.Join(at, ".git")) {
			return nil // not checked out, or only by a link
		}
		p, err := findGitDir(at)
		if err == nil && (p.kind != placeNormal || p.top != at) {
			err = errors.New("it is no whole repository")
		}
		if err != nil {
			return fmt.Errorf("look at the submodule %q: %w", name, err)
		}
		out[name] = p
		return nil
	}, "ls-files", "-z", "--cached", "--stage")
	return out, err
}

// Kept reports whether a path, relative to a checkout, is never committed by us:
// state folders, checkouts inside the checkout, and what lies in them.
func Kept(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case ".reprise", ".auto-claude", ".worktrees":
			return true
		}
	}
	return strings.HasPrefix(p, "auto-claude/specs/")
}

// AllButKept is, for a shell, what `git add` takes to leave out what Kept does.
const AllButKept = `. ':(exclude,glob)**/.reprise/**' ':(exclude,glob)**/.auto-claude/**' ':(exclude,glob)**/.worktrees/**' ':(exclude)auto-claude/specs'`

// Inherit gives every git that writes from now on open files to keep: the
// lease. One that outlives us is then still seen at work.
func (r *Repo) Inherit(files ...*os.File) {
	r.inherit = slices.DeleteFunc(slices.Clone(files), func(f *os.File) bool { return f == nil })
}

// In opens another checkout of this repository. It is an error if the folder
// belongs to another one, or to none, whatever it did before. One that was opened before
// is not opened again: its Head is the one of then.
func (r *Repo) In(ctx context.Context, dir string) (*Repo, error) {
	p, err := r.checkout("open checkout", dir)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.others[p.gitDir]; other != nil && other.dir == p.top {
		return other, nil
	}
	other, err := Open(ctx, dir, Options{Environ: r.git.environ, Timeout: r.git.timeout, Inherit: r.inherit})
	if err != nil {
		return nil, err
	}
	if !sameFile(other.commonDir, r.commonDir) {
		return nil, &NotReadyError{Op: "open checkout", Dir: AbsPath(dir), Reason: "it belongs to another repository"}
	}
	if r.others == nil {
		r.others = map[string]*Repo{}
	}
	r.others[p.gitDir] = other
	return other, nil
}

// Uncommitted lists what is not committed in the checkout, without what Kept
// leaves out and without checkouts of other repositories inside it. Paths are
// relative to the top.
func (r *Repo) Uncommitted(ctx context.Context) ([]reprise.Change, error) {
	c, err := r.at(ctx, "look at", r.top)
	if err != nil {
		return nil, err
	}
	st, err := c.status(ctx)
	return ours(st.changes), err
}

func ours(changes []reprise.Change) []reprise.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(ch reprise.Change) bool {
		return Kept(ch.Path) || ch.Untracked && strings.HasSuffix(ch.Path, "/")
	})
}

// Resolve gives the commit a branch or a name of a commit stands for; ok is
// false where there is none.
func (r *Repo) Resolve(ctx context.Context, rev string) (commit string, ok bool, err error) {
	if rev, err = spelled(rev); err != nil {
		return "", false, err
	}
	if commit, ok = plainCommit(r.location, rev); ok {
		return commit, true, nil
	}
	commit, err = r.git.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	switch {
	case objectName(commit) && err == nil:
		return commit, true, nil
	case exitCode(err) == 1:
		return "", false, nil
	}
	return "", false, err
}

// spelled is a name of a branch or a commit as git takes it for nothing else.
func spelled(rev string) (string, error) {
	switch {
	case objectName(rev), rev == "HEAD":
		return rev, nil
	case validBranch(rev):
		return "refs/heads/" + rev, nil
	}
	return "", fmt.Errorf("resolve %q: this is no name of a branch or a commit", rev)
}

// resolveAll resolves names that must be there. Of a whole object name git says itself, in the
// call that follows, if it is missing.
func (r *Repo) resolveAll(ctx context.Context, revs ...string) ([]string, error) {
	var out []string
	for _, rev := range revs {
		if objectName(rev) {
			out = append(out, rev)
			continue
		}
		commit, ok, err := r.Resolve(ctx, rev)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("resolve %s: there is no such branch or commit", rev)
		}
		out = append(out, commit)
	}
	return out, nil
}

// MergeBase gives the commit two branches have in common, "" if none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	at, err := r.resolveAll(ctx, a, b)
	if err != nil {
		return "", err
	}
	base, err := r.git.line(ctx, "merge-base", "--end-of-options", at[0], at[1])
	if exitCode(err) == 1 {
		return "", nil
	}
	return base, err
}

// IsAncestor reports whether all of a is in b.
func (r *Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	at, err := r.resolveAll(ctx, a, b)
	if err != nil {
		return false, err
	}
	return r.git.yes(ctx, "merge-base", "--is-ancestor", "--end-of-options", at[0], at[1])
}
