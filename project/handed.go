package project

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/journal"
)

// The fleet has a run, and everything inside it: the runs that do its steps. A clone knows that
// by what it noted when it gave the run away, by the marks in a checkout of the run's branch, or
// by those on the branch as it was last fetched.

// handedOver reports that a run is on a branch of the remote, as part of the run outer. Whether the
// fleet still works on it there is for the server to say, or for the branch once it is fetched.
func handedOver(r *reprise.Run, outer, branch string) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: durable.StateDir},
		Message: "it was handed to the fleet: its branch " + branch + " is the run, and this is an old copy",
		Hint:    fmt.Sprintf("`reprise-fleet status` tells where it stands; to have it back: `reprise-fleet stop %[1]s`, which names the commands that continue it; once it is over, `git fetch && reprise check %[1]s` names the merge; where that is done in another way, such as a squash, `reprise-fleet stop %[1]s` finds it here", reprise.Pasted(outer, "RUN")),
	}
	return partOf(f, r, outer)
}

// handingOver reports that a run was being pushed to a branch of the remote for the fleet, and that
// whether it arrived is not known here.
func handingOver(r *reprise.Run, branch string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: durable.StateDir},
		Message: "it was being handed to the fleet when that was cut off: it may be on the branch " + branch + " of the remote, where the fleet can work on it",
		Hint:    fmt.Sprintf("`reprise-fleet resume %[1]s` finds that out and hands it over; `reprise-fleet stop %[1]s` after that names the commands that continue it on one machine", reprise.Pasted(r.ID, "RUN")),
	}
}

// onFleet reports that the fleet has a run open, as part of the run outer, as its branch says,
// which is checked out here.
func onFleet(r *reprise.Run, outer, file string) reprise.Finding {
	name := reprise.Pasted(outer, "RUN")
	f := reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: file},
		Message: fmt.Sprintf("the fleet has it open, as its branch says; `reprise-fleet stop %s` ends that", name),
		Hint:    fmt.Sprintf("`reprise-fleet status` tells where it stands; to have it here: `reprise-fleet stop %s`, then fetch and merge its branch; if its server is gone for good: `reprise-fleet stop %s --server-gone`", name, name),
	}
	return partOf(f, r, outer)
}

// leftBy reports that the fleet has left a run that was handed to it. there is the run as its
// branch has it.
func leftBy(git *reprise.Git, there *reprise.Run, branch string) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: there.ID, Source: reprise.Source{File: durable.StateDir},
		Message: "it was handed to the fleet, which has finished it on the branch " + branch + "; this is an old copy",
		Hint:    merges(git, branch),
	}
	if there.State.Open() {
		f.Message = "it was handed to the fleet, which has left it open on the branch " + branch + "; this is an old copy"
		f.Hint = goesOn(there.ID)
	}
	return f
}

// Contested reports whether a run is marked complete although something contradicts that, or not
// started although the fleet has it.
func (j *Judgement) Contested(r *reprise.Run) bool {
	d := j.Decisions[r]
	return d.Contested() || d.State == reprise.NotStarted && handedAt(r) >= 0
}

// goesOn says how a run continues that the fleet has left open. Its branch has the journal, which is
// not to be merged into another one.
func goesOn(id string) string {
	return fmt.Sprintf("`reprise-fleet stop %[1]s` names the commands that continue it in a checkout of the branch; `reprise-fleet resume %[1]s` continues it on the fleet", reprise.Pasted(id, "RUN"))
}

// given is the note that a run was handed over, nil if something came after it or it was not.
func (v *View) given() *reprise.Event {
	if n := len(v.Events); n > 0 && v.Events[n-1].Kind == reprise.EngineLeft && v.Events[n-1].Outcome == reprise.HandedOver {
		return &v.Events[n-1]
	}
	return nil
}

