package evidence

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
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

// absent tells which of the files that done steps leave by their ledgers or name in their titles
// are neither here nor in the checkout of their run. What cannot be looked at is not absent.
func absent(root string, runs []*reprise.Run) map[string]bool {
	out := map[string]bool{}
	each(runs, func(r *reprise.Run, s *reprise.Step) {
		for _, name := range slices.Concat(s.Leaves(), r.Named(s)) {
			if _, looked := out[name]; !looked {
				out[name] = isAbsent(filepath.Join(root, filepath.FromSlash(name)))
			}
			if out[name] && r.Worktree != "" {
				out[name] = isAbsent(filepath.Join(root, filepath.FromSlash(r.Worktree), filepath.FromSlash(name)))
			}
		}
	})
	return out
}

// each hands over the done steps of runs whose work is looked for.
func each(runs []*reprise.Run, use func(*reprise.Run, *reprise.Step)) {
	for _, r := range runs {
		for i := 0; r != nil && r.MayBeAway() && i < len(r.Steps); i++ {
			if s := &r.Steps[i]; s.Status == reprise.Done {
				use(r, s)
			}
		}
	}
}

func isAbsent(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// files are paths by their last name, in small letters.
type files map[string][]string

func (f files) add(name string) {
	last := strings.ToLower(path.Base(name))
	if !slices.Contains(f[last], name) {
		f[last] = append(f[last], name)
	}
}

// is reports whether a list may mean a path by a name: lists are written in parts of a project,
// too, and from above it, and call files as they are called there.
func is(name, have string) bool {
	name, have = strings.ToLower(name), strings.ToLower(have)
	return name == have || strings.HasSuffix(have, "/"+name) || strings.HasSuffix(name, "/"+have)
}

// find returns the path that a name stands for, or the only one whose last name it is: work may be
// put elsewhere than was planned.
func (f files) find(name string) (at string, found bool) {
	all := f[strings.ToLower(path.Base(name))]
	if i := slices.IndexFunc(all, func(have string) bool { return is(name, have) }); i >= 0 {
		return all[i], true
	}
	if len(all) == 1 {
		return all[0], true
	}
	return "", false
}

// How many files on disk are looked at that git does not know.
const maxWalked = 20_000

// walk adds the files below a folder; false tells that there are too many, or that they could not be listed.
func (f files) walk(root, dir string, left *int) bool {
	err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(at string, d fs.DirEntry, err error) error {
		if *left--; *left < 0 || err != nil {
			return cmp.Or(err, fs.SkipAll)
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(root, at); err == nil && !d.IsDir() {
			f.add(filepath.ToSlash(rel))
		}
		return nil
	})
	return err == nil && *left >= 0
}

// fates asks what became of the files that are absent: first what there is under such a name, then,
// in one log for all of them, what the history of the head and the branches tells. Names for which
// that tells nothing certain get no fate. Without a repository only what is on disk tells.
func fates(ctx context.Context, repo *gitx.Repo, root string, o *reprise.Observed) (problem string) {
	left := maxWalked
	have, gone := files{}, files{}
	if repo == nil {
		if !slices.Contains(slices.Collect(maps.Values(o.Absent)), true) || !have.walk(root, "", &left) {
			return ""
		}
		o.Fates = map[string]reprise.Fate{}
		for name, is := range o.Absent {
			if _, found := have.find(name); is && !found {
				o.Fates[name] = reprise.Fate{Bare: true}
			}
		}
		return ""
	}
	last, kinds := map[string]bool{}, map[string]bool{}
	for name, is := range o.Absent {
		if is {
			last[strings.ToLower(path.Base(name))] = true
		}
	}
	if len(last) == 0 || repo.Head() == "" {
		return ""
	}
	tracked, err := repo.Files(ctx, repo.Head())
	if err != nil {
		return err.Error()
	}
	deleted := map[string]bool{}
	whole := o.Git.ChangedMore == 0
	for _, c := range o.Git.Changed {
		switch {
		case c.Worktree != "":
		case c.Deleted:
			deleted[c.Path] = true
		case strings.HasSuffix(c.Path, "/"):
			whole = have.walk(root, c.Path, &left) && whole
		case c.Untracked || c.Added:
			have.add(c.Path)
		}
	}
	modules := map[string]bool{}
	for _, name := range tracked {
		rel, inside := strings.CutPrefix(name, repo.Prefix())
		if !inside {
			rel = name
		}
		kinds[strings.ToLower(path.Ext(rel))] = true
		modules[rel] = true
		switch {
		case !last[strings.ToLower(path.Base(rel))]:
		case deleted[rel]:
			gone.add(rel)
		default:
			have.add(rel)
		}
	}
	o.Fates = map[string]reprise.Fate{}
	var open []string
	for name, absent := range o.Absent {
		if !absent {
			continue
		}
		_, there := have.find(name)
		at, lost := gone.find(name)
		switch bare := !strings.Contains(name, "/"); {
		case lost && is(name, at):
			o.Fates[name] = reprise.Fate{Ever: true, Loose: true}
		case there, lost, modules[strings.SplitN(name, "/", 2)[0]]: // the last is of a submodule
			o.Absent[name] = false
		case bare && !kinds[strings.ToLower(path.Ext(name))]: // perhaps no name of a file
		default:
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return ""
	}
	slices.Sort(open)
	last = map[string]bool{}
	for _, name := range open {
		last[strings.ToLower(path.Base(name))] = true
	}
	passing, all, err := repo.Passing(ctx, last)
	if err != nil {
		problem = err.Error()
	}
	at := map[string]*reprise.Commit{}
	for i := range o.Git.Commits {
		at[o.Git.Commits[i].Hash] = &o.Git.Commits[i]
	}
	ever := files{}
	for _, p := range passing {
		ever.add(p.Path)
	}
	var never []string
	for _, name := range open {
		fate := reprise.Fate{}
		_, fate.Ever = ever.find(name)
		for _, p := range passing {
			if c := at[p.Commit]; c != nil && c.OnHead && is(name, p.Path) {
				if p.Gone {
					fate.By, fate.Renamed = p.Commit, p.Renamed
				}
				break
			}
		}
		switch {
		case fate.By != "" || fate.Ever:
			o.Fates[name] = fate
		case all && whole:
			never = append(never, name)
		}
	}
	ignored, err := repo.Ignored(ctx, never)
	if err != nil {
		return cmp.Or(problem, err.Error())
	}
	for _, name := range never {
		o.Fates[name] = reprise.Fate{Ignored: slices.Contains(ignored, name), Bare: !strings.Contains(name, "/")}
	}
	return problem
}

// reverted finds the files of done steps that were last changed by a commit that only reverts an
// earlier one.
func reverted(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, o *reprise.Observed) (problem string) {
	if !slices.ContainsFunc(o.Git.Commits, func(c reprise.Commit) bool { return c.OnHead && strings.HasPrefix(c.Subject, `Revert "`) }) {
		return ""
	}
	by, err := repo.Reverts(ctx)
	o.Reverted = map[string]reprise.Fate{}
	changed := map[string][]*reprise.Commit{} // by file, newest first
	for i := range o.Git.Commits {
		if c := &o.Git.Commits[i]; c.OnHead && !c.Merge {
			for _, f := range c.Files {
				changed[f.Path] = append(changed[f.Path], c)
			}
		}
	}
	for name, commits := range changed {
		for _, c := range commits[1:] {
			if again := strings.HasPrefix(c.Subject, `Revert "`); !again && by(c.Hash) == commits[0].Hash {
				o.Reverted[name] = reprise.Fate{Ever: true, By: commits[0].Hash, Of: c.Hash}
			}
		}
	}
	for name, f := range o.Fates {
		if f.By == "" {
			continue
		}
		for i := range o.Git.Commits {
			if c := o.Git.Commits[i].Hash; by(c) == f.By {
				f.Of = c
				o.Fates[name] = f
			}
		}
	}
	if err != nil {
		return "which commits were reverted was not fully looked at: " + err.Error()
	}
	return ""
}

// away adds what is here of the commits of steps that are called done, where none of them is
// in the history of where their run continues.
func away(ctx context.Context, repo *gitx.Repo, root string, runs []*reprise.Run, o *reprise.Observed) (problem string) {
	if missed := fates(ctx, repo, root, o); missed != "" {
		problem = "what became of files of finished steps was not fully looked at: " + missed
	}
	problem = cmp.Or(problem, reverted(ctx, repo, runs, o))
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
