package engine

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/project"
)

// tookBack tells that the commit which an attempt began on is no longer on its branch, as
// after `git reset`, an amended commit or a rebase: someone's work may be gone from there,
// and what the attempt left may be an older state. It is nil where the commit is still
// there, or the attempt began on none. In another clone the branch may be missing or behind:
// what is checked out there has the commit. A git that does not answer is an error.
func (w *work) tookBack(ctx context.Context, f *Attempt) (*Wrote, error) {
	if w.repo == nil || f.Head == "" || f.Dir == "" {
		return nil, nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if repo == nil || err != nil {
		return nil, nil // nothing can be committed there either, which is told
	}
	on, name := f.Branch, f.Branch
	if on == "" {
		on, name = "HEAD", "the checkout"
	}
	now, there, err := repo.Resolve(ctx, on)
	if err != nil || now == f.Head {
		return nil, unanswered(repo, err)
	}
	_, known, err := repo.Resolve(ctx, f.Head)
	if err != nil || !known && f.Recalled { // another machine may have had it
		return nil, unanswered(repo, err)
	}
	if known && there {
		if kept, err := repo.IsAncestor(ctx, f.Head, now); kept || err != nil {
			return nil, unanswered(repo, err)
		}
	}
	if known && f.Recalled {
		head, is, err := repo.Resolve(ctx, "HEAD")
		kept := false
		if err == nil && is {
			kept, err = repo.IsAncestor(ctx, f.Head, head)
		}
		if err != nil {
			return nil, unanswered(repo, err)
		}
		if kept {
			return nil, nil
		}
	}
	short := f.Head[:min(12, len(f.Head))]
	back := "git merge " + short
	if !there {
		back = "git branch " + reprise.Pasted(f.Branch, "BRANCH") + " " + short
	}
	return &Wrote{
		Status: reprise.Unknown, Gone: true,
		Text: fmt.Sprintf("left %s without commit %s, on which it began; `%s` brings that back, in the folder where it worked", name, short, back),
	}, nil
}

// tookRuns tells that runs which were open when an attempt at another one began, or open
// steps of them, are gone, or acceptance criteria that it was not to write: nobody would
// miss them later. It is nil where none is, and where neither git nor a snapshot knows what they
// were, except for the criteria of the run itself. What was uncommitted before and is not in the
// snapshot is not the attempt's doing.
// What else it changed in the files of others is put in doubt there: no attempt of theirs did it.
func (w *work) tookRuns(ctx context.Context, f *Attempt) (*Wrote, error) {
	began := w.hist.Step(f.Step).First // an attempt that is done again does not begin with what the one before it left
	if began != nil && !project.WritesStory(f.Step) && project.FewerThan(project.Measure(w.led.Files(), w.run), began.Measure) {
		return &Wrote{Status: reprise.Unknown, Gone: true, Text: "left " + w.ref.Path + " with fewer acceptance criteria than it began with; put back what is missing, unless that was meant"}, nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if repo == nil || err != nil || f.Head == "" || f.Dir == "" {
		return nil, w.doubtWritten(ctx, f) // nothing can be committed there either, which is told
	}
	before, err := repo.Before(ctx, f.Head)
	if err != nil {
		return nil, unanswered(repo, err)
	}
	kept, err := w.unlike(ctx, repo, f)
	if err != nil {
		return nil, unanswered(repo, err)
	}
	was := map[string][]byte{}
	for name, content := range before {
		rel, inside := strings.CutPrefix(name, w.prefix())
		_, found := reprise.Finds(f.Found, name)
		_, noted := reprise.Finds(f.Unlike, rel)
		if content == nil && (noted || f.Dirty == nil && kept.mayHave(rel)) {
			continue // it was there
		}
		if inside && !found && rel != w.ref.Path && !f.leaves(w.prefix(), name) && (f.Dirty == nil || !slices.Contains(*f.Dirty, name)) {
			was[rel] = content
		}
	}
	for name, content := range kept.was {
		if _, before := reprise.Finds(f.Unlike, name); !before && !f.leaves("", name) {
			was[name] = content
		}
	}
	if len(was) == 0 {
		return nil, nil
	}
	missed, err := project.Vanished(ctx, f.Dir, was, w.run)
	if err != nil {
		return nil, err
	}
	if !f.Recalled || !kept.known() || w.hist.Worktree != nil { // otherwise who took the lease has told it
		err = w.doubtChanged(f, &kept, missed.Changed, true)
	}
	if err == nil { // whatever is answered, they are known until a person gives them up
		err = w.doubtChanged(f, &kept, missed.Removed, false)
	}
	if err != nil || len(missed.Gone) == 0 {
		return nil, err
	}
	if w.hist.Worktree != nil {
		missed.Were = nil // they are in another folder
	}
	gone := missed.Gone
	if more := len(gone) - maxGone; more > 1 {
		gone = append(gone[:maxGone:maxGone], fmt.Sprintf("and %d more", more))
	}
	return &Wrote{
		Status: reprise.Unknown, Gone: true, Were: missed.Were,
		Text: fmt.Sprintf("left the project without %s, still open when it began; %s, in the folder where it worked", strings.Join(gone, ", "), kept.bringsBack(w.prefix(), f, missed.Files)),
	}, nil
}

// kept is what a snapshot has of files of other runs that git does not know, and that are no
// longer like that: nil where it has nothing.
type kept struct {
	snap *durable.Snapshot
	was  map[string][]byte
}

// known reports whether there is a snapshot of the files.
func (k *kept) known() bool { return k.snap != nil && k.snap.Tree != nil }

// mayHave reports whether a file that git does not know was there when the snapshot was taken, or
// that is unknown.
func (k *kept) mayHave(name string) bool {
	return !k.known() || slices.ContainsFunc(k.snap.Tree.Entries, func(e durable.TreeEntry) bool { return string(e.Path) == name })
}

// unlike looks what was made or changed since the last snapshot before an attempt in the files of
// other runs, and in those that were uncommitted when it began, as far as the commit which it
// began on does not have them as they were then.
func (w *work) unlike(ctx context.Context, repo *gitx.Repo, f *Attempt) (k kept, err error) {
	if w.store == nil || f.Inside != "" {
		return k, nil
	}
	if k.snap, err = w.store.Before(f.Began); err != nil || k.snap == nil || k.snap.Tree == nil {
		return k, err
	}
	others := map[string]bool{}
	for _, at := range k.snap.Ignored {
		others[at] = at != w.ref.Path
	}
	dirty := map[string]bool{}
	if f.Dirty != nil {
		for _, name := range *f.Dirty {
			dirty[name] = true
		}
	}
	counts := func(rel string) bool {
		other, known := false, false
		for at := rel; at != "." && !known; at = path.Dir(at) {
			other, known = others[at]
		}
		return gitx.StateType(rel) && (other || !known && dirty[w.prefix()+rel]) // what a run is told by need not be where it is
	}
	is := map[string]string{}
	for _, e := range k.snap.Tree.Entries {
		if counts(string(e.Path)) {
			is[w.prefix()+string(e.Path)] = e.Blob
		}
	}
	names, err := repo.Unlike(is)
	if err != nil {
		return k, err
	}
	within, err := w.store.Within(k.snap)
	if err != nil {
		return k, err
	}
	for name := range dirty {
		if rel, inside := strings.CutPrefix(name, w.prefix()); inside {
			within = append(within, rel)
		}
	}
	made := map[string]bool{}
	for _, rel := range within {
		made[rel] = counts(rel)
	}
	fresh, err := w.store.Fresh(ctx, k.snap, made)
	if err != nil {
		return k, err
	}
	for _, rel := range fresh {
		names = append(names, w.prefix()+rel)
	}
	if len(names) == 0 {
		return k, nil
	}
	var known, blobs []string
	if f.Head != "" {
		if known, err = repo.Files(ctx, f.Head); err != nil {
			return k, err
		}
	}
	slices.Sort(known)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, has := slices.BinarySearch(known, name)
		return has && (f.Dirty == nil || !slices.Contains(*f.Dirty, name))
	})
	k.was = map[string][]byte{}
	names = slices.DeleteFunc(names, func(name string) bool {
		if is[name] == "" {
			k.was[strings.TrimPrefix(name, w.prefix())] = nil
		}
		return is[name] == ""
	})
	for _, name := range names {
		blobs = append(blobs, is[name])
	}
	contents, err := repo.Blobs(ctx, blobs)
	for i, content := range contents {
		if content != nil {
			k.was[strings.TrimPrefix(names[i], w.prefix())] = content
		}
	}
	return k, err
}

