package gitx

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reprise"
)

// answers are the parts as they come in; each is written by one goroutine.
type answers struct {
	status    status
	changes   []reprise.Change  // of other checkouts
	otherWas  map[string]string // as status.was, of other checkouts
	more      int
	failed    error            // why status failed
	failures  map[string]error // why it failed in other checkouts
	refs      refs
	upstream  ref            // of the branch that is checked out, as its remote had it; its name is "" if it has none
	track     map[string]ref // those whose distance to their upstream was asked for
	worktrees []reprise.Worktree
	log       []entry
	logDone   bool
	files     map[string][]reprise.FileChange
}

// Gather asks for everything at once: at most fifteen processes, two more each time that
// files were found to be renamed, and two more
// for each of at most eight other checkouts, whatever is asked. The strings say
// what could not be looked at and why; the rest of the answer holds.
//
// An ended context leaves parts out like any other failure.
func (r *Repo) Gather(ctx context.Context, ask Ask) (*reprise.Git, []string) {
	ask = ask.clean(r.prefix)
	var (
		a   = answers{otherWas: map[string]string{}, failures: map[string]error{}}
		git = &reprise.Git{Head: r.head, Bare: r.bare, Shallow: r.shallow, HasRemote: r.hasRemote}
		wg  sync.WaitGroup
	)
	wg.Go(func() { r.askStatus(ctx, ask, &a) })
	refs := make(chan struct{}) // closed once the upstream is known, at which the history is asked for too
	wg.Go(func() {
		<-refs
		r.askLog(ctx, ask, &a)
	})
	wg.Go(func() {
		<-refs
		r.askFiles(ctx, ask, &a)
	})
	wg.Go(func() {
		r.askRefs(ctx, &a)
		close(refs)
		r.askTrack(ctx, ask, &a)
		r.askUnpushed(ctx, git)
	})
	wg.Go(func() {
		r.askWorktrees(ctx, &a)
		r.askOthers(ctx, ask, &a)
	})
	wg.Wait()
	r.askKnown(ctx, ask.Hashes, a.log, git)
	r.askRenamed(ctx, ask, &a)
	r.assemble(git, ask, &a)
	r.past(ctx, git, ask.Past)
	r.unmerged(ctx, git, ask, &a)
	was := a.otherWas
	for name, object := range a.status.was {
		was[relSlash(r.prefix, name)] = object
	}
	r.lost(ctx, git, was)
	if ask.Then != nil {
		ask.Then(r, git)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	git.Unheard = r.unheard
	return git, slices.Sorted(slices.Values(r.skipped))
}

// status asks git what is not committed and keeps the first max changes.
// untracked and submodules are git's words for how much is said of those.
func (g *runner) status(ctx context.Context, max int, untracked, submodules string) (status, error) {
	read := func(in *bufio.Reader) (status, error) { return readStatus(in, max) }
	return query(ctx, g.stream, read, "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files="+untracked, "--ignore-submodules="+submodules)
}

// errSplit tells why a checkout with a split index is not looked at.
var errSplit = errors.New("the index is split, and git would write to it")

func (r *Repo) askStatus(ctx context.Context, ask Ask, a *answers) {
	if r.bare {
		return
	}
	if splitIndex(r.gitDir) {
		r.missed("uncommitted changes were not looked at", errSplit)
		return
	}
	var err error
	if a.status, err = r.git.status(ctx, ask.MaxChanges, "normal", "dirty"); err != nil {
		a.failed = err
		r.missed("uncommitted changes were not fully looked at", err)
	}
}

// log hands over the commits that git log lists, with the files that it is to list seen from
// this folder. input is given on stdin.
func (r *Repo) log(ctx context.Context, ask asking, input []byte, each func(entry), args ...string) error {
	return ask(ctx, input, func(in *bufio.Reader) error {
		return readLog(in, func(e entry) {
			e.Files = r.relFiles(e.Files)
			each(e)
		})
	}, append([]string{
		"log", "-z", logFormat, "--encoding=UTF-8", "--no-color", "--no-decorate", "--no-notes", "--no-show-signature",
		"--no-ext-diff", "--no-textconv", "--no-diff-merges", "--no-relative", "--no-mailmap",
	}, args...)...)
}

// touched hands over the commits that changed files below the paths, and these files.
func (r *Repo) touched(ctx context.Context, ask Ask, a *answers, paths []string, each func(entry)) error {
	args := append([]string{"--ignore-missing", "--name-status", renames(r.partial), "--max-count=" + strconv.Itoa(ask.MaxFileCommits)}, r.tips(a)...)
	return r.log(ctx, r.git.history, nil, each, append(append(args, "--"), paths...)...)
}

// tips are what the history is walked from: all branches, the upstream of the current one,
// this head, and the detached heads of other checkouts.
func (r *Repo) tips(a *answers) []string {
	out := []string{"--branches"}
	if a.upstream.name != "" {
		out = append(out, a.upstream.name)
	}
	if r.head != "" {
		out = append(out, r.head)
	}
	for i, l := range linked(r.commonDir) {
		if l.Commit != "" && i < maxTracked {
			out = append(out, l.Commit)
		}
	}
	return out
}

func (r *Repo) askLog(ctx context.Context, ask Ask, a *answers) {
	args := append([]string{"--ignore-missing", "--max-count=" + strconv.Itoa(ask.MaxCommits)}, r.tips(a)...)
	err := r.log(ctx, r.git.history, nil, func(e entry) { a.log = append(a.log, e) }, append(args, "--")...)
	r.missed("the history was not fully looked at", err)
	a.logDone = err == nil && len(a.log) < ask.MaxCommits
}

func (r *Repo) askFiles(ctx context.Context, ask Ask, a *answers) {
	if len(ask.Paths) == 0 || r.head == "" {
		return
	}
	a.files = map[string][]reprise.FileChange{}
	err := r.touched(ctx, ask, a, ask.Paths, func(e entry) { a.files[e.Hash] = e.Files })
	r.missed("the files that commits changed were not fully looked at", err)
}

// renames says how renamed files are told. Similar files can only be told by
// their content, which a partial clone may not have; equal ones by their hash.
func renames(partial bool) string {
	if partial {
		return "-M100%"
	}
	return "-M"
}

func (r *Repo) relFiles(files []reprise.FileChange) []reprise.FileChange {
	for i := range files {
		files[i].Path = relSlash(r.prefix, files[i].Path)
		if files[i].From != "" {
			files[i].From = relSlash(r.prefix, files[i].From)
		}
	}
	return files
}

func (r *Repo) askRefs(ctx context.Context, a *answers) {
	var err error
	a.refs, err = query(ctx, r.git.theirs().history, readRefs, "for-each-ref", refFormat, "refs/heads", "refs/remotes")
	if err != nil {
		r.missed("branches were not fully looked at", err)
		a.refs.more = true
		return
	}
	current, _ := headFile(r.gitDir)
	of := func(name string) int {
		return slices.IndexFunc(a.refs.list, func(at ref) bool { return at.name == name })
	}
	if at := of("refs/heads/" + current); at >= 0 {
		if at = of(a.refs.list[at].upstream); at >= 0 && strings.HasPrefix(a.refs.list[at].name, remotes) {
			a.upstream = a.refs.list[at]
		}
	}
}

func (r *Repo) askTrack(ctx context.Context, ask Ask, a *answers) {
	current, _ := headFile(r.gitDir)
	args := []string{"for-each-ref", trackFormat}
	for _, ref := range a.refs.list {
		name, local := strings.CutPrefix(ref.name, "refs/heads/")
		if local && ref.upstream != "" && (name == current || slices.Contains(ask.Branches, name)) && validBranch(name) {
			args = append(args, ref.name)
		}
	}
	if len(args) == 2 {
		return
	}
	track, err := query(ctx, r.git.theirs().history, readRefs, args...)
	r.missed("how far branches are from their upstream was not looked at", err)
	a.track = map[string]ref{}
	for _, ref := range track.list {
		a.track[ref.name] = ref
	}
}

func (r *Repo) askUnpushed(ctx context.Context, git *reprise.Git) {
	if !r.hasRemote {
		return
	}
	count, err := r.git.line(ctx, "rev-list", "--count", "--branches", "--not", "--remotes", "--")
	if err == nil {
		git.Unpushed, err = strconv.Atoi(count)
	}
	r.missed("unpushed commits were not counted", err)
}

// askKnown tells which commits on record there are, and asks for those that the history did
// not list.
func (r *Repo) askKnown(ctx context.Context, asked []string, log []entry, git *reprise.Git) {
	git.Known = make(map[string]bool, len(asked))
	listed := make(map[string]bool, len(log))
	for _, e := range log {
		listed[e.Hash] = true
	}
	asked = slices.DeleteFunc(slices.Clone(asked), func(name string) bool {
		if listed[name] {
			git.Known[name] = true
		}
		return listed[name]
	})
	if len(asked) == 0 {
		return
	}
	err := r.git.stream(ctx, lines(asked), func(in *bufio.Reader) error { return readKnown(in, asked, git.Known) },
		"cat-file", "--batch-check=%(objectname) %(objecttype)")
	r.missed("commits on record were not fully looked for", err)
}

func (r *Repo) askWorktrees(ctx context.Context, a *answers) {
	if w, ok := r.onlyCheckout(); ok {
		a.worktrees = []reprise.Worktree{w}
		return
	}
	list := func(end byte, args ...string) (err error) {
		read := func(in *bufio.Reader) ([]reprise.Worktree, error) { return readWorktrees(in, end) }
		a.worktrees, err = query(ctx, r.git.theirs().stream, read, append([]string{"worktree", "list", "--porcelain"}, args...)...)
		return err
	}
	err := list(0, "-z")
	if failed, ok := errors.AsType[*callError](err); ok && strings.Contains(failed.stderr, "unknown switch") {
		err = list('\n') // before git 2.36
	}
	r.missed("worktrees were not fully looked at", err)
}

// onlyCheckout is the checkout of a repository that has no other, as git would list it;
// false where plain files do not tell that.
func (r *Repo) onlyCheckout() (reprise.Worktree, bool) {
	_, err := os.Lstat(filepath.Join(r.commonDir, "worktrees"))
	if !errors.Is(err, fs.ErrNotExist) || r.bare || r.commonDir != filepath.Join(r.top, ".git") {
		return reprise.Worktree{}, false
	}
	branch, commit := headFile(r.gitDir)
	head, plain := plainHead(r.location, len(r.head))
	return reprise.Worktree{Path: r.top, Head: head, Branch: branch, Detached: commit != "", Main: true}, plain
}

// askOthers looks for uncommitted changes in the other checkouts asked for.
// Each has settings of its own.
func (r *Repo) askOthers(ctx context.Context, ask Ask, a *answers) {
	for _, w := range a.worktrees {
		rel := relAbs(r.dir, w.Path)
		if w.Gone || w.Bare || !slices.Contains(ask.Worktrees, rel) || sameFile(w.Path, r.top) {
			continue
		}
		st, err := r.otherStatus(ctx, w.Path, ask.MaxChanges)
		if err != nil {
			a.failures[rel] = err
			r.missed("uncommitted changes in "+rel+" were not fully looked at", err)
		}
		for _, c := range st.changes {
			c.Path, c.Worktree = rel+"/"+c.Path, rel
			a.changes = append(a.changes, c)
		}
		for name, object := range st.was {
			a.otherWas[rel+"/"+name] = object
		}
		a.more += st.more
	}
}

func (r *Repo) otherStatus(ctx context.Context, dir string, max int) (st status, err error) {
	// A folder that lost its .git file would be answered for by whatever
	// repository it lies in.
	p, err := r.checkout("look at", dir)
	if err != nil {
		return st, err
	}
	if splitIndex(p.gitDir) {
		return st, errSplit
	}
	git, _, err := r.git.neutral(ctx, p.top, p)
	if err != nil {
		return st, err
	}
	return git.status(ctx, max, "normal", "dirty")
}

// assemble completes the domain's picture by the parts.
func (r *Repo) assemble(git *reprise.Git, ask Ask, a *answers) {
	git.Operation = Operation(AbsPath(r.gitDir))
	git.IndexLock = lockOf(r.gitDir, r.commonDir, func(p string) string { return relAbs(r.dir, p) })
	git.Complete = a.logDone && !r.shallow
	git.ChangedMore = a.status.more + a.more
	git.Untold = a.untold()
	git.Branch, git.Detached = r.branch(&a.status)
	git.Listed = !r.bare && !splitIndex(r.gitDir) && a.failed == nil
	git.Changed = append(r.changes(&a.status), a.changes...)
	if over := len(git.Changed) - ask.MaxChanges; over > 0 {
		git.Changed, git.ChangedMore = git.Changed[:ask.MaxChanges], git.ChangedMore+over
	}
	git.Branches, git.Broken = branches(a), r.BrokenBranches()
	for _, w := range a.worktrees {
		w.Path = relAbs(r.dir, w.Path)
		git.Worktrees = append(git.Worktrees, w)
	}
	git.Commits = r.commits(git, ask, a)
	git.Dropped = r.dropped(git.Commits)
}

// untold tells where git itself refused to say what is not committed. A call that took
// too long is not one of them: git may well work there.
func (a *answers) untold() map[string]string {
	a.failures["."] = a.failed
	out := map[string]string{}
	for checkout, err := range a.failures {
		if exitCode(err) > 0 {
			out[checkout] = err.Error()
		}
	}
	return out
}

// branch prefers what status saw; in a bare repository, without status, or where git
// cannot read the branch, it is what the file says.
func (r *Repo) branch(st *status) (string, bool) {
	if st.branch != "" && st.branch != "(unknown)" || st.detached {
		return st.branch, st.detached
	}
	branch, commit := headFile(r.gitDir)
	return branch, commit != ""
}

func branches(a *answers) []reprise.Branch {
	have := make(map[string]bool, len(a.refs.list))
	for _, ref := range a.refs.list {
		have[ref.name] = true
	}
	var out []reprise.Branch
	for _, ref := range a.refs.list {
		name, local := strings.CutPrefix(ref.name, "refs/heads/")
		if !local {
			continue
		}
		b := reprise.Branch{Name: name, Head: ref.hash, Ahead: a.track[ref.name].ahead, Behind: a.track[ref.name].behind}
		if ref.upstream != "" {
			b.Upstream = strings.TrimPrefix(strings.TrimPrefix(ref.upstream, "refs/remotes/"), "refs/heads/")
			b.Gone = !have[ref.upstream] && !a.refs.more
		}
		out = append(out, b)
	}
	return out
}
