// Package evidence gathers what supports or contradicts the state files: git, processes,
// and the sessions of agent CLIs. It only reads: Gather leaves every file of the project,
// of its git folder and of the CLIs' stores unchanged, including its time stamp.
//
// It returns plain data about one moment. Packages that decide on it, such as grade,
// stay pure.
package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/proc"
)

// Options say how much is looked at. The zero value is for a full check.
type Options struct {
	// Cheap asks for what a quick overview needs: git's plain files, one
	// log of the story folders and what the head has of Claimed, no status and no list of branches,
	// unless a file of state is missing. NoGit asks git nothing.
	Cheap, NoGit bool
	// Sessions asks for a quick look at the sessions of agent CLIs where git is not asked.
	Sessions bool
	// SessionsTime limits a quick look at sessions, the latest of which is looked at in any case;
	// zero stands for what is enough for a person who waits.
	SessionsTime time.Duration
	// Brief asks for a quick look at the sessions of agent CLIs where there are no runs.
	Brief bool
	// Paths are the files and folders whose changes are listed commit by
	// commit, relative to the project. Empty stands for those the runs are in;
	// in cheap mode for the folders of stories.
	Paths []string
	// Claimed are the files that runs which are complete were read from. In cheap mode
	// they are held against the head: one that ends early there says nothing.
	Claimed []string
	// Past are more paths whose commits are looked for.
	Past []string
	// Away are the files of runs that another checkout has, as they would be in this one: what
	// other branches have of them is looked at.
	Away []string
	// Environ is what git's environment is picked from, and what says where the
	// sessions of agent CLIs are; nil stands for that of this process.
	Environ []string
	// Timeout limits each call of git; zero stands for ten seconds, in cheap
	// mode for two.
	Timeout time.Duration
	// Logs is the absolute path of the folder with the output of our own attempts;
	// empty stands for none. In cheap mode it is not looked at, and the sessions of agent
	// CLIs only for the sake of the folder.
	Logs string
	// Checkpoints are what sessions reported through hooks.
	Checkpoints []reprise.Checkpoint
	// Hide takes values that are known to be secret out of a text; nil stands for
	// none. What sessions tell has been through it, and through what finds secrets
	// by their form.
	Hide func(string) string
	// Says tells what the files of a run say of it, as a text to compare, where some of them
	// are as they once were, or, if nil, not there. Where it is nil, nothing tells when runs
	// without dates of their own were last active.
	Says func(r *reprise.Run, past map[string][]byte) string
}

// Life says whether the owner of a record is alive, and why.
func Life(o reprise.Owner, now time.Time) reprise.OwnerLife { return proc.Look(o, now) }

// Heirs finds what still runs of a dead owner: the processes that hold the file it
// had locked, because they inherited it, those that its attempts in the project
// started, and all below them. It reads the whole process table; ask only for an
// owner that is dead.
func Heirs(lock, project string, dead reprise.Owner) (out []reprise.Owner) {
	self, _ := proc.Self() // what is found runs here, whatever host the owner named
	for _, p := range proc.Holders(lock, project) {
		out = append(out, reprise.Owner{
			Agent: p.Name, Host: self.Host, BootID: self.BootID, PID: p.PID, StartTicks: p.StartTicks, Source: dead.Source, Orphan: true, Lock: lock,
		})
	}
	return out
}

// How long git may take in all when somebody looks: beyond it the rest is not known.
const (
	quickLook = 5 * time.Second
	wholeLook = 20 * time.Second
)

