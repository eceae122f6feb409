package reprise

// Reply is what an agent says of its own work when it ends: the result file of
// docs/agents.md. It is a claim like any other; what it says is made is looked
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
}

// Gap is something a specification leaves open.
type Gap struct {
	ID       string `json:"id"`
	Priority string `json:"priority,omitempty"` // Critical, Important, Minor
	Question string `json:"question,omitempty"`
}
