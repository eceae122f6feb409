package reprise

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Observed is what the world outside the state files says, at one moment. It is plain
// data, so that deciding stays pure: the same Run and the same Observed give the same
// answer. Anything not looked at is nil or empty, never false.
type Observed struct {
	Now time.Time
	// Git is nil if there is no repository or it was not looked at.
	Git *Git
	// GitError says why git could not be asked. GitTodo is what a person can do about it
	// if there is a repository that git does not work with.
	GitError, GitTodo string
	// Astray are commits, by hash, whose work was accepted here but which are not in the
	// history where their run continues.
	Astray map[string]Astray
	// Taken are commits, by hash as they were accepted, that are in the history where their
	// run continues, or were made again there, and whose changes the run itself did not
	// replace, but something else took back.
	Taken map[string]Taken
	// Absent lists the files that done steps leave by their ledgers or name in their titles, and
	// that are not on disk where their run continues. It is nil if that was not looked at. Fates is
	// what git tells of those, as far as its history was looked through.
	Absent map[string]bool
	Fates  map[string]Fate
	// Unticked says of runs of which the files say that nothing is done why git shows work on them.
	Unticked map[Ref]string
	// Reverted tells of files by which commit they were last changed, where that only reverts an
	// earlier one, Of.
	Reverted map[string]Fate
	// Owners holds the recorded owners, by the place of the record.
	Owners map[Source]OwnerLife
	// Peers are all runs of the project, the examined one included.
	Peers []*Run
	// Sections lists, by path, the sections of a document that changed since the run
	// based on it was last active.
	Sections map[string][]SectionChange
	// Sessions are agent CLI sessions that worked in the project or one of its checkouts,
	// latest first. SessionsUnread says what was not read, and why.
	Sessions       []Session
	SessionsUnread []UnreadSession
	// Folder are the sessions of the folder itself and of what lies below it, as a quick look
	// finds them, too; FolderUnread is what that left out. They say nothing about runs.
	Folder       []Session
	FolderUnread []UnreadSession

	index *sessionIndex
}

// Fate is what became of a file.
type Fate struct {
	Ever    bool   // it was there once
	By      string // the commit of the head that took it away or reverted it, "" if none is known
	Of      string // the commit that By reverts, "" if it is no revert
	Loose   bool   // the head has it: it was deleted without a commit
	Renamed bool   // it has another name since
	Ignored bool   // git ignores it, so that nothing tells of it
	Bare    bool   // only a name without a folder, or without git: what it stands for is less sure
}

// SectionChange is a changed section of a Markdown document.
type SectionChange struct {
	Title   string // its current title, or the former one if it was removed
	Added   bool
	Removed bool
	Commit  string // the commit it is compared with
}

// OwnerLife is what is known of one recorded owner, and why.
type OwnerLife struct {
	Life   Life
	Reason string
}

// Git is the state of a repository. Paths are slash paths relative to the project folder;
// a path outside it begins with "../".
type Git struct {
	Head      string // the commit, "" if there is none yet
	Branch    string // short name, "" if detached
	Detached  bool
	Adrift    bool // detached, and no branch, here or of a remote, is known to reach the head
	Bare      bool
	Shallow   bool
	Operation string    // merge, rebase, cherry-pick, revert, bisect, am; "" if none is in progress
	IndexLock *LockFile // on the index, the head or the branch: nothing can be committed

	// Changed is uncommitted and untracked. Listed says that git listed all of it for this
	// checkout.
	Changed []Change
	Listed  bool
	// ChangedMore counts the changes beyond those listed.
	ChangedMore int
	// Untold says why git cannot list uncommitted changes in a checkout, by its path, "."
	// for this one: the index is damaged or may not be read.
	Untold map[string]string

	// Unheard says that git did not answer everything it was asked; GitError says what is
	// missing.
	Unheard bool

	Branches  []Branch
	Worktrees []Worktree
	// Broken are branches that point at no commit, as after a power cut.
	Broken    []string
	HasRemote bool
	// Unpushed counts commits on local branches that no remote has. It is meaningless
	// without a remote.
	Unpushed int

	// IndexAt, if it replaces Changed, is when git's index was last written: later writes
	// did not come from a checkout.
	IndexAt time.Time
	// Missing says, where Changed was not asked for, that a file of which it knows and in which a
	// program may keep its state is not there.
	Missing bool
	// AsHead says of files that were held against the head whether they are as it has them.
	AsHead map[string]bool

	// Commits are the latest of all local branches and of the upstream of the current one, as
	// it was last fetched, newest first, as far back as was read. Complete says whether that is the whole history.
	Commits  []Commit
	Complete bool
	// Dropped are the latest commits made here that no branch contains any more although
	// part of their changes is present. Commits that share a subject with one on a branch
	// are omitted: they were rebased or amended.
	Dropped []Commit
	// Undone are those of which nothing is left: every file is as it was before.
	Undone []Commit
	// Worked tells of runs when what their files say of them was last changed.
	Worked map[Ref]Worked `json:"-"`
	// Past holds, by path, earlier versions of task lists from the latest commits on the
	// head, newest first. Such a list does not itself say what was done last.
	Past map[string][]Version
	// Lost are the files that are missing in the checkout, as the head has them, and those
	// that end early in it, with what the head has after that end.
	Lost map[string][]byte
	// Unmerged are files of open runs on other local branches, and on the upstream of the current
	// one as the remote had it, that have commits changing them which the head does not have.
	Unmerged []Unmerged
	// Known says, for each hash recorded in a ledger, whether the repository has that
	// commit.
	Known map[string]bool
}

