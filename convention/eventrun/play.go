package eventrun

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// runsDir is where runs are created.
const runsDir = memoryDir + "/runs"

// Book is the playbook of graphs. The zero value is ready for use.
type Book struct {
	// steps returns what a person's own workflow file says about a step; nil for the
	// workflow of this layout.
	steps func(id string) (reprise.Assignment, bool)
}

var _ interface {
	reprise.Playbook
	reprise.Goaler
} = Book{}

// NewPlaybook returns the playbook of the layout's own workflow.
func NewPlaybook() reprise.Playbook { return Book{} }

// WithSteps returns the playbook of a person's own workflow: lookup returns what its file
// says about a step. Nothing else decides what is started, and the run ends when every
// task is closed.
func WithSteps(lookup func(id string) (reprise.Assignment, bool)) Book {
	return Book{steps: lookup}
}

// Pick implements reprise.Playbook: everything that may be started, in parallel.
func (b Book) Pick(_ *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	return slices.DeleteFunc(slices.Clone(d.Units), func(u reprise.Unit) bool {
		return u.ID == "close" || slices.Contains(busy, u.ID)
	})
}

// Settle implements reprise.Playbook: the end of the run, once nothing is left or a
// person said so.
func (b Book) Settle(_ fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if !r.State.Open() {
		return nil, nil
	}
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && b.givesUp(q) {
			return []reprise.Event{{Kind: reprise.RunStopped, Text: "a person ended it: " + doc.Clip(q.Answer, 200)}}, nil
		}
	}
	if why := unfit(r); why != "" && b.steps == nil && asks(r, planApproval) {
		// No one is asked to approve what cannot be done: it goes back to planning, as a
		// person would send it.
		return []reprise.Event{{Kind: reprise.QuestionAnswered, Question: planApproval, Text: "revise: " + why}}, nil
	}
	p := r.Progress()
	over := b.steps != nil && p.Total > 0 && p.Done == p.Total && r.Worst() < reprise.Blocking
	if over || d.Action == reprise.Start && d.Point.ID == "close" {
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}, nil
	}
	return nil, nil
}

func asks(r *reprise.Run, id string) bool {
	return slices.ContainsFunc(r.PendingQuestions(), func(q reprise.Question) bool { return q.ID == id })
}

// givesUp reports whether an answer ends the run: an option of a gate that begins with
// stop or cancel. An agent's question may be about stopping something else, and ends the
// run only if the word stands alone.
func (b Book) givesUp(q reprise.Question) bool {
	if _, gate := b.gate(q.ID); gate || q.Closed {
		return stops(q.Option(q.Answer))
	}
	return stops(q.Answer) && slices.ContainsFunc(q.Options, func(option string) bool {
		return stops(option) && doc.Fold(option) == firstWord(q.Answer)
	})
}

func stops(words string) bool {
	word := firstWord(words)
	return word == "stop" || word == "cancel"
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(doc.Fold(s), " ")
	return word
}

// gate returns the question that a step of a person's own workflow consists of. If it
// offers answers it accepts no other: the steps after it start with what is said.
func (b Book) gate(id string) (ask reprise.Asked, ok bool) {
	if b.steps == nil {
		return ask, false
	}
	a, ok := b.steps(id)
	if !ok || a.Ask == nil {
		return ask, false
	}
	ask = *a.Ask
	ask.Closed = len(ask.Options) > 0
	return ask, true
}

// document is one of the files made by the stages before and after the tasks.
type document struct {
	role, template, file string
	inputs               []string
}

// playDocuments are the stages, by the id of their unit.
var playDocuments = map[string]document{
	"prd":           {"spec-writer", "graph-prd", "prd.md", nil},
	"plan":          {"planner", "graph-plan", "plan.md", []string{"prd.md"}},
	"task-graph":    {"task-breaker", "graph-tasks", graphJSON, []string{"prd.md", "plan.md"}},
	"constitution":  {"orchestrator", "graph-constitution", "constitution.md", []string{"prd.md", "plan.md", graphJSON}},
	"cleanup":       {"cleanup", "graph-cleanup", "", []string{"constitution.md", "plan.md"}},
	"pr-prep":       {"pr-prep", "graph-pr", "pr-checklist.md", []string{"prd.md", "plan.md", "constitution.md"}},
	"consolidation": {"memory-consolidator", "graph-consolidation", "", []string{"prd.md", "plan.md", "pr-checklist.md"}},
}

const (
	taskTemplate   = "graph-task"
	verifyTemplate = "graph-verify"
	planApproval   = "plan-approval"
	planRevised    = "plan-revised"
	verifierRole   = "verifier"
)

