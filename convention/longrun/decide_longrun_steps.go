package longrun

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// loadLongRun reads a `.long-run/` folder and decides what it stands for. What
// follows for callers of the layout is in the run.
func loadLongRun(r *doc.Reader, run *reprise.Run) *longRun {
	l := &longRun{r: r, run: run, dir: run.Path}
	l.readPosition()
	l.readPlans()
	l.agent = readAgents(r, run, l.dir)
	l.readClarifications()
	l.leftovers()
	l.matchAgents()
	for _, p := range l.plans {
		l.settle(p)
	}
	l.reportPending()
	l.checkNeeds()
	l.steps()
	l.artifacts()
	l.judgeMarker()
	l.checkSequence()
	l.decide()
	l.resume()
	l.lastResort()
	return l
}

// matchAgents gives each plan its entries of the history, in file order.
func (l *longRun) matchAgents() {
	for _, e := range l.agent.entries {
		if p := l.named(e.plan); p != nil {
			p.agents = append(p.agents, e)
		}
	}
}

// settle lists the claims on a plan, strongest ledger first, and lets one win:
// the first, except that STATE.md cannot call a plan done.
func (l *longRun) settle(p *plan) {
	if p.summary != nil {
		p.claims = append(p.claims, p.summary.claim())
	}
	if c := p.checkpoint; c != nil {
		p.claims = append(p.claims, reprise.Claim{Ledger: "CHECKPOINT", Status: c.status, Word: cmp.Or(c.word, "unreadable"), Source: c.source, At: c.at})
	}
	if e := p.latest(); e != nil {
		at := e.at
		if !e.ended.IsZero() {
			at = e.ended
		}
		p.claims = append(p.claims, reprise.Claim{Ledger: "agent-history.json", Status: e.status, Word: e.word, Source: e.source, At: at})
	}
	if g := l.state.group(p); g != nil {
		p.claims = append(p.claims, reprise.Claim{Ledger: "STATE.md", Status: g.status, Word: g.word.Value, Source: g.source})
	} else if l.state.plan == p.num && l.state.plan > 0 {
		// The plan it names comes next; whether it was begun, the other ledgers know.
		status := reprise.Pending
		if l.state.status == wordComplete {
			status = reprise.Done
		}
		p.claims = append(p.claims, reprise.Claim{Ledger: "STATE.md", Status: status, Word: "current plan, " + l.state.word, Source: l.state.planSource})
	}
	if p.path != "" {
		p.claims = append(p.claims, reprise.Claim{Ledger: "PLAN", Status: reprise.Pending, Word: "planned", Source: reprise.Source{File: p.path}})
	}
	won := 0
	if c := p.claims[0]; c.Ledger == "CHECKPOINT" && c.Status == reprise.Pending && len(p.claims) > 1 && p.claims[1].Ledger == "agent-history.json" {
		won = 1 // no task is done: the agent knows more
	}
	for won < len(p.claims)-1 && p.claims[won].Ledger == "STATE.md" && p.claims[won].Status == reprise.Done {
		won++
	}
	winner := &p.claims[won]
	winner.Won = true
	if winner.Ledger == "STATE.md" && winner.Status == reprise.Done {
		winner.Status = reprise.Unknown
	}
	p.status = winner.Status
	l.drift(p, *winner)
}

// drift reports ledgers that contradict the one that won. A ledger that is
// merely behind after a completed summary is what a crash between two writes
// leaves: worth a line, no danger.
func (l *longRun) drift(p *plan, won reprise.Claim) {
	for _, c := range p.claims {
		if c.Won || c.Ledger == "PLAN" || givenUp(c, won) || c.Status.Closed() == won.Status.Closed() || c.Status == reprise.InReview && won.Status == reprise.Done {
			continue
		}
		severity, hint := reprise.Info, "only the bookkeeping is behind"
		if c.Status.Closed() || c.Ledger == "CHECKPOINT" || won.Status == reprise.Skipped && c.Status != reprise.Pending {
			severity, hint = reprise.Warning, "look at the commits of this plan before you continue"
		}
		report(l.r, severity, reprise.CodeStatusDrift, p.id, c.Source,
			fmt.Sprintf("plan %s is %s by its %s (%q) and %s by %s (%q)", p.id, won.Status, won.Ledger, doc.Clip(won.Word, 40), c.Status, c.Ledger, doc.Clip(c.Word, 40)), hint)
	}
}

