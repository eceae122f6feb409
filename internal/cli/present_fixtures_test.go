package cli

import (
	"time"

	"reprise"
)

// The runs below are those of the seeds' examples, as the layouts would give
// them.

var fixtureNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return fixtureNow.Add(-d) }

func at(file string, line int) reprise.Source { return reprise.Source{File: file, Line: line} }

func claim(ledger string, s reprise.Status, word string, src reprise.Source, won bool) reprise.Claim {
	return reprise.Claim{Ledger: ledger, Status: s, Word: word, Source: src, Won: won}
}

// storyRun is example 1 of seed 001: a clean SDC, 45 minutes old.
func storyRun() *reprise.Run {
	const file = "docs/stories/4.2.story.md"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "4.2", Path: file, Kind: reprise.KindStory},
		Title: "Story 4.2: Export the order list as CSV", State: reprise.Interrupted, Phase: "implement",
		Reason:       "implementation was begun but not handed over for review",
		LastActivity: before(45 * time.Minute), LastActivitySource: at(file, 61),
		Next: []reprise.Unit{{ID: "4.2", Path: file, Phase: "implement", Role: "dev", Title: "Story 4.2: Export the order list as CSV", Reason: "17 of 21 boxes are ticked"}},
		Artifacts: []reprise.Artifact{
			{Name: "story", Path: file, Presence: reprise.Present, Critical: true, NeededBy: "implement", MadeBy: "create", Source: at(file, 0)},
			{Name: "architecture", Path: "docs/architecture/export.md", Presence: reprise.Present, NeededBy: "implement", Source: at(file, 33)},
		},
	}
	for _, s := range []struct {
		id, role string
		status   reprise.Status
	}{{"create", "sm", reprise.Done}, {"validate", "po", reprise.Done}, {"implement", "dev", reprise.InProgress}, {"qa", "qa", reprise.Pending}} {
		step := reprise.Step{
			ID: s.id, Title: s.id, Phase: s.id, Role: s.role, Path: file, Status: s.status, Source: at(file, 0),
			Claims: []reprise.Claim{
				claim("story", s.status, "InProgress", at(file, 3), true),
				claim("epic table", s.status, "InProgress", at("docs/stories/epics/epic-4.md", 20), false),
			},
		}
		if s.status == reprise.Done {
			step.Grade = reprise.Claimed
		}
		r.Steps = append(r.Steps, step)
	}
	r.Steps[0].Grade = reprise.Evidenced
	r.Steps[0].Evidence = []reprise.Evidence{{Kind: reprise.EvidenceArtifact, Text: "the story file is there", Source: file, For: true}}
	r.Steps[2].Evidence = []reprise.Evidence{{Kind: reprise.EvidencePartial, Text: `commit 8c1f2ab "wip(4.2): csv writer" is on the way`, Source: "8c1f2ab", For: true}}
	return r
}

// loopRun is example 2 of seed 001: three days old, one warning.
func loopRun() *reprise.Run {
	const file = "qa/2.1/loop-status.json"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "2.1", Path: file, Kind: reprise.KindQALoop},
		Title: "Story 2.1: Sign in with a passkey", State: reprise.Interrupted, Phase: "review, iteration 3 of 5",
		Reason:       "the loop stopped in review, iteration 3 of 5",
		LastActivity: before(72 * time.Hour), LastActivitySource: at(file, 4),
		Next: []reprise.Unit{{ID: "2.1", Path: file, Phase: "review, iteration 3 of 5", Role: "qa", Reason: "the loop stopped in review, iteration 3 of 5"}},
	}
	for i, s := range []struct{ id, role, word string }{{"review-1", "qa", "REJECT"}, {"fix-1", "dev", "fixedAt"}, {"review-2", "qa", "REJECT"}, {"fix-2", "dev", "fixedAt"}} {
		r.Steps = append(r.Steps, reprise.Step{
			ID: s.id, Phase: "iteration " + string(rune('1'+i/2)), Role: s.role, Status: reprise.Done, Grade: reprise.Claimed,
			Claims: []reprise.Claim{claim("QA loop", reprise.Done, s.word, at(file, 10+4*i), true)},
		})
	}
	r.Report(reprise.Finding{
		Code: "story-changed", Severity: reprise.Warning, Subject: "docs/stories/2.1.story.md",
		Message: `the section "Dev Notes" was changed since the run was last active`, Source: at("docs/stories/2.1.story.md", 88),
		Hint: "read the section; the review may have to look at something else now",
	})
	return r
}

