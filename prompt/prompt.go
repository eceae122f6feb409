// Package prompt makes what agents are told. Our own words are templates that a
// person can replace; text from state files enters only in data blocks: marked
// with a fence that could not have been written before, length-limited, without control
// characters, and declared to be data.
package prompt

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template"

	"reprise"
)

// Task is everything a prompt is made of.
type Task struct {
	reprise.Assignment
	Run     string
	Attempt int
	Dir     string // the working folder, as the agent sees it
	Result  string // where to leave the result file
	Trailer string // the whole trailer line for commits
	Proves  bool   // a commit with the trailer proves that the step is done: the last one alone has it
	// Earlier says what is known of earlier attempts, our own words.
	Earlier []string
	// Answers are what a person said, question and answer: data.
	Answers []Answer
}

// Answer is a question and what a person said.
type Answer struct{ Question, Text string }

// TaskFact is the fact that says in sentences what is to be done. A playbook
// writes it in words of its own; of all facts it alone may be more than a word,
// a path or a number outside of a data block.
const TaskFact = "task"

// Generic is the template for work that has none of its own.
const Generic = "generic"

// likes are further names of roles that a built-in template is for.
var likes = map[string]string{
	"qa-reviewer": "qa", "qa-fixer": "qa-fix", "fix": "qa-fix",
	"checklist": "validator", "advocate": "spec-critic", "complexity-assessor": "architect",
	"spec-gatherer": "analyst", "spec-discovery": "analyst", "spec-context": "analyst", "spec-researcher": "researcher",
	"memory-consolidator": "consolidator", "task-breaker": "planner", "orchestrator": "supervisor",
}

//go:embed templates/*.md
var builtin embed.FS

// frame is around every template and cannot be replaced.
const frame = "frame"

// Render makes the prompt of a task. custom holds templates of the person's own, by
// name: each replaces the built-in one of that name. The template is the one the
// assignment names, else that of its role or of one like it, else Generic.
//
// The same task gives the same prompt. Text of the state stands in it only
// between fences; everything outside of them is the same whatever that text is.
func Render(task Task, custom map[string]string) (string, error) {
	v := newView(task)
	name, text, err := find(custom, task.Template, likes[task.Template], task.Role, likes[task.Role], Generic)
	if err != nil {
		return "", err
	}
	guide, err := parse(name, text)
	if err != nil {
		return "", err
	}
	if v.Guide, err = fill(name, guide, v); err != nil {
		return "", err
	}
	v.Guide = strings.TrimSpace(v.Guide)
	v.close(v.Guide, task.Prompt)
	whole, err := parsedFrame()
	if err != nil {
		return "", err
	}
	return fill(frame, whole, v)
}

// parsedFrame is the frame, parsed once: it is part of every prompt.
var parsedFrame = sync.OnceValues(func() (*template.Template, error) {
	b, err := builtin.ReadFile("templates/" + frame + ".md")
	if err != nil {
		return nil, err
	}
	return parse(frame, string(b))
})

// find gives the first template there is, the person's own before ours.
func find(custom map[string]string, names ...string) (name, text string, err error) {
	for _, name := range names {
		if !file().MatchString(name) || name == frame {
			continue
		}
		if text, ok := custom[name]; ok {
			return name, text, nil
		}
		if b, err := builtin.ReadFile(path.Join("templates", name+".md")); err == nil {
			return name, string(b), nil
		}
	}
	return "", "", fmt.Errorf("find prompt template %s: there is none", strings.Join(names, ", "))
}

func parse(name, text string) (*template.Template, error) {
	t, err := template.New(name + ".md").Option("missingkey=zero").Parse(text)
	if err != nil {
		return nil, &TemplateError{Name: name, Cause: err}
	}
	return t, nil
}

func fill(name string, t *template.Template, v *view) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		return "", &TemplateError{Name: name, Cause: err}
	}
	return b.String(), nil
}

// TemplateError tells that a template cannot be used.
type TemplateError struct {
	Name  string
	Cause error
}

// Error implements error.
func (e *TemplateError) Error() string {
	return "use prompt template " + e.Name + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *TemplateError) Unwrap() error { return e.Cause }

// Hint says what a person can do.
func (e *TemplateError) Hint() string {
	return "correct " + e.Name + ".md in your folder of prompts, or remove it; docs/reference/settings.md says what it may use"
}

