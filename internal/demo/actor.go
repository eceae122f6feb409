// Package demo shows what reprise does without any model: an actor that plays every role
// of every workflow, and a script that starts a workflow in a scratch folder, kills it,
// and finishes it.
package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"reprise"
)

// Word is the hidden first argument that makes this program an actor.
const Word = "__play-agent"

// Main makes the process an actor if its arguments say so; main calls it before
// anything else and exits with code if it was handled.
func Main(args []string, getenv func(string) string) (handled bool, code int) {
	if len(args) == 0 || args[0] != Word {
		return false, 0
	}
	if err := Act(getenv); err != nil {
		fmt.Fprintln(os.Stderr, "play an agent:", err)
		return true, 1
	}
	return true, 0
}

// Act plays the agent of one attempt: what it is told by its environment (see
// docs/reference/agents.md) it does in the folder it is started in, quickly and without
// thinking. It writes only below that folder and to its result file; every
// attempt leaves a line in the file that DEMO_LAUNCHES names, so that it can be
// counted. The first attempt at the step that DEMO_HOLD names writes half a file
// and then waits to be killed; with DEMO_FAIL every first attempt fails.
func Act(getenv func(string) string) error {
	a := actor{getenv: getenv, step: getenv("REPRISE_STEP"), role: getenv("REPRISE_ROLE")}
	if err := a.sign(); err != nil {
		return err
	}
	if pause, err := time.ParseDuration(getenv("DEMO_PAUSE")); err == nil {
		time.Sleep(pause)
	}
	if getenv("DEMO_FAIL") != "" && getenv("REPRISE_ATTEMPT") == "1" {
		return errors.New("it comes to grief at first")
	}
	if a.step == getenv("DEMO_HOLD") && getenv("REPRISE_ATTEMPT") == "1" {
		return a.hold()
	}
	for _, name := range strings.Split(getenv("REPRISE_EXPECT"), "\n") {
		if name == "" {
			continue
		}
		if err := a.make(name); err != nil {
			return err
		}
	}
	if err := a.work(); err != nil {
		return err
	}
	return a.reply()
}

type actor struct {
	getenv     func(string) string
	step, role string
	said       reprise.Reply
}

// sign leaves a line that tells of this attempt.
func (a *actor) sign() error {
	name := a.getenv("DEMO_LAUNCHES")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %s %s\n", a.getenv("REPRISE_RUN"), a.step, a.getenv("REPRISE_ATTEMPT"), a.getenv("REPRISE_TOKEN"))
	return errors.Join(err, f.Close())
}

// held is how long an attempt waits to be killed: far longer than that takes.
const held = time.Minute

// half is what an attempt that is cut off leaves in a file.
const half = "half of "

// heldMark is added to the name of the launch log for a file that tells that
// the attempt waits.
const heldMark = ".held"

// hold leaves half of what the step must leave and never gets to the rest.
func (a *actor) hold() error {
	name, _, _ := strings.Cut(a.getenv("REPRISE_EXPECT"), "\n")
	if _, err := os.Stat(name); name != "" && errors.Is(err, fs.ErrNotExist) {
		if err := write(name, half); err != nil {
			return err
		}
	}
	if log := a.getenv("DEMO_LAUNCHES"); log != "" {
		if err := write(log+heldMark, a.step+"\n"); err != nil {
			return err
		}
	}
	fmt.Println("halfway through", a.step)
	time.Sleep(held)
	return errors.New("nobody killed it")
}

// make writes a file that the step must leave. One that is there is added to,
// unless it is half of one: an actor never throws away what someone else wrote.
func (a *actor) make(name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("write %s: it is not below the working folder", name)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(old) == half {
		old = nil
	}
	text, replace := content(name, string(old), a.step)
	if !replace && len(old) > 0 {
		text = string(old) + text
	}
	return write(name, text)
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	// Whole or not at all: a file that is cut off in the middle is for a person
	// to look at, and that is shown elsewhere.
	temp := fmt.Sprintf("%s.%d.tmp", name, os.Getpid()) // others may make the same
	if result := os.Getenv("REPRISE_RESULT"); result != "" {
		// Outside of what is committed: who works beside it must not take it for work.
		temp = filepath.Join(filepath.Dir(result), filepath.Base(temp))
	}
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, name)
}