// epicRun is example 4 of seed 001: two blocking conflicts after two weeks.
func epicRun() *reprise.Run {
	const file = ".aios/epic-3-state.yaml"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "epic 3", Path: file, Kind: reprise.KindEpic},
		Title: "Reporting", State: reprise.Interrupted, Phase: "wave 2", Reason: "wave 2 has open stories",
		LastActivity: before(14 * 24 * time.Hour), LastActivitySource: at(file, 5),
		Next: []reprise.Unit{{ID: "3.4", Path: "docs/stories/3.4.story.md", Title: "Totals per month", Phase: "wave 2", Role: "dev", Reason: "first open story of wave 2"}},
	}
	for _, s := range []struct {
		id, wave, title string
		status          reprise.Status
	}{
		{"3.1", "wave 1", "Table of orders", reprise.Done}, {"3.2", "wave 1", "Filter by customer", reprise.Done}, {"3.3", "wave 1", "Sort", reprise.Done},
		{"3.4", "wave 2", "Totals per month", reprise.InProgress}, {"3.5", "wave 2", "Print view", reprise.Pending},
	} {
		step := reprise.Step{ID: s.id, Title: s.title, Phase: s.wave, Role: "dev", Path: "docs/stories/" + s.id + ".story.md", Status: s.status,
			Claims: []reprise.Claim{claim("epic state", s.status, s.status.String(), at(file, 20), true)}}
		if s.status == reprise.Done {
			step.Grade = reprise.Claimed
		}
		r.Steps = append(r.Steps, step)
	}
	r.Steps[3].Claims = append(r.Steps[3].Claims, claim("story", reprise.Done, "Done", at("docs/stories/3.4.story.md", 3), false))
	r.Artifacts = []reprise.Artifact{
		{Name: "story 3.4", Path: "docs/stories/3.4.story.md", Presence: reprise.Present, Critical: true, NeededBy: "wave 2", Source: at(file, 31)},
		{Name: "story 3.5", Path: "docs/stories/3.5.story.md", Presence: reprise.Missing, Critical: true, NeededBy: "wave 2", Source: at(file, 36)},
	}
	r.Report(reprise.Finding{Code: reprise.CodeStaleRun, Severity: reprise.Warning, Subject: "epic 3", Message: "nothing has happened for 14 days; the project may have moved on", Source: at(file, 5), Hint: "review what changed since, before you resume"})
	r.Report(reprise.Finding{Code: reprise.CodeStatusDrift, Severity: reprise.Blocking, Subject: "3.4", Message: "the epic state says in progress, the story says Done: it was completed outside this workflow", Source: at("docs/stories/3.4.story.md", 3), Hint: "mark 3.4 completed in the epic state, or reopen the story"})
	r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: reprise.Blocking, Subject: "docs/stories/3.5.story.md", Message: "the story 3.5 is referred to and its file is gone", Source: at(file, 36), Hint: "bring it back from version control, or take it out of the epic"})
	return r
}

