package report

import (
	"time"

	"reprise"
)

// Versions of the documents of work.
const (
	ProgressSchema = "reprise/progress/v1"
	SummarySchema  = "reprise/summary/v1"
	PreviewSchema  = "reprise/preview/v1"
	AnswerSchema   = "reprise/answer/v1"
)

// WorkProgress is one line that `reprise run` and `reprise resume` print with
// --json while they work. The last line of their output is a Summary.
type WorkProgress struct {
	Schema  string     `json:"schema" jsonschema:"reprise/progress/v1"`
	Kind    string     `json:"kind" jsonschema:"run, started, line, ended, resolved, waiting, question or notice"`
	At      time.Time  `json:"at"`
	Run     string     `json:"run"`
	Step    string     `json:"step"`
	Title   string     `json:"title"`
	Role    string     `json:"role" jsonschema:"who does it"`
	Attempt int        `json:"attempt"`
	Outcome string     `json:"outcome" jsonschema:"how an attempt ended, or the code of a finding"`
	Text    string     `json:"text" jsonschema:"the last line of an agent, a reason, a question"`
	Until   *time.Time `json:"until" jsonschema:"when waiting ends; null if it is not for a time"`
	Seconds float64    `json:"seconds" jsonschema:"how long an attempt took"`
	Done    int        `json:"done"`
	Total   int        `json:"total"`
	Skipped int        `json:"skipped,omitempty" jsonschema:"steps that were left out and are not done; absent if there is none"`
	Log     string     `json:"log" jsonschema:"the file that holds everything the agent printed"`
}

// Summary is the last line of `reprise run --json` and `reprise resume --json`.
type Summary struct {
	Schema    string         `json:"schema" jsonschema:"reprise/summary/v1"`
	Root      string         `json:"root"`
	Layout    string         `json:"layout"`
	ID        string         `json:"id"`
	Path      string         `json:"path"`
	Kind      string         `json:"kind"`
	State     reprise.State  `json:"state"`
	Action    reprise.Action `json:"action" jsonschema:"what would come next"`
	Reasons   []string       `json:"reasons"`
	Finished  []WorkStep     `json:"finished" jsonschema:"steps that were finished now, in the order it happened"`
	Failed    []WorkStep     `json:"failed" jsonschema:"attempts that failed now"`
	Skipped   []string       `json:"skipped" jsonschema:"ids of steps that a person had left out now"`
	Parked    []string       `json:"parked" jsonschema:"ids of steps that failed or were cut off for good: only a person has them tried again; in the order of the work"`
	Left      []string       `json:"left" jsonschema:"ids of steps that are not closed"`
	Questions []Question     `json:"questions" jsonschema:"what waits for a person"`
	Until     *time.Time     `json:"until" jsonschema:"when a limit ends; null if none is waited for"`
	Findings  []Finding      `json:"findings"`
	Snapshot  string         `json:"snapshot" jsonschema:"what reprise undo takes to bring the state before back"`
	Review    string         `json:"review" jsonschema:"what was built, where that was asked for"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended"`
	Launches  int            `json:"launches" jsonschema:"how many agents were started"`
	Usage     *reprise.Usage `json:"usage,omitempty" jsonschema:"what all attempts since the run was started used; absent if no agent was at work"`
	Next      string         `json:"next" jsonschema:"the command that continues from here; empty if nothing is left"`
	Exit      int            `json:"exit" jsonschema:"the exit code"`
}

// WorkStep is what happened to one step.
type WorkStep struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Role     string  `json:"role"`
	Attempt  int     `json:"attempt"`
	Seconds  float64 `json:"seconds"`
	Text     string  `json:"text"`
	Commit   string  `json:"commit"`
	Resolved bool    `json:"resolved" jsonschema:"its end was found afterwards, not seen"`
	Log      string  `json:"log"`
}

