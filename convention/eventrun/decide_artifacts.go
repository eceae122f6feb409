package eventrun

import (
	"path"
	"strings"

	"reprise"
)

// artifacts lists the documents of the run: those that exist, and those that existed and
// are gone. Documents of later stages are not missing.
//
// MadeBy is the unit that makes a document. A missing document sends the run back to that
// unit and so blocks nothing. Only two cases are critical: the constitution, which needs
// a person's approval, and a document that exists but cannot be read.
func (m *model) artifacts() {
	add := func(name, file string, presence reprise.Presence, by, maker string, critical bool) {
		if presence == reprise.Missing && !m.lost(name) {
			return
		}
		m.run.Artifacts = append(m.run.Artifacts, reprise.Artifact{
			Name: name, Path: file, Presence: presence, Critical: critical, NeededBy: by, MadeBy: maker, Source: reprise.Source{File: m.dir},
		})
	}
	document := func(name, by, maker string) {
		a := m.docs[name]
		add(strings.TrimSuffix(name, ".md"), a.path, a.presence, by, maker, a.there())
	}
	if !m.small() {
		document("prd.md", "planning", "prd")
		if m.made("plan.md") || !m.made("bootstrap-plan.md") {
			document("plan.md", "task-graph", "plan")
		}
		if m.made("bootstrap-plan.md") {
			document("bootstrap-plan.md", "task-graph", "plan")
		}
		switch {
		case !m.graph.exists:
			add("task-graph", path.Join(m.dir, "task-graph.json"), reprise.Missing, "execution", "task-graph", false)
		case m.graph.damaged:
			add("task-graph", m.graph.file, reprise.Damaged, "execution", "task-graph", true)
		case len(m.graph.nodes) == 0:
			add("task-graph", m.graph.file, reprise.Damaged, "execution", "task-graph", false)
		default:
			add("task-graph", m.graph.file, reprise.Present, "execution", "task-graph", true)
		}
		c := m.docs["constitution.md"]
		add("constitution", c.path, c.presence, "execution", "constitution", true)
	}
	list := m.docs["pr-checklist.md"]
	add("pr-checklist", list.path, list.presence, "consolidation", "pr-prep", false)
}