// given lists where the commits of runs that were handed over show: their files, which the fleet
// changes, and the journals, which its last commit takes away.
func (j *Judgement) given(runs []*reprise.Run) (out []string) {
	for _, r := range runs {
		if j.views[r].given() != nil {
			out = append(out, r.Path, path.Dir(durable.FleetMark("")))
		}
	}
	return out
}

// tellReturned tells whether a run that was handed over has come back: the head has the commit with
// which the fleet has finished it since, whatever became of the branch. Until then the files here do
// not say how what was open then has ended.
func (v *View) tellReturned(git *reprise.Git) {
	r, last := v.Run, v.given()
	if last == nil {
		return
	}
	since, over := last.At.Truncate(time.Second), reprise.OverSubject(r.ID) // git keeps whole seconds
	r.Returned = git != nil && slices.ContainsFunc(git.Commits, func(c reprise.Commit) bool {
		return c.OnHead && c.Subject == over && !c.At.Before(since)
	})
	switch at := handedAt(r); {
	case r.Returned && at >= 0:
		r.Findings = slices.Delete(r.Findings, at, at+1)
	case !r.Returned && r.State == reprise.Complete && v.History.Given:
		r.Report(handedOver(r, r.ID, last.Text))
	}
}

// wentOn reports that the fleet has worked on a run after it was last resumed here. there is the
// run as its branch has it.
func wentOn(git *reprise.Git, there *reprise.Run, branch string) reprise.Finding {
	name := reprise.Pasted(branch, "BRANCH")
	f := reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: there.ID, Source: reprise.Source{File: durable.StateDir},
		Message: fmt.Sprintf("the fleet has worked on it since, on the branch %s, which is not merged here; this is an old copy", branch),
		Hint:    merges(git, branch),
	}
	if there.State.Open() {
		f.Hint = goesOn(there.ID)
	}
	if strings.Contains(branch, "/"+reprise.FleetBranches) {
		f.Hint += fmt.Sprintf("; if that is here in another way, `git branch -d -r %s` forgets the branch", name)
	}
	return f
}

// merges says how to get what a branch of the fleet has. In a checkout of such a branch git knows the
// journal, and does not merge over one that went on here.
func merges(git *reprise.Git, branch string) string {
	name := reprise.Pasted(branch, "BRANCH")
	if beside := reprise.Pasted("../"+path.Base(branch)+"-merged", "FOLDER"); slices.ContainsFunc(git.Changed, func(c reprise.Change) bool {
		return c.Worktree == "" && !c.Untracked && strings.HasPrefix(c.Path, durable.StateDir+"/")
	}) {
		return fmt.Sprintf("`git worktree add --detach %s %s` checks it out beside this checkout, whose journal git does not merge over", beside, name)
	}
	return fmt.Sprintf("`git merge %s` brings it here", name)
}

// partOf is a finding about a run as it is told of one inside it.
func partOf(f reprise.Finding, r *reprise.Run, outer string) reprise.Finding {
	if f.Subject = r.ID; r.ID != outer {
		f.Message = "it is part of " + outer + ": " + f.Message
	}
	return f
}

// handedAt returns which finding of a run says that the fleet has it, -1 if none does.
func handedAt(r *reprise.Run) int {
	return slices.IndexFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver })
}

// fleetMark returns the file in a checkout which says that the fleet has a run open, and for which
// run, "" if it has not. A folder that cannot be looked at blocks by itself: the journal is there as
// well.
func (j *Judgement) fleetMark(homes map[string]*home, top string, ref reprise.Ref) (file, outer string) {
	h := homeAt(homes, filepath.Join(j.Root, filepath.FromSlash(top)))
	if h == nil {
		return "", ""
	}
	file = path.Join(top, durable.FleetMark(cmp.Or(h.named(ref), journal.Name(ref))))
	at := filepath.Join(j.Root, filepath.FromSlash(file))
	if _, err := os.Lstat(at); err != nil {
		return "", ""
	}
	text, _ := doc.ReadRegular(os.DirFS(filepath.Dir(at)), filepath.Base(at), maxMarkRead) // that it is there says enough
	return file, cmp.Or(reprise.ReadMarked(text).Run, ref.ID)
}

