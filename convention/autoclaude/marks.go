package autoclaude

import (
	"bytes"
	"cmp"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// marks are the files that people and the program leave next to the plan.
type marks struct {
	hold       string // why it is held, "" if it is not
	holdPhase  string
	holdTodo   string // what ends it
	escalated  bool
	fixRequest reprise.Source // QA_FIX_REQUEST.md, unset if absent

	reviewed bool // review_state.json says whether the plan was approved
	approved bool
	require  bool   // task_metadata.json asks for approval before coding
	inPlace  bool   // task_metadata.json says that no worktree is wanted
	base     string // the branch that it says the build is for
	review   reprise.Source
	archived reprise.Source // where it says so, unset if it was not
}

func (l *loader) readMarks() {
	l.readHolds()
	l.readHuman()
	l.readApproval()
	l.readLeftovers()
}

// readHolds reads the files that stop the loop until they are removed: PAUSE
// by a person, RATE_LIMIT_PAUSE and AUTH_PAUSE by the later program, which a
// RESUME file lifts. A limit that says when it ends needs no person.
func (l *loader) readHolds() {
	m := &l.marks
	if f, ok := l.find("PAUSE"); ok {
		m.hold, m.holdPhase = "a person paused it with the file PAUSE", "paused"
		m.holdTodo = "remove the file PAUSE"
		if text := oneLine(string(bytes.ToValidUTF8(f.Data, nil)), 120); text != "" {
			m.hold += " (" + strconv.Quote(text) + ")"
		}
		return
	}
	if _, lifted := l.find("RESUME"); lifted {
		return
	}
	if f, ok := l.find("RATE_LIMIT_PAUSE"); ok {
		if n := f.JSON(); n != nil && n.Kind == doc.Map {
			l.run.Until = n.Get("resetTimestamp", "reset_timestamp").Time()
			l.memory.times = append(l.memory.times, n.Get("pausedAt", "paused_at"))
		}
		if l.run.Until.IsZero() {
			m.hold, m.holdPhase = "it waits for a usage limit to end", "usage limit"
			m.holdTodo = "wait for the limit to end, or remove the file RATE_LIMIT_PAUSE"
		}
		return
	}
	if f, ok := l.find("AUTH_PAUSE"); ok {
		m.hold, m.holdPhase = "it waits for a person to sign in to the agent's service again", "sign-in"
		m.holdTodo = "sign in, then remove the file AUTH_PAUSE"
		if n := f.JSON(); n != nil && n.Kind == doc.Map {
			l.memory.times = append(l.memory.times, n.Get("pausedAt", "paused_at"))
		}
	}
}

// readHuman reads what people wrote to the agents and what QA wrote to people.
func (l *loader) readHuman() {
	if f, ok := l.find("HUMAN_INPUT.md"); ok {
		if text := oneLine(string(bytes.ToValidUTF8(f.Data, nil)), 300); text != "" {
			l.run.Questions = append(l.run.Questions, reprise.Question{
				ID: "HUMAN_INPUT.md", Text: "instructions for the next session", Subject: "coding",
				Answer: text, Answered: true, Source: f.At(1),
			})
		}
	}
	if f, ok := l.find("QA_FIX_REQUEST.md"); ok {
		l.marks.fixRequest = f.At(0)
		l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{
			Name: "fix request", Path: f.Path, Presence: reprise.Present, NeededBy: "qa fix", Source: f.At(0),
		})
	}
	if f, ok := l.find("QA_ESCALATION.md"); ok {
		q := readEscalation(string(bytes.ToValidUTF8(f.Data, nil)))
		q.Source = f.At(1)
		l.marks.escalated = !q.Answered
		l.run.Questions = append(l.run.Questions, q)
	}
}

// The headings under which an answer to an escalation, and that it was used, are
// put down behind it.
const (
	headAnswer  = "## Answer"
	headApplied = "## Applied"
)

// readEscalation reads what QA asks. The last first-level heading is the latest
// question; what a person said stands behind it.
func readEscalation(text string) reprise.Question {
	q := reprise.Question{ID: askQA, Subject: "qa"}
	answering := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, "# "):
			q.Text, q.Answer, q.Answered, q.Applied, answering = oneLine(line[2:], 300), "", false, false, false
		case line == headAnswer: // the last one counts
			q.Answer, q.Answered, answering = "", true, true
		case line == headApplied:
			q.Applied, answering = q.Answered, false
		case answering:
			q.Answer = strings.TrimSpace(q.Answer + "\n" + line)
		}
	}
	q.Text = cmp.Or(q.Text, oneLine(text, 300))
	if q.Answer = doc.Clip(q.Answer, 4000); !q.Answered {
		q.Answer = ""
	}
	return q
}

// settleQuestions marks what was asked of a person as answered where the run
// continued beyond it.
func (l *loader) settleQuestions() {
	beyond := !l.run.State.Open() || l.plan != nil && l.plan.qa == qaApproved
	for i := range l.run.Questions {
		if q := &l.run.Questions[i]; q.ID == askQA && beyond {
			q.Answered, q.Applied = true, true
		}
	}
}

// readApproval reads whether the plan was approved. The hash stored with an
// approval is not checked: it covers the plan, which the build itself changes,
// so it fails for every build that was started.
func (l *loader) readApproval() {
	m := &l.marks
	if f, ok := l.find("review_state.json"); ok {
		m.review = f.At(0)
		if n := f.JSON().Object("approved", "approved_at", "feedback", "spec_hash", "review_count"); n != nil {
			m.approved, m.reviewed = n.Get("approved").Bool()
			if at := n.Get("approved"); at != nil {
				m.review = at.Source()
			}
			l.memory.times = append(l.memory.times, n.Get("approved_at"))
		}
	}
	f, ok := l.find("task_metadata.json")
	if !ok {
		return
	}
	n := f.JSON().Object()
	if n == nil {
		return
	}
	m.require, _ = n.Get("requireReviewBeforeCoding").Bool()
	if m.require && m.review.File == "" {
		m.review = n.Get("requireReviewBeforeCoding").Source()
	}
	if worktree, told := n.Get("useWorktree").Bool(); told {
		m.inPlace = !worktree
	}
	m.base = oneLine(n.Get("baseBranch").Str(), 200)
	if at := n.Get("archivedAt"); !at.IsNull() {
		m.archived = at.Source()
	}
}

// readLeftovers reports what an agent wrote in the wrong place.
func (l *loader) readLeftovers() {
	for _, dir := range l.dirs() {
		for _, e := range l.rd.Dir(dir) {
			if e.Name() != stateDirs[0] || !e.IsDir() {
				continue
			}
			l.rd.Report(reprise.Finding{
				Code: reprise.CodeLeftover, Severity: reprise.Info, Subject: e.Name(), Source: reprise.Source{File: path.Join(dir, e.Name())},
				Message: "a state folder inside the spec folder: an agent wrote with the wrong working folder; it is not read",
				Hint:    "remove it once you need nothing in it",
			})
		}
	}
}
