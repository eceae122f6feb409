package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/internal/tree"
)

// joinCheckouts reads the other checkouts of the repository and merges their runs with
// those of this one. Two runs are the same if they are at the same place in the same
// repository. The one of this checkout is listed, and of those that it does not have the
// copy that is further along; the others go into its Also. A checkout on one run's branch,
// or that one run works in, says nothing about another run.
func (res *Result) joinCheckouts(ctx context.Context, fsys *tree.FS, runs []*reprise.Run, entries []convention.Entry, opts Options) ([]*reprise.Run, error) {
	byKey, ours := map[string]int{}, len(runs)
	var within []string
	for i, r := range runs {
		byKey[r.Layout+"\x00"+r.Path] = i
		within = append(within, r.Path)
	}
	tops, root := map[string]string{}, real(res.Root) // for each repository, the checkout that counts here
	if top := checkoutTop(root); top != "" {
		tops[real(commonDir(top))] = top
	}
	dirs, unread := otherCheckouts(res.Root, fsys.Checkouts())
	res.unread = unread
	for _, dir := range dirs {
		top := checkoutTop(real(dir))
		common := real(commonDir(top))
		if tops[common] == "" {
			tops[common] = top
			if filepath.Base(common) == ".git" {
				tops[common] = filepath.Dir(common)
			}
		}
		prefix, err := filepath.Rel(res.Root, dir)
		if err != nil {
			prefix = dir
		}
		prefix = filepath.ToSlash(prefix)
		other, err := tree.Open(dir, tree.Options{Marks: convention.Marks(), Within: within, Time: opts.time.within})
		if err != nil {
			res.unread = append(res.unread, unreadCheckout{dir, err})
			continue
		}
		branch := branchOf(top)
		found, err := res.load(ctx, other, res.find(other, entries), opts)
		res.listProblems(prefix, other)
		for _, p := range other.Problems() {
			if !errors.Is(p.Err, doc.ErrOutside) {
				res.unread = append(res.unread, unreadCheckout{filepath.Join(dir, filepath.FromSlash(p.Path)), p.Err})
			}
		}
		other.Close()
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			here := r.Path
			if below, err := filepath.Rel(top, filepath.Join(real(dir), filepath.FromSlash(r.Path))); err == nil {
				if rel, err := filepath.Rel(root, filepath.Join(tops[common], below)); err == nil {
					here = rel
				}
			}
			key, there := r.Layout+"\x00"+filepath.ToSlash(here), r.Ref
			rebase(r, prefix)
			i, ok := byKey[key]
			switch {
			case !ok:
				byKey[key] = len(runs)
				runs = append(runs, r)
			case slices.ContainsFunc(runs, func(other *reprise.Run) bool {
				return other != runs[i] && other.Worktree != "" && path.Clean(other.Worktree) == prefix ||
					branch != "" && branch != runs[i].Branch && other.Branch == branch
			}):
				// The checkout belongs to another run. Its copy of this run came with the
				// checkout, and no one works on it there.
			case compared(runs[i], r):
			case i < ours:
				runs[i].Also = append(runs[i].Also, r.Ref)
				res.copies[runs[i]] = append(res.copies[runs[i]], checkoutCopy{r, there, prefix, branch})
			default:
				runs[i] = join(runs[i], r)
			}
		}
	}
	return runs, nil
}

// checkoutCopy is a run of this checkout as another one has it.
type checkoutCopy struct {
	run         *reprise.Run
	ref         reprise.Ref // as that one knows it
	dir, branch string
}

// bringsHere returns the hint on how to get what the checkout holds.
func (c *checkoutCopy) bringsHere() string {
	dir := reprise.Pasted(c.dir, "FOLDER")
	work := reprise.Pasted(c.branch, "BRANCH")
	if c.branch == "" {
		work = fmt.Sprintf("$(git -C %s rev-parse HEAD)", dir)
	}
	return fmt.Sprintf("`git merge %[2]s` brings here what is committed there; `git -C %[1]s status` shows what is not: commit what belongs to it first", dir, work)
}

// compared reports whether the layout of a run has already compared it with a copy.
func compared(r, other *reprise.Run) bool {
	return slices.ContainsFunc(r.Also, func(known reprise.Ref) bool {
		return known.Path == other.Path || strings.HasPrefix(other.Path, known.Path+"/")
	})
}

// join merges two copies of a run that this checkout does not have: the one that is ahead
// counts, else the first.
func join(a, b *reprise.Run) *reprise.Run {
	winner, other := a, b
	if ahead(b, a) {
		winner, other = b, a
	}
	winner.Also = append(winner.Also, other.Ref)
	differ(winner, other, "the copy that is further along is shown; merge or archive the other")
	return winner
}