// maxMarkRead is how much of a mark of the fleet is read.
const maxMarkRead = 64 << 10

// isMarkOf reports whether a mark is of a run, which a checkout has under the name here.
func isMarkOf(m reprise.FleetMark, r *reprise.Run, here reprise.Ref) bool {
	log := strings.TrimSuffix(path.Base(m.File), path.Ext(m.File))
	return m.File != "" && slices.ContainsFunc(append(slices.Clip(r.Also), here), func(ref reprise.Ref) bool { return journal.Placed(log, ref) })
}

// markedOn reports that the fleet has a run, as a branch says that was fetched, and returns that.
func markedOn(r *reprise.Run, here reprise.Ref, git *reprise.Git) (branch string) {
	if git == nil {
		return ""
	}
	for _, m := range git.Fleet {
		if m.Left.IsZero() && isMarkOf(m, r, here) {
			if handedAt(r) < 0 {
				r.Report(handedOver(r, cmp.Or(m.Run, r.ID), m.Branch))
			}
			return m.Branch
		}
	}
	return ""
}

// leftOn reports, of a run that is about to begin, that the fleet has worked on it, as the branch
// of its name says, which is not merged here.
func leftOn(r *reprise.Run, git *reprise.Git) {
	for i := 0; git != nil && i < len(git.Fleet); i++ {
		m := git.Fleet[i]
		if m.Merged || m.File != "" && m.Left.IsZero() || !isBranchOf(m, r) {
			continue
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: "the fleet has worked on it, on the branch " + m.Branch + ", which is not merged here: beginning it would do that work again",
			Hint: fmt.Sprintf("`git merge %s` brings here what was done; if it is not finished, `reprise-fleet resume %s` continues it there",
				reprise.Pasted(m.Branch, "BRANCH"), reprise.Pasted(r.ID, "RUN")),
		})
		return
	}
}

// isBranchOf reports whether the branch of a mark is that of a run.
func isBranchOf(m reprise.FleetMark, r *reprise.Run) bool {
	return strings.HasSuffix("/"+m.Branch, "/"+reprise.FleetBranch(r.ID))
}

// tellLeftOpen reports that the fleet has left a run open, or one around it, on a branch that is
// not merged here. One that was taken up here after that is decided on, and so is one of which
// known says that this branch is told of.
func tellLeftOpen(r *reprise.Run, git *reprise.Git, begun time.Time, known func(branch string) bool) {
	for _, m := range git.Fleet {
		if m.Left.IsZero() || m.Left.Before(begun) || !isMarkOf(m, r, r.Ref) || known(m.Branch) || handedAt(r) >= 0 {
			continue
		}
		outer := cmp.Or(m.Run, r.ID)
		r.Report(partOf(reprise.Finding{
			Code: reprise.CodeElsewhere, Severity: reprise.Warning, Source: reprise.Source{File: r.Path},
			Message: fmt.Sprintf("the fleet has left it open on the branch %s, which is not merged here", m.Branch),
			Hint:    goesOn(outer) + fmt.Sprintf("; `reprise resume %s --option continue` works on it here, which the fleet knows once it is pushed", reprise.Pasted(r.ID, "RUN")),
		}, r, outer))
	}
}

