package project

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence/grade"
)

// tellUnmerged reports steps of an open run that are done on another branch and open
// here: doing them here would do them twice. Evidence is that branch's version of the
// run's files, and commits that name a step, even if they have been merged, because a
// tick may never have been committed. If the run was resumed here after that, the
// question is already decided.
func (v *View) tellUnmerged(ctx context.Context, fsys fs.FS, here reprise.Ref, git *reprise.Git, peers []*reprise.Run) {
	r, l := v.Run, convention.Find(v.Run.Layout)
	if git == nil || l == nil || !r.State.Open() || here.Path != r.Path {
		return
	}
	begun := v.lastBegun().Truncate(time.Second) // git keeps whole seconds
	named, order, origin := v.namedInCommits(git, peers, begun)
	again := fmt.Sprintf("`reprise resume %s --option continue` does it again here", reprise.Pasted(r.ID, "RUN"))
	report := func(branch, message string) {
		r.Report(reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path}, Message: message,
			Hint: fmt.Sprintf("`git merge %s` brings it here; %s", reprise.Pasted(branch, "BRANCH"), again),
		})
	}
	for _, u := range git.Unmerged {
		if u.Branch == r.Branch || u.At.Before(begun) {
			continue
		}
		then, err := overlaid(ctx, fsys, lasting(u.Files))
		var there *reprise.Run
		if err == nil {
			there, err = reprise.Load(l, then, here)
		}
		if err != nil {
			report(u.Branch, fmt.Sprintf("branch %s changed it, but what was done there cannot be read: %v", u.Branch, err))
			continue
		}
		if done := doneIn(there, r); len(done) > 0 {
			report(u.Branch, fmt.Sprintf("branch %s is not merged here and is further along: %s", u.Branch, wereFinished(done)))
			delete(named, u.Branch)
		}
	}
	for _, branch := range order {
		steps := strings.Join(named[branch], ", ")
		switch {
		case steps == "":
		case branch == "":
			r.Report(reprise.Finding{
				Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
				Message: fmt.Sprintf("commits here name %s, which is not marked done here: %s", steps, cmp.Or(origin, "another checkout worked on it")),
				Hint:    "mark what is finished in the file; " + again,
			})
		default:
			report(branch, fmt.Sprintf("branch %s is not merged here and has commits that name %s, which is not done here", branch, steps))
		}
	}
	if steps := v.namedInDropped(git, begun); len(steps) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: fmt.Sprintf("commits that name %s are no longer on a local branch, but their changes are here: they may have been squashed", strings.Join(steps, ", ")),
			Hint:    "mark what is finished in the file; " + again,
		})
	}
}

// ofCommit reports whether evidence is a commit, for all or part of a step.
func ofCommit(e reprise.Evidence) bool {
	return e.Kind == reprise.EvidenceCommit || e.Kind == reprise.EvidencePartial
}

// namedInDropped lists the open steps that dropped commits name and no commit on a branch
// does.
func (v *View) namedInDropped(git *reprise.Git, begun time.Time) (steps []string) {
	dropped := slices.DeleteFunc(slices.Clone(git.Dropped), func(c reprise.Commit) bool { return c.At.Before(begun) })
	if len(dropped) == 0 {
		return nil
	}
	then := v.Run.Clone()
	grade.New(reprise.Observed{Git: &reprise.Git{Commits: dropped}}).Run(then)
	names := func(e reprise.Evidence) bool { return e.For && ofCommit(e) }
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		if !s.Status.Closed() && !slices.ContainsFunc(s.Evidence, names) && slices.ContainsFunc(then.Steps[i].Evidence, names) {
			steps = append(steps, s.ID)
		}
	}
	return steps
}

