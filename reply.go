package reprise

import (
	"strings"
	"unicode"
)

// Reply is what an agent says about its own work when it ends: the result file of
// docs/reference/agents.md. It is a claim like any other: what it says was made is looked
// for before it counts.
type Reply struct {
	// Outcome is done, failed, blocked or question. With anything else, or nothing, the
	// exit of the process decides. Nothing says that it was done, and that nothing needed to
	// change for it: the word "nothing" in a file.
	Outcome string `json:"outcome,omitempty"`
	Nothing bool   `json:"nothing,omitempty"`
	Summary string `json:"summary,omitempty"`
	// Verdict is a reviewer's: approved, rejected, needs_work, concerns …
	Verdict string `json:"verdict,omitempty"`
	// Questions are for a person. If there are any, the step waits.
	Questions []Asked `json:"questions,omitempty"`
	// Gaps are what a validation found unresolved.
	Gaps []Gap `json:"gaps,omitempty"`
	// Issues are the changes a review asks for, one sentence each.
	Issues []string `json:"issues,omitempty"`
}

// Asked is a question from an agent.
type Asked struct {
	ID      string   `json:"id,omitempty"`
	Text    string   `json:"text"`
	Subject string   `json:"subject,omitempty"` // a gap, a task group
	Options []string `json:"options,omitempty"`
	// Closed and About are for our own questions and Own for those of agents; see Question.
	// Grant is for questions about a refused call, which are Denied, where something is known
	// that would allow it; an agent's reply cannot set them.
	Closed bool     `json:"-"`
	About  []string `json:"-"`
	Own    string   `json:"-"`
	Grant  *Grant   `json:"-"`
	Denied bool     `json:"-"`
}

// Question returns the question before it is recorded.
func (a Asked) Question() Question {
	return Question{ID: a.ID, Text: a.Text, Subject: a.Subject, Options: a.Options, Closed: a.Closed, About: a.About, Own: a.Own}
}

// Gap is something a specification leaves unresolved.
type Gap struct {
	ID       string `json:"id"`
	Priority string `json:"priority,omitempty"` // Critical, Important, Minor
	Question string `json:"question,omitempty"`
}

// Ruling is what a reviewer's verdict means.
type Ruling uint8

// What a verdict can mean. Only Passes lets work pass; each kind of work decides what
// concerns mean.
const (
	NoRuling           Ruling = iota // no verdict was given
	Passes                           // approved
	PassesWithConcerns               // approved by some conventions, not by others
	SendsBack                        // to be done again
	Holds                            // the reviewer cannot continue
	UnclearRuling                    // a word with no known meaning
)

// RulingOf returns the meaning of a verdict, ignoring case and punctuation. Only whole
// phrases count: "not approved" is not approved, and an unknown word passes nothing.
func RulingOf(verdict string) Ruling {
	words := strings.FieldsFunc(strings.ToLower(verdict), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch strings.Join(words, " ") {
	case "":
		if strings.TrimSpace(verdict) != "" {
			return UnclearRuling // a sign, such as a cross
		}
		return NoRuling
	case "approve", "approved", "pass", "passed", "go", "accept", "accepted", "waived", "ready", "ok", "verified":
		return Passes
	case "concerns":
		return PassesWithConcerns
	case "reject", "rejected", "fail", "failed", "needs work", "needs revision", "needs changes", "changes requested",
		"request changes", "revise", "no", "no go", "nogo", "not approved", "not accepted", "not passed", "not ready", "not verified":
		return SendsBack
	case "block", "blocked":
		return Holds
	}
	return UnclearRuling
}
