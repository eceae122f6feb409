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

// tellUncommitted names what no commit holds after an attempt and may be its work.
// others are the changed files that its commit does not take, from the root of the
// repository. Each is named once, as long as nothing else is to be said of it.
func (w *work) tellUncommitted(ctx context.Context, f *attempt, others []string) {
	var since, after, cutOff, unseen, shared, before []string
	for _, name := range others {
		switch {
		case slices.Contains(f.changed, name):
			since = append(since, name)
		case f.held != nil || f.inside != "":
		case f.dirty == nil:
			unseen = append(unseen, name)
		case !slices.Contains(*f.dirty, name):
			if !w.folders.expected(f, name) && !w.folders.isState(strings.TrimPrefix(name, w.repo.Prefix())) {
				shared = append(shared, name)
			}
		case slices.Contains(f.after, name):
			after = append(after, name)
		case w.rewrote(f, name):
			before = append(before, name)
		case w.hist.Step(f.a.Step).Cutoffs > 0:
			cutOff = append(cutOff, name)
		}
	}
	for _, kind := range []struct {
		names []string
		why   string
	}{
		{since, "it was changed after the step ended"},
		{after, "an earlier attempt of the step changed it, and so did somebody after that"},
		{unseen, "what was changed before the step began, nobody saw"},
		{shared, "others worked in the same folder, and whose it is cannot be told"},
		{before, "the step changed it, and so did somebody before it began"},
		{cutOff, "whether the attempt that was cut off changed that or a person did, nobody can tell"},
	} {
		names := slices.DeleteFunc(kind.names, func(name string) bool { return !w.folders.tells(f.dir + " " + name + " " + kind.why) })
		if len(names) == 0 {
			continue
		}
		left := uncommitted{f.a.Step, f.dir, names, kind.why}
		w.tell(Progress{Kind: Noticed, Text: left.finding().Message, Outcome: reprise.CodeUncommitted})
		w.uncommitted = append(w.uncommitted, left)
	}
}

// uncommitted is what no commit held after an attempt.
type uncommitted struct {
	step, dir string
	names     []string // from the root of the repository
	why       string
}

func (u uncommitted) finding() reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: u.step,
		Message: fmt.Sprintf("%s: %s left uncommitted: %s", u.step, someOf(u.names), u.why),
		Hint:    "look at it and commit it yourself",
	}
}

// stillUncommitted are the findings about what attempts left, as it is now: others may
// have committed it since.
func (w *work) stillUncommitted(ctx context.Context) []reprise.Finding {
	var out []reprise.Finding
	for _, u := range w.uncommitted {
		if now, err := w.dirty(ctx, u.dir); err == nil {
			u.names = slices.DeleteFunc(slices.Clone(u.names), func(name string) bool { return !slices.Contains(now, name) })
		}
		if len(u.names) > 0 {
			out = append(out, u.finding())
		}
	}
	return out
}

// rewrote reports whether a file that was changed before an attempt began is one that
// it was to leave and is not what it was then.
func (w *work) rewrote(f *attempt, name string) bool {
	rel := strings.TrimPrefix(name, w.repo.Prefix())
	return slices.ContainsFunc(f.a.Expect, func(e reprise.Expected) bool {
		if e.Path == rel {
			now, err := w.hash(e.Path)
			return err != nil || !f.unchanged(e, now)
		}
		if !strings.HasPrefix(rel, e.Path+"/") {
			return false
		}
		info, err := os.Lstat(w.absolute(filepath.FromSlash(rel)))
		return err != nil || info.ModTime().After(f.began)
	})
}

// tellNested names what an attempt was to leave and left in a repository of its own
// inside the project's, a submodule or another one, where nobody committed it.
func (w *work) tellNested(ctx context.Context, f *attempt) {
	for _, e := range f.a.Expect {
		own := strings.TrimPrefix(e.Path, f.inside+"/")
		at, ok := nested(f.dir, own)
		if !ok {
			continue
		}
		below, err := filepath.Rel(at, own)
		var changed []string
		if err == nil {
			var repo *gitx.Repo
			if repo, err = gitx.Open(ctx, filepath.Join(f.dir, at), gitx.Options{Environ: w.Environ}); err == nil {
				changed, err = repo.Changes(ctx)
			}
		}
		below = filepath.ToSlash(below)
		held := !slices.ContainsFunc(changed, func(name string) bool {
			return name == below || below == "." || strings.HasPrefix(name, below+"/") || strings.HasSuffix(name, "/") && strings.HasPrefix(below, name)
		})
		if err == nil && held || !w.folders.tells(f.dir+" "+own+" nested") {
			continue
		}
		w.notice(reprise.Finding{
			Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: f.a.Step,
			Message: fmt.Sprintf("%s: %s is left uncommitted: it lies in a repository of its own (%s)", f.a.Step, own, at),
			Hint:    "commit it there",
		})
	}
}

// nested gives the outermost folder below dir that is a repository of its own and
// holds a file.
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
