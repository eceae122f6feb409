package gitx

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reprise"
)

// Peek is for answers that must be quick: what git's plain files tell, one process for
// a log of the commits on the head that touched ask.Paths, one for the earlier names of the
// files they added, two more each time that there are such, and one for what the head has of
// ask.Heads, one for what is missing, and one for what is uncommitted, beside what ask.Then asks; none at all without any. Unless
// that is asked for, IndexAt stands in for Changed; Branches, Known and Unpushed stay empty and Complete
// false: they were not looked at.
//
// One more lists git's settings first, as in Open.
func Peek(ctx context.Context, dir string, ask Ask, opts Options) (*reprise.Git, []string, error) {
	real, err := realDir(dir)
	if err != nil {
		return nil, nil, &NoAnswerError{AbsPath(dir), err}
	}
	p, err := findGitDir(real)
	switch {
	case err != nil || p.kind == placeUnknown:
		return nil, nil, &RefusedError{Dir: AbsPath(real), Reason: fmt.Sprintf("its git folder cannot be read: %v", err)}
	case p.kind == placeNone:
		return nil, nil, fmt.Errorf("open repository %s: %w", real, ErrNone)
	case p.kind == placeBare:
		return nil, nil, bareRefusal(real)
	}
	rel := func(abs string) string { return relAbs(real, abs) }
	git := &reprise.Git{Operation: Operation(AbsPath(p.gitDir)), IndexLock: lockOf(p.gitDir, p.commonDir, rel), Worktrees: worktreesFromFiles(p, rel)}
	git.Branch, git.Head = headFile(p.gitDir)
	git.Detached = git.Head != ""
	if git.Branch != "" {
		git.Head = refFile(p.commonDir, git.Branch)
	}
	if info, err := os.Stat(filepath.Join(p.gitDir, "index")); err == nil {
		git.IndexAt = info.ModTime()
	}
	if info, err := os.Stat(filepath.Join(p.commonDir, "shallow")); err == nil {
		git.Shallow = info.Size() > 0
	}
	r := &Repo{location: location{dir: real, prefix: slashPrefix(p.top, real)}}
	ask = ask.clean(r.prefix)
	if !ask.Missing && !ask.Changed && len(ask.Paths)+len(ask.Heads) == 0 || git.Head == "" && !exists(filepath.Join(p.commonDir, "reftable")) {
		return git, nil, nil
	}
	if r.git, err = newRunner(real, opts); err == nil {
		r.git, _, err = r.git.neutral(ctx, real, p)
	}
	if err != nil {
		return git, []string{"the history was not looked at: " + err.Error()}, nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.heads(ctx, git, ask.Heads) })
	wg.Go(func() {
		if ask.Changed {
			r.peekChanged(ctx, p, git, ask.MaxChanges)
		}
		if ask.Missing && git.Listed && git.ChangedMore == 0 {
			git.Missing = slices.ContainsFunc(git.Changed, func(c reprise.Change) bool { return c.Deleted && !c.Added && ofState(c.Path) })
		} else if ask.Missing {
			r.peekMissing(ctx, git)
		}
	})
	if len(ask.Paths) > 0 {
		r.peekLog(ctx, p, git, ask)
	}
	wg.Wait()
	if ask.Then != nil {
		ask.Then(r, git)
	}
	return git, r.skipped, nil
}

// peekChanged adds what is uncommitted in this checkout.
func (r *Repo) peekChanged(ctx context.Context, p place, git *reprise.Git, most int) {
	var st status
	err := errSplit
	if !splitIndex(p.gitDir) {
		st, err = r.git.status(ctx, most, "normal", "dirty")
	}
	r.missed("uncommitted changes were not fully looked at", err)
	git.Changed, git.ChangedMore, git.Listed = r.changes(&st), st.more, err == nil
}

// changes are what git listed as uncommitted, seen from this folder, with the time at which each
// was last written. Of a folder that git does not know it is that of the latest of what is in it.
func (r *Repo) changes(st *status) (out []reprise.Change) {
	room := maxWritten
	for _, c := range st.changes {
		c.Path = relSlash(r.prefix, c.Path)
		c.At = lastWritten(filepath.Join(r.dir, filepath.FromSlash(c.Path)), &room)
		out = append(out, c)
	}
	return out
}

// maxWritten bounds how many files are asked when they were last written.
const maxWritten = 1000