// Assign implements reprise.Playbook.
func (b Book) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	if s := r.Step(u.ID); s != nil {
		if b.steps == nil {
			return playTask(fsys, r, u, s), nil
		}
		a, ok := b.steps(u.ID)
		if !ok {
			return a, fmt.Errorf("assign %q: %w", doc.Clip(u.ID, 60), ErrNotInFile)
		}
		if ask, ok := b.gate(u.ID); ok {
			a.Ask = &ask
		}
		own(r, &a)
		a.Unit, a.Step, a.Answers = u, u.ID, append(a.Answers, answers(r, u.ID)...)
		return a, nil
	}
	d, ok := playDocuments[u.ID]
	if !ok || b.steps != nil {
		return reprise.Assignment{}, fmt.Errorf("assign %q: it is neither a task nor a stage of this run", doc.Clip(u.ID, 60))
	}
	a := reprise.Assignment{
		Unit: u, Step: u.ID, Role: d.role, Template: d.template, Policy: reprise.Verify, Commit: true,
		Facts: map[string]string{"folder": r.Path}, Answers: answers(r, u.ID),
	}
	for _, name := range d.inputs {
		if file := find(fsys, r, name); file != "" {
			a.Inputs = append(a.Inputs, file)
		}
	}
	if d.file != "" {
		file := u.Path
		if u.ID == "pr-prep" || file == "" {
			file = path.Join(r.Path, d.file)
		}
		a.Facts["file"] = file
		revised := revising(fsys, r, u.ID)
		a.Expect = []reprise.Expected{{Path: file, Changed: revised}}
		if revised {
			a.Facts["revise"] = file
			a.Inputs = append(a.Inputs, file)
			if graph := find(fsys, r, graphJSON); graph != "" && u.ID == "plan" {
				a.Facts["graph"] = graph
				a.Inputs = append(a.Inputs, graph)
			}
		}
	}
	if u.ID == "prd" || u.ID == "plan" {
		m := load(fsys, r.Ref)
		if n := &m.log.goal; n.set {
			a.Data = append(a.Data, reprise.Data{Name: "goal", Source: m.sourceOf(n.key), Text: n.body().text(goalKey)})
		}
	}
	if u.ID == "constitution" || a.Facts["revise"] != "" {
		a.Answers = append(a.Answers, planApproval)
	}
	return a, nil
}

// own applies a person's answers to a step of their own workflow. A question with a
// valid, unused answer is done, and every step that names its answer is told it, even if
// another used it before. A question that is to be repeated is asked again: the answer
// was about other work.
func own(r *reprise.Run, a *reprise.Assignment) {
	for _, q := range r.Questions {
		switch {
		case !q.Answered:
		case a.Ask != nil && q.ID == a.Ask.ID:
			if q.Applied || q.By != "" || a.Ask.Closed && (&reprise.Question{Options: a.Ask.Options}).Option(q.Answer) == "" {
				continue // it is asked again
			}
			a.Ask, a.Local = nil, "a person answered: "+doc.Clip(q.Answer, 200)
		case q.Applied && slices.Contains(a.Answers, q.ID):
			a.Data = append(a.Data,
				reprise.Data{Name: "question that was asked", Source: q.Source, Text: q.Text},
				reprise.Data{Name: "answer of a person", Source: q.Source, Text: q.Answer})
		}
	}
}

// playTask returns the work on a graph task, or its verification.
func playTask(fsys fs.FS, r *reprise.Run, u reprise.Unit, s *reprise.Step) reprise.Assignment {
	a := reprise.Assignment{
		Unit: u, Step: s.ID, Role: cmp.Or(u.Role, s.Role), Template: taskTemplate, Policy: reprise.Verify, Commit: true,
		Facts: map[string]string{"folder": r.Path}, Answers: answers(r, s.ID),
		Data: []reprise.Data{{Name: "task", Source: s.Source, Text: strings.TrimSpace(s.ID + ": " + s.Title)}},
	}
	if a.Role == verifierRole {
		a.Template, a.Policy, a.Commit = verifyTemplate, reprise.Rerun, false
	}
	if s.Path != "" {
		a.Inputs = append(a.Inputs, s.Path)
	}
	for _, name := range []string{graphJSON, "constitution.md", "plan.md"} {
		if file := find(fsys, r, name); file != "" {
			a.Inputs = append(a.Inputs, file)
		}
	}
	return a
}

// answers lists what a person said about a step and has not been used.
func answers(r *reprise.Run, step string) []string {
	var out []string
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && q.Subject == step {
			out = append(out, q.ID)
		}
	}
	return out
}

// find returns the path of a document of the run, or "".
func find(fsys fs.FS, r *reprise.Run, name string) string {
	return (&model{r: doc.NewReader(fsys), dir: r.Path}).find(name)
}

// revising reports whether a stage is offered again although its document exists: the run
// was sent back to it on purpose.
func revising(fsys fs.FS, r *reprise.Run, id string) bool {
	name := playDocuments[id].file
	if len(r.Next) == 0 || r.Next[0].ID != id || name == "" {
		return false
	}
	file := find(fsys, r, name)
	f := doc.NewReader(fsys).Open(file)
	return file != "" && f.OK() && !blank(f.Data)
}
