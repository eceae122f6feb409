package gitx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"reprise"
)

// AddWorktree makes a checkout of a branch in a folder that is not there or is
// empty. The branch is made at base if there is none; one that is there is
// taken as it is.
//
// If the process dies here, git may leave a checkout that is half made: Linked
// tells it, and ClearLinked removes git's own record of it.
func (r *Repo) AddWorktree(ctx context.Context, dir, branch, base string) error {
	if !validBranch(branch) || !filepath.IsAbs(dir) || strings.ContainsAny(dir, "\n\x00") {
		return fmt.Errorf("add worktree %q for branch %q: one of them is no fit name", dir, branch)
	}
	git, err := r.main(ctx, "add worktree to")
	if err != nil {
		return err
	}
	_, have, err := r.Resolve(ctx, branch)
	if err != nil {
		return err
	}
	if !have {
		at, err := r.resolveAll(ctx, base)
		if err != nil {
			return err
		}
		// An empty old value makes git refuse a branch that came up meanwhile.
		_, err = git.output(ctx, 4096, "update-ref", "-m", createdFrom+cmp.Or(r.Current(), "HEAD"), "--end-of-options", "refs/heads/"+branch, at[0], strings.Repeat("0", len(at[0])))
		if err != nil {
			return err
		}
	}
	// Its files come from a repository of our own, so that no filter has them.
	if _, err = git.theirs().output(ctx, 1<<20, "worktree", "add", "--quiet", "--no-checkout", "--no-guess-remote", "--end-of-options", dir, branch); err != nil {
		return err
	}
	c, err := r.at(ctx, "fill", dir)
	if err != nil {
		return err
	}
	_, err = c.git.output(ctx, 1<<20, "read-tree", "-m", "-u", "HEAD")
	return err
}

// createdFrom is what git writes to the log of a branch when it makes it.
const createdFrom = "branch: Created from "

// CreatedFrom tells which branch a branch was made from, as its log says: a local one,
// or one of a remote with its name before it. It is "" where the log does not say.
func (r *Repo) CreatedFrom(branch string) string {
	if !validBranch(branch) {
		return ""
	}
	f, _, err := openRegular(filepath.Join(r.commonDir, "logs", "refs", "heads", filepath.FromSlash(branch)))
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	_, text, _ := strings.Cut(line, "\t")
	from, ok := strings.CutPrefix(text, createdFrom)
	from = strings.TrimPrefix(strings.TrimPrefix(from, "refs/heads/"), "refs/remotes/")
	if !ok || from == "HEAD" || objectName(from) || !validBranch(from) {
		return ""
	}
	return from
}

// main is a runner for calls about the repository as a whole. It runs in the
// checkout the repository was opened from, which must still be one.
func (r *Repo) main(ctx context.Context, op string) (runner, error) {
	if r.bare {
		return r.writer(ctx, r.dir, place{gitDir: r.gitDir, commonDir: r.commonDir})
	}
	c, err := r.at(ctx, op, r.top)
	if err != nil {
		return runner{}, err
	}
	c.git.env = append(c.git.env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir))
	return c.git, nil
}

// RemoveWorktree lets git remove a linked checkout and its record of it, or the
// record alone where the folder is gone. It is refused where anything in it is
// not committed or not in the repository: ignored files would be lost.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	git, err := r.main(ctx, "remove worktree from")
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil {
		c, err := r.at(ctx, "remove worktree", dir)
		if err != nil {
			return err
		}
		if err := c.quiet("remove worktree"); err != nil {
			return err
		}
		inner, err := c.git.inner(ctx, c.dir)
		if err != nil {
			return err
		}
		if len(inner) > 0 || exists(filepath.Join(c.gitDir, "modules")) {
			return &NotReadyError{Op: "remove worktree", Dir: AbsPath(dir), Reason: "it has submodules, whose commits may be nowhere else", Paths: slices.Sorted(maps.Keys(inner))}
		}
		left, err := c.git.names(ctx, "ls-files", "-z", "--others")
		if err != nil {
			return err
		}
		st, err := c.status(ctx)
		if err != nil {
			return err
		}
		for _, ch := range st.changes {
			if !ch.Untracked {
				left = append(left, ch.Path)
			}
		}
		if len(left) > 0 {
			return &NotReadyError{Op: "remove worktree", Dir: AbsPath(dir), Reason: "it holds files that are not committed", Paths: left}
		}
	}
	// Git looks once more itself, also in our own place of the repository's settings: no filter runs.
	_, err = git.output(ctx, 1<<20, "worktree", "remove", "--end-of-options", dir)
	return err
}

