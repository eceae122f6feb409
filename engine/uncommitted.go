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
	"reprise/internal/gitx"
)

// tellUncommitted reports files that stay uncommitted after an attempt and may be its
// work. others are the changed files that its commit leaves out, from the root of the
// repository. Each is reported once for each reason. It reports whether there are any.
func (w *work) tellUncommitted(ctx context.Context, f *Attempt, others []string) (any bool) {
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
		any = any || len(kind.names) > 0
		names := slices.DeleteFunc(kind.names, func(name string) bool { return !w.folders.tells(f.Dir + " " + name + " " + kind.why) })
		if len(names) == 0 {
			continue
		}
		left := Uncommitted{f.Step, f.Dir, names, kind.why}
		w.tell(Progress{Kind: Noticed, Text: left.finding().Message, Outcome: reprise.CodeUncommitted})
		w.Uncommitted = append(w.Uncommitted, left)
	}
	return any
}

// Uncommitted is what no commit held after an attempt.
type Uncommitted struct {
	Step, Dir string
	Names     []string // from the root of the repository
	Why       string
}

func (u Uncommitted) finding() reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: u.Step,
		Message: fmt.Sprintf("%s: %s left uncommitted: %s", u.Step, someOf(u.Names), u.Why),
		Hint:    "look at it and commit it yourself",
	}
}

// stillUncommitted are the findings about what attempts left and is still uncommitted.
func (w *work) stillUncommitted(ctx context.Context) []reprise.Finding {
	var out []reprise.Finding
	for _, u := range w.Uncommitted {
		if now, err := w.dirty(ctx, u.Dir); err == nil {
			u.Names = slices.DeleteFunc(slices.Clone(u.Names), func(name string) bool { return !slices.Contains(now, name) })
		}
		if len(u.Names) > 0 {
			out = append(out, u.finding())
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