// bringsBack says which commands bring files back, some of which only the snapshot has.
func (k *kept) bringsBack(prefix string, f *Attempt, files []string) string {
	var ours []string
	theirs := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		for was, content := range k.was {
			if content != nil && (was == name || strings.HasPrefix(was, name+"/")) {
				ours = append(ours, reprise.Pasted(name, "FILE"))
				return true
			}
		}
		return false
	})
	var how []string
	if len(theirs) > 0 {
		how = append(how, bringsBack(f.Dir, f.Head, theirs))
	}
	if restore := "git restore --source=" + k.ref() + ":files -- " + strings.Join(ours, " "); len(ours) > 0 && prefix == "" && len(restore) <= 2*maxNamed {
		how = append(how, "`"+restore+"` brings back what git does not know")
	} else if len(ours) > 0 {
		how = append(how, "`reprise undo "+k.snap.ID+"` brings back what git does not know, and takes back what the run did since")
	}
	return strings.Join(how, "; ")
}

// ref is the ref that has the files of the snapshot.
func (k *kept) ref() string {
	if !k.known() {
		return ""
	}
	return k.snap.Tree.Ref
}

// doubtWritten records in the journals of other runs that an attempt may have changed their files,
// where nothing tells how they were. Who took the lease has told that of one that was cut off.
func (w *work) doubtWritten(ctx context.Context, f *Attempt) error {
	if w.store == nil || f.Dir == "" || f.Recalled || f.dated.IsZero() || w.Carried != nil {
		return nil
	}
	found, err := project.DoubtAfter(ctx, w.store, w.Now(), project.Ending{Of: w.ref, Step: f.Step, Began: f.dated})
	for _, told := range found {
		w.notice(told)
	}
	return err
}

