package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/worktree"
)

// commitOf finds the commit in this checkout that carries the trailer of an attempt with
// one of the suffixes, the first of them that is there. It is "" if there is none, or no
// such checkout, and an error if git cannot tell.
func (w *work) commitOf(ctx context.Context, f *Attempt, key string, suffixes ...string) (commit string, err error) {
	if w.repo == nil || f.Key == "" {
		return "", nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	var silent *gitx.NoAnswerError
	if errors.As(err, &silent) {
		return "", err
	}
	if err != nil {
		return "", nil
	}
	values := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		values[i] = key + suffix
	}
	since := ""
	if key == f.Key {
		since = f.Head
	}
	if commit, _, err = repo.HasTrailer(ctx, since, reprise.TrailerKey, values...); err != nil {
		return "", &gitx.NoAnswerError{Dir: repo.Dir(), Cause: err}
	}
	return commit, nil
}

// commitBefore finds the latest commit of earlier attempts that were not accepted, "" if
// there is none: this attempt may have found their work complete.
func (w *work) commitBefore(ctx context.Context, f *Attempt) (made string, err error) {
	for _, key := range slices.Backward(w.hist.Step(f.Step).Keys) {
		if key == f.Key {
			continue
		}
		if made, err = w.commitOf(ctx, f, key, reprise.TrailerAccepted, ""); made != "" || err != nil {
			break
		}
	}
	return made, err
}

// changedAnything reports whether an attempt changed a file and left it uncommitted, also
// one that was so before. It is true where that is unknown.
func (w *work) changedAnything(ctx context.Context, f *Attempt) bool {
	now, err := w.dirty(ctx, f.Dir)
	if err != nil || f.Dirty == nil {
		return true
	}
	return slices.ContainsFunc(append(now, *f.Dirty...), func(name string) bool {
		return !w.isState(name) && (!slices.Contains(*f.Dirty, name) || w.changedAgain(ctx, f, name))
	})
}

// stashed tells that an attempt put changes away in a stash, which is still there: what
// it says it made is not where the run continues, and what was uncommitted before it may
// be gone from there, too. A git that does not answer is err.
func (w *work) stashed(ctx context.Context, f *Attempt) (why, err error) {
	repo, err := w.repoAt(ctx, f.Dir)
	if repo == nil || err != nil || f.Dir == "" || f.Began.IsZero() {
		return nil, nil // nothing can be committed there either, which is told
	}
	commit, branch, at, err := repo.Stash(ctx)
	if err != nil || commit == "" || commit == f.Stash || at.Before(f.Began.Truncate(time.Second)) || f.Inside != "" && branch != worktree.Branch(w.run) {
		return nil, unanswered(repo, err)
	}
	return fmt.Errorf("changes were put away in a stash while it worked: `git stash apply %.12s` brings them back", commit), nil
}