// pipelineRun is partly recoverable: what the research left is gone.
func pipelineRun() *reprise.Run {
	const dir = "docs/specs/login"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "login feature", Path: dir, Kind: reprise.KindSpecPipeline},
		Title: "Login feature", State: reprise.Interrupted, Phase: "write", Reason: "the specification stopped before write",
		LastActivity: before(5 * 24 * time.Hour), LastActivitySource: at(dir+"/assessment.md", 0),
		Next: []reprise.Unit{{ID: "login feature", Path: dir, Phase: "write", Role: "pm", Reason: "its output is the first that is missing"}},
	}
	for _, s := range []struct {
		id, role, file string
		status         reprise.Status
		there          reprise.Presence
	}{
		{"gather", "pm", "requirements.md", reprise.Done, reprise.Present}, {"assess", "architect", "assessment.md", reprise.Done, reprise.Present},
		{"research", "analyst", "research.md", reprise.Done, reprise.Missing}, {"write", "pm", "spec.md", reprise.Pending, 0}, {"critique", "qa", "critique.md", reprise.Pending, 0},
	} {
		step := reprise.Step{ID: s.id, Phase: s.id, Role: s.role, Status: s.status, Claims: []reprise.Claim{claim("pipeline state", s.status, "research done", at(dir+"/state.yaml", 2), true)}}
		if s.there != 0 {
			step.Grade = reprise.Claimed
			r.Artifacts = append(r.Artifacts, reprise.Artifact{Name: s.id, Path: dir + "/" + s.file, Presence: s.there, Critical: true, NeededBy: "write", MadeBy: s.id, Source: at(dir, 0)})
			if s.there == reprise.Present {
				step.Grade = reprise.Evidenced
				step.Evidence = []reprise.Evidence{{Kind: reprise.EvidenceArtifact, Text: s.file + " is there", Source: dir + "/" + s.file, For: true}}
			}
		}
		r.Steps = append(r.Steps, step)
	}
	r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: "research", Message: "the pipeline says \"research done\", but the output of research is missing: the phase must run again", Source: at(dir+"/state.yaml", 2), Hint: "bring research.md back, or let the phase run again"})
	return r
}

// graphRun is a run of seed 002 in its execution phase.
func graphRun() *reprise.Run {
	const dir = ".agent-memory/runs/20260301-0930-export-csv-a1b2"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "eventrun", ID: "20260301-0930-export-csv-a1b2", Path: dir, Kind: reprise.KindGraph},
		Title: "Export to CSV", State: reprise.Interrupted, Phase: "2 execution", Reason: "2 of 5 tasks done, T003 was being worked on",
		LastActivity: before(80 * time.Minute), LastActivitySource: at(dir+"/events/executor-1/20260301.jsonl", 9),
		Next: []reprise.Unit{
			{ID: "T003", Path: dir + "/tasks/T003.md", Title: "Stream rows instead of loading them", Phase: "2", Role: "executor", Reason: "it was started, and no end is on record; check what it left: it may have finished without recording it"},
			{ID: "T004", Path: dir + "/tasks/T004.md", Title: "Escape formulas", Phase: "2", Role: "executor", Reason: "everything it depends on is done"},
		},
	}
	for i, s := range []struct {
		id, title, word string
		status          reprise.Status
		needs           []string
	}{
		{"T001", "Define the columns", "task_verified", reprise.Done, nil}, {"T002", "Write the header", "task_completed", reprise.Done, []string{"T001"}},
		{"T003", "Stream rows instead of loading them", "task_started", reprise.InProgress, []string{"T002"}},
		{"T004", "Escape formulas", "", reprise.Pending, []string{"T002"}}, {"T005", "Document the export", "", reprise.Pending, []string{"T003", "T004"}},
	} {
		step := reprise.Step{ID: s.id, Title: s.title, Phase: "2", Role: "executor", Status: s.status, Needs: s.needs, Source: at(dir+"/task-graph.json", 6+7*i)}
		if s.word != "" {
			c := claim("events", s.status, s.word, at(dir+"/events/executor-1/20260301.jsonl", 3+3*i), true)
			c.At = before(time.Duration(200-40*i) * time.Minute)
			step.Claims = []reprise.Claim{c}
		}
		if s.status == reprise.Done {
			step.Grade = reprise.Evidenced
			step.Evidence = []reprise.Evidence{{Kind: reprise.EvidenceCommit, Text: `commit 51d2c07 names it: "` + s.id + `: ` + s.title + `"`, Source: "51d2c07", For: true}}
		}
		r.Steps = append(r.Steps, step)
	}
	for _, a := range []struct {
		name, by string
		there    reprise.Presence
	}{{"constitution", "execution", reprise.Present}, {"prd", "planning", reprise.Present}, {"plan", "task-graph", reprise.Present}, {"pr-checklist", "consolidation", reprise.Missing}} {
		r.Artifacts = append(r.Artifacts, reprise.Artifact{Name: a.name, Path: dir + "/" + a.name + ".md", Presence: a.there, Critical: a.there == reprise.Present, NeededBy: a.by, Source: at(dir, 0)})
	}
	return r
}

