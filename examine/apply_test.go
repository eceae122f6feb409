package examine_test

import (
	"reflect"
	"testing"
	"time"

	"reprise"
	"reprise/examine"
)

func codesOf(r *reprise.Run) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Severity.String()+" "+f.Code+" "+f.Subject)
	}
	return out
}

func expect(t *testing.T, r *reprise.Run, want ...string) {
	t.Helper()
	if got := codesOf(r); !reflect.DeepEqual(got, want) {
		t.Errorf("findings\n got %q\nwant %q", got, want)
	}
}

func TestX2_checks_replace_what_the_reader_said(t *testing.T) {
	t.Parallel()
	r := epic(reprise.InProgress, "in_progress", reprise.Done, "Done")
	r.Report(reprise.Finding{Code: reprise.CodeUnknownStatus, Severity: info, Subject: "3.4", Message: "kept"})
	r.Report(reprise.Finding{Code: reprise.CodeStatusDrift, Severity: warning, Subject: "3.4", Message: "replaced"})
	r.Report(reprise.Finding{Code: reprise.CodeStatusDrift, Severity: warning, Subject: "3.9", Message: "kept"})
	examine.Apply(r, reprise.Observed{Now: now}, examine.Cheap)
	expect(t, r, "blocking status-drift 3.4", "warning status-drift 3.9", "info unknown-status 3.4")

	again := *r
	examine.Apply(&again, reprise.Observed{Now: now}, examine.Every)
	if !reflect.DeepEqual(r.Findings, again.Findings) {
		t.Errorf("applying twice gives %q", codesOf(&again))
	}
}

func TestOR3_missing_file_takes_the_place_of_the_readers_word(t *testing.T) {
	t.Parallel()
	at := reprise.Source{File: ".aiox/epic-3-state.yaml", Line: 12}
	r := epic(reprise.InProgress, "in_progress", reprise.InProgress, "InProgress")
	r.Artifacts = []reprise.Artifact{{Name: "story 3.5", Path: "docs/stories/3.5.story.md", Presence: reprise.Missing, Critical: true, NeededBy: "wave 2", Source: at}}
	r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: warning, Subject: "3.5", Source: at, Hint: "bring it back"})
	examine.Apply(r, reprise.Observed{}, examine.Cheap)
	expect(t, r, "blocking missing-artifact 3.5")
	if r.Findings[0].Hint != "bring it back" {
		t.Errorf("the reader's hint is lost: %q", r.Findings[0].Hint)
	}
}

func TestX5_what_is_known_of_an_owner_replaces_its_marker(t *testing.T) {
	t.Parallel()
	for life, want := range map[reprise.Life]string{
		0:                   "warning owner-marker run.lock",
		reprise.Alive:       "info live-owner 004-secrets",
		reprise.Dead:        "info stale-owner-marker 004-secrets",
		reprise.LifeUnknown: "warning owner-marker 004-secrets",
	} {
		s := quiet().owner(life)
		s.r.Report(reprise.Finding{Code: reprise.CodeOwnerMarker, Severity: warning, Subject: "run.lock", Source: s.r.Owner.Source, Message: "at work"})
		examine.Apply(s.r, s.o, examine.Every)
		expect(t, s.r, want)
	}
}

func TestLR6_hidden_question_replaces_the_pending_one(t *testing.T) {
	t.Parallel()
	s := quiet()
	at := reprise.Source{File: ".long-run/clarifications.md", Line: 3}
	s.r.Questions = []reprise.Question{{ID: "q1", Text: "Which?", Source: at}}
	s.r.Report(reprise.Finding{Code: reprise.CodePendingQuestion, Severity: warning, Subject: "clarifications.md", Source: at, Message: "open"})
	examine.Apply(s.r, s.o, examine.Cheap)
	expect(t, s.r, "warning question-hidden q1")
}

func TestX10_cheap_checks_need_only_the_run_and_the_clock(t *testing.T) {
	t.Parallel()
	full := quiet().owner(reprise.Alive).commit("tidy", "b.go", "go.mod").changed(reprise.Change{Path: "b.go"})
	full.o.Git.Operation, full.o.GitError = "merge", "none"
	full.o.Sections = map[string][]reprise.SectionChange{"docs/spec.md": {{Title: "Scope"}}}
	full.peer(func(p *reprise.Run) { p.LastActivity = now })
	full.r.LastActivity = now.Add(-10 * 24 * time.Hour)
	for _, c := range examine.Checks() {
		if !c.Cheap {
			continue
		}
		if with, without := c.Run(full.r, examine.NewWorld(full.o)), c.Run(full.r, examine.NewWorld(reprise.Observed{Now: now})); !reflect.DeepEqual(with, without) {
			t.Errorf("%s is called cheap and looks at more: %v, %v", c.Code, with, without)
		}
	}
	examine.Apply(full.r, full.o, examine.Cheap)
	expect(t, full.r, "warning stale-run 004-secrets")
}
