package eventrun

import (
	"path"
	"strings"

	"reprise"
)

// artifacts lists the documents of the run: those that are there, and those that
// were there and are not any more. What the workflow has not come to yet is not
// missing.
//
// MadeBy is the unit that makes a document. A missing one sends the run back to
// that unit, so that it is in nobody's way: only the constitution, which takes
// the approval of a person, and what is there and cannot be read are critical.
func (l *loading) artifacts() {
	add := func(name, file string, presence reprise.Presence, by, maker string, critical bool) {
		if presence == reprise.Missing && !l.lost(name) {
			return
		}
		l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{
			Name: name, Path: file, Presence: presence, Critical: critical, NeededBy: by, MadeBy: maker, Source: reprise.Source{File: l.dir},
		})
	}
	document := func(name, by, maker string) {
		a := l.docs[name]
		add(strings.TrimSuffix(name, ".md"), a.path, a.presence, by, maker, a.there())
	}
	if !l.small() {
		document("prd.md", "planning", "prd")
		if l.made("plan.md") || !l.made("bootstrap-plan.md") {
			document("plan.md", "task-graph", "plan")
		}
		if l.made("bootstrap-plan.md") {
			document("bootstrap-plan.md", "task-graph", "plan")
		}
		switch {
		case !l.graph.exists:
			add("task-graph", path.Join(l.dir, "task-graph.json"), reprise.Missing, "execution", "task-graph", false)
		case l.graph.damaged:
			add("task-graph", l.graph.file, reprise.Damaged, "execution", "task-graph", true)
		case len(l.graph.nodes) == 0:
			add("task-graph", l.graph.file, reprise.Damaged, "execution", "task-graph", false)
		default:
			add("task-graph", l.graph.file, reprise.Present, "execution", "task-graph", true)
		}
		c := l.docs["constitution.md"]
		add("constitution", c.path, c.presence, "execution", "constitution", true)
	}
	list := l.docs["pr-checklist.md"]
	add("pr-checklist", list.path, list.presence, "consolidation", "pr-prep", false)
}
