package longrun

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// stepKeys lists every plan anything speaks of: files, and boxes of ROADMAP.md.
func (g *gsd) stepKeys() []planKey {
	keys := g.allKeys()
	for k := range g.road.boxes {
		if g.plans[k] == nil && g.sums[k] == nil {
			keys = append(keys, k)
		}
	}
	if g.onlyAgents() {
		for _, e := range g.agent.entries {
			if k, ok := g.entryPlan(e); ok && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	if len(g.offered) > 0 && !slices.Contains(keys, g.offered[0]) {
		keys = append(keys, g.offered[0]) // named by an agent's entry alone
	}
	slices.SortFunc(keys, planKey.compare)
	return keys
}

// steps turns plans into steps with the claims of all ledgers.
func (g *gsd) steps() {
	latest, launches := map[planKey]*agentEntry{}, map[planKey]int{}
	for _, e := range g.agent.entries {
		if k, ok := g.entryPlan(e); ok {
			latest[k] = e
			launches[k]++
		}
	}
	for _, k := range g.stepKeys() {
		s := reprise.Step{
			ID: g.id(k), Phase: "phase " + k.phase.String(), Path: g.pathOf(k), Role: "executor",
			Attempts: launches[k], Claims: g.claims(k, latest[k]), Title: g.road.boxes[k].text,
		}
		if p := g.plans[k]; p != nil {
			s.Source = p.source
			if p.title != "" {
				s.Title = p.title
			}
			s.Files = projectFiles(g.codeRoot(), p.files)
			if p.human {
				s.Role = "person"
			}
			for _, d := range p.needs {
				if g.plans[d] != nil || g.sums[d] != nil {
					s.Needs = append(s.Needs, g.id(d))
				}
			}
		}
		if h := g.hand; h != nil && h.hasPlan && h.plan == k {
			s.Commits, s.Pieces = h.commits, len(h.commits) > 0
		}
		s.Traces = g.traces(k)
		g.made(k, s.ID)
		won := g.winner(k, s.Claims)
		s.Claims[won].Won = true
		s.Status = s.Claims[won].Status
		if s.Source.File == "" {
			s.Source = s.Claims[0].Source
		}
		g.run.Steps = append(g.run.Steps, s)
	}
}

// claims lists what the ledgers say about a plan, the strongest first.
func (g *gsd) claims(k planKey, e *agentEntry) []reprise.Claim {
	var out []reprise.Claim
	if s := g.sums[k]; s != nil {
		out = append(out, reprise.Claim{Ledger: "SUMMARY", Status: s.status, Word: s.word, Source: s.source, At: s.at})
	}
	if b, ok := g.road.boxes[k]; ok {
		c := reprise.Claim{Ledger: "ROADMAP.md", Status: reprise.Pending, Word: "[ ]", Source: b.source}
		if b.ticked {
			c.Status, c.Word = reprise.Done, "[x]"
		}
		out = append(out, c)
	} else if ph := g.road.phases[k.phase]; ph != nil && ph.done {
		out = append(out, reprise.Claim{Ledger: "ROADMAP.md", Status: reprise.Done, Word: "phase done", Source: ph.source})
	}
	if at, ok := g.state.metric[k]; ok {
		out = append(out, reprise.Claim{Ledger: "STATE.md", Status: reprise.Done, Word: "row of the metrics", Source: at})
	} else if at, ok := g.state.said[k]; ok {
		out = append(out, reprise.Claim{Ledger: "STATE.md", Status: reprise.Done, Word: "completed", Source: at})
	} else if at, ok := g.state.phases[k.phase]; ok {
		out = append(out, reprise.Claim{Ledger: "STATE.md", Status: reprise.Done, Word: "phase done", Source: at})
	}
	if e != nil {
		out = append(out, reprise.Claim{Ledger: "agent-history.json", Status: e.status, Word: e.word, Source: e.source, At: e.at})
	}
	if h := g.hand; h != nil && h.hasPlan && h.plan == k {
		out = append(out, reprise.Claim{Ledger: path.Base(h.file), Status: reprise.InProgress, Word: doc.Clip(h.status, 60), Source: h.source, At: h.at})
	}
	if p := g.plans[k]; p != nil {
		c := reprise.Claim{Ledger: "PLAN", Status: reprise.Pending, Word: "planned", Source: p.source}
		if p.superseded != "" {
			c.Status, c.Word = reprise.Skipped, p.superseded
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		out = append(out, reprise.Claim{Ledger: "current-agent-id.txt", Status: reprise.Unknown, Word: g.agent.id, Source: g.agent.source})
	}
	return out
}

// winner picks the claim that decides: the summary; a plan taken out; two
// records that agree on done; who was at it; else the plan file. A box of a
// plan without any file is all there is.
func (g *gsd) winner(k planKey, claims []reprise.Claim) int {
	find := func(match func(c reprise.Claim) bool) int { return slices.IndexFunc(claims, match) }
	ledger := func(name string) int { return find(func(c reprise.Claim) bool { return c.Ledger == name }) }
	if i := ledger("SUMMARY"); i >= 0 {
		return i
	}
	plan := ledger("PLAN")
	if plan >= 0 && claims[plan].Status == reprise.Skipped {
		return plan
	}
	if g.recorded[k] {
		if i := find(func(c reprise.Claim) bool { return c.Status == reprise.Done }); i >= 0 {
			return i
		}
	}
	if i := find(func(c reprise.Claim) bool {
		return strings.HasSuffix(c.Ledger, "json") || strings.Contains(c.Ledger, "continue-here")
	}); i >= 0 && claims[i].Status != reprise.Skipped {
		return i
	}
	if plan >= 0 {
		return plan
	}
	return 0
}

// findings reports what a person should know about the plans.
func (g *gsd) findings() {
	report := func(code string, sev reprise.Severity, keys []planKey, format, hint string) {
		if len(keys) > 0 {
			g.r.Report(reprise.Finding{
				Code: code, Severity: sev, Subject: g.id(keys[0]), Source: reprise.Source{File: g.pathOf(keys[0])},
				Message: fmt.Sprintf(format, g.ids(keys)), Hint: hint,
			})
		}
	}
	pick := func(in func(k planKey) bool) (out []planKey) {
		for _, k := range g.open {
			if in(k) {
				out = append(out, k)
			}
		}
		return out
	}
	report(reprise.CodeMissingArtifact, reprise.Info, pick(func(k planKey) bool { return g.recorded[k] }),
		"two records call these plans done, but they have no summary: %s", "the summary may be uncommitted or lost; write it if it is wanted")
	report(reprise.CodeClosedOpen, reprise.Warning, pick(func(k planKey) bool { return g.closed[k] }),
		"these plans are open although their phase is recorded complete: %s", "look whether they were left out on purpose")
	report(reprise.CodeAbandoned, reprise.Info, pick(func(k planKey) bool { return g.orphan[k] }),
		"these open plans belong to phases that ROADMAP.md does not list: %s", "remove them if they are leftovers")
	report(reprise.CodeAbandoned, reprise.Warning, pick(func(k planKey) bool {
		return !g.recorded[k] && !g.closed[k] && !g.orphan[k] && !g.current.none() && k.phase.compare(g.current) < 0
	}), "these plans were left open while the work went on in later phases: %s", "finish them, or mark them as superseded")
	var untouched, unticked []planKey
	for _, k := range g.allKeys() {
		if p := g.plans[k]; p != nil && p.superseded != "" && !g.done[k] {
			untouched = append(untouched, k)
		}
		if b, ok := g.road.boxes[k]; ok && !b.ticked && g.done[k] && !g.skipped(k) {
			unticked = append(unticked, k)
		}
	}
	report(reprise.CodeSuperseded, reprise.Info, untouched, "these plans were taken out without being done: %s", "")
	report(reprise.CodeStatusDrift, reprise.Info, unticked, "these plans have a summary and no tick in ROADMAP.md; the summary counts: %s", "only the bookkeeping is behind")
	g.checkGSDNeeds()
	g.checkState()
	g.checkVerification()
	g.checkQuick()
}

// checkGSDNeeds reports dependencies of open plans on nothing and on themselves.
func (g *gsd) checkGSDNeeds() {
	cyclic := inCycles(g.live, func(k planKey) []planKey {
		if p := g.plans[k]; p != nil {
			return p.needs
		}
		return nil
	})
	for _, k := range g.live {
		p := g.plans[k]
		for _, d := range p.needs {
			_, boxed := g.road.boxes[d]
			if g.plans[d] == nil && g.sums[d] == nil && !boxed && d.phase == k.phase {
				g.r.Report(reprise.Finding{Code: reprise.CodeUnknownDependency, Severity: reprise.Warning, Subject: p.id, Source: p.source,
					Message: fmt.Sprintf("plan %s depends on %s, which does not exist", p.id, d), Hint: "correct depends_on in the plan"})
			}
		}
		if cyclic[k] {
			g.r.Report(reprise.Finding{Code: reprise.CodeCycle, Severity: reprise.Warning, Subject: p.id, Source: p.source,
				Message: fmt.Sprintf("plan %s depends on itself through other plans", p.id), Hint: "correct depends_on in one of them"})
		}
	}
}

// checkState holds STATE.md against the disk.
func (g *gsd) checkState() {
	s := &g.state
	if !s.exists {
		g.r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: "STATE.md", Source: reprise.Source{File: path.Join(g.dir, "STATE.md")},
			Message: "STATE.md is missing; what is done is read from ROADMAP.md and the summaries", Hint: ""})
		return
	}
	if reached := g.frontier(); !s.phase.none() && !reached.none() && reached.compare(s.phase) > 0 {
		g.r.Report(reprise.Finding{Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: "STATE.md", Source: s.source,
			Message: fmt.Sprintf("STATE.md stands at phase %s, but plans of phase %s are done; the summaries count", s.phase, reached), Hint: "bring STATE.md up to date"})
	}
	if s.whole() && len(g.live) > 0 {
		g.r.Report(reprise.Finding{Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: "STATE.md", Source: s.source,
			Message: fmt.Sprintf("STATE.md says %q, but plans are open: %s", doc.Clip(s.wholeWord(), 40), g.ids(g.live)), Hint: "finish them, or mark them as superseded"})
	}
}

// checkVerification reports what the verification of the phases found. It does
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
		switch word := doc.Fold(node.Str()); word {
		case "gaps found", "diagnosed", "failed":
			f.Report(reprise.Warning, reprise.CodeFalseCompletion, node.Line, fmt.Sprintf("the verification of %s ended as %q", g.phaseName(c.phase), doc.Clip(node.Str(), 40)), "plan and execute what closes the gaps")
		case "human needed", "partial", "testing":
			f.Report(reprise.Warning, reprise.CodePendingQuestion, node.Line, fmt.Sprintf("the verification of %s waits for a person (%q)", g.phaseName(c.phase), doc.Clip(node.Str(), 40)), "go through the open checks")
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
			g.r.Report(reprise.Finding{Code: reprise.CodeAbandoned, Severity: reprise.Info, Subject: e.Name(), Source: reprise.Source{File: planned},
				Message: fmt.Sprintf("the quick task %s has a plan and no summary", strconv.Quote(doc.Clip(e.Name(), 60))), Hint: "finish it or remove it"})
		}
	}
}