// unanswered is an error of git in a checkout, nil if its repository is gone: nothing can be
// committed there either, which is told.
func unanswered(repo *gitx.Repo, err error) error {
	if _, gone := os.Lstat(string(repo.GitDir())); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stash is the latest stash where an attempt is to work, "" if there is none or it cannot
// be told.
func (w *work) stash(ctx context.Context, dir string) string {
	repo, err := w.repoAt(ctx, dir)
	if repo == nil || err != nil {
		return ""
	}
	commit, _, _, _ := repo.Stash(ctx) // then only its time tells
	return commit
}

// changedAgain reports whether a file that was uncommitted when an attempt began is not
// what it was then.
func (w *work) changedAgain(ctx context.Context, f *Attempt, name string) bool {
	was, known := f.DirtyAs[name]
	repo, err := w.repoAt(ctx, f.Dir)
	if !known || repo == nil || err != nil {
		return false
	}
	now, err := repo.Print(name)
	return err != nil || now != was
}

// someOf names a few of many files.
func someOf(names []string) string {
	if more := len(names) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more files are", strings.Join(names[:5], ", "), more)
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// made reports whether a changed file of the project's own checkout is the work of this
// attempt: what it was to leave and, if nothing else was at work, everything that was not
// changed before it began. What was changed before may be a person's, unless an earlier
// attempt changed it or was to leave it.
func (w *work) made(f *Attempt, prefix, name string) bool {
	if f.Held != nil {
		its := slices.ContainsFunc(f.Held.Work, func(e reprise.Expected) bool { return e.Path == name })
		// Where even git could not list the changes, its work is what it was to leave.
		its = its || len(f.Held.Work) == 0 && f.leaves(prefix, name)
		return its && !slices.Contains(f.Changed, name)
	}
	if f.Dirty == nil || w.isState(name) {
		return false
	}
	if slices.Contains(*f.Dirty, name) {
		return slices.Contains(f.Left, name) || f.Number > 1 && f.leaves(prefix, name) && !slices.Contains(f.After, name)
	}
	return !w.folders.shared(f) || f.leaves(prefix, name)
}

// maxLeft bounds how many files are recorded of an attempt that was not accepted: more
// than that is a build or an installation.
const maxLeft = 1000

// leftBy lists what an attempt changed in the project's own checkout and left
// uncommitted; where git sees nothing of it, some of what the files tell. A checkout of
// the run's own contains nothing else.
func (w *work) leftBy(ctx context.Context, f *Attempt) []string {
	left := w.seenLeft(ctx, f)
	if len(left) == 0 && f.Inside == "" && f.Files != nil {
		if now, since := w.lookAgain(f); now != *f.Files {
			for _, name := range since {
				left = append(left, w.prefix()+name)
			}
		}
	}
	return left
}

// seenLeft is what git sees of what an attempt left.
func (w *work) seenLeft(ctx context.Context, f *Attempt) []string {
	if w.repo == nil || f.Dirty == nil || f.Inside != "" {
		return nil
	}
	now, err := w.dirty(ctx, f.Dir)
	if err != nil {
		w.notice(reprise.Finding{Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: f.Step, Message: "the attempt's changes could not be determined: " + err.Error()})
		return nil
	}
	prefix := w.repo.Prefix()
	now = slices.DeleteFunc(now, func(name string) bool { return !w.made(f, prefix, name) })
	if len(now) > maxLeft {
		return nil
	}
	return now
}

// leftSince splits what earlier attempts of a step left uncommitted in the project's own
// checkout: what is as they left it, and what was changed since by something else. What
// an interrupted attempt may have changed counts as left by it.
func (w *work) leftSince(ctx context.Context, f *Attempt) (left, after []string) {
	step := w.hist.Step(f.Step)
	if len(step.LeftAs) == 0 || f.Inside != "" {
		return step.Left, nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if err != nil {
		return step.Left, nil
	}
	for _, name := range step.Left {
		was, known := step.LeftAs[name]
		if now, err := w.print(repo, name); known && (err != nil || now != was) {
			after = append(after, name)
		} else {
			left = append(left, name)
		}
	}
	return left, after
}

// maxFound bounds how many files are recorded that an attempt found changed.
const maxFound = 200

// found gives the files that git knows and that were changed and not committed before an
// attempt began, by none that may still be open: neither an earlier one of the step nor one
// beside it. Whoever commits them with the attempt's work, they are not part of it.
func (w *work) found(f *Attempt, untracked []string) (out []reprise.Expected) {
	before := w.hist.Open()
	if first := w.hist.Step(f.Step).First; first != nil {
		before = append(before, *first)
	}
	others := func(name string) bool {
		return slices.Contains(f.After, name) || !slices.Contains(f.Left, name) && !slices.ContainsFunc(before, func(start reprise.Event) bool {
			_, found := reprise.Finds(start.Found, name)
			return !found
		})
	}
	for _, name := range *f.Dirty {
		if w.isState(name) || gitx.Kept(name) || slices.Contains(untracked, name) || !others(name) {
			continue
		}
		was, known := f.DirtyAs[name]
		if out = append(out, reprise.Expected{Path: name, Before: was}); !known || len(out) > maxFound {
			return []reprise.Expected{{Path: reprise.AnyFile}}
		}
	}
	return out
}

// printed gives the hashes of files that an attempt left, as far as they can be read.
func (w *work) printed(ctx context.Context, f *Attempt, names []string) (out []reprise.Expected) {
	if len(names) == 0 {
		return nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if print, err := w.print(repo, name); err == nil {
			out = append(out, reprise.Expected{Path: name, Before: print})
		}
	}
	return out
}

// print is a fingerprint of a file, by its name in the repository or, without git, in the
// project.
func (w *work) print(repo *gitx.Repo, name string) (reprise.Hash, error) {
	if repo == nil {
		return w.hash(name)
	}
	return repo.Print(name)
}

// leaves reports whether a file of the repository is one that the attempt was to leave,
// or in a folder that it was to.
func (f *Attempt) leaves(prefix, name string) bool {
	return slices.ContainsFunc(f.Expect, func(e reprise.Expected) bool {
		own := prefix + strings.TrimPrefix(e.Path, f.Inside+"/")
		return name == own || strings.HasPrefix(name, own+"/")
	})
}

// isState reports whether a file belongs to the state of the run or of reprise: it
// changes with every event, and the engine does not commit it as work.
func (w *work) isState(name string) bool {
	rel, inside := strings.CutPrefix(name, w.prefix())
	if !inside {
		return false
	}
	return rel == w.ref.Path || strings.HasPrefix(rel, w.ref.Path+"/") || strings.HasPrefix(rel, ".reprise/")
}

// message is the subject of a commit that the engine makes.
func (w *work) message(f *Attempt) string {
	if subject := f.Facts["commit_subject"]; subject != "" {
		return reprise.CommitSubject(subject, "")
	}
	return reprise.CommitSubject(f.Step, f.Unit.Title)
}
