package demo

import (
	"strings"

	"reprise"
)

// Play is a workflow that is started, killed and finished.
type Play struct {
	Layout string
	Title  string // what it is, as a part of a sentence
	// Files are what the project holds before, by name.
	Files map[string]string
	// Settings are added to those that bind the roles.
	Settings string
	// Run are the arguments of `reprise run`.
	Run []string
	// Hold is the step that is at work when the engine is killed, After the
	// steps that must be finished by then.
	Hold  string
	After []string
	// Person are the commands of a person that the workflow needs at last,
	// each with why.
	Person []Command
	// Gaps lets the actor find something that has to be asked.
	Gaps bool
}

// Command is a call of the program, and what it is for.
type Command struct {
	Why  string
	Args []string
}

// Plays are the plays, one for each layout, the usual one first.
func Plays() []Play {
	return []Play{
		{
			Layout: "eventrun", Title: "a file of your own, six steps",
			Files: map[string]string{"export.yaml": exportFlow}, Run: []string{"export.yaml", "--id", "export"},
			Hold: "page", After: []string{"plan", "stream"},
		},
		{
			Layout: "longrun", Title: "plans, one after the other",
			Files: map[string]string{
				"specs/checkout/spec.md":  "# Checkout\n\nSell things.\n",
				"specs/checkout/tasks.md": "# Tasks\n\n- [ ] 1. Cart\n- [ ] 2. Payment\n",
			},
			Run: []string{"plans", "--path", "specs/checkout"}, Hold: "02", After: []string{"transform", "01"},
		},
		{
			Layout: "orchestrate", Title: "a story, from draft to review",
			Run: []string{"sdc", "--id", "4.2", "Refunds"}, Hold: "implement", After: []string{"create", "validate"},
		},
		{
			Layout: "autoclaude", Title: "a build, from goal to merge",
			Run: []string{"build", "--id", "001-health", "Health endpoint"}, Hold: "subtask-1-2", After: []string{"planning", "subtask-1-1"},
			Person: []Command{{Why: "A build waits for a person to look at it. You have, and like it:", Args: []string{"resume", "001-health", "--option", reprise.OptionMerge, "--yes"}}},
		},
		{
			Layout: "specloop", Title: "a specification and its gaps",
			Run: []string{"spec-loop", "Team invites"}, Hold: "A2", After: []string{"A1"}, Gaps: true,
			Person: []Command{
				{Why: "The validation found a gap that only a person can close:", Args: []string{"answer", "--option", "1"}},
				{Why: "The answer is kept and is never asked for again:", Args: []string{"resume", "--mode", "autopilot"}},
			},
		},
		{
			Layout: "speckit", Title: "a list of tasks with check boxes",
			Files: map[string]string{"specs/001-health/tasks.md": healthTasks},
			Run:   []string{"tasks", "--path", "specs/001-health"}, Hold: "T002", After: []string{"T001"},
		},
		{
			Layout: "kiro", Title: "a list of numbered tasks with parts",
			Files: map[string]string{".kiro/specs/health/tasks.md": "# Implementation Plan\n\n- [ ] 1. Add the route\n- [ ] 2. Answer\n  - [ ] 2.1 With the version\n  - [ ] 2.2 With the time\n"},
			Run:   []string{"tasks", "--path", ".kiro/specs/health"}, Hold: "2.1", After: []string{"1"},
		},
		{
			Layout: "openspec", Title: "the tasks of a change",
			Files: map[string]string{"openspec/changes/add-health/tasks.md": "## 1. Implementation\n\n- [ ] 1.1 Add the route\n- [ ] 1.2 Answer with the version\n- [ ] 1.3 Document it\n"},
			Run:   []string{"tasks", "--path", "openspec/changes/add-health"}, Hold: "1.2", After: []string{"1.1"},
		},
		{
			Layout: "bmad", Title: "the stories of a sprint",
			Files: map[string]string{"_bmad-output/implementation-artifacts/sprint-status.yaml": healthSprint},
			Run:   []string{"tasks", "--path", "_bmad-output/implementation-artifacts/sprint-status.yaml"}, Hold: "1-2-answer-with-the-version", After: []string{"1-1-add-the-route"},
		},
		{
			Layout: "taskmaster", Title: "tasks with parts and needs",
			Files: map[string]string{".taskmaster/tasks/tasks.json": healthMaster},
			Run:   []string{"tasks", "--path", ".taskmaster/tasks/tasks.json"}, Hold: "master:2.1", After: []string{"master:1"},
		},
		{
			Layout: "ralph", Title: "the stories of a loop",
			Files: map[string]string{"prd.json": healthStories},
			Run:   []string{"tasks", "--path", "prd.json"}, Hold: "US-002", After: []string{"US-001"},
		},
		{
			Layout: "conductor", Title: "the plan of a track",
			Files: map[string]string{"conductor/tracks/health/plan.md": "# Implementation Plan\n\n## Phase 1: All\n\n- [ ] Task: Route\n- [ ] Task: Version\n- [ ] Task: Document\n"},
			Run:   []string{"tasks", "--path", "conductor/tracks/health"}, Hold: "1.task-version", After: []string{"1.task-route"},
		},
		{
			Layout: "agentos", Title: "the tasks of a specification",
			Files: map[string]string{".agent-os/specs/2026-01-01-health/tasks.md": "# Spec Tasks\n\n- [ ] 1. Health\n  - [ ] 1.1 Add the route\n  - [ ] 1.2 Answer with the version\n  - [ ] 1.3 Document it\n"},
			Run:   []string{"tasks", "--path", ".agent-os/specs/2026-01-01-health"}, Hold: "1.2", After: []string{"1.1"},
		},
		{
			Layout: "superpowers", Title: "a plan of tasks with steps",
			Files: map[string]string{"docs/plans/2026-01-01-health.md": "# Health Implementation Plan\n\n### Task 1: Health\n\n- [ ] **Step 1: Add the route**\n- [ ] **Step 2: Answer with the version**\n- [ ] **Step 3: Document it**\n"},
			Run:   []string{"tasks", "--path", "docs/plans/2026-01-01-health.md"}, Hold: "1.2", After: []string{"1.1"},
		},
		{
			Layout: "planfiles", Title: "the phases of one plan",
			Files: map[string]string{"task_plan.md": "# Task Plan: Health\n\n## Phases\n\n- [ ] Add the route\n- [ ] Answer with the version\n- [ ] Document it\n"},
			Run:   []string{"tasks", "--path", "task_plan.md"}, Hold: "answer-with-the-version", After: []string{"add-the-route"},
		},
		{
			Layout: "features", Title: "features that pass or not",
			Files: map[string]string{"feature_list.json": strings.ReplaceAll(healthStories, "userStories", "features")},
			Run:   []string{"tasks", "--path", "feature_list.json"}, Hold: "US-002", After: []string{"US-001"},
		},
		{
			Layout: "backlog", Title: "a file for each task",
			Files: map[string]string{
				"backlog/config.yml":                      "statuses: [To Do, In Progress, Done]\n",
				"backlog/tasks/task-1 - Add-the-route.md": "---\nid: task-1\ntitle: Add the route\nstatus: To Do\n---\n",
				"backlog/tasks/task-2 - Answer.md":        "---\nid: task-2\ntitle: Answer with the version\nstatus: To Do\ndependencies: [task-1]\n---\n",
				"backlog/tasks/task-3 - Document-it.md":   "---\nid: task-3\ntitle: Document it\nstatus: To Do\npriority: low\n---\n",
			},
			Run: []string{"tasks", "--path", "backlog"}, Hold: "task-2", After: []string{"task-1"},
		},
		{
			Layout: "beads", Title: "issues with needs and priorities",
			Files: map[string]string{".beads/issues.jsonl": healthIssues},
			Run:   []string{"tasks", "--path", ".beads/issues.jsonl"}, Hold: "health-2", After: []string{"health-1"},
		},
		{
			Layout: "families", Title: "a list in a form of your own",
			Settings: "families:\n  todo:\n    lists: [\"work/*/todo.md\"]\n    item: '^(?P<id>W\\d+) (?P<text>.+)'\n",
			Files:    map[string]string{"work/health/todo.md": "# Health\n\n- [ ] W1 Add the route\n- [ ] W2 Answer with the version\n- [ ] W3 Document it\n"},
			Run:      []string{"tasks", "--path", "work/health"}, Hold: "W2", After: []string{"W1"},
		},
	}
}

