package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
)

// planFromGit offers, for every file of a run that cannot be read, the newest version
// that git has and that can be: from the index or from a commit that changed the file.
// after is the project with all that the plan changes already; what is offered is
// applied to it. Nothing is offered where the file itself cannot be opened: another
// content would not help. A *gitError comes with what was found until then.
func (t Tender) planFromGit(ctx context.Context, after *durable.DryRun, git *repository, store *durable.Store, l reprise.Layout, r *reprise.Run) ([]RunMend, error) {
	damaged, err := reprise.Load(l, after, r.Ref)
	if err != nil || len(damaged.Unread) == 0 || !inProject(r.Path) {
		return nil, err
	}
	repo, err := git.open(ctx, store)
	if errors.Is(err, gitx.ErrNone) || errors.Is(err, gitx.ErrNoGit) {
		return nil, nil
	}
	if err != nil {
		return nil, &gitError{err}
	}
	var out []RunMend
	for _, name := range damaged.Unread {
		have, err := fs.ReadFile(store, name)
		if err != nil {
			continue
		}
		versions, err := repo.Versions(ctx, name)
		if err != nil {
			return out, &gitError{err}
		}
		for _, v := range versions {
			edit := reprise.Edit{Path: name, Base: reprise.HashOf(have), Content: v.Content, Why: "restored from git"}
			dry := durable.NewDryRun(store)
			if err := dry.Apply(ctx, []reprise.Edit{edit}); err != nil {
				return nil, err
			}
			if then, err := reprise.Load(l, dry, r.Ref); err != nil || slices.Contains(then.Unread, name) {
				continue
			}
			if err := after.Apply(ctx, []reprise.Edit{edit}); err != nil {
				return nil, err
			}
			mend := reprise.Mend{What: name + " cannot be read", From: saidFrom(v), Edits: []reprise.Edit{edit}}
			diff := dry.Diff()
			if bytes.IndexByte(have, 0) >= 0 { // a diff would only say that the two differ
				diff = durable.Diff(name, nil, v.Content)
			}
			out = append(out, RunMend{Run: r, Mend: mend, Diff: diff})
			break
		}
	}
	return out, nil
}

// gitError says that git could not be asked. What needs no git is repaired all the same.
type gitError struct{ error }

// Unwrap gives the cause.
func (e *gitError) Unwrap() error { return e.error }

// saidFrom says where a version comes from and what is lost with it.
func saidFrom(v gitx.Version) string {
	if v.Commit == gitx.Index {
		return "git's index; what was written after it was staged is lost"
	}
	return fmt.Sprintf("commit %.10s of %s; what was written after it is lost", v.Commit, v.At.Format(time.DateTime))
}
