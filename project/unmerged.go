package project

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/convention"
)

// tellUnmerged reports steps of an open run that are done on another branch and open
// here: doing them here does them twice. Who took the run up here after that has decided.
func (v *View) tellUnmerged(ctx context.Context, fsys fs.FS, git *reprise.Git) {
	r, l := v.Run, convention.Find(v.Run.Layout)
	if git == nil || l == nil || !r.State.Open() || !filepath.IsLocal(filepath.FromSlash(r.Path)) {
		return
	}
	for _, u := range git.Unmerged {
		if u.Branch == r.Branch || u.At.Before(v.lastBegun().Truncate(time.Second)) { // git keeps whole seconds
			continue
		}
		then, err := overlaid(ctx, fsys, u.Files)
		var there *reprise.Run
		if err == nil {
			there, err = reprise.Load(l, then, r.Ref)
		}
		f := reprise.Finding{Code: reprise.CodeElsewhere, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path}}
		branch := reprise.Pasted(u.Branch, "BRANCH")
		f.Hint = fmt.Sprintf("`git merge %s` brings it here; `reprise resume %s --option continue` does it again here", branch, reprise.Pasted(r.ID, "RUN"))
		switch {
		case err != nil:
			f.Message = fmt.Sprintf("branch %s changed it, and what was done there cannot be read: %v", u.Branch, err)
		case len(doneIn(there, r)) == 0:
			continue
		default:
			done := doneIn(there, r)
			f.Message = fmt.Sprintf("branch %s, which is not merged here, has it further along: %s", u.Branch, wereFinished(done))
		}
		r.Report(f)
	}
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

// lastBegun is when work on the run was last begun here.
func (v *View) lastBegun() (at time.Time) {
	for _, ev := range slices.Backward(v.Events) {
		if slices.Contains([]reprise.EventKind{reprise.RunStarted, reprise.RunRenewed, reprise.RunResumed, reprise.StepStarted}, ev.Kind) {
			return ev.At
		}
	}
	return at
}