// givenUp: an agent that came to no good end is why a plan gets skipped, and
// contradicts nothing.
func givenUp(c, won reprise.Claim) bool {
	return won.Ledger == "SUMMARY" && won.Status == reprise.Skipped && c.Ledger == "agent-history.json" && !c.Status.Closed()
}

// checkNeeds reports dependencies on plans that do not exist, that did not end
// well, and on each other.
func (l *longRun) checkNeeds() {
	for _, p := range l.plans {
		for _, need := range p.needs {
			d := l.byKey[need]
			switch {
			case d == nil:
				warn(l.r, reprise.CodeUnknownDependency, p.id, p.source, fmt.Sprintf("plan %s depends on plan %d, which does not exist", p.id, need.num), "correct depends_on in the plan")
			case p.status.Closed():
			case d.status == reprise.Skipped:
				warn(l.r, reprise.CodeIntegrity, p.id, p.source, fmt.Sprintf("plan %s depends on plan %s, which was skipped", p.id, d.id), "decide whether it can do without, or skip it too")
			case d.status == reprise.Failed:
				warn(l.r, reprise.CodeIntegrity, p.id, p.source, fmt.Sprintf("plan %s depends on plan %s, which ended as %q", p.id, d.id, d.claims[0].Word), "retry that plan first")
			}
		}
	}
	l.byKey.reportCycles(l.r, l.plans)
}

// steps turns plans into steps of the run.
func (l *longRun) steps() {
	for _, p := range l.plans {
		s := reprise.Step{
			ID: p.id, Title: p.title, Phase: p.group, Path: p.path, Role: "executor",
			Status: p.status, Claims: p.claims, Attempts: len(p.agents), Source: p.source,
		}
		s.Source = cmp.Or(s.Source, p.claims[0].Source)
		for _, d := range l.byKey.needed(p) {
			s.Needs = append(s.Needs, d.id)
		}
		if c := p.checkpoint; c != nil {
			for _, task := range slices.Sorted(maps.Keys(c.commits)) {
				s.Commits = append(s.Commits, c.commits[task])
			}
		}
		l.evidence(&s, p)
		l.run.Steps = append(l.run.Steps, s)
	}
	l.run.Title = l.state.title
	if l.run.Title == "" || strings.EqualFold(l.run.Title, "Long-Run Implementation State") {
		l.run.Title = l.run.ID
	}
}

// artifacts names the files of the spec the plans are made from. They are
// next to the state folder; a run whose plans exist can continue without them.
func (l *longRun) artifacts() {
	spec := path.Dir(l.dir)
	for _, a := range []struct{ name, file string }{
		{"spec", "spec.md"}, {"tasks", "tasks.md"}, {"tasks backup", "tasks.md.backup"}, {"orchestration", "orchestration.yml"},
	} {
		file := path.Join(spec, a.file)
		if l.r.Exists(file) {
			l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: a.name, Path: file, Presence: reprise.Present, Source: reprise.Source{File: file}})
		}
	}
	for _, p := range l.plans {
		if s := p.summary; s != nil && s.status == reprise.Done {
			l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{
				Name: "summary of plan " + p.id, Path: s.source.File, Presence: reprise.Present, MadeBy: p.id, Source: s.source,
			})
		}
		if p.path == "" {
			l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{
				Name: "plan " + p.id, Path: path.Join(l.dir, "plans", p.id+"-PLAN.md"), Presence: reprise.Missing,
				Critical: !p.status.Closed(), NeededBy: p.id, Source: p.claims[0].Source,
			})
			if !p.status.Closed() {
				warn(l.r, reprise.CodeMissingArtifact, p.id, p.claims[0].Source, fmt.Sprintf("plan %s has a record but no plan file", p.id), "restore plans/"+p.id+"-PLAN.md before you continue")
			}
		}
	}
	if o := l.agent.owner(); o != nil {
		l.run.Owner = o
	}
}

// lastResort takes the age of a file where the files record no time at all.
func (l *longRun) lastResort() {
	if l.run.LastActivity.IsZero() {
		useFileTimes(l.r, l.run, l.dir, "STATE.md", "agent-history.json", "clarifications.md", "current-agent-id.txt")
		for _, p := range l.plans {
			for _, c := range p.claims {
				useFileTimes(l.r, l.run, ".", c.Source.File)
			}
		}
	}
}

func useFileTimes(r *doc.Reader, run *reprise.Run, dir string, names ...string) {
	for _, name := range names {
		name = path.Join(dir, name)
		if in, info, err := doc.OpenRegular(r.FS(), name); err == nil {
			in.Close()
			run.Active(info.ModTime(), reprise.Source{File: name})
		}
	}
}