// RenameBranch gives a branch another name that is not taken. One that is checked
// out somewhere is refused.
func (r *Repo) RenameBranch(ctx context.Context, from, to string) error {
	if !validBranch(from) || !validBranch(to) {
		return fmt.Errorf("rename branch %q to %q: one of them is no name of a branch", from, to)
	}
	for _, l := range r.Linked() {
		if l.Branch == from {
			return &NotReadyError{Op: "rename branch in", Dir: AbsPath(l.Path), Reason: "branch " + strconv.Quote(from) + " is checked out there"}
		}
	}
	git, err := r.main(ctx, "rename branch in")
	if err != nil {
		return err
	}
	if head, _ := headFile(r.commonDir); head == from {
		return &NotReadyError{Op: "rename branch in", Dir: AbsPath(r.top), Reason: "branch " + strconv.Quote(from) + " is checked out there"}
	}
	if _, err = git.output(ctx, 4096, "branch", "-m", "--end-of-options", from, to); err != nil || !git.ours.branches[from] {
		return err
	}
	_, err = git.theirs().output(ctx, 4096, "config", "--local", "--rename-section", "branch."+from, "branch."+to)
	return err
}

// Return puts a checkout that was taken off a branch on it again: the branch is moved
// forward to the commit that is checked out, and no file is changed. from tells what was
// checked out, "" if that was the branch. It is refused where the commit does not follow
// from the branch, something is under way, or the branch is checked out elsewhere.
//
// If the process dies here, the branch may have moved and the checkout not yet be on it:
// the next call ends it.
func (r *Repo) Return(ctx context.Context, branch string) (from string, err error) {
	const op = "return to its branch in"
	if !validBranch(branch) {
		return "", fmt.Errorf("return to %q: this is no name of a branch", branch)
	}
	c, err := r.at(ctx, op, r.top)
	if err != nil {
		return "", err
	}
	on, _ := headFile(c.gitDir)
	if on == branch {
		return "", nil
	}
	from = "no branch"
	if on != "" {
		from = "branch " + on
	}
	refuse := func(why string) error {
		return &NotReadyError{Op: op, Dir: AbsPath(c.dir), Reason: fmt.Sprintf("%s is checked out there, not %s, %s", from, branch, why)}
	}
	if err := c.quiet(op); err != nil {
		return "", err
	}
	was, have, err := r.Resolve(ctx, branch)
	if err != nil {
		return "", err
	}
	if !have {
		return "", refuse("which is gone")
	}
	now, err := c.head(ctx)
	if err != nil {
		return "", err
	}
	follows, err := r.IsAncestor(ctx, was, now)
	switch {
	case err != nil:
		return "", err
	case !follows:
		return "", refuse("and does not hold all of it")
	case len(r.CheckedOut(branch)) > 0:
		return "", refuse("which is checked out in another folder")
	}
	const why = "an agent left the branch of its run"
	if was != now {
		// Git refuses it if the branch moved meanwhile.
		if _, err := c.git.output(ctx, 4096, "update-ref", "-m", why, "--end-of-options", "refs/heads/"+branch, now, was); err != nil {
			return "", err
		}
	}
	_, err = c.git.output(ctx, 4096, "symbolic-ref", "-m", why, "HEAD", "refs/heads/"+branch)
	return from, err
}

// KeepIndex keeps what was staged in a linked checkout whose folder is gone: a
// commit at ref, which must be below refs/reprise/, "" if nothing was staged.
func (r *Repo) KeepIndex(ctx context.Context, l Linked, ref string) (string, error) {
	if !strings.HasPrefix(ref, "refs/reprise/") || !validBranch(ref) || l.Begun || l.Name != filepath.Base(l.Name) {
		return "", fmt.Errorf("keep the index of %q at %q: one of them is not fit for it", l.Name, ref)
	}
	git, err := r.main(ctx, "keep in")
	if err != nil {
		return "", err
	}
	git.ours.gitDir = filepath.Join(r.commonDir, "worktrees", l.Name)
	head, err := git.line(ctx, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}")
	if err != nil {
		return "", err
	}
	was, err := git.line(ctx, "rev-parse", "--verify", "--end-of-options", "HEAD^{tree}")
	if err != nil {
		return "", err
	}
	tree, err := git.line(ctx, "write-tree")
	if err != nil || tree == was {
		return "", err
	}
	commit, err := git.line(ctx, "commit-tree", "-p", head, "-m", "what was staged in a checkout that is gone", tree)
	if err != nil {
		return "", err
	}
	_, err = git.line(ctx, "update-ref", "--end-of-options", ref, commit)
	return commit, err
}

