package autoclaude

import (
	"fmt"
	"path"
	"strconv"

	"reprise"
	"reprise/internal/doc"
)

// compareStatusFile holds the program's status file against the run. The file
// names one spec, has neither process nor host, and says active in nearly every
// project that was left alone: it proves nothing about life or death. Its
// counts can be ahead of every plan in the tree, when the worktree with the
// newer one is on another disk; that is worth a warning.
func (l *loader) compareStatusFile() {
	if l.where.base == "" {
		return
	}
	for _, dir := range []string{l.where.base, l.where.worktree} {
		if dir == "" {
			continue
		}
		f := l.rd.Open(path.Join(dir, statusFile))
		if !f.Exists() {
			continue
		}
		n := f.JSON().Object("spec", "active", "state")
		if n.Get("spec").Str() != l.run.ID {
			continue
		}
		l.compareStatus(n)
		if dir == l.where.worktree {
			break // one and the same folder for a run found in its worktree
		}
	}
}

func (l *loader) compareStatus(n *doc.Node) {
	r := l.run
	counts := n.Get("subtasks", "chunks")
	completed, counted := counts.Get("completed").Int()
	done := r.Progress().Done
	planned := l.plan != nil && len(l.plan.items) > 0
	if counted && planned && completed > done {
		l.rd.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: r.ID, Source: counts.Source(),
			Message: fmt.Sprintf("%s counts %d items as completed, the plan %d: a newer copy of the plan may be in a worktree elsewhere", statusFile, completed, done),
			Hint:    "look for the worktree of branch " + strconv.Quote("auto-claude/"+doc.Clip(r.ID, 60)),
		})
	}
	if completed > 0 && l.plan == nil {
		l.lostPlan("the counts in " + statusFile)
	}
	last := n.Get("last_update")
	if active, _ := n.Get("active").Bool(); active {
		code, message := reprise.CodeOwnerMarker, statusFile+" says that it is being worked on"
		if !r.State.Open() || counted && planned && completed < done {
			code, message = reprise.CodeStaleMarker, statusFile+" says that it is being worked on, but the plan is further along"
		}
		l.rd.Report(reprise.Finding{
			Code: code, Severity: reprise.Info, Subject: r.ID, Source: n.Get("active").Source(),
			Message: message + "; it is left behind by every crash and proves nothing",
		})
	}
	// A hint only: local time without a zone, and written by hand at times.
	if r.LastActivitySource.Line == 0 {
		r.Active(last.Time(), last.Source())
	}
}
