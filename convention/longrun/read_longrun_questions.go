package longrun

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readClarifications reads clarifications.md: one section per task group. What
// stands in a code fence is the template's example.
func (l *longRun) readClarifications() {
	f := l.r.Open(path.Join(l.dir, "clarifications.md"))
	m := f.Markdown()
	if m == nil {
		return
	}
	for _, s := range m.Sections() {
		if !strings.HasPrefix(doc.Fold(s.Title), "task group") {
			continue
		}
		l.readClarification(f, s)
	}
}

func (l *longRun) readClarification(f *doc.File, s doc.Section) {
	fields := entryFields(s.Head())
	q := reprise.Question{
		ID: fields["id"].Value, Subject: plainText(s.Title),
		Text: fields["question"].Value, Source: f.At(s.Line),
	}
	status, response := fields["status"], fields["response"]
	if q.Text == "" && status.Value == "" {
		if len(fields) > 0 { // else a heading without an entry
			f.Lost(reprise.CodeUnreadable, s.Line, fmt.Sprintf("the entry on %s has neither question nor status", strconv.Quote(doc.Clip(q.Subject, 60))), "the write may have been cut off; look for another copy or a backup")
		}
		return
	}
	if placeholder(q.Text) && strings.Contains(s.Title, "[") {
		return // the template, not fenced
	}
	if q.ID == "" {
		// Those without an id of their own are counted by themselves, so that
		// a new one with an id renames none of them.
		l.nameless++
		q.ID = fmt.Sprintf("clarification-%d", l.nameless)
	}
	if v, ok := fields["asked"]; ok {
		q.AskedAt = anyTime(v.Value)
		l.run.Active(q.AskedAt, f.At(v.Line))
	}
	if !placeholder(response.Value) {
		q.Answer = response.Value
	}
	switch word := doc.Fold(status.Value); word {
	case "answered", "resolved", "closed", "complete", "completed":
		q.Answered, q.Applied, q.UseUntold = true, true, true
	case "skipped", "deferred", "withdrawn":
		q.Answered, q.Applied = true, true
	case "pending", "open", "waiting", "awaiting response", "":
		if q.Answer != "" {
			// An answer that is on record must not be asked for again.
			q.Answered = true
			f.Report(reprise.Info, reprise.CodeStatusDrift, max(status.Line, s.Line),
				fmt.Sprintf("the question on %s is marked pending but has an answer; the answer counts", strconv.Quote(doc.Clip(q.Subject, 60))), "")
		}
	default:
		f.Report(reprise.Warning, reprise.CodeUnknownStatus, status.Line,
			fmt.Sprintf("the question on %s has the status %s, which is unknown here; it counts as pending", strconv.Quote(doc.Clip(q.Subject, 60)), quoted(status.Value)), "pending and answered are expected")
	}
	l.run.Questions = append(l.run.Questions, q)
	l.asked = append(l.asked, clarification{
		id: q.ID, title: s.Title, line: s.Line, level: s.Level,
		status: ledger.Label(f, status), response: ledger.Label(f, response),
	})
}

// reportPending reports the questions without an answer, once it is known which
// plans each is about.
func (l *longRun) reportPending() {
	for i := range l.run.Questions {
		q := &l.run.Questions[i]
		if q.Answered {
			continue
		}
		hint := "answer it, or skip the task group"
		q.Group, q.NoGroup = l.groupOf(q.Subject)
		if q.NoGroup != "" {
			hint = "answer it; the task group cannot be skipped: " + q.NoGroup
		}
		warn(l.r, reprise.CodePendingQuestion, path.Base(q.Source.File), q.Source, fmt.Sprintf("%s waits for an answer: %s", q.Subject, strconv.Quote(doc.Clip(q.Text, 160))), hint)
	}
}

// entryFields collects the labels of an entry with the lines that follow each.
func entryFields(s doc.Section) map[string]doc.Label {
	labels := map[int]doc.Label{}
	for _, l := range s.Labels() {
		switch doc.Fold(l.Key) {
		case "id", "asked", "question", "status", "response", "answer":
			if _, twice := labels[l.Line]; !twice {
				labels[l.Line] = l
			}
		}
	}
	out := map[string]doc.Label{}
	open := ""
	for _, line := range s.Lines() {
		if l, ok := labels[line.No]; ok {
			open = doc.Fold(l.Key)
			if open == "answer" {
				open = "response"
			}
			if _, twice := out[open]; twice {
				open = ""
				continue
			}
			out[open] = l
			continue
		}
		text := strings.TrimSpace(line.Text)
		if open == "" || text == "" || strings.Trim(text, "-*_ ") == "" {
			continue
		}
		l := out[open]
		l.Value = strings.TrimSpace(l.Value + " " + text)
		out[open] = l
	}
	return out
}