// tellUnpushed reports of runs that went on here after the fleet had left them, or one around
// them: the fleet does not know that before it is pushed.
func (j *Judgement) tellUnpushed(fsys fs.FS, runs []*reprise.Run) {
	for i := 0; j.Observed.Git != nil && i < len(j.Observed.Git.Fleet); i++ {
		m := j.Observed.Git.Fleet[i]
		if m.Left.IsZero() {
			continue
		}
		outer, inside := m.Run, []reprise.Ref(nil)
		if at := slices.IndexFunc(runs, func(r *reprise.Run) bool { return isBranchOf(m, r) }); at >= 0 {
			outer, inside = runs[at].ID, append(Inside(fsys, runs[at]), runs[at].Ref)
		}
		for _, r := range runs {
			in := slices.ContainsFunc(inside, func(ref reprise.Ref) bool { return ref.Layout == r.Layout && ref.Path == r.Path })
			if v := j.views[r]; (in || isMarkOf(m, r, r.Ref)) && m.Left.Before(v.lastBegun().Truncate(time.Second)) {
				r.Report(unpushed(m, r, outer))
			}
		}
	}
}

// unpushed says that the fleet does not know what was done here.
func unpushed(m reprise.FleetMark, r *reprise.Run, outer string) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeUnpushed, Severity: reprise.Info, Subject: r.ID, Source: reprise.Source{File: r.Path},
		Message: fmt.Sprintf("the fleet has left %s open, and does not know what was done here since: it would do that again", cmp.Or(outer, "its run")),
	}
	if !r.State.Open() {
		f.Severity = reprise.Warning
	}
	push := "push it to the default branch: `git push origin HEAD` in a checkout of that"
	if m.Merged {
		push = fmt.Sprintf("`git push origin HEAD:%s`", m.Branch[strings.LastIndex("/"+m.Branch, "/"+reprise.FleetBranches):])
	}
	f.Hint = "commit it, then " + push
	if r.ID == outer {
		f.Hint += fmt.Sprintf("; or `reprise-fleet resume %s` in this clone, which takes along what is committed", reprise.Pasted(outer, "RUN"))
	}
	return f
}

// tellUnfetched reports the runs that the fleet's server has open, by their branches, and of which no
// branch here says so: what they do, and which runs here that concerns, is not known until it is
// fetched.
func (j *Judgement) tellUnfetched(runs []*reprise.Run, open map[string]string) {
	for _, branch := range slices.Sorted(maps.Keys(open)) {
		id := open[branch]
		of := func(m reprise.FleetMark) bool {
			return m.File != "" && m.Left.IsZero() && strings.HasSuffix("/"+m.Branch, "/"+branch)
		}
		here := slices.IndexFunc(runs, func(r *reprise.Run) bool { return r.ID == id })
		if j.Observed.Git == nil || slices.ContainsFunc(j.Observed.Git.Fleet, of) || here >= 0 && handedAt(runs[here]) >= 0 {
			continue
		}
		name := reprise.Pasted(branch, "BRANCH")
		f := reprise.Finding{
			Code: reprise.CodeHandedOver, Severity: reprise.Info, Subject: id, Source: reprise.Source{File: durable.StateDir},
			Message: "the fleet has " + id + " open, as its server says, and its branch was not fetched here since",
			Hint:    fmt.Sprintf("`git fetch origin +refs/heads/%s:refs/remotes/origin/%s` tells which work that is", name, name),
		}
		j.Unfetched = append(j.Unfetched, f)
		if here < 0 {
			j.Findings = append(j.Findings, f)
			continue
		}
		f.Severity = reprise.Blocking
		runs[here].Report(f)
	}
}

// handInside reports what is inside a run that is handed over as handed over with it.
func handInside(fsys fs.FS, runs []*reprise.Run) {
	given := slices.DeleteFunc(slices.Clone(runs), func(r *reprise.Run) bool { return handedAt(r) < 0 })
	for i := 0; i < len(given); i++ {
		outer := given[i]
		refs := Inside(fsys, outer)
		for _, r := range runs {
			is := func(ref reprise.Ref) bool {
				return slices.ContainsFunc(append(slices.Clip(r.Also), r.Ref), func(own reprise.Ref) bool { return own.Layout == ref.Layout && own.Path == ref.Path })
			}
			if r != outer && r.State.Open() && handedAt(r) < 0 && slices.ContainsFunc(refs, is) {
				r.Report(partOf(outer.Findings[handedAt(outer)], r, outer.ID))
				given = append(given, r)
			}
		}
	}
}

