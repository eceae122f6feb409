package specloop

import (
	"fmt"
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
func (rec *recorder) laterStep(s *reprise.Step) ([]reprise.Edit, error) {
	phases := laterPhases(s.Phase)
	at := max(slices.IndexFunc(phases, func(p phase) bool { return p.id == s.ID }), 0)
	switch rec.ev.Kind {
	case reprise.StepStarted:
		if s.Status == reprise.InProgress {
			return nil, nil
		}
		return rec.setLater(s.Phase, "in_progress", at)
	case reprise.StepFinished:
		if s.Status.Closed() {
			return nil, nil
		}
		if at >= len(phases)-1 {
			return rec.setLater(s.Phase, "completed", at)
		}
		return rec.setLater(s.Phase, "in_progress", at+1)
	case reprise.StepBlocked:
		if s.Status == reprise.Blocked {
			return nil, nil
		}
		return rec.setLater(s.Phase, "blocked", at)
	}
	return nil, rec.cannot("the workflow table has no word for it")
}

// wholeLater ends, stops or takes up such a workflow.
func (rec *recorder) wholeLater(s *reprise.Step) ([]reprise.Edit, error) {
	phases := laterPhases(s.Phase)
	at := max(slices.IndexFunc(phases, func(p phase) bool { return p.id == s.ID }), 0)
	if rec.ev.Kind == reprise.RunResumed {
		return rec.setLater(s.Phase, "in_progress", at)
	}
	if _, done := rec.reasonWord(); done {
		return rec.setLater(s.Phase, "completed", max(len(phases)-1, 0))
	}
	return rec.setLater(s.Phase, "terminated", at)
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

func (rec *recorder) setLater(workflow, row string, at int) ([]reprise.Edit, error) {
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	word := row
	if row == "in_progress" {
		word = laterWord(workflow, at)
	}
	var edits []reprise.Edit
	own, err := rec.setOldContext(workflow, word)
	if err != nil {
		return nil, err
	}
	edits = append(edits, own...)
	if err := s.setWorkflow(workflow, row); err != nil {
		return nil, err
	}
	title := map[string]string{"plan": "Plan Phase State", "tasks": "Tasks Phase State"}[workflow]
	_, placed := phaseOfWord(workflow, word)
	placed = placed && rec.l.oldContext(workflow).given()
	if sec, ok := s.m.Doc().Section(title); ok && title != "" {
		here, err := s.setPhaseState(sec, workflow, word, at)
		if err != nil {
			return nil, err
		}
		placed = placed || here
	}
	if !placed && (at > 0 && word != "completed" || !s.ix.rowWord(workflow).given()) {
		return nil, rec.cannot("nothing in %s tells in which phase %s stands", s.ix.file.Path, workflow)
	}
	here, err := s.edits(fmt.Sprintf("%s %s", workflow, word))
	return append(here, edits...), err
}

// setPhaseState sets the fields that the table of a workflow has.
func (s *sheet) setPhaseState(sec doc.Section, workflow, word string, at int) (placed bool, err error) {
	old := field(sec, "Phase", "Current Phase")
	no := strconv.Itoa(at)
	switch phases := laterPhases(workflow); {
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
		{no, []string{"Phase", "Current Phase"}}, {laterPhases(workflow)[at].title, []string{"Phase Name"}},
		{word, []string{"Status", "Phase Status"}}, {stamp, []string{"Last Activity"}},
	} {
		if l, ok := label(sec, f.keys...); ok && l.Form == doc.TableLabel {
			if _, err := s.set(sec, f.value, f.keys...); err != nil {
				return false, err
			}
			placed = placed || f.keys[0] == "Phase"
		}
	}
	return placed, nil
}

// setOldContext sets the status of a context file without front matter.
func (rec *recorder) setOldContext(workflow, word string) ([]reprise.Edit, error) {
	old := rec.l.oldContext(workflow)
	if !old.given() {
		return nil, nil
	}
	name := rec.l.in(workflow + "-context.md")
	m, err := splice.NewMarkdown(rec.l.r.Open(name).Data)
	if err != nil {
		return nil, rec.wrong("%s: %v", name, err)
	}
	if err := m.SetWord(splice.Where{Line: old.line}, "Status", old.text, word); err != nil {
		return nil, rec.wrong("%s: %v", name, err)
	}
	if e, ok := m.Edit(name, workflow+" "+word); ok {
		return []reprise.Edit{e}, nil
	}
	return nil, nil
}
