package longrun

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// steps turns plans into steps with the claims of all ledgers.
func (g *gsd) steps() {
	for _, e := range g.agent.entries {
		if k, ok := g.entryPlan(e); ok && (g.plans[k] != nil || g.onlyAgents()) {
			p := g.plans.at(k, k.String())
			p.agents = append(p.agents, e)
		}
	}
	for _, p := range g.plans.sorted() {
		g.claim(p)
		s := reprise.Step{
			ID: p.id, Phase: "phase " + p.phase.String(), Path: p.file(), Role: "executor", Title: p.title, Source: p.source,
			Attempts: len(p.agents), Claims: p.claims, Status: p.status, Files: projectFiles(g.codeRoot(), p.files), Traces: g.traces(p),
		}
		if s.Title == "" && p.box != nil {
			s.Title = p.box.text
		}
		if p.human {
			s.Role = "person"
		}
		for _, d := range g.waitsFor(p) {
			s.Needs = append(s.Needs, d.id)
		}
		if h := g.hand; h != nil && h.plan == p {
			s.Commits, s.Pieces = h.commits, len(h.commits) > 0
		}
		if made := p.summary; made != nil && p.status == reprise.Done {
			s.Made, s.Commits, s.Pieces = projectFiles(g.codeRoot(), made.made), made.commits, false
		}
		g.made(p)
		s.Source = cmp.Or(s.Source, s.Claims[0].Source)
		g.run.Steps = append(g.run.Steps, s)
	}
}

// claim lists what the ledgers say about a plan, the strongest first, and lets one
// win: the summary; a plan taken out; two records that agree on done; who was at
// it; else the plan file. A box of a plan without any file is all there is.
func (g *gsd) claim(p *plan) {
	add := func(ledger string, status reprise.Status, word string, at reprise.Source, when time.Time) int {
		p.claims = append(p.claims, reprise.Claim{Ledger: ledger, Status: status, Word: word, Source: at, At: when})
		return len(p.claims) - 1
	}
	never, done, worker, planned, out := time.Time{}, -1, -1, -1, -1
	record := func(ledger, word string, at reprise.Source) {
		if i := add(ledger, reprise.Done, word, at, never); done < 0 {
			done = i
		}
	}
	if p.summary != nil {
		p.claims = append(p.claims, p.summary.claim())
	}
	if b := p.box; p.ticked() {
		record("ROADMAP.md", "[x]", b.source)
	} else if b != nil && takenOut(b.text) {
		out = add("ROADMAP.md", reprise.Skipped, doc.Clip(b.text, 40), b.source, never)
	} else if b != nil {
		add("ROADMAP.md", reprise.Pending, "[ ]", b.source, never)
	} else if g.road.done(p.phase) {
		record("ROADMAP.md", "phase done", g.road.phases[p.phase].source)
	}
	if at, ok := g.state.metric[p.planKey]; ok {
		record("STATE.md", "row of the metrics", at)
	} else if at, ok := g.state.said[p.planKey]; ok {
		record("STATE.md", "completed", at)
	} else if at, ok := g.state.phases[p.phase]; ok {
		record("STATE.md", "phase done", at)
	}
	if e := p.latest(); e != nil {
		worker = add("agent-history.json", e.status, e.word, e.source, e.at)
	}
	if h := g.hand; h != nil && h.plan == p {
		if i := add(path.Base(h.file), reprise.InProgress, doc.Clip(h.status, 60), h.source, h.at); worker < 0 {
			worker = i
		}
	}
	if p.path != "" {
		planned = add("PLAN", reprise.Pending, "planned", p.source, never)
		if p.superseded != "" {
			p.claims[planned].Status, p.claims[planned].Word, out = reprise.Skipped, p.superseded, planned
		}
	}
	if len(p.claims) == 0 {
		add("current-agent-id.txt", reprise.Unknown, g.agent.id, g.agent.source, never)
	}
	won := 0
	switch {
	case p.summary != nil:
	case out >= 0:
		won = out
	case p.recorded && done >= 0:
		won = done
	case worker >= 0 && p.claims[worker].Status != reprise.Skipped:
		won = worker
	case planned >= 0:
		won = planned
	}
	p.claims[won].Won = true
	p.status = p.claims[won].Status
}