// Inside lists the runs inside a run: those that do its steps, and those of the files that such
// a step is about.
func Inside(fsys fs.FS, outer *reprise.Run) (out []reprise.Ref) {
	book, err := convention.Playbook(outer.Layout, outer.Kind)
	if err != nil || !outer.Kind.Facts().Hosts {
		return nil
	}
	var about []string
	for i := range outer.Steps {
		if a, err := book.Assign(fsys, outer, outer.Steps[i].Unit("")); err == nil && a.Child != nil {
			out = append(out, *a.Child)
			about = append(about, slices.DeleteFunc(a.Inputs, func(name string) bool { return name == a.Child.Path || name == outer.Path })...)
		}
	}
	if len(about) == 0 {
		return out
	}
	all, _ := convention.Find(outer.Layout).Find(fsys) // what cannot be looked at is not found here either
	for _, ref := range all {
		if slices.Contains(about, ref.Path) {
			out = append(out, ref)
		}
	}
	return out
}

// OnFleet says what is known of a run on a branch of the fleet, and the command that goes on with it.
func OnFleet(m *reprise.FleetMark, name string) (words, way string) {
	switch run := reprise.Pasted(name, "RUN"); {
	case !m.Left.IsZero():
		return "the fleet has left it open on the branch " + m.Branch, goesOn(name)
	case m.File != "":
		return "the fleet works on it, on the branch " + m.Branch,
			fmt.Sprintf("`reprise-fleet resume %s` follows it; to have it here: `reprise-fleet stop %s`, which names the commands that continue it", run, run)
	}
	return "the fleet has finished it on the branch " + m.Branch, fmt.Sprintf("`git merge %s` brings it here", reprise.Pasted(m.Branch, "BRANCH"))
}

// onlyFleet gives the runs that the fleet has, or has left open, as branches say that were fetched and are
// not merged, and that have no files here.
func (j *Judgement) onlyFleet(runs []*reprise.Run) (out []*reprise.FleetMark) {
	told := map[string]bool{}
	for i := 0; j.Observed.Git != nil && i < len(j.Observed.Git.Fleet); i++ {
		m := &j.Observed.Git.Fleet[i]
		if m.Merged || m.File == "" || m.Run == "" || told[m.Branch] ||
			slices.ContainsFunc(runs, func(r *reprise.Run) bool { return isBranchOf(*m, r) || isMarkOf(*m, r, r.Ref) }) {
			continue
		}
		told[m.Branch] = true
		out = append(out, m)
	}
	return out
}

// tellAway reports the runs that only the fleet has.
func (j *Judgement) tellAway(runs []*reprise.Run) {
	for _, m := range j.onlyFleet(runs) {
		words, way := OnFleet(m, m.Run)
		j.Findings = append(j.Findings, reprise.Finding{
			Code: reprise.CodeHandedOver, Severity: reprise.Info, Subject: m.Run, Source: reprise.Source{File: durable.StateDir},
			Message: m.Run + " is not here: " + words, Hint: way,
		})
	}
}

// Away is the run that a goal asks for and that only the fleet has, nil if there is none. file is
// that of the workflow, "" for a kind of its own.
func (j *Judgement) Away(kind reprise.Kind, g reprise.Goal, file string) *reprise.FleetMark {
	for _, m := range j.onlyFleet(j.Runs) {
		if m.IsFor(kind, g, file) {
			return m
		}
	}
	return nil
}

// Idle is the outcome if nothing here was interrupted: a run that only the fleet has is something.
func (r *Result) Idle() reprise.Outcome {
	if slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver }) {
		return reprise.OutcomeBlocked
	}
	return r.Nothing()
}