// work is what roles do beside the files that are expected of them.
func (a *actor) work() error {
	switch a.role {
	case "coder", "dev", "executor", "qa-fixer":
		name := "src/" + strings.Map(func(r rune) rune {
			if r == '/' || r == '\\' || r < 0x20 {
				return '-'
			}
			return r
		}, strings.TrimLeft(a.step, ".")) + ".txt"
		return write(name, "made for "+a.step+"\n")
	}
	switch phase, planning := strings.CutPrefix(a.step, "phase-"); {
	case a.role == "qa":
		return a.met()
	case a.step == "transform":
		return a.plans()
	case planning && a.role == "planner":
		return a.phase(phase)
	}
	return nil
}

// met ticks what a reviewed story asks for.
func (a *actor) met() error {
	names, err := filepath.Glob("docs/stories/" + a.getenv("REPRISE_RUN") + ".*md")
	for _, name := range names {
		text, readErr := os.ReadFile(name)
		if err = cmp.Or(err, readErr); err == nil && strings.Contains(string(text), "- [ ]") {
			err = write(name, strings.ReplaceAll(string(text), "- [ ]", "- [x]"))
		}
	}
	return err
}

// plans writes the plans of a `.long-run` run.
func (a *actor) plans() error {
	dirs, err := filepath.Glob("specs/*/.long-run")
	if err != nil || len(dirs) == 0 {
		dirs = []string{".long-run"}
	}
	for i, title := range []string{"Cart", "Payment"} {
		text := fmt.Sprintf("# Plan %02d: %s\n\n## Tasks\n\n### Task 1: Model\n\nMake it.\n\n### Task 2: Page\n\nShow it.\n", i+1, title)
		if err := write(filepath.Join(dirs[0], "plans", fmt.Sprintf("%02d-PLAN.md", i+1)), text); err != nil {
			return err
		}
	}
	return nil
}

// phase plans one phase of a GSD project.
func (a *actor) phase(number string) error {
	found, err := filepath.Glob(".planning/phases/" + number + "-*")
	if err != nil {
		return err
	}
	dir := ".planning/phases/" + number + "-more"
	if len(found) > 0 {
		dir = found[0]
	}
	text := "---\nphase: " + number + "\nplan: 01\n---\n\n# Plan\n\n<tasks>\n<task type=\"auto\"><name>Task 1: Make it</name></task>\n</tasks>\n"
	return write(filepath.Join(dir, number+"-01-PLAN.md"), text)
}

