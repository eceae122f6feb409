package specloop

import (
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// laterStep records a phase of the plan, tasks or implement workflow of the
// first family: its row in the workflow table, its phase table, and its context
// file, as far as they are there.
func (rec *recorder) laterStep(s *reprise.Step) {
	at, last := laterPlace(s)
	switch rec.ev.Kind {
	case reprise.StepStarted:
		if s.Status != reprise.InProgress {
			rec.setLater(s.Phase, "in_progress", at)
		}
	case reprise.StepFinished:
		switch {
		case s.Status.Closed():
		case at >= last:
			rec.setLater(s.Phase, "completed", at)
		default:
			rec.setLater(s.Phase, "in_progress", at+1)
		}
	case reprise.StepBlocked:
		if s.Status != reprise.Blocked {
			rec.setLater(s.Phase, "blocked", at)
		}
	default:
		rec.cannot("the workflow table has no word for it")
	}
}

// laterPlace gives the place of a step in its workflow, and that of the last one.
func laterPlace(s *reprise.Step) (at, last int) {
	phases := laterPhases(s.Phase)
	return max(slices.IndexFunc(phases, func(p phase) bool { return p.id == s.ID }), 0), max(len(phases)-1, 0)
}

// wholeLater ends, stops or resumes such a workflow.
func (rec *recorder) wholeLater(s *reprise.Step) {
	at, last := laterPlace(s)
	word := "terminated"
	if rec.ev.Kind == reprise.RunResumed {
		word = "in_progress"
	} else if _, done := rec.reasonWord(); done {
		word, at = "completed", last
	}
	rec.setLater(s.Phase, word, at)
}

// laterWord is the word of a phase at work.
func laterWord(workflow string, at int) string {
	words := map[string][]string{
		"plan":  {"researching", "modeling", "contracting", "validating"},
		"tasks": {"in_progress", "planning", "generating", "validating"},
	}[workflow]
	if at < len(words) {
		return words[at]
	}
	return "in_progress"
}

// setLater brings the ledgers of a workflow to a phase.
func (rec *recorder) setLater(workflow, row string, at int) {
	s := rec.index()
	if s == nil {
		return
	}
	word := row
	if row == "in_progress" {
		word = laterWord(workflow, at)
	}
	placed := false
	if own := rec.l.oldContext(workflow); own.given() {
		_, placed = phaseOfWord(workflow, word)
		f := rec.changes.Markdown(rec.l.in(workflow + "-context.md"))
		f.Do(func(m *splice.Markdown) error {
			return m.SetWord(splice.Where{Line: own.line}, "Status", own.text, word)
		})
		f.Because("%s %s", workflow, word)
	}
	s.setWorkflow(workflow, row)
	title := map[string]string{"plan": "Plan Phase State", "tasks": "Tasks Phase State"}[workflow]
	if sec, ok := s.f.Doc().Section(title); ok && title != "" {
		placed = s.setPhaseState(sec, workflow, word, at) || placed
	}
	if !placed && (at > 0 && word != "completed" || !s.ix.rowWord(workflow).given()) {
		rec.cannot("nothing in %s says which phase %s is in", s.ix.file.Path, workflow)
	}
	s.f.Because("%s %s", workflow, word)
}

// setPhaseState sets the fields that the table of a workflow has. It reports
// whether one of them tells the phase.
func (s *indexEdit) setPhaseState(sec doc.Section, workflow, word string, at int) (placed bool) {
	old := field(sec, "Phase", "Current Phase")
	no := strconv.Itoa(at)
	phases := laterPhases(workflow)
	switch {
	case strings.Contains(old.text, ":"):
		no += ": " + phases[at].title
	case strings.HasPrefix(old.text, "T") || workflow == "tasks" && !old.given():
		no = "T" + no
	}
	stamp := like(field(sec, "Last Activity").text, s.rec.ev.At)
	for _, f := range []struct {
		value string
		keys  []string
	}{
		{no, []string{"Phase", "Current Phase"}}, {phases[at].title, []string{"Phase Name"}},
		{word, []string{"Status", "Phase Status"}}, {stamp, []string{"Last Activity"}},
	} {
		if l, ok := label(sec, f.keys...); ok && l.Form == doc.TableLabel {
			s.set(sec, f.value, f.keys...)
			placed = placed || f.keys[0] == "Phase"
		}
	}
	return placed
}
