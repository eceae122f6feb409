package reprise

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Observed is what the world says beside the state files, at one moment. It is
// plain data, so that deciding stays pure: the same Run and the same Observed
// give the same answer. What was not looked at is nil or empty, never false.
type Observed struct {
	Now time.Time
	// Git is nil where there is no repository, or it was not looked at.
	Git *Git
	// GitError says why git could not be asked, if it could not. GitTodo is what a person
	// can do about it where there is a repository and git does not work with it.
	GitError, GitTodo string
	// Astray are the commits that hold work which was accepted here and that are not in
	// the history of where their run continues, by hash.
	Astray map[string]Astray
	// Removed are, by a commit that is the last one made for a run, the files that it has and
	// that are gone since, under any name. Wrote are, by a commit that holds accepted work, the
	// files that it wrote, where some of them may be among those.
	Removed, Wrote map[string][]string
	// Owners tells of the recorded owners, by the place of the record.
	Owners map[Source]OwnerLife
	// Peers are all runs of the project, the examined one included.
	Peers []*Run
	// Sections tells, by path, which sections of a document changed since the
	// run that rests on it was last active.
	Sections map[string][]SectionChange
	// Sessions are those of agent CLIs that worked in the project or in a
	// checkout of it, the latest first; SessionsUnread says what was not looked
	// at, and why.
	Sessions       []Session
	SessionsUnread []UnreadSession
}

// SectionChange is a section of a Markdown document that is not what it was.
type SectionChange struct {
	Title   string // as it stands now, or stood before if it was removed
	Added   bool
	Removed bool
	Commit  string // the state it is compared with
}

// OwnerLife is what is known of one recorded owner, and why.
type OwnerLife struct {
	Life   Life
	Reason string
}

// Git is a repository as it stands. Paths are slash paths relative to the
// project folder; a path outside of it begins with "../".
type Git struct {
	Head      string // the commit, "" if there is none yet
	Branch    string // short name, "" if detached
	Detached  bool
	Bare      bool
	Shallow   bool
	Operation string    // merge, rebase, cherry-pick, revert, bisect, am; "" if none is under way
	IndexLock *LockFile // on the index, the head or the branch: nothing can be committed

	Changed []Change // uncommitted and untracked
	// ChangedMore is how many further changes there are beyond those listed.
	ChangedMore int
	// Untold says why git refuses to tell what is not committed in a checkout, by its
	// path, "." for this one: its index is damaged or may not be read.
	Untold map[string]string

	// Unheard tells that git did not answer all that it was asked; GitError says what is
	// missing.
	Unheard bool

	Branches  []Branch
	Worktrees []Worktree
	// Broken are branches that a power cut left pointing at no commit.
	Broken    []string
	HasRemote bool
	// Unpushed counts commits on local branches that no remote has; it is
	// meaningless without a remote.
	Unpushed int

	// IndexAt is when git's index was last written, where that stands in for Changed:
	// what was written later was not checked out.
	IndexAt time.Time

	// Commits are the latest of all local branches, newest first, as far back
	// as was looked; Complete tells whether that is all of the history.
	Commits  []Commit
	Complete bool
	// Dropped are the latest commits that were made here and are on no branch any longer,
	// while something of what they changed is here. Those whose subject a commit on a branch
	// has are left out: they were rebased or amended.
	Dropped []Commit
	// Past is what the latest commits on the head left of lists of tasks with check
	// boxes, by path, the newest first. Such a list does not say itself what was
	// done last.
	Past map[string][]Version
	// Lost are the files of which the checkout has less than the head, as the head has
	// them: they are missing, or end where the head's version continues.
	Lost map[string][]byte
	// Unmerged are files of open runs as other local branches have them, where commits
	// that the head does not have changed them.
	Unmerged []Unmerged
	// Known tells for the hashes that ledgers record whether the repository
	// has such a commit.
	Known map[string]bool
}

// Unmerged is what a branch has of open runs that the head does not have.
type Unmerged struct {
	Branch string
	At     time.Time // of the last commit that changed some of it
	Files  map[string][]byte
}

// Version is a file as a commit left it.
type Version struct {
	Commit  string
	Content []byte
}

// Unchanged reports whether a file that was last written at some time is as git has it.
// It is false where that is not known.
func (g *Git) Unchanged(name string, written time.Time) bool {
	if !g.IndexAt.IsZero() {
		return !written.After(g.IndexAt)
	}
	return g.ChangedMore == 0 && !slices.ContainsFunc(g.Changed, func(c Change) bool {
		return c.Path == name || strings.HasPrefix(name, strings.TrimSuffix(c.Path, "/")+"/")
	})
}

