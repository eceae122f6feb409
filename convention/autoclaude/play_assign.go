package autoclaude

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// taskFact is the fact that says in sentences what is to be done.
const taskFact = "task"

// tasks say in our words what each phase of making a spec has to leave.
var tasks = map[string]string{
	"discovery":             "Look through the project and write %s: a JSON object with what it is built with, how it is laid out, how it is built and tested. No secrets, no connection strings.",
	"requirements":          "Gather what is wanted and write %s: a JSON object with task_description, workflow_type (feature, refactor, investigation, migration or simple), user_requirements, acceptance_criteria and constraints.",
	"complexity_assessment": "Judge how complex the task is and write %s: a JSON object with complexity (simple, standard or complex), reasoning and, if the phases of that word do not fit, recommended_phases.",
	"research":              "Find out what is not known about libraries, services and formats that the task needs and write %s: a JSON object with findings and where each comes from.",
	"context":               "Collect the code that the task is about and write %s: a JSON object with files_to_modify, files_to_reference and patterns, each with its reason.",
	"spec_writing":          "Write %s: what is to be built and why, what is not, the files it touches, how it fits in, and the criteria by which it is accepted.",
	"self_critique":         "Criticise the spec: what is wrong, missing or contradicts the code. Set the spec right and write %s: a JSON object with issues_found, issues_fixed and no_issues_found.",
	stepPlanning: "Plan how to build it. In %s, set phases: a list of objects with id, name, depends_on (a list of ids of other phases) and subtasks: a list of objects with id, description, " +
		"status, files_to_modify, files_to_create and verification. Ids are unique in the whole plan, every status is pending, and each subtask is one change that can be committed. " +
		"Phases whose subtasks can be worked on at the same time, because they touch different files, have parallel_safe: true. Leave the other fields as they are. The file must stay valid JSON.",
}

// files are what the phases of a spec leave, for those that come later.
var files = []string{"project_index.json", "requirements.json", "complexity_assessment.json", "research.json", "context.json", "spec.md", "critique_report.json"}

// Assign implements reprise.Playbook.
func (Playbook) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	a := reprise.Assignment{
		Unit: u, Step: u.ID, Role: u.Role, Template: u.Role, Policy: reprise.Verify,
		Facts: map[string]string{"workflow": string(r.Kind), "spec": r.Path},
	}
	for _, q := range r.Questions {
		if q.Answered && !q.Applied {
			a.Answers = append(a.Answers, q.ID)
		}
	}
	l, s := load(fsys, r.Ref), r.Step(u.ID)
	if s == nil {
		s = l.phaseOf(u.ID)
	}
	switch {
	case u.ID == stepQAReview || u.ID == stepQAFix:
		l.assignQA(r, &a)
	case s == nil:
		return a, fmt.Errorf("assign %s: the spec %s has no such step", doc.Clip(u.ID, 60), r.ID)
	case s.Phase == "spec" && tasks[s.ID] != "":
		l.assignSpec(r, s, &a)
	default:
		l.assignItem(r, s, &a)
	}
	return a, nil
}

func (l *loader) assignSpec(r *reprise.Run, s *reprise.Step, a *reprise.Assignment) {
	a.Role, a.Template = s.Role, s.Role
	a.Facts[taskFact] = fmt.Sprintf(tasks[s.ID], s.Path)
	a.Expect = []reprise.Expected{{Path: s.Path, Changed: there(l.fsys, s.Path)}}
	if s.ID != stepPlanning {
		// Its file is the proof, and it may be written twice.
		a.Policy = reprise.Rerun
	}
	for _, name := range files {
		if at := path.Join(path.Dir(s.Path), name); at != s.Path && there(l.fsys, at) {
			a.Inputs = append(a.Inputs, at)
		}
	}
	if task := l.rd.Open(path.Join(r.Path, givenFiles[0])).JSON().Get("task_description"); task.Str() != "" {
		a.Data = append(a.Data, reprise.Data{Name: "what is wanted", Source: task.Source(), Text: doc.Clip(task.Str(), 16<<10)})
	}
}

// assignItem is an item of the plan: in the run's own checkout, with a commit
// whose subject names it as the original's do.
func (l *loader) assignItem(r *reprise.Run, s *reprise.Step, a *reprise.Assignment) {
	a.Role, a.Template = roleCoder, roleCoder
	a.Worktree, a.Commit = r.Branch != "", true
	a.Facts["commit_subject"] = subject(s.ID, s.Title)
	a.Facts["plan"] = path.Join(r.Path, planFile)
	a.Inputs = l.inputs(r, "spec.md", "context.json", planFile)
	a.Data = append(a.Data, reprise.Data{Name: "item", Source: s.Source, Text: l.describeItem(s)})
	if f := l.rd.Open(path.Join(l.dirs()[0], askHuman)); f.OK() && len(strings.TrimSpace(string(f.Data))) > 0 {
		a.Data = append(a.Data, reprise.Data{Name: "instructions of a person", Source: f.At(1), Text: doc.Clip(string(f.Data), 16<<10)})
	}
}

// subject is that of a commit for an item.
func subject(id, title string) string {
	if title == "" || title == id {
		title = "done"
	}
	return "auto-claude: " + id + " - " + title
}

// describeItem gives an item as the plan has it.
func (l *loader) describeItem(s *reprise.Step) string {
	if l.plan != nil && l.plan.lists(s.ID) {
		if text, err := ledger.NewJSON(ledger.Data(l.plan.item(s.ID).at[0].Node)); err == nil {
			return doc.Clip(strings.TrimSpace(string(text)), 8<<10)
		}
	}
	return doc.Clip(s.ID+": "+s.Title, 8<<10)
}

// inputs are files of the spec that are there. Their paths are those in the
// project; the checkout has its copies at the same places.
func (l *loader) inputs(r *reprise.Run, names ...string) []string {
	var out []string
	for _, name := range names {
		if _, present := l.pathOf(name); present {
			out = append(out, path.Join(r.Path, name))
		}
	}
	return out
}

func (l *loader) assignQA(r *reprise.Run, a *reprise.Assignment) {
	a.Worktree = r.Branch != ""
	a.Inputs = l.inputs(r, "spec.md", planFile, givenFiles[0], "qa_report.md", "QA_FIX_REQUEST.md")
	a.Facts["plan"] = path.Join(r.Path, planFile)
	var rounds []ledger.Entry
	if l.plan != nil {
		rounds = l.plan.root.In("qa_iteration_history").Entries(0)
	}
	a.Facts["iteration"], a.Facts["max"] = fmt.Sprint(len(rounds)+1), fmt.Sprint(maxRounds)
	if a.Unit.ID == stepQAReview {
		a.Role, a.Template = roleQAReviewer, roleQAReviewer
		a.Facts[taskFact] = fmt.Sprintf("Hold what was built against the spec. Write what you found to %s. Change no code and leave qa_signoff in the plan alone: your ruling is recorded for you.", path.Join(r.Path, "qa_report.md"))
		return
	}
	a.Role, a.Template, a.Commit = roleQAFixer, roleQAFixer, true
	a.Facts["commit_subject"] = subject(stepQAFix, "fix what QA found")
	if len(rounds) > 0 {
		if text, err := ledger.NewJSON(ledger.Data(rounds[len(rounds)-1].Node)); err == nil {
			a.Data = append(a.Data, reprise.Data{Name: "what QA found", Source: reprise.Source{File: l.plan.file.Path}, Text: doc.Clip(strings.TrimSpace(string(text)), 16<<10)})
		}
	}
}
