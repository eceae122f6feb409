package reprise

import (
	"strings"
	"unicode"
)

// Reply is what an agent says of its own work when it ends: the result file of
// docs/reference/agents.md. It is a claim like any other; what it says is made is looked
// for before it counts.
type Reply struct {
	// Outcome is done, failed, blocked or question; anything else, or nothing,
	// leaves it to how the process ended.
	Outcome string `json:"outcome,omitempty"`
	Summary string `json:"summary,omitempty"`
	// Verdict is a reviewer's: approved, rejected, needs_work, concerns …
	Verdict string `json:"verdict,omitempty"`
	// Questions are for a person. With any, the step waits.
	Questions []Asked `json:"questions,omitempty"`
	// Gaps are what a validation found open.
	Gaps []Gap `json:"gaps,omitempty"`
	// Issues are what a review wants changed, one sentence each.
	Issues []string `json:"issues,omitempty"`
}

// Asked is a question of an agent.
type Asked struct {
	ID      string   `json:"id,omitempty"`
	Text    string   `json:"text"`
	Subject string   `json:"subject,omitempty"` // a gap, a task group
	Options []string `json:"options,omitempty"`
	// Closed is for questions of our own, Own for those of agents: see Question. Grant
	// is for those about a refused call; no reply of an agent can set it.
	Closed bool   `json:"-"`
	Own    string `json:"-"`
	Grant  *Grant `json:"-"`
}

// Question is the question before it is on record.
func (a Asked) Question() Question {
	return Question{ID: a.ID, Text: a.Text, Subject: a.Subject, Options: a.Options, Closed: a.Closed, Own: a.Own}
}

// Gap is something a specification leaves open.
type Gap struct {
	ID       string `json:"id"`
	Priority string `json:"priority,omitempty"` // Critical, Important, Minor
	Question string `json:"question,omitempty"`
}

// Ruling is what a reviewer's verdict means.
type Ruling uint8

// What a verdict can mean. Only Passes lets anything pass; what concerns mean is
// for each kind of work to say.
const (
	NoRuling           Ruling = iota // no verdict was given
	Passes                           // approved
	PassesWithConcerns               // approved by some conventions, not by others
	SendsBack                        // to be done again
	Holds                            // the reviewer cannot continue
	UnclearRuling                    // a word without a meaning
)

// RulingOf gives the meaning of a verdict, whatever its case and punctuation.
// Only whole phrases count: "not approved" is not approved, and a word that is
// not known passes nothing.
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
