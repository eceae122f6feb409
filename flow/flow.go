// Package flow reads workflows of the user's own: a YAML file of steps with what
// each needs, who does it and what it must leave behind. It is the only place
// besides the settings that a command can come from, so it is read strictly, and
// whoever starts it must have trusted its content.
//
// A run of such a workflow is kept in the eventrun layout. The state holds which
// steps there are and which file they came from; what they start stays in the
// file.
package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// Workflow is a file of steps.
type Workflow struct {
	Name     string
	Title    string
	Parallel int // steps at the same time; 0 leaves it to the settings

	steps []Step         // in the order of the file
	place map[string]int // of a step, by its id
}

// Step is one step. Exactly one of Command, Role and Ask is set, or none: a
// milestone, which is done when all it needs is.
type Step struct {
	ID    string
	Title string
	Needs []string

	Command []string
	Role    string
	Prompt  string // with Role
	Ask     *Question

	Inputs  []string // slash paths in the project
	Outputs []string // that must be there afterwards
	Env     map[string]string
	Verify  []string // a command that says whether it is done
	OnCrash reprise.Ambiguity

	Attempts int // 0 leaves it to the settings, as below
	Backoff  time.Duration
	Timeout  time.Duration
	Line     int // where it stands in the file
}

// Question is what a person is asked.
type Question struct {
	Text    string
	Options []string
}

// Len counts the steps.
func (w *Workflow) Len() int { return len(w.steps) }

// Steps gives all steps, in the order of the file.
func (w *Workflow) Steps() []Step { return w.steps }

// Step gives a step by its id, nil if there is none.
func (w *Workflow) Step(id string) *Step {
	i, ok := w.place[id]
	if !ok {
		return nil
	}
	return &w.steps[i]
}

// Attempts is how often a step may fail before a person is asked, 0 where that is left
// to the settings.
func (w *Workflow) Attempts(id string) int {
	if s := w.Step(id); s != nil {
		return s.Attempts
	}
	return 0
}

// Template is the prompt of a step that a role does.
const Template = "workflow-step"

// Assignment says what a step needs; ok is false if there is no such step. The
// answers to questions among its needs are given to it.
func (w *Workflow) Assignment(id string) (a reprise.Assignment, ok bool) {
	s := w.Step(id)
	if s == nil {
		return a, false
	}
	a = reprise.Assignment{
		Unit: reprise.Unit{ID: s.ID, Title: s.Title, Role: s.Role}, Step: s.ID, Role: s.Role,
		Prompt: s.Prompt, Command: s.Command, Env: s.Env, Inputs: s.Inputs, Verify: s.Verify, Policy: s.OnCrash,
		Attempts: s.Attempts, Backoff: s.Backoff, Timeout: s.Timeout,
	}
	for _, out := range s.Outputs {
		a.Expect = append(a.Expect, reprise.Expected{Path: out})
	}
	for _, need := range s.Needs {
		if n := w.Step(need); n != nil && n.Ask != nil {
			a.Answers = append(a.Answers, need)
		}
	}
	switch {
	case s.Ask != nil:
		a.Ask = &reprise.Asked{ID: s.ID, Text: s.Ask.Text, Subject: s.ID, Options: slices.Clone(s.Ask.Options)}
	case s.Role != "":
		a.Template, a.Commit = Template, true
	case len(s.Command) == 0:
		a.Local = "everything it needs is done"
	}
	return a, true
}

// graph is the task graph that a run of the workflow begins with.
type graph struct {
	Title    string  `json:"title"`
	Workflow *origin `json:"workflow,omitempty"`
	Tasks    []task  `json:"tasks"`
}

type origin struct {
	File   string       `json:"file"`
	SHA256 reprise.Hash `json:"sha256"`
}

type task struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Dependencies []string `json:"dependencies"`
	Files        []string `json:"files,omitempty"`
	// MaxAttempts is how often it may fail before a person is asked, where that is more
	// than the layout grants by itself. Where it is less, the journal knows better.
	MaxAttempts int `json:"max_attempts,omitempty"`
}

// Graph gives the text of the event that starts a run of the workflow in the
// eventrun layout: its steps, and the file and hash by which the workflow is
// found again. No command, prompt or variable is in it. attempts is how often a step
// may fail that does not say so itself.
func (w *Workflow) Graph(file string, hash reprise.Hash, attempts int) (string, error) {
	g := graph{Title: w.Title, Workflow: &origin{file, hash}, Tasks: []task{}}
	for _, s := range w.Steps() {
		needs := s.Needs
		if needs == nil {
			needs = []string{}
		}
		t := task{ID: s.ID, Title: s.Title, Dependencies: needs, Files: s.Outputs}
		if n := cmp.Or(s.Attempts, attempts); n > reprise.GraphAttempts {
			t.MaxAttempts = n
		}
		g.Tasks = append(g.Tasks, t)
	}
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the graph of %s: %w", w.Name, err)
	}
	return string(text), nil
}

// Origin tells from which workflow file a task graph was made; own is false for
// one that comes from elsewhere. It reads no further than that: whether the rest
// can be read is for the layout to say.
func Origin(taskGraph []byte) (file string, hash reprise.Hash, own bool) {
	var o origin
	value, ok := doc.Member(taskGraph, "workflow")
	if !ok || json.Unmarshal(value, &o) != nil || o.File == "" || o.SHA256.IsZero() {
		return "", hash, false
	}
	return o.File, o.SHA256, true
}