// Preview is the answer of `reprise run --dry-run` and `reprise resume
// --dry-run`: nothing was changed or started.
type Preview struct {
	Schema  string         `json:"schema" jsonschema:"reprise/preview/v1"`
	Root    string         `json:"root"`
	Layout  string         `json:"layout"`
	ID      string         `json:"id"`
	Action  reprise.Action `json:"action"`
	Reasons []string       `json:"reasons"`
	Would   []string       `json:"would" jsonschema:"what would be done first, in words"`
	Diff    string         `json:"diff" jsonschema:"what would change in the state files"`
	Starts  []PreviewStart `json:"starts" jsonschema:"what would be started first"`
}

// PreviewStart is one agent that would be started.
type PreviewStart struct {
	Run     string   `json:"run,omitempty" jsonschema:"the run of its own that the step is of"`
	Step    string   `json:"step"`
	Role    string   `json:"role"`
	Agent   string   `json:"agent"`
	Problem string   `json:"problem,omitempty" jsonschema:"why it could not be started"`
	Command []string `json:"command"`
	Line    string   `json:"line,omitempty" jsonschema:"the command as a shell takes it; absent if there is none"`
	Dir     string   `json:"dir"`
	Prompt  string   `json:"prompt"`
	Expect  []string `json:"expect" jsonschema:"files it must leave behind"`
	// Session is absent where no session worked on the step before.
	Session     *SessionCost `json:"session,omitempty" jsonschema:"what resuming the session costs that worked on the step before, beside a new one"`
	SessionSays string       `json:"session_says,omitempty" jsonschema:"the same in words; absent where session is"`
}

// SessionCost compares two ways to continue a step by what is sent with the first request.
type SessionCost struct {
	ID       string `json:"id"`
	Resumed  bool   `json:"resumed" jsonschema:"the session is resumed; otherwise a new one gets a briefing"`
	Why      string `json:"why"`
	Context  int64  `json:"context_tokens,omitempty" jsonschema:"what the session sends again, as its last request did; absent if that is not on record"`
	Briefing int64  `json:"briefing_tokens" jsonschema:"about what a new session begins with: a token for every four characters"`

	ContextCost  *float64 `json:"context_cost_usd,omitempty" jsonschema:"what sending context_tokens costs in US dollars, by the prices in reprise.yaml; absent if they do not have the model"`
	BriefingCost *float64 `json:"briefing_cost_usd,omitempty" jsonschema:"what sending briefing_tokens costs, likewise"`
}

// Answers is the answer of `reprise answer`.
type Answers struct {
	Schema   string     `json:"schema" jsonschema:"reprise/answer/v1"`
	Root     string     `json:"root"`
	ID       string     `json:"id" jsonschema:"the run; empty if nothing is asked anywhere"`
	Answered []string   `json:"answered" jsonschema:"ids of the questions that were answered now"`
	Told     []string   `json:"told,omitempty" jsonschema:"what was started on an answer that was changed now; absent if nothing was"`
	Open     []Question `json:"open" jsonschema:"questions that still wait"`
	Next     string     `json:"next" jsonschema:"the command that continues from here"`
}

// NoticeSchema is the version of a notice.
const NoticeSchema = "reprise/notice/v1"

// Notice tells a person who is elsewhere of a run. It stands on the standard input of the
// command that notify in reprise.yaml names.
type Notice struct {
	Schema string     `json:"schema" jsonschema:"reprise/notice/v1"`
	Kind   string     `json:"kind" jsonschema:"asks: a person is needed; limit: it waits for a limit to end; ended: it is no longer worked on"`
	At     time.Time  `json:"at"`
	Root   string     `json:"root" jsonschema:"absolute path of the project folder"`
	Run    string     `json:"run"`
	Step   string     `json:"step,omitempty" jsonschema:"what it is about; absent if it is the run"`
	Title  string     `json:"title" jsonschema:"what happened, in a few words"`
	Text   string     `json:"text" jsonschema:"the question, or why"`
	Until  *time.Time `json:"until,omitempty" jsonschema:"when a limit ends"`
	Exit   *int       `json:"exit,omitempty" jsonschema:"with ended: the exit code of the command"`
	Next   string     `json:"next,omitempty" jsonschema:"with ended: the command that continues; absent if nothing is left"`
}