// doubtChanged records in the journals of other runs that an attempt changed or removed their
// files, and tells it if nothing else does. A run that is worked on beside it judges that itself.
func (w *work) doubtChanged(f *Attempt, kept *kept, changed []project.Changed, tells bool) error {
	for _, c := range changed {
		if w.folders.isState(c.Ref.Path) {
			continue
		}
		for i := range c.Marked {
			ev := &c.Marked[i]
			ev.At, ev.By, ev.Actor = w.Now(), f.Step+" of "+w.ref.ID, actor
			if back := project.WereThere(ev); len(back) > 0 {
				ev.Text += "; " + kept.bringsBack(w.prefix(), f, back)
			}
		}
		steps, err := w.led.Doubt(c.Ref, c.Marked, f.Began)
		if err != nil {
			return err
		}
		if len(steps) > 0 && tells {
			w.notice(project.ChangedElsewhere(f.Step, c.Ref, steps))
		}
	}
	return nil
}

// maxGone is how many runs that are gone are named, and maxNamed how long the names of their
// files may be together: a question holds only so much, and what it says to do is not cut.
const maxGone, maxNamed = 4, 120

// bringsBack says which command brings files back in a folder as a commit has them.
func bringsBack(dir, commit string, files []string) string {
	var all, changed strings.Builder
	for _, name := range files {
		all.WriteString(" " + reprise.Pasted(name, "FILE"))
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			changed.WriteString(" " + reprise.Pasted(name, "FILE"))
		}
	}
	checkout := fmt.Sprintf("git checkout %.12s --", commit)
	if all.Len() <= maxNamed {
		return "`" + checkout + all.String() + "` brings that back"
	}
	deleted := fmt.Sprintf("git diff --relative --name-only -z --diff-filter=D %.12s | git checkout %.12s --pathspec-from-file=- --pathspec-file-nul", commit, commit)
	if changed.Len() > 0 {
		deleted += "; " + checkout + changed.String()
	}
	return "`" + deleted + "` brings that back, with all else that was deleted since"
}