// namedInCommits lists the open steps named by commits of other checkouts, by branch: ""
// for what is here, the hash for those on no branch. order has the branch with the newest
// commit first; origin says what those here were made for, "" if that is unknown. For
// attempts made from here, the journal knows the outcome. Commits for a list that is no
// longer here count if all the steps they name are also in this one.
func (v *View) namedInCommits(git *reprise.Git, peers []*reprise.Run, begun time.Time) (steps map[string][]string, order []string, origin string) {
	r, ours := v.Run, map[string]bool{reprise.TrailerLife(v.History.Began): true}
	for _, ev := range v.Events {
		if ev.Kind == reprise.RunStarted {
			ours[reprise.TrailerLife(ev.At)] = true
		}
	}
	open := map[string]string{}   // by the word in a trailer
	traced := map[string]string{} // by commit
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() || s.Grade >= reprise.Evidenced {
			continue
		}
		open[reprise.TrailerWord(s.ID)] = s.ID
		for _, e := range s.Evidence {
			if e.For && e.Elsewhere && ofCommit(e) {
				traced[e.Source] = s.ID
			}
		}
	}
	steps = map[string][]string{}
	former := v.former(git, peers)
	for i := range git.Commits {
		c := &git.Commits[i]
		branch := cmp.Or(c.Branch, c.Hash)
		if c.OnHead {
			branch = ""
		}
		if r.Branch != "" && branch == r.Branch || c.At.Before(begun) || c.OnHead && c.At.Equal(begun) {
			continue
		}
		found := []string{traced[c.Hash]}
		for _, value := range c.Steps {
			run, step, life, _, ok := reprise.TrailerStep(value)
			if ok && (run == reprise.TrailerWord(r.ID) && !ours[life] || former[run]) {
				found = append(found, open[step])
				if why := madeFor(c, r, peers, former[run]); open[step] != "" && branch == "" && why != "" {
					origin = why
				}
			}
		}
		for _, step := range found {
			if step == "" || slices.Contains(steps[""], step) || slices.Contains(steps[branch], step) {
				continue // a merged or cherry-picked commit is reported once
			}
			if steps[branch] == nil {
				order = append(order, branch)
			}
			steps[branch] = append([]string{step}, steps[branch]...) // the newest commit comes first
		}
	}
	return steps, order, origin
}

// former lists the words, as in trailers, of lists that are no longer here and that this
// one may have been: every step that a commit finished for them is also in this one.
func (v *View) former(git *reprise.Git, peers []*reprise.Run) map[string]bool {
	out := map[string]bool{}
	if !v.Run.Kind.Facts().Kept || !slices.ContainsFunc(git.Commits, func(c reprise.Commit) bool { return len(c.Steps) > 0 }) {
		return out
	}
	for _, p := range peers {
		if p.Gone() == nil {
			out[reprise.TrailerWord(p.ID)] = false
		}
	}
	subjects := map[string]bool{}
	for i := range v.Run.Steps {
		if s := &v.Run.Steps[i]; s.Title != "" && s.Title != s.ID {
			subjects[reprise.TrailerWord(s.ID)+" "+reprise.CommitSubject(s.ID, s.Title)] = true
		}
	}
	for i := range git.Commits {
		c := &git.Commits[i]
		for _, value := range c.Steps {
			run, step, _, accepted, ok := reprise.TrailerStep(value)
			if here, known := out[run]; !ok || !accepted || known && !here {
				continue
			}
			out[run] = subjects[step+" "+c.Subject]
		}
	}
	return out
}

// madeFor says which list a commit was made for, by the list that it changed; "" if that
// is unknown.
func madeFor(c *reprise.Commit, r *reprise.Run, peers []*reprise.Run, former bool) string {
	for _, f := range c.Files {
		switch name := f.Path; {
		case name == r.Path:
			return "they were made for this list, in which it was closed then"
		case former && path.Base(name) == path.Base(r.Path):
			return "they were made for " + name + ", which is no longer here"
		case slices.ContainsFunc(peers, func(p *reprise.Run) bool { return p.ID == r.ID && p.Path == name }):
			return "they were made for " + name + ", a list of the same name"
		}
	}
	return ""
}

// doneIn lists the steps that are closed in one copy of a run and open in the other.
func doneIn(there, here *reprise.Run) (out []string) {
	for i := range there.Steps {
		s := here.Step(there.Steps[i].ID)
		if there.Steps[i].Status.Closed() && (s == nil || !s.Status.Closed()) {
			out = append(out, there.Steps[i].ID)
		}
	}
	return out
}

// lastBegun returns when work on the run last began here.
func (v *View) lastBegun() time.Time {
	for _, ev := range slices.Backward(v.Events) {
		if slices.Contains([]reprise.EventKind{reprise.RunStarted, reprise.RunRenewed, reprise.RunResumed, reprise.StepStarted}, ev.Kind) {
			return ev.At
		}
	}
	return v.History.Began
}
