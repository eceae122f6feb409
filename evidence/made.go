package evidence

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"reprise"
	"reprise/evidence/grade"
	"reprise/internal/gitx"
)

// Files of a run can call a step done whose work is elsewhere: the branch was set back, another
// one is checked out, a checkout was removed. The files that the steps leave, and the commits
// that tell of them, say so.

// absent tells which of the files that done steps leave by their ledgers or titles are
// neither here nor in the checkout of their run. What cannot be looked at is not absent.
func absent(root string, runs []*reprise.Run) map[string]bool {
	out := map[string]bool{}
	for _, r := range runs {
		if r == nil || !r.MayBeAway() {
			continue
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.Status != reprise.Done || s.Accepted != nil {
				continue
			}
			for _, name := range slices.Concat(s.Leaves(), r.Named(s)) {
				if _, looked := out[name]; !looked {
					out[name] = isAbsent(filepath.Join(root, filepath.FromSlash(name)))
				}
				if out[name] && r.Worktree != "" {
					out[name] = isAbsent(filepath.Join(root, filepath.FromSlash(r.Worktree), filepath.FromSlash(name)))
				}
			}
		}
	}
	return out
}

func isAbsent(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// moved takes out of what is absent the files that the head has below another folder: lists
// are written in parts of a project, too, and name files as they are called there.
func moved(ctx context.Context, repo *gitx.Repo, absent map[string]bool) error {
	wanted := map[string][]string{} // by last name
	for name, is := range absent {
		if is {
			wanted[path.Base(name)] = append(wanted[path.Base(name)], name)
		}
	}
	if len(wanted) == 0 || repo.Head() == "" {
		return nil
	}
	names, err := repo.Files(ctx, repo.Head())
	for _, have := range names {
		for _, name := range wanted[path.Base(have)] {
			if strings.HasSuffix(have, "/"+name) && repo.Prefix()+name != have {
				absent[name] = false
			}
		}
	}
	return err
}

// away adds what is here of the commits of steps that are called done, where none of them is
// in the history of where their run continues.
func away(ctx context.Context, repo *gitx.Repo, root string, runs []*reprise.Run, o *reprise.Observed) (problem string) {
	if err := moved(ctx, repo, o.Absent); err != nil {
		problem = "whether files of finished steps are elsewhere was not looked at: " + err.Error()
	}
	g := grade.New(*o)
	asked := map[string][]string{} // by checkout
	for _, r := range runs {
		if r == nil || !r.MayBeAway() {
			continue
		}
		top := string(repo.Top())
		if dir, _ := o.Git.PlaceOf(r); dir != "" {
			top = filepath.Join(root, filepath.FromSlash(dir))
		}
		for i := range r.Steps {
			asked[top] = append(asked[top], g.Off(r, &r.Steps[i])...)
		}
	}
	for top, commits := range asked {
		slices.Sort(commits)
		commits = slices.Compact(commits)
		remains, err := repo.Remains(ctx, top, commits, nil, nil, nil, states(repo, runs), ledgers(repo, runs))
		if err != nil {
			problem = cmp.Or(problem, "whether work that is called done is here was not fully looked at: "+err.Error())
		}
		for hash, a := range remains {
			if _, known := o.Astray[hash]; known {
				continue
			}
			if o.Astray == nil {
				o.Astray = map[string]reprise.Astray{}
			}
			o.Astray[hash] = a
		}
	}
	return problem
}