// PlaceOf is the checkout that a run continues in, "" for the one that is looked at. It is
// unknown where git does not have the one that the run names.
func (g *Git) PlaceOf(r *Run) (dir string, known bool) {
	own := r.Worktree != "" && path.Clean(r.Worktree) != "."
	if !own && (r.Branch == "" || r.Branch == g.Branch) {
		return "", true
	}
	i := slices.IndexFunc(g.Worktrees, func(w Worktree) bool {
		return !w.Gone && !w.Bare && (own && w.Path == path.Clean(r.Worktree) || !own && w.Branch == r.Branch)
	})
	if i < 0 {
		return "", !own
	}
	return g.Worktrees[i].Path, true
}

// Holds returns what reports whether a commit is in the history of where a run continues: in
// the checkout of its own if it has one, or else here. A run with a branch of its own continues
// there, wherever that is checked out, as long as there is that branch; if what it has cannot
// be told, any commit that a branch has counts.
func (g *Git) Holds(r *Run) func(c *Commit) bool {
	if r.Worktree == "" || path.Clean(r.Worktree) == "." {
		own := slices.ContainsFunc(g.Branches, func(b Branch) bool { return b.Name == r.Branch })
		return func(c *Commit) bool { return c.OnHead || own }
	}
	dir := path.Clean(r.Worktree)
	in := func(c *Commit) bool { return slices.Contains(c.In, dir) }
	if slices.ContainsFunc(g.Commits, func(c Commit) bool { return in(&c) }) {
		return in
	}
	return func(*Commit) bool { return true }
}

// Unmerged is what a branch, but not the head, has of open runs.
type Unmerged struct {
	Branch string
	At     time.Time // of the last commit that changed any of it
	Files  map[string][]byte
}

// Version is a file as a commit left it.
type Version struct {
	Commit  string
	Content []byte
}

// Unchanged reports whether a file last written at a given time is as git has it. It is
// false if unknown.
func (g *Git) Unchanged(name string, written time.Time) bool {
	if same, asked := g.AsHead[name]; asked {
		return same
	}
	if !g.IndexAt.IsZero() {
		return !written.After(g.IndexAt)
	}
	return g.ChangedMore == 0 && !slices.ContainsFunc(g.Changed, func(c Change) bool {
		return c.Path == name || strings.HasPrefix(name, strings.TrimSuffix(c.Path, "/")+"/")
	})
}

// Worked is the last change of a run's files that changed what they say of it.
type Worked struct {
	// At is when it was made. It is zero if the history does not reach back that far.
	At time.Time
	// Added is set if no such change is known: files were only added, as an import does it, or
	// touched. At is then no later than the last of these.
	Added bool
}

// LastActivity returns when a run was last active. What its files record counts before what
// git tells, unless that is work: a day on record says no hour, and an import, a licence
// header or a checkout is no activity. The time of a file counts only where git knows
// nothing better.
func (g *Git) LastActivity(r *Run) time.Time {
	w, known := g.Worked[r.Ref]
	if file := r.LastActivitySource.Line == 0; known && (file && w.At.Before(r.LastActivity) || !file && !w.Added && w.At.After(r.LastActivity)) {
		return w.At
	}
	return r.LastActivity
}

// Made returns when the content of a commit was made. One that is amended or rebased gets a new
// date and keeps its author's: the earlier one counts.
func (c *Commit) Made() time.Time {
	if !c.Authored.IsZero() && c.Authored.Before(c.At) {
		return c.Authored
	}
	return c.At
}

// ContentAt returns when a commit last changed a file's content, under whatever name. The
// time is zero if the listed commits do not reach back that far; listed is false if none
// of them mentions the file.
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

// Astray is a commit that is not in the history where its run continues, with what is
// nevertheless present of it: the numbers of files that are as it left them, as they were
// before it, or neither. All are zero if unknown.
type Astray struct {
	Branch              string // a branch that has it, "" if none does
	Here, Undone, Other int
}

// Taken is what became of a commit of which something was taken back.
type Taken struct {
	Gone   []string // files that it wrote and that are gone, under any name
	Back   []string // files that are as they were before it, or empty
	Open   []string // those of them that are so without a commit
	Left   int      // how many more files it changed
	Here   int      // how many of these are as it left them
	Revert string   // the commit that reverts Of, of which nothing is here; "" if none does
	Of     string   // the commit of the step that Revert is about
	Dir    string   // the checkout that was looked at, "" for the project
}

// LockFile is a lock that a program left or holds.
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
	Added     bool // staged, and no file of the head
	Deleted   bool
	Worktree  string // the checkout it is in, "" for the project's own
	// At is when a file was last written, zero if unknown.
	At time.Time `json:"-"`
}

// Says says what git shows of the file.
func (c Change) Says() string {
	switch {
	case c.Conflict:
		return c.Path + " is in conflict"
	case c.Untracked:
		return c.Path + " is new and in no commit"
	}
	return c.Path + " is changed and not committed"
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
	Gone     bool // git lists it, but its folder is missing
	Main     bool
}

// Commit is one commit.
type Commit struct {
	Hash     string
	At       time.Time
	Authored time.Time // when its changes were first committed, as far as it tells
	Subject  string
	Branch   string // a branch that reaches it
	OnHead   bool   // the current branch reaches it
	// In are the checkouts, of those that were asked about, whose head reaches it, by path.
	In    []string
	Steps []string
	// Files are the paths it changed, if requested. A commit at the edge of a shallow
	// clone lists everything it contains: which files it changed is unknown.
	Files []FileChange
	// Brought are the files that it made as accepted steps left them in commits that are not
	// in the history here.
	Brought []string
	Merge   bool
	Edge    bool
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
	if g == nil || r.Branch != "" && r.Branch != g.Branch || r.Worktree != "" && path.Clean(r.Worktree) != "." {
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
