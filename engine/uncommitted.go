package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/gitx"
	"reprise/project"
)

// tellUncommitted reports files that stay uncommitted after an attempt and may be its
// work. others are the changed files that its commit leaves out, from the root of the
// repository. Each is reported once for each reason. It gives all of them.
func (w *work) tellUncommitted(ctx context.Context, f *Attempt, others []string) (all []string) {
	var since, after, cutOff, unseen, shared, before []string
	for _, name := range others {
		switch {
		case slices.Contains(f.Changed, name):
			since = append(since, name)
		case f.Held != nil || f.Inside != "":
		case f.Dirty == nil:
			unseen = append(unseen, name)
		case !slices.Contains(*f.Dirty, name):
			if !w.folders.expected(f, name) && !w.folders.isState(strings.TrimPrefix(name, w.repo.Prefix())) {
				shared = append(shared, name)
			}
		case slices.Contains(f.After, name):
			after = append(after, name)
		case w.changedAgain(ctx, f, name):
			before = append(before, name)
		case w.hist.Step(f.Step).Cutoffs > 0:
			cutOff = append(cutOff, name)
		}
	}
	for _, kind := range []struct {
		names []string
		why   string
	}{
		{since, "it was changed after the step ended"},
		{after, "an earlier attempt of the step changed it, and it was changed again after that"},
		{unseen, "what changed before the step began is unknown"},
		{shared, "others worked in the same folder, so whose it is is unclear"},
		{before, "the step changed it, and it had changes before the step began"},
		{cutOff, "either the attempt that was cut off or a person changed it"},
	} {
		all = append(all, kind.names...)
		names := slices.DeleteFunc(slices.Clone(kind.names), func(name string) bool { return !w.folders.tells(f.Dir + " " + name + " " + kind.why) })
		if len(names) == 0 {
			continue
		}
		left := Uncommitted{f.Step, f.Dir, names, kind.why}
		w.tell(Progress{Kind: Noticed, Text: left.finding("").Message, Outcome: reprise.CodeUncommitted})
		w.Uncommitted = append(w.Uncommitted, left)
	}
	return all
}

// Uncommitted is what no commit held after an attempt.
type Uncommitted struct {
	Step, Dir string
	Names     []string // from the root of the repository
	Why       string
}

func (u Uncommitted) finding(hint string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: u.Step,
		Message: fmt.Sprintf("%s: %s left uncommitted: %s", u.Step, someOf(u.Names), u.Why),
		Hint:    hint,
	}
}

// stillUncommitted are the findings about what attempts left and is still uncommitted, each file
// once. What accepted attempts left is told with the whole run where earlier processes left some
// of it, or the list has changes, too: then one command commits it all.
func (w *work) stillUncommitted(ctx context.Context, finished bool) (out []reprise.Finding) {
	all, names := w.unheldNow(ctx, finished)
	told := map[string][]string{} // by folder
	var here [][]string           // those of the project in each finding, nil elsewhere
	for _, u := range w.Uncommitted {
		now, err := w.dirty(ctx, u.Dir)
		u.Names = slices.DeleteFunc(slices.Clone(u.Names), func(name string) bool {
			return err == nil && !slices.Contains(now, name) || slices.Contains(told[u.Dir], name)
		})
		if len(u.Names) == 0 {
			continue
		}
		told[u.Dir] = append(told[u.Dir], u.Names...)
		hint, own := "look at it and commit it yourself", []string(nil)
		if u.Dir == w.Dir {
			own = w.inProject(u.Names)
			hint = project.CommitHint("", u.Step, own, w.goneHere)
		}
		out, here = append(out, u.finding(hint)), append(here, own)
	}
	if within(names, slices.Concat(here...)) {
		return out
	}
	for i := range out {
		if here[i] != nil && within(here[i], names) {
			out[i].Hint = ""
		}
	}
	return append(out, all)
}

// within reports whether all of some names are among others.
func within(names, others []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(others, name) })
}

// unheldNow is what the journal and git tell of what accepted attempts left.
func (w *work) unheldNow(ctx context.Context, finished bool) (f reprise.Finding, names []string) {
	list := finished && w.run.Kind == reprise.KindTasks
	left := slices.ContainsFunc(w.run.Steps, func(s reprise.Step) bool { return len(w.hist.Step(s.ID).Unheld) > 0 })
	if w.repo == nil || !list && !left {
		return f, nil
	}
	l, err := w.repo.Look(ctx)
	if err != nil {
		return f, nil // what git cannot tell is told elsewhere
	}
	now, untracked := w.inProject(l.Changed), w.inProject(l.Untracked)
	list = list && slices.Contains(now, w.ref.Path) && !slices.Contains(untracked, w.ref.Path)
	return project.Unheld(w.run, w.hist, list, func(name string) bool { return slices.Contains(now, name) }, w.goneHere)
}

// goneHere reports whether a file of the project is missing.
func (w *work) goneHere(name string) bool {
	_, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(name)))
	return errors.Is(err, fs.ErrNotExist)
}

// inProject gives names from the root of the repository as the project has them.
func (w *work) inProject(names []string) []string {
	out, prefix := slices.Clone(names), w.repo.Prefix()
	for i, name := range out {
		if below, ok := strings.CutPrefix(name, prefix); ok {
			out[i] = below
		} else {
			out[i] = strings.Repeat("../", strings.Count(prefix, "/")) + name
		}
	}
	return out
}

// tellNested reports files that an attempt was to leave and left uncommitted in a nested
// repository, a submodule or another one.
func (w *work) tellNested(ctx context.Context, f *Attempt) {
	for _, e := range f.Expect {
		own := strings.TrimPrefix(e.Path, f.Inside+"/")
		at, ok := nested(f.Dir, own)
		if !ok {
			continue
		}
		below, err := filepath.Rel(at, own)
		var changed []string
		if err == nil {
			var repo *gitx.Repo
			if repo, err = gitx.Open(ctx, filepath.Join(f.Dir, at), gitx.Options{Environ: w.Environ}); err == nil {
				changed, err = repo.Changes(ctx)
			}
		}
		below = filepath.ToSlash(below)
		held := !slices.ContainsFunc(changed, func(name string) bool {
			return name == below || below == "." || strings.HasPrefix(name, below+"/") || strings.HasSuffix(name, "/") && strings.HasPrefix(below, name)
		})
		if err == nil && held || !w.folders.tells(f.Dir+" "+own+" nested") {
			continue
		}
		w.notice(reprise.Finding{
			Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: f.Step,
			Message: fmt.Sprintf("%s: %s is left uncommitted: it is in a repository of its own (%s)", f.Step, own, at),
			Hint: fmt.Sprintf("`git -C %[1]s add %[2]s; git -C %[1]s commit -m %[3]s`",
				reprise.Pasted(path.Join(f.Inside, filepath.ToSlash(at)), "FOLDER"), reprise.Pasted(below, "FILE"), reprise.Pasted(f.Step, "STEP")),
		})
	}
}

// nested is the outermost folder below dir that is a repository and holds the file.
func nested(dir, name string) (string, bool) {
	parts := strings.Split(path.Clean(name), "/")
	for n := 1; n <= len(parts); n++ {
		at := filepath.Join(parts[:n]...)
		if _, err := os.Lstat(filepath.Join(dir, at, ".git")); err == nil {
			return at, true
		}
	}
	return "", false
}