// KeepCommit keeps a commit that no branch holds at a ref below refs/reprise/.
func (r *Repo) KeepCommit(ctx context.Context, ref, commit string) error {
	if !strings.HasPrefix(ref, "refs/reprise/") || !validBranch(ref) || !objectName(commit) {
		return fmt.Errorf("keep %s at %q: one of them is not fit for it", commit, ref)
	}
	git, err := r.main(ctx, "keep in")
	if err != nil {
		return err
	}
	_, err = git.output(ctx, 4096, "update-ref", "--end-of-options", ref, commit)
	return err
}

// HasRef reports whether there is a ref of this full name.
func (r *Repo) HasRef(ctx context.Context, ref string) (bool, error) {
	if !strings.HasPrefix(ref, "refs/") || !validBranch(ref) {
		return false, fmt.Errorf("look for %q: this is no ref", ref)
	}
	return r.git.yes(ctx, "show-ref", "--verify", "--quiet", ref)
}

// Files lists the names of the files in a commit or at the head of a branch.
func (r *Repo) Files(ctx context.Context, rev string) (names []string, err error) {
	at, err := r.resolveAll(ctx, rev)
	if err != nil {
		return nil, err
	}
	err = words(ctx, r.git.history, nil, func(name string, _ *fields) error {
		names = append(names, name)
		return nil
	}, "ls-tree", "-r", "-z", "--name-only", "--full-tree", at[0])
	return names, err
}

// Merge merges a branch into the branch that is checked out, always with a
// commit of its own, and gives that. Uncommitted changes (those of Kept do not
// count), untracked files that it would overwrite, a detached head or an operation
// under way are refused. Where changes
// do not go together the merge is taken back and the error is a *ConflictError.
//
// If git is killed here, its index may stay locked or the merge under way; the
// next call says so and changes nothing. It is durable after the next flush.
func (r *Repo) Merge(ctx context.Context, branch, text, trailer string) (string, error) {
	dir := r.top
	c, err := r.at(ctx, "merge in", dir)
	if err != nil {
		return "", err
	}
	at, err := r.resolveAll(ctx, branch)
	if err != nil {
		return "", err
	}
	if err := c.takeBack(ctx, at[0]); err != nil {
		return "", err
	}
	if _, err := c.mergesInto(ctx); err != nil {
		return "", err
	}
	if err := r.wouldCover(ctx, c, at[0]); err != nil {
		return "", err
	}
	args := []string{"merge", "--quiet", "--no-ff", "--no-edit", "--no-stat", "--no-log", "--no-verify", "--no-gpg-sign", "--no-verify-signatures", "--no-autostash", "--no-rerere-autoupdate", "--cleanup=verbatim", "-m", message(text)}
	if trailer != "" {
		args = append(args, "-m", trailer)
	}
	_, err = c.git.output(ctx, 1<<20, append(args, "--end-of-options", at[0])...)
	if err == nil {
		return c.head(ctx)
	}
	files, listErr := c.git.names(ctx, diffArgs("--name-only", "--diff-filter=U")...)
	if backErr := c.takeBack(context.WithoutCancel(ctx), at[0]); backErr != nil || listErr != nil {
		return "", errors.Join(err, listErr, backErr)
	}
	if len(files) > 0 {
		return "", &ConflictError{Branch: branch, Files: files}
	}
	return "", err
}

// Current gives the branch that is checked out, "" if none is.
func (r *Repo) Current() string {
	on, _ := headFile(r.gitDir)
	return on
}

// MergesInto gives the branch that Merge would merge into. It refuses what that would
// refuse before it begins, and changes nothing.
func (r *Repo) MergesInto(ctx context.Context) (string, error) {
	c, err := r.at(ctx, "merge in", r.top)
	if err != nil {
		return "", err
	}
	return c.mergesInto(ctx)
}