// Gather looks at the world around the runs of a project. It never fails: what
// could not be asked is said in GitError, and a part that is missing there is
// nil or empty in the answer. The number of processes it starts does not
// depend on the number of runs.
func Gather(ctx context.Context, root string, runs []*reprise.Run, now time.Time, opts Options) reprise.Observed {
	o := reprise.Observed{Now: now, Owners: owners(runs, now)}
	if opts.NoGit {
		if opts.Sessions {
			o.Folder, o.FolderUnread = sessions(ctx, root, nil, o, opts, true)
		}
		return o
	}
	if !opts.Cheap {
		o.Absent = absent(root, runs)
	}
	look, limit := ctx, wholeLook
	if opts.Cheap {
		limit = quickLook
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("git took longer than the %s that a look may take", limit))
	defer cancel()
	ask := question(runs, o.Absent, opts)
	var unknown error
	ask.Then = func(repo *gitx.Repo, git *reprise.Git) {
		if opts.Says != nil {
			unknown = worked(ctx, repo, root, git, runs, opts.Says)
		}
		var missed error
		o.Unticked, missed = unticked(ctx, repo, root, runs)
		unknown = cmp.Or(unknown, missed)
	}
	git := gitx.Options{Environ: opts.Environ, Timeout: opts.Timeout}
	var (
		skipped []string
		err     error
	)
	if opts.Cheap {
		if git.Timeout == 0 {
			git.Timeout = 2 * time.Second
		}
		ask.Missing = len(runs) > 0
		if o.Git, skipped, err = gitx.Peek(ctx, root, ask, git); o.Git != nil && o.Git.Missing {
			opts.Cheap = false // what of, and whether it lies elsewhere, takes all of it
			return Gather(look, root, runs, now, opts)
		}
	} else {
		var repo *gitx.Repo
		if repo, err = gitx.Open(ctx, root, git); err == nil {
			o.Git, skipped = repo.Gather(ctx, ask)
			var (
				problem string
				stands  map[string]string
			)
			o.Astray, stands, problem = astray(ctx, repo, root, runs, o.Git)
			for _, problem := range []string{problem, taken(ctx, repo, root, runs, &o, stands)} {
				if problem != "" {
					skipped, o.Git.Unheard = append(skipped, problem), true
				}
			}
			if err := keepHere(ctx, repo, runs, o.Git); err != nil {
				o.Git.Unheard = true
				skipped = append(skipped, "what became of commits that are on no branch was not fully looked at: "+err.Error())
			}
			if problem := away(ctx, repo, root, runs, &o); problem != "" {
				skipped, o.Git.Unheard = append(skipped, problem), true
			}
		}
	}
	if unknown != nil {
		skipped = append(skipped, "when runs were last worked on was not fully looked at: "+unknown.Error())
	}
	o.GitError = strings.Join(skipped, "; ")
	var (
		refused *gitx.RefusedError
		silent  *gitx.NoAnswerError
	)
	switch {
	case err == nil:
	case errors.Is(err, gitx.ErrNone):
		// No repository is an answer, not a failure to ask.
	case errors.As(err, &refused):
		o.GitError = refused.Reason
		if refused.Bare {
			o.Git = &reprise.Git{Bare: true}
		} else {
			o.GitTodo = refused.Hint()
		}
	case errors.As(err, &silent):
		o.GitError, o.GitTodo = silent.Cause.Error(), silent.Hint()
	default:
		o.GitError = err.Error()
	}
	if o.Git == nil && o.GitError == "" && !opts.Cheap {
		fates(ctx, nil, root, &o)
	}
	if o.Git != nil && o.Git.IndexLock != nil {
		judgeLock(root, o.Git.IndexLock)
	}
	if brief := opts.Cheap || opts.Brief && len(runs) == 0; brief {
		o.Folder, o.FolderUnread = sessions(ctx, root, nil, o, opts, true)
	} else {
		o.Sessions, o.SessionsUnread = sessions(ctx, root, runs, o, opts, false)
		o.Folder, o.FolderUnread = o.Sessions, o.SessionsUnread
	}
	return o
}

// owners looks every recorded owner up, once for each record.
func owners(runs []*reprise.Run, now time.Time) map[reprise.Source]reprise.OwnerLife {
	out := map[reprise.Source]reprise.OwnerLife{}
	for _, r := range runs {
		if r == nil || r.Owner == nil {
			continue
		}
		if _, ok := out[r.Owner.Source]; !ok {
			out[r.Owner.Source] = proc.Look(*r.Owner, now)
		}
	}
	return out
}