// view is what templates see.
type view struct {
	Role, Run, Step string
	Attempt         int
	Facts           map[string]string

	// These are for the frame.
	Guide, Task, Prompt  string
	Dir, Result, Trailer string
	Proves               bool
	FactNames            []string
	Inputs, Expect       []string
	Earlier              []string
	Commit, Worktree     bool
	Fence                string
	Blocks               string

	blocks []block
	seed   []string
}

func newView(t Task) *view {
	v := &view{
		Attempt: t.Attempt, Facts: map[string]string{}, Commit: t.Commit, Worktree: t.Worktree,
		Dir: shown(t.Dir, place()), Result: shown(t.Result, place()), Trailer: shown(t.Trailer, trailer()), Proves: t.Proves,
		seed: []string{t.Run, t.Step, fmt.Sprint(t.Attempt)},
	}
	v.Role = v.inline("role", t.Role, word())
	v.Run = v.inline("run", t.Run, word())
	v.Step = v.inline("step", t.Step, word())
	v.block("title of the step", t.Unit.Title, reprise.Source{})
	v.block("phase of the step", t.Unit.Phase, reprise.Source{})
	v.block("why this step is next", t.Unit.Reason, reprise.Source{})
	v.facts(t.Facts)
	v.untaint(t)
	v.Prompt = strings.TrimSpace(clean(t.Prompt).text)
	if t.Unit.Path != "" && !slices.Contains(t.Inputs, t.Unit.Path) {
		v.Inputs = v.paths("file of the step", []string{t.Unit.Path})
	}
	v.Inputs = append(v.Inputs, v.paths("files to read", t.Inputs)...)
	var expect []string
	for _, e := range t.Expect {
		expect = append(expect, e.Path)
	}
	v.Expect = v.paths("files that must be there afterwards", expect)
	for _, e := range t.Earlier {
		if sentence(e) {
			v.Earlier = append(v.Earlier, e)
		} else {
			v.block("earlier attempts", e, reprise.Source{})
		}
	}
	for _, a := range t.Answers {
		v.block("question that was asked", a.Question, reprise.Source{})
		v.block("answer of a person", a.Text, reprise.Source{})
	}
	for _, d := range t.Data {
		v.block(d.Name, d.Text, d.Source)
	}
	return v
}

// facts sorts what may stand in our own sentences from what may not.
func (v *view) facts(facts map[string]string) {
	names := make([]string, 0, len(facts))
	for name := range facts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := facts[name]
		switch {
		case value == "" || !word().MatchString(name):
		case name == TaskFact && sentence(value):
			v.Task = value // what it quotes of the state is taken out by untaint
		case count().MatchString(value) || inside(value):
			v.Facts[name] = value
			v.FactNames = append(v.FactNames, name)
		default:
			v.Facts[name] = "(see the block named `" + name + "`)"
			v.FactNames = append(v.FactNames, name)
			v.block(name, value, reprise.Source{})
		}
	}
}

// untaint takes out of the sentence that says what to do whatever it quotes of
// the state and what has no plain form: playbooks name phases and files there.
func (v *view) untaint(t Task) {
	quoted := []string{t.Unit.Phase, t.Unit.ID, t.Unit.Path, t.Step}
	for name, value := range t.Facts {
		if name != TaskFact {
			quoted = append(quoted, value)
		}
	}
	quoted = append(quoted, t.Inputs...)
	for _, e := range t.Expect {
		quoted = append(quoted, e.Path)
	}
	slices.SortStableFunc(quoted, func(a, b string) int { return len(b) - len(a) }) // a path before its parts
	for _, q := range quoted {
		if q != "" && !inside(q) && !count().MatchString(q) {
			v.Task = strings.ReplaceAll(v.Task, q, "(see the data)")
		}
	}
}

// inline gives a name that may stand in a sentence, or refers to its block.
func (v *view) inline(name, value string, form interface{ MatchString(string) bool }) string {
	if value == "" || form.MatchString(value) {
		return value
	}
	v.block("name of the "+name, value, reprise.Source{})
	return "(see the block named `name of the " + name + "`)"
}

// paths gives those that may stand in a list of ours; the others go in a block.
func (v *view) paths(name string, list []string) []string {
	var plain, odd []string
	for _, p := range list {
		if inside(p) {
			plain = append(plain, p)
		} else {
			odd = append(odd, p)
		}
	}
	v.block(name, strings.Join(odd, "\n"), reprise.Source{})
	return plain
}