// PlayOf is the play of a layout.
func PlayOf(layout string) (Play, bool) {
	for _, p := range Plays() {
		if p.Layout == layout {
			return p, true
		}
	}
	return Play{}, false
}

const healthTasks = `# Tasks: Health endpoint

## Phase 1: Setup

- [ ] T001 Add the route in src/health.txt

## Phase 2: User story 1

- [ ] T002 [US1] Answer with the version
- [ ] T003 [US1] Document it
`

const healthSprint = `development_status:
  epic-1: in-progress
  1-1-add-the-route: ready-for-dev
  1-2-answer-with-the-version: backlog
  1-3-document-it: backlog
  epic-1-retrospective: optional
`

const healthMaster = `{
  "master": {
    "tasks": [
      {"id": 1, "title": "Add the route", "priority": "high", "dependencies": [], "status": "pending", "subtasks": []},
      {
        "id": 2,
        "title": "Answer",
        "priority": "medium",
        "dependencies": [1],
        "status": "pending",
        "subtasks": [
          {"id": 1, "title": "With the version", "dependencies": [], "status": "pending"},
          {"id": 2, "title": "With the time", "dependencies": [1], "status": "pending"}
        ]
      }
    ]
  }
}
`

const healthStories = `{
  "branchName": "ralph/health",
  "userStories": [
    {"id": "US-001", "title": "Add the route", "priority": 1, "passes": false},
    {"id": "US-002", "title": "Answer with the version", "priority": 2, "passes": false},
    {"id": "US-003", "title": "Document it", "priority": 3, "passes": false}
  ]
}
`