// specRun is the prompt of seed 004.
func specRun() *reprise.Run {
	const file = "specs/005-user-auth/.workflow/index.md"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "specloop", ID: "005-user-auth", Path: "specs/005-user-auth", Kind: reprise.KindSpecLoop},
		Title: "Users sign in with mail and password", State: reprise.Waiting, Phase: "B1 ask (clarifying, iteration 2 / 10)",
		Reason:       "2 questions without an answer (gaps: 1 critical open, 3 closed)",
		LastActivity: before(26 * time.Hour), LastActivitySource: at(file, 18),
		Next: []reprise.Unit{{ID: "B1", Path: file, Title: "ask", Phase: "specify", Role: "user", Reason: "2 questions without an answer"}},
		Questions: []reprise.Question{
			{ID: "C2.1", Subject: "G-004", Text: "How long may a session stay idle before it ends?", Source: at(file, 27)},
			{ID: "C2.2", Subject: "G-005", Text: "Is a second factor asked for at every sign-in or once per device?", Source: at(file, 28)},
		},
		Options: []reprise.Option{{Key: "resume", Label: "Resume at B1 ask"}, {Key: "fresh", Label: "Start fresh (the old folder is archived)"}},
	}
	r.Loop = reprise.Loop{At: "B1 ask", Status: "clarifying", Iteration: "2 / 10"}
	for _, s := range []struct {
		id, title string
		status    reprise.Status
	}{{"A1", "scaffold", reprise.Done}, {"A2", "write the specification", reprise.Done}, {"A3", "validate", reprise.Done}, {"B1", "ask", reprise.InProgress}, {"B2", "apply answers", reprise.Pending}} {
		step := reprise.Step{ID: s.id, Title: s.title, Phase: "specify", Status: s.status, Claims: []reprise.Claim{claim("index.md", s.status, "clarifying", at(file, 16), true)}}
		if s.status == reprise.Done {
			step.Grade = reprise.Claimed
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

// plansRun is a run of seed 000, interrupted in each of its four ways.
func plansRun(kind reprise.ResumeType) *reprise.Run {
	const dir = "specs/shop/.long-run"
	one, two, three := 1, 2, 3
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "longrun", ID: "shop", Path: dir, Kind: reprise.KindPlans},
		Title: "shop", State: reprise.Interrupted, Phase: "plan 02 (api)", Reason: "plan 02 stopped after task 1 of 3",
		LastActivity: before(3 * time.Hour), LastActivitySource: at(dir+"/plans/02-CHECKPOINT.json", 1),
		Next: []reprise.Unit{{ID: "02", Path: dir + "/plans/02-PLAN.md", Title: "Continue at task 2 of 3: Routes", Phase: "api", Role: "executor", Reason: "plan 02 stopped after task 1 of 3"}},
		Steps: []reprise.Step{
			{ID: "01", Title: "schema", Phase: "schema", Role: "executor", Status: reprise.Done, Grade: reprise.Claimed, Claims: []reprise.Claim{
				claim("SUMMARY", reprise.Done, "completed", at(dir+"/summaries/01-SUMMARY.md", 4), true),
				claim("agent-history.json", reprise.InReview, "completed", at(dir+"/agent-history.json", 2), false)}},
			{ID: "02", Title: "api", Phase: "api", Role: "executor", Status: reprise.InProgress, Needs: []string{"01"}, Commits: []string{"abc1111", "def2222"}, Claims: []reprise.Claim{
				claim("CHECKPOINT", reprise.InProgress, "1 of 3 tasks", at(dir+"/plans/02-CHECKPOINT.json", 1), true)}},
			{ID: "03", Title: "ui", Phase: "ui", Role: "executor", Status: reprise.Pending, Needs: []string{"02"}, Claims: []reprise.Claim{
				claim("PLAN", reprise.Pending, "planned", at(dir+"/plans/03-PLAN.md", 0), true)}},
		},
	}
	partial := reprise.ResumeState{Interrupted: true, Type: reprise.PartialPlan, Plan: "02", CompletedTasks: &one, TotalTasks: &three, LastCommit: "abc1111"}
	asked := reprise.ResumeState{Interrupted: true, Type: reprise.PendingClarification, TaskGroup: "Task Group 3: ui", Question: "Which design system should the pages use?"}
	switch kind {
	case reprise.ActiveAgent:
		r.Owner = &reprise.Owner{Agent: "agent-7", Source: at(dir+"/current-agent-id.txt", 1)}
		r.Resume = &reprise.ResumeState{Interrupted: true, Type: kind, AgentID: "agent-7", Plan: "02", Status: "spawned", Timestamp: "2026-03-01T08:55:00Z", Also: []reprise.ResumeState{partial, asked}}
		r.Report(reprise.Finding{Code: reprise.CodeOwnerMarker, Severity: reprise.Warning, Subject: "current-agent-id.txt", Message: `agent "agent-7" is marked as working: its entry for plan 02 says "spawned"`, Source: at(dir+"/current-agent-id.txt", 1), Hint: "make sure that the agent is no longer running before you continue"})
	case reprise.PartialPlan:
		r.Resume = &partial
	case reprise.BetweenPlans:
		r.Resume = &reprise.ResumeState{Interrupted: true, Type: kind, ResumeFrom: &two, LastCompleted: &one}
	case reprise.PendingClarification:
		r.State, r.Reason = reprise.Waiting, "1 question on Task Group 3: ui without an answer"
		r.Questions = []reprise.Question{{ID: "clarification-1", Subject: "Task Group 3: ui", Text: asked.Question, Source: at(dir+"/clarifications.md", 15), Group: []string{"03"}}}
		r.Resume = &asked
	}
	return r
}

