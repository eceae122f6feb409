package specloop

import (
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// madeBy lists, by the folded name of a document, the steps that make it: of
// the first family, then of the second. Reports and inputs are no documents.
var madeBy = map[string][]string{
	"spec":         {"A2", "specify.analyst"},
	"checklist":    {"A4"},
	"checklists":   {"A4"},
	"plan":         {"P3", "plan.design", "plan.contracts"},
	"research":     {"P0", "plan.research", "plan.analysis"},
	"data model":   {"P1", "plan.datamodel", "plan.design"},
	"contracts":    {"P2", "plan.contracts", "plan.design"},
	"quickstart":   {"P2", "plan.contracts", "plan.design"},
	"task mapping": {"T1", "tasks.mapping"},
	"tasks":        {"T2", "tasks.tasks"},
}

// makers assigns each artifact the step that makes it, if the run has that step. A
// specification that is still the template shows that the scaffold ran, not that the
// specification was written.
func (l *loader) makers() {
	for i := range l.run.Artifacts {
		a := &l.run.Artifacts[i]
		steps := madeBy[doc.Fold(a.Name)]
		if a.Path == l.spec.path && l.spec.unwritten {
			steps = []string{"A1"}
		}
		at := slices.IndexFunc(steps, func(id string) bool { return l.run.Step(id) != nil })
		if at >= 0 {
			a.MadeBy = steps[at]
		}
	}
}

// branch gives the git branch of a feature: the scaffold makes one of the
// feature's own name, NNN-name. A root folder without a recorded id has none.
func branch(ref reprise.Ref) string {
	if numbered(ref.ID) && plainID(ref.ID) {
		return ref.ID
	}
	return ""
}
