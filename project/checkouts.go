package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/doc"
	"reprise/internal/tree"
)

// joinCheckouts reads the other checkouts of the repository and joins what they
// say with what this one says: a run seen through two checkouts is one run. The
// copy that is further along stands in the list, the other in its Also. Two runs are
// the same where they lie at the same place of the same repository. A checkout on the
// branch of one run does not speak for another.
func (res *Result) joinCheckouts(ctx context.Context, fsys *tree.FS, runs []*reprise.Run, entries []convention.Entry, opts Options) ([]*reprise.Run, error) {
	byKey := map[string]int{}
	var within []string
	for i, r := range runs {
		byKey[r.Layout+"\x00"+r.Path] = i
		within = append(within, r.Path)
	}
	tops, root := map[string]string{}, real(res.Root) // of each repository, the checkout that counts here
	if top := checkoutTop(root); top != "" {
		tops[real(commonDir(top))] = top
	}
	for _, dir := range otherCheckouts(res.Root, fsys.Checkouts()) {
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
		other, err := tree.Open(dir, tree.Options{Marks: convention.Marks(), Within: within})
		if err != nil {
			res.report(reprise.Finding{
				Code: reprise.CodeUnreadable, Severity: reprise.Info, Subject: prefix,
				Message: "a worktree of this repository cannot be opened: " + doc.Cause(err),
				Source:  reprise.Source{File: prefix}, Hint: "`git worktree list` shows it; `git worktree repair` may find it again",
			})
			continue
		}
		branch := branchOf(top)
		found, err := res.load(ctx, other, entries, opts)
		res.listProblems(prefix, other)
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
			key := r.Layout + "\x00" + filepath.ToSlash(here)
			rebase(r, prefix)
			i, ok := byKey[key]
			switch {
			case !ok:
				byKey[key] = len(runs)
				runs = append(runs, r)
			case branch != "" && branch != runs[i].Branch && slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r.Branch == branch }):
				// The checkout is another run's own. What it holds of this one came along
				// when it was made, and nobody works on it there.
			default:
				hint := "commit it there, then merge it here"
				if branch != "" {
					hint = fmt.Sprintf("commit it there, then `git merge %s` brings it here", reprise.Pasted(branch, "BRANCH"))
				}
				runs[i] = join(runs[i], r, hint)
			}
		}
	}
	return runs, nil
}

// join makes one run of two copies. The copy with more closed steps counts, for
// work does not undo itself; between equals the later activity, then the first. The
// time of a file alone is no activity: a checkout writes all of them.
func join(a, b *reprise.Run, hint string) *reprise.Run {
	for _, known := range a.Also {
		if known.Path == b.Path || strings.HasPrefix(b.Path, known.Path+"/") {
			return a // the layout has compared this copy itself
		}
	}
	winner, other := a, b
	pa, pb := a.Progress(), b.Progress()
	same := sameSteps(a, b)
	later := b.LastActivity.After(a.LastActivity) && (!same || b.LastActivitySource.Line > 0)
	if pb.Done > pa.Done || (pb.Done == pa.Done && later) {
		winner, other = b, a
	}
	winner.Also = append(winner.Also, other.Ref)
	if !same {
		winner.Report(reprise.Finding{
			Code: reprise.CodePlanCopies, Severity: reprise.Warning, Subject: winner.ID,
			Message: fmt.Sprintf("two checkouts tell different things: %d of %d done in %s, %d of %d in %s",
				winner.Progress().Done, winner.Progress().Total, winner.Path, other.Progress().Done, other.Progress().Total, other.Path),
			Source: reprise.Source{File: winner.Path},
			Hint:   "the copy that is further along is shown; merge or archive the other",
		})
	}
	if winner == b && !b.State.Open() && a.State.Open() {
		winner.Report(reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: winner.ID, Source: reprise.Source{File: b.Path},
			Message: fmt.Sprintf("it is finished in another checkout, and open in this one: %d of %d done", pa.Done, pa.Total),
			Hint:    hint,
		})
	}
	return winner
}

func sameSteps(a, b *reprise.Run) bool {
	return a.State == b.State && slices.EqualFunc(a.Steps, b.Steps, func(x, y reprise.Step) bool {
		return x.ID == y.ID && x.Status == y.Status
	})
}

// rebase puts a path in front of every file a run names.
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

// otherCheckouts lists the folders that stand for root in the other checkouts of the
// repository that it lies in, from git's own files: no process is started. inside are
// the linked worktrees met below root; they are listed whole.
func otherCheckouts(root string, inside []string) []string {
	dirs := map[string]bool{}
	for _, rel := range inside {
		dirs[filepath.Join(root, filepath.FromSlash(rel))] = true
	}
	top := checkoutTop(real(root))
	below, err := filepath.Rel(top, real(root))
	if err != nil {
		below = "."
	}
	add := func(checkout string) {
		dir := filepath.Join(checkout, below)
		if _, err := os.Stat(dir); err == nil && !dirs[checkout] {
			dirs[dir] = true
		}
	}
	if common := commonDir(top); top != "" && common != "" {
		if filepath.Base(common) == ".git" {
			add(filepath.Dir(common))
		}
		links, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
		for _, link := range links {
			data, err := doc.ReadRegular(os.DirFS(filepath.Dir(link)), filepath.Base(link), maxPointer)
			if err != nil {
				continue
			}
			gitfile := strings.TrimSpace(string(data))
			if !filepath.IsAbs(gitfile) {
				gitfile = filepath.Join(filepath.Dir(link), gitfile)
			}
			// A worktree whose folder is gone is git's business and is
			// reported with the evidence from git, not here.
			if _, err := os.Stat(gitfile); err == nil {
				add(filepath.Dir(gitfile))
			}
		}
	}
	var out []string
	for dir := range dirs {
		if !sameFile(dir, root) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}

// maxPointer is the most that is read of a file that names a folder of git.
const maxPointer = 64 << 10

// commonDir returns the git folder that all checkouts share, "" if root is not
// the top of a checkout.
func commonDir(root string) string {
	own := gitDir(root)
	if own == "" || own == filepath.Join(root, ".git") {
		return own
	}
	return filepath.Dir(filepath.Dir(own))
}

// gitDir returns the git folder of one checkout, "" if root is not the top of one.
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

// branchOf returns the branch that is checked out in a folder, "" if there is none or it
// cannot be told.
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

// real gives a path without links, and as it is where that cannot be told.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// checkoutTop gives the top of the checkout that a folder lies in, "" if it lies in
// none.
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