// buildRun is scenario 4 of seed 003: a crash while coding.
func buildRun() *reprise.Run {
	const dir = ".auto-claude/specs/001-dark-mode"
	const file = dir + "/implementation_plan.json"
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "autoclaude", ID: "001-dark-mode", Path: dir, Kind: reprise.KindBuild},
		Title: "Dark mode", State: reprise.Interrupted, Phase: "coding: Theme", Reason: `1 of 3 items completed, "1-2" was in progress`,
		LastActivity: before(9 * time.Hour), LastActivitySource: at(dir+"/memory/build_commits.json", 11),
		Worktree: ".worktrees/auto-claude", Branch: "auto-claude/001-dark-mode",
		Next: []reprise.Unit{{ID: "1-2", Title: "Switch in the header", Phase: "Theme", Role: "coder", Reason: "it was in progress when the work stopped"}, {ID: "1-3", Title: "Remember the choice", Phase: "Theme", Role: "coder", Reason: "it does not depend on the one before"}},
		Steps: []reprise.Step{
			{ID: "1-1", Title: "Colour variables", Phase: "Theme", Role: "coder", Status: reprise.Done, Grade: reprise.Verified, Claims: []reprise.Claim{claim("implementation_plan.json", reprise.Done, "completed", at(file, 11), true)},
				Evidence: []reprise.Evidence{{Kind: reprise.EvidenceCommand, Text: "`make test` succeeded on commit aaaabbb", Source: "make test", For: true}}},
			{ID: "1-2", Title: "Switch in the header", Phase: "Theme", Role: "coder", Status: reprise.InProgress, Commits: []string{"1111222233334444"}, Claims: []reprise.Claim{claim("implementation_plan.json", reprise.InProgress, "in_progress", at(file, 16), true)},
				Evidence: []reprise.Evidence{{Kind: reprise.EvidenceCommit, Text: `commit 1111222 "auto-claude: 1-2 - Switch in the header" is on auto-claude/001-dark-mode`, Source: "1111222", For: true}}},
			{ID: "1-3", Title: "Remember the choice", Phase: "Theme", Role: "coder", Status: reprise.Pending, Claims: []reprise.Claim{claim("implementation_plan.json", reprise.Pending, "pending", at(file, 21), true)}},
		},
		Options: []reprise.Option{{Key: "continue", Label: "Continue where it stopped"}, {Key: "review", Label: "Review what was built"}, {Key: "merge", Label: "Merge the existing build"}, {Key: "discard", Label: "Discard and start fresh (the old state is archived)"}},
	}
	r.Report(reprise.Finding{Code: "uncommitted-work", Severity: reprise.Warning, Subject: ".worktrees/auto-claude", Message: "2 files are changed and not committed", Source: at(".worktrees/auto-claude", 0), Hint: "commit them there, or go on; nothing is thrown away"})
	return r
}