// reply leaves the result.
func (a *actor) reply() error {
	name := a.getenv("REPRISE_RESULT")
	if name == "" {
		return nil
	}
	a.said.Outcome, a.said.Summary = "done", "played the "+a.role
	switch {
	case a.role == "qa" || a.role == "po" || strings.Contains(a.role, "review") || a.role == "verifier" || a.role == "advocate" || a.role == "supervisor" || strings.HasPrefix(a.step, "qa"):
		a.said.Verdict = "approved"
	}
	a.gaps()
	data, err := json.Marshal(a.said)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

// gaps lets the first validation of a specification find one, and asks about it.
func (a *actor) gaps() {
	if a.getenv("DEMO_GAPS") == "" {
		return
	}
	switch a.step {
	case "A3":
		a.said.Gaps = []reprise.Gap{{ID: "G-001", Priority: "Critical", Question: "How long is an invitation valid?"}}
	case "A5":
		a.said.Questions = []reprise.Asked{{Text: "How long is an invitation valid?", Subject: "G-001", Options: []string{"7 days", "30 days"}}}
	}
}

// content is what a file of this name holds, and whether it takes the place of
// what is there.
func content(name, old, step string) (text string, replace bool) {
	switch base := path.Base(filepath.ToSlash(name)); {
	case base == "implementation_plan.json":
		return plan, true
	case base == "task-graph.json":
		return graph, true
	case base == "critique.json":
		return "{\"verdict\": \"APPROVED\", \"issues\": []}\n", true
	case base == "complexity_assessment.json":
		return "{\"complexity\": \"simple\", \"workflow_type\": \"feature\", \"reasoning\": \"one small change\"}\n", true
	case strings.HasSuffix(base, ".json"):
		return fmt.Sprintf("{\"phase\": %q, \"summary\": \"a small feature\"}\n", step), true
	case strings.HasSuffix(base, ".yaml"), strings.HasSuffix(base, ".yml"):
		return "verdict: approved\n", true
	case base == "spec.md":
		return specification(old, step), true
	case strings.HasSuffix(base, ".md") && strings.Contains(filepath.ToSlash(name), "stories/"):
		return story(old), true
	case strings.HasSuffix(base, "SUMMARY.md"):
		return "# Summary\n\nAll tasks of the plan are done.\n", old != ""
	case strings.HasSuffix(base, "-PLAN.md"):
		return "# Plan\n\n## Tasks\n\n### Task 1: Make it\n\nMake it.\n", false
	case base == "prd.md", base == "plan.md", base == "constitution.md":
		return "---\nactor: demo\n---\n\n# " + strings.TrimSuffix(base, ".md") + "\n\nA small feature, done in three tasks.\n", old != ""
	}
	return fmt.Sprintf("Made by %s.\n", step), false
}

// specification is a specification without placeholders; what was said in
// answers is listed below Clarifications.
func specification(old, step string) string {
	text := old
	if text == "" || strings.Contains(text, "{{") || strings.Contains(text, "[FEATURE") {
		text = "# Team invites\n\n## Requirements\n\n- FR-001: A member invites others by e-mail.\n- FR-002: An invitation expires.\n\n## Acceptance\n\n- [ ] An invited person can join.\n"
	}
	if step == "A1" && old == "" {
		return "# {{feature_name}}\n\n## Requirements\n\n{{requirements}}\n"
	}
	if step == "B2" {
		text += "\n## Clarifications\n\n- C1.1: as answered\n"
	}
	return text
}

// story fills the form of a story and leaves one that was written alone.
func story(old string) string {
	if strings.Contains(old, "- [ ]") || strings.Contains(old, "- [x]") {
		return old + "\n"
	}
	head, _, _ := strings.Cut(old, "## Acceptance")
	if strings.TrimSpace(head) == "" {
		head = "# Story 1.1: Refunds\n\n## Status\n\nDraft\n\n"
	}
	return strings.TrimRight(head, "\n") + "\n\n## Acceptance Criteria\n\n1. A refund is paid back the way it was paid.\n\n## Tasks\n\n- [ ] Pay it back\n- [ ] Tell the customer\n"
}

const plan = `{
  "feature": "Health endpoint",
  "workflow_type": "feature",
  "status": "in_progress",
  "phases": [
    {"id": "phase-1", "name": "Endpoint", "depends_on": [], "subtasks": [
      {"id": "subtask-1-1", "description": "Answer on /health", "status": "pending"},
      {"id": "subtask-1-2", "description": "Test it", "status": "pending"}
    ]},
    {"id": "phase-2", "name": "Documentation", "depends_on": ["phase-1"], "subtasks": [
      {"id": "subtask-2-1", "description": "Describe it", "status": "pending"}
    ]}
  ]
}
`

const graph = `{
  "tasks": [
    {"id": "T001", "title": "Write the model", "dependencies": []},
    {"id": "T002", "title": "Stream a month", "dependencies": ["T001"]},
    {"id": "T003", "title": "Stream a year", "dependencies": ["T001"]},
    {"id": "T004", "title": "Document it", "dependencies": ["T002", "T003"]}
  ]
}
`
