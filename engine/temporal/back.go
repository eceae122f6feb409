package temporal

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// WayBack names the commands that continue a run in a checkout of its branch, for a shell in
// the folder at. The checkout is on the branch where that can be: one that has it and can
// follow it, or a new one beside the clone. What is trusted in the clone is trusted there.
func (f *Fleet) WayBack(ctx context.Context, run, at string) (string, error) {
	copies, err := f.copies(ctx, run)
	if err != nil {
		return "", err
	}
	branch, name := Branch(run), reprise.Pasted(run, "RUN")
	git1, dir := f.beside(branch, at)
	way := fmt.Sprintf("%s fetch origin %s:%s && %s worktree add %s %s", git1, branch, branch, git1, reprise.Pasted(dir, "DIR"), branch)
	if i := slices.IndexFunc(copies, func(c *localCopy) bool { return c.branch == "refs/heads/"+branch && !c.alone }); i >= 0 {
		way = fmt.Sprintf("%s fetch origin %s && %s worktree add --detach %s FETCH_HEAD", git1, branch, git1, reprise.Pasted(dir, "DIR"))
		if c := copies[i]; c.dir != "" {
			if changed, err := git(ctx, c.dir, nil, "status", "--porcelain", "--untracked-files=no"); err == nil && changed == "" {
				dir = c.dir
				way = fmt.Sprintf("git -C %s pull --ff-only origin %s", reprise.Pasted(dir, "DIR"), branch)
			}
		}
	}
	way += fmt.Sprintf(" && reprise resume %s --adopt -C %s", name, reprise.Pasted(filepath.Join(dir, filepath.FromSlash(f.Folder)), "DIR"))
	if f.trustedHere(ctx, run) {
		way += " --trust"
	}
	return way, nil
}

// beside is how git is called for the clone in a shell in the folder at, and a folder beside
// the clone that is not there yet.
func (f *Fleet) beside(branch, at string) (git1, dir string) {
	git1, dir = "git", filepath.Join(filepath.Dir(f.Clone), path.Base(branch))
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			break
		}
		dir = filepath.Join(filepath.Dir(f.Clone), fmt.Sprintf("%s-%d", path.Base(branch), n))
	}
	if !sameFolder(at, f.Clone) {
		git1 += " -C " + reprise.Pasted(f.Clone, "CLONE")
	} else if in, err := filepath.Rel(f.Clone, dir); err == nil {
		dir = in
	}
	return git1, dir
}

// Look names the commands that look at a run, with a command of the plain program, in a
// checkout that has what is recorded of it: once nothing is left to do, that is the commit
// before the last.
func (f *Fleet) Look(ctx context.Context, verb, run, at string) (string, error) {
	from := "FETCH_HEAD"
	_, err := f.onBranch(ctx, run, func(_ *Checkout, was turned) error {
		if was.Journal != "" {
			from = "FETCH_HEAD^"
		}
		return nil
	})
	git1, dir := f.beside(Branch(run), at)
	return fmt.Sprintf("%s fetch origin %s && %s worktree add --detach %s %s && reprise %s %s -C %s", git1, Branch(run), git1, reprise.Pasted(dir, "DIR"), from,
		verb, reprise.Pasted(run, "RUN"), reprise.Pasted(filepath.Join(dir, filepath.FromSlash(f.Folder)), "DIR")), err
}

// trustedHere reports whether the files of a run that need trust, as its branch has them, are
// trusted in the clone. What cannot be told is not trusted.
func (f *Fleet) trustedHere(ctx context.Context, run string) (is bool) {
	_ = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(run)
		found, err := m.Fetch(ctx, branch)
		if err != nil || found[branch] == "" {
			return err
		}
		c, err := m.Checkout(ctx, found[branch], Branch(run))
		if err != nil {
			return err
		}
		ref, err := f.findIn(ctx, c.Dir, run)
		if err != nil {
			return err
		}
		root := filepath.Join(c.Dir, filepath.FromSlash(f.Folder))
		e, err := trusted{clone: f.Clone}.engineFor(root, time.Now)
		if err != nil {
			return err
		}
		if file, _ := engine.Origin(root, ref); file != "" {
			_, _, err := e.Workflow(file)
			is = err == nil
			return err
		}
		none, err := settings.OpenTrust("")
		if err != nil {
			return err
		}
		_, untrusted, err := settings.Load(settings.Options{User: settings.UserFile(os.Getenv), Project: root, Trust: none})
		is = untrusted != nil
		return err
	})
	return is
}