// gsdRun is a run of the family seed 000 descends from: plans without
// checkpoints.
func gsdRun() *reprise.Run {
	const dir = ".planning"
	r := &reprise.Run{
		Ref: reprise.Ref{Layout: "longrun", ID: "planning", Path: dir, Kind: reprise.KindPlans}, State: reprise.Interrupted,
		Title: "Review assistant", Phase: "phase 04", Reason: "1 plan of phase 04 (Integration Testing) open; 04-01 comes next",
		LastActivity: before(5 * 24 * time.Hour), LastActivitySource: at(dir+"/STATE.md", 13),
		Next: []reprise.Unit{{ID: "04-01", Path: dir + "/phases/04-integration-testing/04-01-PLAN.md", Title: "Test the features of phases 1 to 3 together", Phase: "phase 04", Role: "executor", Reason: "first open plan of phase 04 (Integration Testing)"}},
		Steps: []reprise.Step{
			{ID: "03-02", Title: "Stricter evidence for findings", Phase: "phase 03", Role: "executor", Status: reprise.Done, Grade: reprise.Evidenced, Commits: []string{"77aa001122334455"}, Claims: []reprise.Claim{
				claim("ROADMAP.md", reprise.Done, "[x]", at(dir+"/ROADMAP.md", 50), true), claim("PLAN", reprise.Pending, "planned", at(dir+"/phases/03-cross-validation-of-findings-and-evidence/03-02-PLAN.md", 0), false)}},
			{ID: "04-01", Title: "Test the features of phases 1 to 3 together", Phase: "phase 04", Role: "executor", Status: reprise.Pending, Needs: []string{"03-02"}, Claims: []reprise.Claim{claim("PLAN", reprise.Pending, "planned", at(dir+"/phases/04-integration-testing/04-01-PLAN.md", 0), true)}},
		},
	}
	r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: reprise.Info, Subject: "03-02", Message: "two records call 03-02 done, but it has no summary", Source: at(dir+"/phases/03-cross-validation-of-findings-and-evidence-after-review/03-02-PLAN.md", 21), Hint: "the summary may be uncommitted or lost; write it if it is wanted"})
	return r
}