// ahead reports whether a copy of a run is further along than another one: it has more closed
// steps, since work does not undo itself, or the later activity. A file's time alone is not
// activity, because a checkout writes every file.
func ahead(a, b *reprise.Run) bool {
	pa, pb := a.Progress(), b.Progress()
	later := a.LastActivity.After(b.LastActivity) && (!sameSteps(a, b) || a.LastActivitySource.Line > 0)
	return pa.Done > pb.Done || pa.Done == pb.Done && later
}

// differ reports that two copies of a run do not say the same.
func differ(r, other *reprise.Run, hint string) {
	if sameSteps(r, other) {
		return
	}
	r.Report(reprise.Finding{
		Code: reprise.CodePlanCopies, Severity: reprise.Warning, Subject: r.ID,
		Message: fmt.Sprintf("two checkouts disagree: %d of %d done in %s, %d of %d in %s",
			r.Progress().Done, r.Progress().Total, r.Path, other.Progress().Done, other.Progress().Total, other.Path),
		Source: reprise.Source{File: r.Path},
		Hint:   hint,
	})
}

// tellCopies reports what other checkouts have of a run of this one. What is finished there is
// not finished here before it is merged, and doing it here would do it twice: one that is ahead
// asks, unless work was resumed here since.
func (v *View) tellCopies(copies []checkoutCopy) {
	r := v.Run
	for i := range copies {
		c := &copies[i]
		if !r.State.Open() || !ahead(c.run, r) {
			if !older(c.run, r) {
				differ(r, c.run, "the copy in this checkout counts; merge or archive the other")
			}
			continue
		}
		until := c.run.LastActivity
		if until.Equal(until.Truncate(24 * time.Hour)) {
			until = until.Add(24 * time.Hour) // a day on record says no hour
		}
		if until.Before(v.lastBegun()) {
			continue
		}
		message, there := fmt.Sprintf("another checkout, %s, worked on it later", c.dir), "`"+commandThere("resume", c.ref, c.dir)+"` goes on there; "
		if done := doneIn(c.run, r); !c.run.State.Open() {
			there, message = "", fmt.Sprintf("it is finished in another checkout, %s, but open in this one: %s done", c.dir, r.Progress().Words(" of "))
		} else if len(done) > 0 {
			message = fmt.Sprintf("another checkout, %s, is further along: %s", c.dir, wereFinished(done))
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: c.run.Path}, Message: message,
			Hint: fmt.Sprintf("%s%s; `reprise resume %s --option continue` goes on here", there, c.bringsHere(), reprise.Pasted(r.ID, "RUN")),
		})
	}
}

// older reports whether all that a copy of a run may have done is done here. Of what could not be
// read that is not known.
func older(there, here *reprise.Run) bool {
	return there.State != reprise.Unreadable && len(there.Unread) == 0 && !slices.ContainsFunc(there.Steps, func(s reprise.Step) bool {
		now := here.Step(s.ID)
		return (s.Status.Closed() || s.Status == reprise.Unknown) && (now == nil || !now.Status.Closed())
	})
}

func sameSteps(a, b *reprise.Run) bool {
	return a.State == b.State && slices.EqualFunc(a.Steps, b.Steps, func(x, y reprise.Step) bool {
		return x.ID == y.ID && x.Status == y.Status
	})
}

// rebase prefixes every file name in a run.
func rebase(r *reprise.Run, prefix string) {
	file := func(p *string) {
		if *p != "" {
			*p = prefix + "/" + *p
		}
	}
	file(&r.Path)
	file(&r.Worktree)
	file(&r.LastActivitySource.File)
	for i := range r.Dates {
		file(&r.Dates[i].Source.File)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		file(&s.Path)
		file(&s.Source.File)
		for j := range s.Claims {
			file(&s.Claims[j].Source.File)
		}
	}
	for i := range r.Next {
		file(&r.Next[i].Path)
	}
	for i := range r.Questions {
		file(&r.Questions[i].Source.File)
	}
	for i := range r.Artifacts {
		file(&r.Artifacts[i].Path)
		file(&r.Artifacts[i].Source.File)
	}
	for i := range r.Findings {
		file(&r.Findings[i].Source.File)
	}
	for i := range r.Also {
		file(&r.Also[i].Path)
	}
	if r.Owner != nil {
		file(&r.Owner.Source.File)
	}
}

// unreadCheckout is a checkout of the repository, or a folder in one, that cannot be read.
type unreadCheckout struct {
	dir string
	err error
}

// tellUnread reports unreadable checkouts: whether the run was worked on there, and is
// further along, is unknown.
func (res *Result) tellUnread(r *reprise.Run) {
	if !r.State.Open() {
		return
	}
	for _, u := range res.unread {
		dir := u.dir
		if rel, err := filepath.Rel(res.Root, dir); err == nil {
			dir = filepath.ToSlash(rel)
		}
		f := reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: dir},
			Message: fmt.Sprintf("a checkout of this repository cannot be read, %s: %s; whether the run is further along there is unknown", dir, doc.Cause(u.err)),
			Hint:    fmt.Sprintf("make it readable, or look there; `reprise resume %s --option continue` continues here", reprise.Pasted(r.ID, "RUN")),
		}
		switch {
		case errors.Is(u.err, fs.ErrNotExist):
			f.Hint = "mount its drive; `git worktree prune` forgets a checkout that is gone for good, `git worktree repair FOLDER`, with where it is now, finds one that was moved"
		case errors.Is(u.err, errNotOurs):
			f.Hint = fmt.Sprintf("`git worktree repair %s` fixes it", reprise.Pasted(dir, "DIR"))
		}
		r.Report(f)
	}
}