// findings reports what a person should know about the plans.
func (g *gsd) findings() {
	tell := func(code string, sev reprise.Severity, list []*plan, format, hint string) {
		if len(list) > 0 {
			report(g.r, sev, code, list[0].id, reprise.Source{File: list[0].file()}, fmt.Sprintf(format, ids(list)), hint)
		}
	}
	tell(reprise.CodeMissingArtifact, reprise.Info, keep(g.open, func(p *plan) bool { return p.recorded }),
		"two records call these plans done, but they have no summary: %s", "the summary may be uncommitted or lost; write it if it is wanted")
	tell(reprise.CodeStatusDrift, reprise.Warning, keep(g.live, func(p *plan) bool { return p.disputed }),
		"STATE.md calls these plans done; ROADMAP.md lists them as open and they have no summary, so they count as open: %s", "look at the work; then tick them and write the summary, or correct STATE.md")
	tell(reprise.CodeClosedOpen, reprise.Warning, keep(g.open, func(p *plan) bool { return p.closed }),
		"these plans are open although their phase is recorded complete: %s", "check whether they were skipped on purpose")
	tell(reprise.CodeAbandoned, reprise.Info, keep(g.open, func(p *plan) bool { return p.orphan }),
		"these open plans belong to phases that ROADMAP.md does not list: %s", "remove them if they are leftovers")
	tell(reprise.CodeAbandoned, reprise.Warning, keep(g.live, func(p *plan) bool { return !g.current.none() && p.phase.compare(g.current) < 0 }),
		"these plans were left open while work continued in later phases: %s", "finish them, or mark them as superseded")
	tell(reprise.CodeSuperseded, reprise.Info, keep(g.filed, func(p *plan) bool { return p.takenOut() && !p.done }),
		"these plans were removed without being done: %s", "")
	tell(reprise.CodeStatusDrift, reprise.Info, keep(g.done, func(p *plan) bool { return p.box != nil && !p.box.ticked && !p.skipped() }),
		"these plans have a summary but no tick in ROADMAP.md; the summary counts: %s", "only the bookkeeping is behind")
	for _, p := range g.live {
		for _, d := range p.needs {
			if g.plans[d] == nil && d.phase == p.phase {
				warn(g.r, reprise.CodeUnknownDependency, p.id, p.source, fmt.Sprintf("plan %s depends on %s, which does not exist", p.id, d), "correct depends_on in the plan")
			}
		}
	}
	g.plans.reportCycles(g.r, g.live)
	g.checkState()
	g.checkQuick()
}

// checkState holds STATE.md against the disk.
func (g *gsd) checkState() {
	s, reached := &g.state, g.frontier()
	if !s.exists {
		warn(g.r, reprise.CodeMissingArtifact, "STATE.md", s.source, "STATE.md is missing; what is done is read from ROADMAP.md and the summaries", "")
		return
	}
	if !s.phase.none() && !reached.none() && reached.compare(s.phase) > 0 {
		warn(g.r, reprise.CodeStatusDrift, "STATE.md", s.source, fmt.Sprintf("STATE.md is at phase %s, but plans of phase %s are done; the summaries count", s.phase, reached), "bring STATE.md up to date")
	}
	if behind := keep(g.live, func(p *plan) bool { return p.phase.compare(g.current) >= 0 && p.phase.compare(s.phase) < 0 }); len(behind) > 0 {
		warn(g.r, reprise.CodeStatusDrift, "STATE.md", s.source, fmt.Sprintf("STATE.md is at phase %s, but plans before it are open: %s", s.phase, ids(behind)), "finish them, or mark them as superseded")
	}
	if s.whole() && len(g.live) > 0 {
		warn(g.r, reprise.CodeFalseCompletion, "STATE.md", s.source, fmt.Sprintf("STATE.md says %q, but plans are open: %s", doc.Clip(s.wholeWord(), 40), ids(g.live)), "finish them, or mark them as superseded")
	}
}

// checkVerification reports what the verification of the phases found, and what a person has
// to set up. It does
// not change the state: shipped milestones carry deferred findings.
func (g *gsd) checkVerification() {
	for _, c := range g.checks {
		if at := g.frontier(); c.phase != at && c.phase != g.state.phase {
			continue
		}
		f := g.r.Open(c.path)
		m := f.Markdown()
		if m == nil {
			continue
		}
		node := m.Front.Get("status")
		word, line := node.Str(), 0
		if node != nil {
			line = node.Line
		} else if label, ok := m.All().Label("Status"); ok {
			word, line = label.Value, label.Line
		}
		waits := reprise.CodePendingQuestion
		if g.run.State == reprise.Complete {
			waits = reprise.CodeFalseCompletion
		}
		switch doc.Fold(word) {
		case "gaps found", "diagnosed", "failed":
			f.Report(reprise.Warning, reprise.CodeFalseCompletion, line, fmt.Sprintf("the %s of %s ended as %q", c.what, g.phaseName(c.phase), doc.Clip(word, 40)), "plan and execute what closes the gaps")
		case "human needed", "partial", "testing", "incomplete":
			f.Report(reprise.Warning, waits, line, fmt.Sprintf("the %s of %s waits for a person (%q)", c.what, g.phaseName(c.phase), doc.Clip(word, 40)), "go through what is open there, then bring its status up to date")
		}
	}
}

// checkQuick reports quick tasks, which stand outside the phases, that have a
// plan and no summary.
func (g *gsd) checkQuick() {
	for _, e := range g.r.Dir(path.Join(g.dir, "quick")) {
		if !e.IsDir() {
			continue
		}
		dir := path.Join(g.dir, "quick", e.Name())
		planned, done := "", false
		for _, f := range g.r.Dir(dir) {
			upper := strings.ToUpper(f.Name())
			if strings.HasSuffix(upper, "PLAN.MD") {
				planned = path.Join(dir, f.Name())
			}
			done = done || strings.HasSuffix(upper, "SUMMARY.MD")
		}
		if planned != "" && !done {
			report(g.r, reprise.Info, reprise.CodeAbandoned, e.Name(), reprise.Source{File: planned},
				fmt.Sprintf("the quick task %s has a plan but no summary", strconv.Quote(doc.Clip(e.Name(), 60))), "finish it or remove it")
		}
	}
}