// question collects from the runs what git is to be asked.
func question(runs []*reprise.Run, absent map[string]bool, opts Options) gitx.Ask {
	ask := gitx.Ask{Paths: opts.Paths}
	if len(ask.Paths) == 0 {
		if opts.Cheap {
			ask.Paths = StoryFolders(runs)
			for _, r := range runs {
				if r != nil && !r.Kind.Facts().Document && undated(r) {
					ask.Paths = append(ask.Paths, ownFiles(r)...)
				}
			}
		} else {
			ask.Paths = append(runPaths(runs), workFiles(runs)...)
			for name := range absent {
				ask.Paths = append(ask.Paths, name)
			}
			ask.Paths = inProject(ask.Paths)
		}
	}
	for _, r := range runs {
		if r == nil || !r.State.Open() {
			continue
		}
		list := r.Kind == reprise.KindTasks && (path.Ext(r.Path) == ".md" || len(r.Steps) == 0)
		if list {
			ask.Past = append(ask.Past, r.Path)
		}
	}
	ask.Paths = append(ask.Paths, inProject(slices.Clone(opts.Past))...)
	if opts.Cheap {
		ask.Heads = opts.Claimed
		// Whether work on a list was cut off, what nobody committed tells.
		ask.Changed = slices.ContainsFunc(runs, func(r *reprise.Run) bool {
			return r != nil && r.Kind == reprise.KindTasks && r.State.Begun()
		})
		return ask
	}
	// Runs that are still open first: what is bounded must not be used up by
	// the closed ones.
	ordered := slices.Clone(runs)
	ordered = slices.DeleteFunc(ordered, func(r *reprise.Run) bool { return r == nil })
	slices.SortStableFunc(ordered, func(a, b *reprise.Run) int {
		switch {
		case a.State.Open() == b.State.Open():
			return 0
		case a.State.Open():
			return -1
		}
		return 1
	})
	ask.Unmerged = runPaths(slices.DeleteFunc(slices.Clone(runs), func(r *reprise.Run) bool { return r == nil || !r.State.Open() }))
	ask.Unmerged = append(ask.Unmerged, inProject(opts.Away)...)
	for _, r := range ordered {
		if r.Branch != "" {
			ask.Branches = append(ask.Branches, r.Branch)
		}
		if r.Worktree != "" && (r.State.Open() || r.State == reprise.Complete) {
			ask.Worktrees = append(ask.Worktrees, r.Worktree)
		}
		for i := range r.Steps {
			ask.Hashes = append(ask.Hashes, r.Steps[i].Commits...)
			if a := r.Steps[i].Accepted; a != nil {
				ask.Hashes = append(ask.Hashes, a.Commit, a.Base)
			}
		}
	}
	return ask
}

// StoryFolders lists the folders that hold the files of stories and lists of tasks, the
// ones whose history orders them.
func StoryFolders(runs []*reprise.Run) []string {
	var out []string
	for _, r := range runs {
		if r != nil && (r.Kind.Facts().Document || r.Kind == reprise.KindTasks) && r.Path != "" {
			out = append(out, path.Dir(r.Path))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runPaths lists where the runs and what they refer to are.
func runPaths(runs []*reprise.Run) []string {
	out := StoryFolders(runs)
	for _, r := range runs {
		if r == nil {
			continue
		}
		out = append(out, r.Path)
		for i := range r.Steps {
			out = append(out, r.Steps[i].Path)
		}
		for _, a := range r.Artifacts {
			if a.Presence != reprise.Unchecked {
				out = append(out, a.Path)
			}
		}
	}
	return inProject(out)
}

// workFiles lists the files that the steps of open runs work on. Changes by others are
// reported.
func workFiles(runs []*reprise.Run) (out []string) {
	for _, r := range runs {
		if r == nil || !r.State.Open() {
			continue
		}
		for i := range r.Steps {
			out = append(out, r.Steps[i].Files...)
		}
	}
	return out
}

// inProject sorts paths, and leaves out those that are no paths of the project.
func inProject(all []string) []string {
	all = slices.DeleteFunc(all, func(p string) bool { return p == "" || path.IsAbs(p) || strings.HasPrefix(p, "../") })
	slices.Sort(all)
	return slices.Compact(all)
}

// judgeLock says who holds a lock on the index. Git may hold one without
// keeping the file open, while an editor waits for a person; so an unopened
// lock is only abandoned if no git works in the folder either and we see every
// process there is.
func judgeLock(root string, lock *reprise.LockFile) {
	file := filepath.Join(root, filepath.FromSlash(lock.Path))
	dirs := []string{root, filepath.Dir(file), filepath.Dir(filepath.Dir(file))}
	for i, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs[i] = real
		}
	}
	users := proc.WhoUses(file, "git", dirs...)
	lock.Holder, lock.Life, lock.Reason = verdict(users)
}