func (c *checkout) mergesInto(ctx context.Context) (string, error) {
	if err := c.quiet("merge in"); err != nil {
		return "", err
	}
	st, err := c.status(ctx)
	if err != nil {
		return "", err
	}
	if st.detached || st.branch == "" {
		return "", &NotReadyError{Op: "merge in", Dir: AbsPath(c.dir), Reason: "no branch is checked out"}
	}
	if dirty := tracked(st.changes); len(dirty) > 0 {
		return "", &NotReadyError{Op: "merge in", Dir: AbsPath(c.dir), Reason: "it has changes that are not committed", Paths: dirty}
	}
	return st.branch, nil
}

// tracked are the changes that count against a merge: those git would lose or
// mix in. Untracked files it does not overwrite.
func tracked(changes []reprise.Change) []string {
	var out []string
	for _, ch := range changes {
		if !ch.Untracked && !Kept(ch.Path) {
			out = append(out, ch.Path)
		}
	}
	return out
}

// wouldCover refuses the merge of a commit that brings files where some are that
// are not in the index, or their folders, or that are changed there. Git refuses it for untracked ones and
// names them only in prose; ignored ones it overwrites without a word.
func (r *Repo) wouldCover(ctx context.Context, c *checkout, commit string) error {
	head, err := c.head(ctx)
	if err != nil {
		return err
	}
	base, err := r.MergeBase(ctx, head, commit)
	if err != nil || base == "" {
		return err // histories without a common commit git does not merge
	}
	comes, err := c.git.names(ctx, diffArgs("--name-only", "--diff-filter=d", "--no-renames", "--end-of-options", base, commit)...)
	if err != nil || len(comes) == 0 {
		return err
	}
	st, err := c.status(ctx)
	if err != nil {
		return err
	}
	var changed []string
	for _, ch := range st.changes {
		if !ch.Untracked && slices.Contains(comes, ch.Path) {
			changed = append(changed, ch.Path)
		}
	}
	if len(changed) > 0 { // state files: the others are asked for before
		return &NotReadyError{Op: "merge in", Dir: AbsPath(c.dir), Reason: "it has changes that are not committed in files that the merge changes too", Paths: changed, Base: base}
	}
	index, err := c.git.names(ctx, "ls-files", "-z", "--cached")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, name := range index {
		for ; name != "." && !known[name]; name = path.Dir(name) {
			known[name] = true
		}
	}
	covered := map[string]bool{}
	for _, name := range comes {
		there, err := c.standsAt(ctx, name, known)
		if err != nil {
			return err
		}
		for _, at := range there {
			covered[at] = true
		}
	}
	if len(covered) == 0 {
		return nil
	}
	return &NotReadyError{
		Op: "merge in", Dir: AbsPath(c.dir), Reason: "it has files that git does not know and that the merge would overwrite",
		Paths: slices.Sorted(maps.Keys(covered)), Untracked: true, Base: base,
	}
}

// standsAt lists what is where a file is to come, or where one of its folders is,
// and is not known.
func (c *checkout) standsAt(ctx context.Context, name string, known map[string]bool) ([]string, error) {
	for at := name; at != "."; at = path.Dir(at) {
		info, err := os.Lstat(filepath.Join(c.dir, filepath.FromSlash(at)))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return nil, fmt.Errorf("look at what is in the way of the merge: %w", err)
		case info.IsDir() && at == name:
			return c.inside(ctx, at)
		case known[at], info.IsDir():
			return nil, nil
		}
		return []string{at}, nil
	}
	return nil, nil
}

// inside lists what a folder holds that is not in the index: each untracked file,
// and what is ignored, whole folders by their own name. An empty folder does
// not count.
func (c *checkout) inside(ctx context.Context, dir string) ([]string, error) {
	untracked, err := c.git.names(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--", dir)
	if err != nil {
		return nil, err
	}
	ignored, err := c.git.names(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "--", dir)
	for _, name := range ignored {
		untracked = append(untracked, strings.TrimSuffix(name, "/"))
	}
	return untracked, err
}

// takeBack aborts a merge of this commit that is under way: one of ours, as the
// checkout was clean before. Any other stays.
func (c *checkout) takeBack(ctx context.Context, commit string) error {
	if Operation(AbsPath(c.gitDir)) != "merge" {
		return nil
	}
	if head, err := readSmall(filepath.Join(c.gitDir, "MERGE_HEAD")); err != nil || strings.TrimSpace(head) != commit {
		return nil
	}
	text, err := readSmall(filepath.Join(c.gitDir, "MERGE_MSG"))
	if err != nil || !strings.Contains(text, reprise.TrailerKey+": ") {
		return nil // not one of ours
	}
	_, err = c.git.output(ctx, 1<<20, "merge", "--abort")
	return err
}