// LastActivity is when a run was last active that knows it by the time of a file alone,
// where git tells better. known is false where the time does not rest on a file that is
// as git has it.
func (g *Git) LastActivity(r *Run) (at time.Time, known bool) {
	file := r.LastActivitySource
	if file.File == "" || file.Line != 0 || !g.Unchanged(file.File, r.LastActivity) {
		return time.Time{}, false
	}
	if at, listed := g.ContentAt(file.File); listed && at.Before(r.LastActivity) {
		return at, true
	}
	return r.LastActivity, true
}

// ContentAt tells when a commit last changed what a file holds, whatever its name was
// then. The time is zero if the commits that are listed do not reach that far; listed
// is false if none of them tells of the file.
func (g *Git) ContentAt(name string) (at time.Time, listed bool) {
	for _, c := range g.Commits {
		i := slices.IndexFunc(c.Files, func(f FileChange) bool { return f.Path == name })
		if i < 0 {
			continue
		}
		listed = true
		switch f := c.Files[i]; {
		case c.Edge:
			return time.Time{}, true
		case !f.Same:
			return c.At, true
		default:
			name = f.From
		}
	}
	return time.Time{}, listed
}

// Astray is a commit that is not in the history of where its run continues, and what is
// there of it all the same: files that it changed are as it left them, as they were
// before it, or neither. All are zero where that cannot be told.
type Astray struct {
	Branch              string // one that has it, "" if none does
	Here, Undone, Other int
}

// LockFile is a lock some program left or holds.
type LockFile struct {
	Path   string
	Since  time.Time
	Holder string // the process that has it open, "" if none was found
	Life   Life
	Reason string
}

// Change is one uncommitted file.
type Change struct {
	Path      string
	Untracked bool
	Conflict  bool
	Staged    bool
	Worktree  string // the checkout it is in, "" for the project's own
}

// Branch is one local branch.
type Branch struct {
	Name          string
	Head          string
	Upstream      string
	Gone          bool // its upstream was deleted
	Ahead, Behind int
}

// Worktree is one checkout of the repository.
type Worktree struct {
	Path     string
	Head     string
	Branch   string
	Detached bool
	Bare     bool
	Locked   bool
	LockWhy  string
	Gone     bool // git lists it, its folder is not there
	Main     bool
}

// Commit is one commit.
type Commit struct {
	Hash    string
	At      time.Time
	Subject string
	Branch  string // a branch that reaches it
	OnHead  bool   // the current branch reaches it
	Steps   []string
	// Files are the paths it changed, where that was asked for. A commit at the edge of a
	// shallow clone lists all that it holds: which of them it changed is not known.
	Files []FileChange
	Merge bool
	Edge  bool
}

// FileChange is what a commit did to one file.
type FileChange struct {
	Path  string
	From  string // the old name of a renamed file
	Same  bool   // only its name changed
	Added bool
}

// Made reports whether a commit is one of the run: it changed the state of the run as well,
// or names it or one of its steps.
func (r *Run) Made(c Commit) bool {
	if slices.ContainsFunc(c.Files, func(f FileChange) bool { return Within(f.Path, r.Path) || Within(f.From, r.Path) }) {
		return true
	}
	if slices.ContainsFunc(c.Steps, func(value string) bool {
		run, _, _, _, ok := TrailerStep(value)
		return ok && run == TrailerWord(r.ID)
	}) {
		return true // an attempt at it made the commit, before a fresh start perhaps
	}
	return slices.ContainsFunc(r.Steps, func(s Step) bool {
		return s.ID != "" && slices.Contains(c.Steps, s.ID) ||
			slices.ContainsFunc(s.Commits, func(h string) bool { return len(h) >= 7 && strings.HasPrefix(c.Hash, h) }) ||
			slices.ContainsFunc(s.Traces, func(t Trace) bool { return t.in(c) })
	})
}

func (t Trace) in(c Commit) bool {
	if t.Subject == "" || c.At.Before(t.Since) {
		return false
	}
	if t.Anywhere {
		return strings.Contains(c.Subject, t.Subject)
	}
	return strings.HasPrefix(c.Subject, t.Subject)
}

// LastMade is the last commit of the run in what is checked out, "" where there is none, or
// the run continues in another checkout.
func (r *Run) LastMade(g *Git) string {
	if g == nil || r.Branch != "" || r.Worktree != "" && path.Clean(r.Worktree) != "." {
		return ""
	}
	i := slices.IndexFunc(g.Commits, func(c Commit) bool { return c.OnHead && r.Made(c) })
	if i < 0 {
		return ""
	}
	return g.Commits[i].Hash
}

// Within reports whether a path is a folder or lies in it.
func Within(p, folder string) bool {
	if p == "" || folder == "" {
		return false
	}
	p, folder = path.Clean(p), path.Clean(folder)
	return p == folder || strings.HasPrefix(p, folder+"/")
}
