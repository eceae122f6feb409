package autoclaude

import (
	"io/fs"
	"path"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// specPhase is one phase of making a spec. There is no pointer on disk: a phase
// is done when its file is there, and the program skips it then.
type specPhase struct {
	id, file, role, title string
	parse                 bool // its file must be readable for the phase to count
	optional              bool // runs only if the complexity asks for it
}

// specPhases is the order of the program. historical_context is left out, as
// versions without it exist and nothing waits for it; validation leaves no file.
// project_index.json is only looked for: it can quote connection strings.
var specPhases = []specPhase{
	{id: "discovery", file: "project_index.json", role: "spec-discovery", title: "look through the project"},
	{id: "requirements", file: "requirements.json", role: "spec-gatherer", title: "gather the requirements", parse: true},
	{id: "complexity_assessment", file: "complexity_assessment.json", role: "complexity-assessor", title: "assess the complexity", parse: true},
	{id: "research", file: "research.json", role: "spec-researcher", title: "research what is unknown", parse: true, optional: true},
	{id: "context", file: "context.json", role: "spec-context", title: "collect the code it is about", parse: true},
	{id: "spec_writing", file: "spec.md", role: "spec-writer", title: "write the spec"},
	{id: "self_critique", file: "critique_report.json", role: "spec-critic", title: "criticise the spec", parse: true, optional: true},
	{id: "planning", file: planFile, role: rolePlanner, title: "make the implementation plan"},
}

// specSteps gives the phases of making the spec as steps. Where spec.md is
// there, what led to it is no longer needed: specs written by hand or by the
// desktop program have no other file, and the planner reads spec.md.
func (l *loader) specSteps() []reprise.Step {
	wanted := l.wantedPhases()
	_, written := l.pathOf("spec.md")
	var steps []reprise.Step
	for _, ph := range specPhases {
		at, present := l.pathOf(ph.file)
		present = present && ph.id != "planning"
		s := ph.step(at)
		switch {
		case present:
			s.Status = reprise.Done
			if ph.parse && l.rd.Open(at).JSON() == nil || ph.file == "spec.md" && l.emptySpec(at) {
				s.Status = reprise.Unknown // the reader has said why
			}
			s.Claims = []reprise.Claim{{Ledger: ph.file, Status: s.Status, Word: "present", Source: reprise.Source{File: at}, Won: true}}
		case ph.optional && !slices.Contains(wanted, ph.id):
			continue
		case ph.id == "context" && slices.Contains(wanted, "simple"):
			continue
		case ph.id == "discovery" && l.projectIndexed():
			s.Status = reprise.Skipped
		case written && ph.id != "planning" && ph.id != "self_critique":
			s.Status = reprise.Skipped
		}
		steps = append(steps, s)
	}
	for i := 1; i < len(steps); i++ {
		steps[i].Needs = []string{steps[i-1].ID}
	}
	return steps
}

// step is the phase as a step, before it is known whether its file is there.
func (ph *specPhase) step(file string) reprise.Step {
	return reprise.Step{ID: ph.id, Title: ph.title, Phase: "spec", Role: ph.role, Path: file, Status: reprise.Pending, Source: reprise.Source{File: path.Dir(file)}}
}

// phaseOf is a phase of making the spec, nil if no phase has that id. The files list none
// once the plan has items: then an attempt that was not accepted may have written it.
func (l *loader) phaseOf(id string) *reprise.Step {
	i := slices.IndexFunc(specPhases, func(ph specPhase) bool { return ph.id == id })
	if i < 0 {
		return nil
	}
	at, _ := l.pathOf(specPhases[i].file)
	s := specPhases[i].step(at)
	return &s
}

// projectIndexed reports whether the project was looked through for an earlier
// spec: the program takes that index over and does not look again.
func (l *loader) projectIndexed() bool {
	specs := path.Dir(l.run.Path)
	if path.Base(specs) != "specs" {
		return false
	}
	_, err := fs.Stat(l.fsys, path.Join(path.Dir(specs), "project_index.json"))
	return err == nil
}

func (l *loader) emptySpec(at string) bool {
	f := l.rd.Open(at)
	if f.Blank() {
		f.Report(reprise.Warning, reprise.CodeUnreadable, 0, "the spec is empty", "write it again")
		return true
	}
	return !f.OK()
}

// wantedPhases gives the optional phases the assessment asks for, and the word
// "simple" where it asks for the short way.
func (l *loader) wantedPhases() []string {
	f, ok := l.find("complexity_assessment.json")
	if !ok {
		return nil
	}
	n := f.JSON().Object()
	if n == nil {
		return nil
	}
	if list := n.Get("recommended_phases").Strs(); len(list) > 0 {
		if !slices.Contains(list, "context") {
			list = append(list, "simple")
		}
		return list
	}
	switch doc.Fold(n.Get("complexity").Str()) {
	case "simple":
		return []string{"simple"}
	case "complex":
		return []string{"research", "self_critique"}
	}
	return nil
}

// decideSpec settles a spec without items: it is still being made. A plan that
// says human_review with nothing in it is one whose planning crashed.
func (l *loader) decideSpec() {
	r := l.run
	r.Steps = l.specSteps()
	l.specArtifacts()
	next := -1
	begun := false
	for i := range r.Steps {
		s := &r.Steps[i]
		if next < 0 && !s.Status.Closed() {
			next = i
		}
		// requirements.json alone is what the desktop program writes when a
		// task is created.
		if s.Status != reprise.Pending && s.Status != reprise.Skipped && s.ID != "requirements" {
			begun = true
		}
	}
	if l.plan == nil && len(l.memory.order)+len(l.memory.commits) > 0 {
		l.lostPlan("records of attempts and commits")
	}
	s := &r.Steps[next] // planning is never closed here
	reason := "no plan yet: the next step is to " + s.Title
	if l.plan != nil {
		reason = "the plan lists no item yet: the next step is to " + s.Title
	}
	status := ""
	if l.plan != nil {
		status = doc.Fold(l.plan.status)
	}
	switch {
	case status == "human review" || status == "error" || status == "ai review":
		begun = true
		reason = "planning stopped before it listed any item, although the plan's status is " + quoteWord(l.plan.status)
		r.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: r.ID, Source: l.plan.source,
			Message: "the plan waits for a review, but there is nothing in it to review",
			Hint:    "let it continue at the first step whose file is missing",
		})
	case status == "in progress" || status == "planning" || l.hasLogs() || len(l.memory.order) > 0:
		begun = true
	}
	if len(l.planPhases()) > 0 {
		begun = true
		r.Report(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: planFile, Source: l.plan.file.At(0),
			Message: "the plan has phases and not one item in them",
			Hint:    "let it continue at the first step whose file is missing",
		})
	}
	if r.State = reprise.NotStarted; begun {
		r.State = reprise.Interrupted
	}
	r.Phase = "spec: " + s.ID
	if s.ID == "planning" {
		r.Phase = "planning"
	}
	r.Reason = reason
	r.Next = []reprise.Unit{s.Unit("its file is the first one missing")}
	if s.Status == reprise.Unknown {
		r.Next[0].Reason = "its file exists but cannot be read"
	}
}

// lostPlan reports a plan that is not there although there are records of work on its items:
// it was lost, and planning again would do that work again.
func (l *loader) lostPlan(proof string) {
	if at, there := l.pathOf(planFile); !there { // else it is said why it could not be read
		l.run.Lose(at, "is missing, and "+proof+" tell of work on its items: what is done is unknown", "restore it from git or a backup, or discard this work and start from scratch")
	}
}

func (l *loader) planPhases() []phase {
	if l.plan == nil {
		return nil
	}
	return l.plan.phases
}

// hasLogs reports whether an agent was ever started. The log itself is large
// and says nothing the other files do not.
func (l *loader) hasLogs() bool {
	_, ok := l.pathOf("task_logs.json")
	return ok
}
