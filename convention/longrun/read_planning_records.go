package longrun

import (
	"maps"
	"path"
	"slices"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// stateRecords collects what STATE.md records as finished: rows of its metrics
// (`| Phase 05-x P01 | 2min |`), its list of phases, and "Completed 05-01" in
// its prose.
func (g *gsd) stateRecords(f *doc.File, m *doc.Markdown, front *doc.Node, fields map[string]ledger.Text) {
	s := &g.state
	for _, l := range m.All().Lines() {
		cell, ok := strings.CutPrefix(strings.TrimSpace(l.Text), "|")
		if !ok {
			continue
		}
		cell, took, _ := strings.Cut(cell, "|")
		ws := strings.Fields(strings.Trim(cell, " *"))
		if len(ws) < 2 {
			continue
		}
		last := strings.TrimLeft(ws[len(ws)-1], "Pp")
		num, suffix, ok := parsePlanNo(last)
		phase, found := phaseIn(cell, true)
		if k, whole := planIn(last); whole && strings.EqualFold(ws[0], "phase") && strings.ContainsAny(took[:min(len(took), 3)], "0123456789") {
			s.metric[k] = f.At(l.No) // | Phase 05-01 | 2min |
		} else if ok && found && last != ws[len(ws)-1] {
			s.metric[planKey{phase, num, suffix}] = f.At(l.No)
		}
	}
	g.stateTables(f, m)
	g.stateBoxes(f, m)
	note := func(text string, line int) {
		for _, k := range completedIn(text) {
			s.said[k] = f.At(line)
		}
	}
	for _, key := range []string{"activity", "stopped", "plan"} {
		note(fields[key].Value, fields[key].Line)
	}
	if num, ok := planDone(fields["plan"].Value); ok && !s.phase.none() {
		s.said[planKey{phase: s.phase, num: num}] = f.At(fields["plan"].Line)
	}
	for _, key := range []string{"resume", "next"} {
		for _, w := range strings.Fields(fields[key].Value) {
			if k, ok := planIn(w); ok {
				s.next = append(s.next, k)
			}
		}
	}
	for _, key := range []string{"stopped_at", "last_activity"} {
		if n := front.Get(key); !n.IsNull() && n.Kind == doc.String {
			note(n.Text, n.Line)
		}
	}
}

// completedIn finds "Completed 05-01-PLAN.md, 05-02": plans right behind a word
// for done, and "Completed Phase 5 Plan 01". "05-01 complete" is left to the
// ledgers that are written for it.
func completedIn(text string) []planKey {
	var out []planKey
	ws := strings.Fields(text)
	for i, w := range ws {
		switch doc.Fold(w) {
		case "complete", "completed", "finished", "완료":
		default:
			continue
		}
		behind := ws[i+1:]
		if k, ok := phaseAndPlan(behind); ok {
			out = append(out, k)
			continue
		}
		if len(behind) > 1 {
			if _, ok := planIn(behind[0]); !ok {
				behind = behind[1:]
			}
		}
		for _, w := range behind {
			k, ok := planIn(w)
			if folded := doc.Fold(w); !ok && folded != "" && folded != "and" {
				break
			}
			if ok {
				out = append(out, k)
			}
		}
	}
	return out
}

// planDone reads the label of the plan where it says that the plan is done: "02
// (complete)", "2 of 3 in current phase — complete".
func planDone(text string) (num int, ok bool) {
	ws := strings.Fields(doc.Fold(text))
	if len(ws) < 2 || !doc.Digits(ws[0]) || len(ws[0]) > 4 {
		return 0, false
	}
	num, _, _ = parsePlanNo(ws[0])
	rest := ws[1:]
	if len(rest) > 2 && rest[0] == "of" && doc.Digits(rest[1]) {
		rest = rest[2:]
	}
	if len(rest) > 3 && rest[0] == "in" && rest[2] == "phase" {
		rest = rest[3:]
	}
	return num, slices.Contains(doneWords, rest[0])
}

// phaseAndPlan reads "Phase 5 Plan 01" and "Phase 5, Plan 1:".
func phaseAndPlan(ws []string) (planKey, bool) {
	var parts []string
	for _, w := range ws[:min(len(ws), 6)] {
		if w = strings.Trim(w, "*_`():;,.—–-"); w != "" {
			parts = append(parts, w)
		}
	}
	if len(parts) < 4 || !strings.EqualFold(parts[0], "phase") || !strings.EqualFold(parts[2], "plan") {
		return planKey{}, false
	}
	p, ok1 := parsePhase(parts[1])
	num, suffix, ok2 := planName(parts[3])
	return planKey{p, num, suffix}, ok1 && ok2
}

// planIn reads a word such as 05-01, 05-01-PLAN.md, 05-slug-05-02 or
// 05-slug/02-PLAN.md.
func planIn(word string) (planKey, bool) { return planOfPhase(word, phaseNo{}) }

// planOfPhase reads such a word where plans of a phase are spoken of: a number
// alone is one of them.
func planOfPhase(word string, folder phaseNo) (planKey, bool) {
	word = strings.Trim(word, "*_`\"'():;,.[]")
	if i := strings.LastIndexByte(word, '/'); i >= 0 {
		folder, _ = phaseOfFolder(path.Base(word[:i]), true)
		word = word[i+1:]
	}
	ws := numbersOf(words(strings.TrimSuffix(word, ".md")))
	k, _, ok := pairIn(ws, folder)
	if ok && k.phase.depth == 1 && k.phase.n[0] > 1900 {
		return planKey{}, false // a date
	}
	if !ok && len(ws) == 1 && !folder.none() {
		num, suffix, single := planName(ws[0])
		return planKey{folder, num, suffix}, single
	}
	return k, ok
}

// stateTables reads the tables of STATE.md: `| Phase | Plan | Duration |` lists
// plans that were finished, `| Phase | Name | Status |` all phases with how far
// they are. Only a table whose first column is headed as the phase says something
// about phases; quick tasks are numbered, too.
func (g *gsd) stateTables(f *doc.File, m *doc.Markdown) {
	s, rows := &g.state, phaseRows(f, m)
	for _, line := range slices.Sorted(maps.Keys(rows)) {
		row := rows[line]
		done := row.status < 0 && row.timed || row.status >= 0 && startsDone(row.cells[row.status].Value)
		switch {
		case !row.headed:
		case row.plan == 1 && done:
			if num, suffix, ok := parsePlanNo(strings.TrimLeft(strings.Trim(row.cells[1].Value, " *`"), "Pp")); ok {
				s.metric[planKey{row.phase, num, suffix}] = f.At(line)
			}
		case row.plan == 1 || row.status < 0:
		case done:
			s.phases[row.phase] = f.At(line)
		default:
			s.notDone(row.phase)
		}
	}
}

// notDone notes a phase that the list of STATE.md calls open, if it is the first.
func (s *gsdState) notDone(p phaseNo) {
	if s.open.none() {
		s.open = p
	}
}

// stateBoxes reads the boxes of phases in STATE.md, before the phase and behind
// it: `- [x] Phase 1: Base`, `- **Phase 1: Base** - [x] 100%`.
func (g *gsd) stateBoxes(f *doc.File, m *doc.Markdown) {
	for _, l := range m.All().Lines() {
		text := strings.TrimSpace(l.Text)
		ticked, rest, ok := checkbox(text)
		rest = strings.TrimLeft(rest, "*_`~ ")
		if !ok && strings.HasPrefix(text, "- ") {
			rest = strings.TrimLeft(text, "-*_`~ ")
			low := strings.ToLower(rest)
			ticked = strings.Contains(low, "[x]") || strings.ContainsAny(rest, "✅✓✔")
			_, named := cutPhaseWord(rest)
			ok = named && (ticked || strings.Contains(low, "[ ]"))
		}
		p, _, named := phaseHead(rest)
		if !ok || !named {
			continue
		}
		if !ticked {
			g.state.notDone(p)
		} else if _, first := cutPhaseWord(rest); first {
			g.state.phases[p] = f.At(l.No)
		}
	}
}