// lastWritten is when a file, or the latest of what is in a folder, was last written; zero if unknown.
func lastWritten(name string, room *int) (at time.Time) {
	err := filepath.WalkDir(name, func(_ string, e fs.DirEntry, err error) error {
		if *room--; err != nil || *room < 0 {
			return cmp.Or(err, errEnough)
		}
		info, err := e.Info()
		if err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
		return err
	})
	if err != nil {
		return time.Time{}
	}
	return at
}

// peekMissing says whether a file of state that the head has is not there, or not in the index:
// a removal that nobody committed may be staged.
func (r *Repo) peekMissing(ctx context.Context, git *reprise.Git) {
	names, err := r.git.names(ctx, "diff-index", "-z", "--name-only", "--diff-filter=D", "--no-renames", "--ignore-submodules=all", "--relative", "HEAD", "--")
	r.missed("whether files of state are missing was not looked at", r.refusal(err))
	git.Missing = slices.ContainsFunc(names, ofState)
}

// ofState reports whether a file in this folder may be one of state.
func ofState(name string) bool {
	return filepath.IsLocal(name) && slices.Contains(stateTypes, path.Ext(name))
}

// peekLog adds the commits on the head that touched ask.Paths, and what they left of files. A
// log of paths tells a file that comes from elsewhere as an added one, so it is asked again with
// the earlier names of those.
func (r *Repo) peekLog(ctx context.Context, p place, git *reprise.Git, ask Ask) {
	packs, _ := filepath.Glob(filepath.Join(globQuote(p.commonDir), "objects", "pack", "*.promisor"))
	args := []string{"--name-status", renames(len(packs) > 0), "--max-count=" + strconv.Itoa(ask.MaxFileCommits), "HEAD", "--"}
	asked := map[string]bool{}
	for range maxRenames {
		a := answers{files: map[string][]reprise.FileChange{}}
		err := r.log(ctx, r.git.stream, nil, func(e entry) { a.log, a.files[e.Hash] = append(a.log, e), e.Files }, append(args, ask.Paths...)...)
		r.missed("the history was not fully looked at", r.refusal(err))
		git.Commits = nil
		for _, e := range a.log {
			e.OnHead, e.Branch, e.Edge = true, git.Branch, git.Shallow && len(e.parents) == 0
			git.Commits = append(git.Commits, e.Commit)
		}
		from, err := r.renamed(ctx, r.git.stream, &a, asked)
		r.missed("the earlier names of files were not fully looked at", r.refusal(err))
		if len(from) == 0 {
			break
		}
		ask.Paths = merge(append(ask.Paths, from...))
	}
	r.past(ctx, git, ask.Past)
}

// heads says which of the files are as the head has them, and adds to what is lost those
// that end early. It starts one process, and one more where a file is not as the head has it.
func (r *Repo) heads(ctx context.Context, git *reprise.Git, files []string) {
	missed := func(what string, err error) {
		r.missed(what, err)
		git.Unheard = git.Unheard || err != nil
	}
	want := map[string]string{} // by what git calls them
	args := []string{"ls-tree", "-z", "--full-tree", "HEAD", "--"}
	for _, name := range files {
		full := path.Clean(r.prefix + name)
		if strings.HasPrefix(full, "../") {
			continue
		}
		if len(want) == maxHeads {
			missed("whether files of state are as they were committed was not fully looked at", fmt.Errorf("there are more than %d", maxHeads))
			break
		}
		want[full] = name
		if dir := path.Dir(full); dir == "." {
			args = append(args, full)
		} else if dir += "/"; args[len(args)-1] != dir {
			args = append(args, dir)
		}
	}
	if len(want) == 0 {
		return
	}
	was, same := map[string]string{}, map[string]bool{}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		missed("whether files of state are as they were committed was not looked at", err)
		return
	}
	defer root.Close()
	err = words(ctx, r.git.stream, nil, func(line string, _ *fields) error {
		about, full, _ := strings.Cut(line, "\t")
		part := strings.Fields(about)
		name, asked := want[full]
		if !asked || len(part) != 3 || !strings.HasPrefix(part[0], "100") {
			return nil
		}
		if same[name] = blobAt(root, Edited{Name: name, Is: part[2]}) == part[2]; !same[name] {
			was[name] = part[2]
		}
		return nil
	}, args...)
	missed("whether files of state are as they were committed was not fully looked at", r.refusal(err))
	git.AsHead = same
	r.lost(ctx, git, was)
}

// slashPrefix is dir below top in the form git gives it.
func slashPrefix(top, dir string) string {
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}