// otherCheckouts lists the folders that correspond to root in the other checkouts of its
// repository, from git's own files; it starts no process. inside are linked worktrees
// found below root; they are listed as a whole. unread are checkouts that git lists and
// that cannot be read.
func otherCheckouts(root string, inside []string) (out []string, unread []unreadCheckout) {
	dirs := map[string]bool{}
	for _, rel := range inside {
		dirs[filepath.Join(root, filepath.FromSlash(rel))] = true
	}
	top := checkoutTop(real(root))
	below, err := filepath.Rel(top, real(root))
	if err != nil {
		below = "."
	}
	common := commonDir(top)
	not := func(dir string, err error) {
		in, inErr := filepath.Rel(filepath.Dir(common), dir)
		if errors.Is(err, fs.ErrNotExist) && inErr == nil && filepath.IsLocal(in) {
			return // deleted: its surroundings exist, so nothing is unmounted
		}
		unread = append(unread, unreadCheckout{dir, err})
	}
	add := func(checkout string) {
		dir := filepath.Join(checkout, below)
		_, err := os.Stat(dir)
		switch {
		case err == nil && !dirs[checkout]:
			dirs[dir] = true
		case err != nil && !errors.Is(err, fs.ErrNotExist): // a branch need not have the folder
			not(dir, err)
		}
	}
	if top != "" && common != "" {
		if filepath.Base(common) == ".git" {
			add(filepath.Dir(common))
		}
		links, err := os.ReadDir(filepath.Join(common, "worktrees"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			not(filepath.Join(common, "worktrees"), err)
		}
		for _, link := range links {
			checkout, err := linkedCheckout(common, filepath.Join(common, "worktrees", link.Name()))
			if err != nil {
				not(checkout, err)
				continue
			}
			if !strings.Contains(filepath.ToSlash(checkout), "/"+durable.StateDir+"/worlds/") { // of a step at work
				add(checkout)
			}
		}
	}
	for dir := range dirs {
		if !sameFile(dir, root) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out, unread
}

var errNotOurs = errors.New("its .git does not name this repository")

// linkedCheckout returns the folder of a checkout from git's record of it. The error says
// why that is unknown: the folder, its pointer to the repository or the record is missing
// or damaged.
func linkedCheckout(common, record string) (string, error) {
	data, err := doc.ReadRegular(os.DirFS(record), "gitdir", maxPointer)
	if err != nil {
		return record, err
	}
	gitfile := strings.TrimSpace(string(data))
	if !filepath.IsAbs(gitfile) {
		gitfile = filepath.Join(record, gitfile)
	}
	checkout := filepath.Dir(gitfile)
	if _, err := os.Stat(checkout); err != nil {
		return checkout, err
	}
	if _, err := os.Stat(gitfile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return checkout, err
	}
	if own := gitDir(checkout); own == "" || !sameFile(filepath.Dir(filepath.Dir(own)), common) {
		return checkout, errNotOurs
	}
	return checkout, nil
}

// maxPointer limits how much is read of a file that names a git folder.
const maxPointer = 64 << 10

// commonDir returns the git folder that all checkouts share, or "" if root is not the top
// of a checkout.
func commonDir(root string) string {
	own := gitDir(root)
	if own == "" || own == filepath.Join(root, ".git") {
		return own
	}
	return filepath.Dir(filepath.Dir(own))
}

// gitDir returns the git folder of one checkout, or "" if root is not the top of one.
func gitDir(root string) string {
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return dot
	}
	data, err := doc.ReadRegular(os.DirFS(root), ".git", maxPointer)
	if err != nil || !tree.IsWorktreePointer(data) {
		return ""
	}
	own := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(data)), "gitdir:"))
	if !filepath.IsAbs(own) {
		own = filepath.Join(root, own)
	}
	return own
}

// branchOf returns the branch checked out in a folder, or "" if there is none or it is
// unknown.
func branchOf(root string) string {
	own := gitDir(root)
	if own == "" {
		return ""
	}
	head, err := doc.ReadRegular(os.DirFS(own), "HEAD", maxPointer)
	branch, is := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if err != nil || !is {
		return ""
	}
	return branch
}

// real resolves the links in a path, or returns it unchanged if that fails.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// checkoutTop returns the top of the checkout that contains a folder, or "".
func checkoutTop(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
