package upkeep

import (
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

// planFromGit offers, for files of a run that are lost or cannot be read, the newest
// version that git has and that can be: from the index or from a commit that changed the
// file. after is the project with all that the plan changes already; what is offered is
// applied to it. Nothing is offered where the file itself cannot be opened: another
// content would not help. Where git cannot be asked, the plan says so, and what needs no
// git is repaired all the same.
func (t Tender) planFromGit(ctx context.Context, after *durable.DryRun, git repository, store *durable.Store, l reprise.Layout, r *reprise.Run, names []string, plan *RepairPlan) error {
	if len(names) == 0 || !inProject(r.Path) {
		return nil
	}
	unasked := func(err error) error {
		plan.Hopeless = append(plan.Hopeless, reprise.Finding{
			Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: "git could not list earlier versions of its files: " + err.Error(),
		})
		return nil
	}
	repo, err := git()
	if gitx.Absent(err) {
		return nil
	}
	if err != nil {
		return unasked(err)
	}
	for _, name := range names {
		versions, err := repo.Versions(ctx, name)
		if err != nil {
			return unasked(err)
		}
		if err := offer(ctx, after, l, r, name, versions, plan); err != nil {
			return err
		}
	}
	return nil
}

// offer adds the newest version of a file that helps a run.
func offer(ctx context.Context, after *durable.DryRun, l reprise.Layout, r *reprise.Run, name string, versions []gitx.Version, plan *RepairPlan) error {
	var base reprise.Hash
	have, err := fs.ReadFile(after, name)
	if err == nil {
		base = reprise.HashOf(have)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lost, what := slices.Contains(r.Lost, name), " cannot be read"
	if lost {
		what = " is missing or cut off"
	}
	for _, v := range versions {
		if lost && len(v.Content) <= len(have) {
			continue // it has no more than the disk
		}
		edit := reprise.Edit{Path: name, Base: base, Content: v.Content, Why: "restored from git"}
		dry := durable.NewDryRun(after)
		if err := dry.Apply(ctx, []reprise.Edit{edit}); err != nil {
			return err
		}
		if then, err := reprise.Load(l, dry, r.Ref); err != nil || slices.Contains(then.Unread, name) {
			continue
		}
		return plan.add(ctx, after, r, reprise.Mend{What: name + what, From: saidFrom(v), Edits: []reprise.Edit{edit}})
	}
	return nil
}

// saidFrom says where a version comes from and what is lost with it.
func saidFrom(v gitx.Version) string {
	if v.Commit == gitx.Index {
		return "git's index; what was written after it was staged is lost"
	}
	return fmt.Sprintf("commit %.10s of %s; what was written after it is lost", v.Commit, v.At.Format(time.DateTime))
}
