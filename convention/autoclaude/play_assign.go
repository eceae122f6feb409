package autoclaude

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
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
func (Book) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	a := reprise.Assignment{
		Unit: u, Step: u.ID, Role: u.Role, Template: u.Role, Policy: reprise.Verify,
		Facts: map[string]string{"workflow": string(r.Kind), "spec": r.Path},
	}
	for _, q := range r.Questions {
		if q.Answered && !q.Applied {
			a.Answers = append(a.Answers, q.ID)
		}
	}
	switch s := r.Step(u.ID); {
	case u.ID == playStepQAReview || u.ID == playStepQAFix:
		assignQA(fsys, r, &a)
	case s == nil:
		return a, fmt.Errorf("assign %s: the spec %s has no such step", doc.Clip(u.ID, 60), r.ID)
	case s.Phase == "spec" && tasks[s.ID] != "":
		assignSpec(fsys, r, s, &a)
	default:
		assignItem(fsys, r, s, &a)
	}
	return a, nil
}

func assignSpec(fsys fs.FS, r *reprise.Run, s *reprise.Step, a *reprise.Assignment) {
	a.Facts[taskFact] = fmt.Sprintf(tasks[s.ID], s.Path)
	a.Expect = []reprise.Expected{{Path: s.Path, Changed: there(fsys, s.Path)}}
	if s.ID != stepPlanning {
		// Its file is the proof, and it may be written twice.
		a.Policy = reprise.Rerun
	}
	for _, name := range files {
		if at := path.Join(path.Dir(s.Path), name); at != s.Path && there(fsys, at) {
			a.Inputs = append(a.Inputs, at)
		}
	}
	f := doc.NewReader(fsys).Open(path.Join(r.Path, "requirements.json"))
	if n := f.JSON(); n != nil {
		if task := n.Get("task_description"); task.Str() != "" {
			a.Data = append(a.Data, reprise.Data{Name: "what is wanted", Source: task.Source(), Text: doc.Clip(task.Str(), 16<<10)})
		}
	}
}

// assignItem is an item of the plan: in the run's own checkout, with a commit
// whose subject names it as the original's do.
func assignItem(fsys fs.FS, r *reprise.Run, s *reprise.Step, a *reprise.Assignment) {
	a.Role, a.Template = playRoleCoder, playRoleCoder
	a.Worktree, a.Commit = r.Branch != "", true
	a.Facts["commit_subject"] = subject(s.ID, s.Title)
	p, at := playPlan(fsys, r)
	a.Facts["plan"] = path.Join(r.Path, playPlanFile)
	a.Inputs = inputs(fsys, r, "spec.md", "context.json", playPlanFile)
	a.Data = append(a.Data, reprise.Data{Name: "item", Source: s.Source, Text: describe(p, s)})
	if f := doc.NewReader(fsys).Open(path.Join(path.Dir(at), "HUMAN_INPUT.md")); f.OK() && len(strings.TrimSpace(string(f.Data))) > 0 {
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

// describe gives an item as the plan has it.
func describe(p map[string]any, s *reprise.Step) string {
	if it := playItem(any(p), s.ID); it != nil {
		if text, err := json.MarshalIndent(it, "", "  "); err == nil {
			return doc.Clip(string(text), 8<<10)
		}
	}
	return doc.Clip(s.ID+": "+s.Title, 8<<10)
}

// inputs are files of the spec that are there. Their paths are those in the
// project; the checkout has its copies at the same places.
func inputs(fsys fs.FS, r *reprise.Run, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, dir := range folders(r) {
			if there(fsys, path.Join(dir, name)) {
				out = append(out, path.Join(r.Path, name))
				break
			}
		}
	}
	return out
}

func assignQA(fsys fs.FS, r *reprise.Run, a *reprise.Assignment) {
	a.Worktree = r.Branch != ""
	a.Inputs = inputs(fsys, r, "spec.md", playPlanFile, "requirements.json", "qa_report.md", "QA_FIX_REQUEST.md")
	a.Facts["plan"] = path.Join(r.Path, playPlanFile)
	p, at := playPlan(fsys, r)
	rounds := playHistory(p)
	a.Facts["iteration"], a.Facts["max"] = fmt.Sprint(len(rounds)+1), fmt.Sprint(maxRounds)
	if a.Unit.ID == playStepQAReview {
		a.Facts[taskFact] = fmt.Sprintf("Hold what was built against the spec. Write what you found to %s. Change no code and leave qa_signoff in the plan alone: your verdict is recorded for you.", path.Join(r.Path, "qa_report.md"))
		return
	}
	a.Commit = true
	a.Facts["commit_subject"] = subject(playStepQAFix, "fix what QA found")
	if len(rounds) > 0 {
		if text, err := json.MarshalIndent(rounds[len(rounds)-1], "", "  "); err == nil {
			a.Data = append(a.Data, reprise.Data{Name: "what QA found", Source: reprise.Source{File: at}, Text: doc.Clip(string(text), 16<<10)})
		}
	}
}

// history are the rounds of QA on record.
func playHistory(p map[string]any) []any {
	rounds, _ := p["qa_iteration_history"].([]any)
	return rounds
}

// rejections counts the rounds since QA last said anything but no.
func rejections(p map[string]any) int {
	rounds, n := playHistory(p), 0
	for i := len(rounds) - 1; i >= 0; i-- {
		round, _ := rounds[i].(map[string]any)
		word, _ := round["status"].(string)
		if w := doc.Fold(word); w != "rejected" && w != "error" {
			break
		}
		n++
	}
	return n
}