const healthIssues = `{"id":"health-1","title":"Add the route","status":"open","priority":1,"issue_type":"task","updated_at":"2026-01-01T08:00:00Z"}
{"id":"health-2","title":"Answer with the version","status":"open","priority":2,"issue_type":"task","updated_at":"2026-01-01T08:00:00Z","dependencies":[{"issue_id":"health-2","depends_on_id":"health-1","type":"blocks"}]}
{"id":"health-3","title":"Document it","status":"open","priority":3,"issue_type":"task","updated_at":"2026-01-01T08:00:00Z"}
`

const exportFlow = `name: export
title: Export a month as CSV
parallel: 2
steps:
  - id: plan
    title: Write down how it is done
    role: planner
    prompt: Write down how a month is exported as CSV.
    outputs: [docs/plan.md]
  - id: stream
    title: Stream the rows
    needs: [plan]
    role: builder
    prompt: Stream the rows of a month.
    inputs: [docs/plan.md]
    outputs: [export/stream.txt]
  - id: page
    title: Offer it on the page
    needs: [plan]
    role: builder
    prompt: Offer the export on the page of the month.
    inputs: [docs/plan.md]
    outputs: [export/page.txt]
  - id: tests
    title: Test it
    needs: [stream, page]
    role: tester
    prompt: Test the export, and say what is wrong with it.
    outputs: [export/tests.txt]
  - id: notes
    title: Tell users about it
    needs: [page]
    role: writer
    prompt: Tell users about it.
    outputs: [docs/notes.md]
  - id: package
    title: Pack it up
    needs: [tests, notes]
    command: [git, archive, --output, export.tar, HEAD]
    outputs: [export.tar]
`
