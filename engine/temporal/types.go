package temporal

import (
	"fmt"
	"path/filepath"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/report"
)

// Names on the server. They are part of every history: changing one breaks open runs.
const (
	RunWorkflow     = "reprise-run"
	AccountWorkflow = "reprise-account"
	DecideActivity  = "reprise-decide"
	AttemptActivity = "reprise-attempt"
	LandActivity    = "reprise-land"
	AnswerUpdate    = "answer"
	StateQuery      = "state"
	ClosedSignal    = "closed"
	OpenedSignal    = "opened"
	untilMemo       = "until"
	metMemo         = "met"
	stoppedText     = "stopped"
)

// Run is a run of the fleet. Everything else about it is on its branch.
type Run struct {
	Repo   string // identity of the repository
	Folder string // of the project in it, "" for its root
	Ref    reprise.Ref
	Choice engine.Choice
	// Heartbeat is how long a worker may be silent before it counts as lost. Parallel is
	// how many steps are at work at once, zero for what the settings say.
	Heartbeat time.Duration
	Parallel  int
	// Landings is after how many of them the history begins anew.
	Landings int
	// Taken is set once the run was taken up, Begun once that was put on record on its branch
	// at any time. Carried is what turns tell each other.
	Taken   bool
	Begun   bool `json:",omitempty"`
	Carried engine.Carried
	// Last is the last commit that a turn pushed to the branch, "" if that is not known.
	Last string `json:",omitempty"`
	// Finished are the steps that were accepted so far, the first of them by name.
	Finished []report.WorkStep
	Accepted int
	// Launches is how many attempts were started so far, Failed are those that failed, the
	// first of them by name.
	Launches int               `json:",omitempty"`
	Failed   []report.WorkStep `json:",omitempty"`
}

// brief is the run without what only its summary needs.
func (r *Run) brief() Run {
	out := *r
	out.Finished, out.Failed = nil, nil
	return out
}

// Start is an attempt that is on record as started.
type Start struct {
	engine.Elsewhere
	Key   string // what its commits carry
	Title string
	Role  string
	Queue string
	// Timeout bounds the attempt from outside; the agent has one of its own.
	Timeout time.Duration
	// Verify is set if its verify command is to be run, on the commit that it left.
	Verify bool   `json:",omitempty"`
	Commit string `json:",omitempty"`
	outer  string // the step of the run that this is or is within, where that was looked up
}

// Name is what a person calls the step.
func (s *Start) Name() string {
	if s.Run.Path == "" {
		return s.Step
	}
	return s.Run.ID + "/" + s.Step
}

// keyOf tells the steps of a run and its child runs apart.
func keyOf(at engine.Elsewhere) string {
	if at.Run.Path == "" {
		return at.Step
	}
	return at.Run.Path + ":" + at.Step
}

// state are the files that hold the state of an attempt's run, in the repository.
func (r *Run) state(at engine.Elsewhere) []string {
	out := []string{filepath.Join(r.Folder, r.Ref.Path)}
	if at.Run.Path != "" {
		out = append(out, filepath.Join(r.Folder, at.Run.Path))
	}
	return out
}

// DecideInput asks what comes next.
type DecideInput struct {
	Run     Run
	AtWork  []engine.Elsewhere
	Answers map[string]string
	Stop    bool
}

// Decision is what comes next.
type Decision struct {
	Starts []Start
	Until  time.Time // when to look again, zero for not before something ends
	// Account is what a limit closed that lasts until then, "" if that is not known.
	Account string `json:",omitempty"`
	// Left is why nothing more is done now; nil while something is at work.
	Left      *report.Summary
	Questions []Question
	Carried   engine.Carried
	// Finished are the steps that were finished meanwhile without an attempt of their own,
	// such as those that a child run did.
	Finished []report.WorkStep `json:",omitempty"`
	// Refused says why answers were not taken.
	Refused string
	// Last is the commit that the turn pushed, "" for none.
	Last string `json:",omitempty"`
}

// AttemptInput is an attempt to carry out.
type AttemptInput struct {
	Run   Run
	Start Start
}

// AttemptResult is how it ended, in a few words: the rest is in the commit.
type AttemptResult struct {
	Commit  string
	Outcome string
	// Verified is set if a verify command succeeded, Refuted why not.
	Verified bool
	Refuted  string
}

// LandInput is the end of an attempt. Lost says why it told none; Failed is set if its
// worker says so itself.
type LandInput struct {
	Run    Run
	Start  Start
	Result AttemptResult
	Lost   string
	Failed bool
	// Final is set if trying again does not help: a person has to look at it.
	Final bool `json:",omitempty"`
	// Kept is set if the attempt is finished and its worker keeps the work.
	Kept bool `json:",omitempty"`
	// Where is where that is, "" if the worker pushes it by itself.
	Where string `json:",omitempty"`
	// Verify is what the verify command said; nil if it was not asked.
	Verify *AttemptResult
	// Decide is set if it is to be decided at once what comes next, where AtWork is what
	// else is at work.
	Decide bool               `json:",omitempty"`
	AtWork []engine.Elsewhere `json:",omitempty"`
}

// Landing is what came of it.
type Landing struct {
	Late     bool // it had an end on record already; nothing was changed
	Accepted *report.WorkStep
	Failed   []report.WorkStep `json:",omitempty"`
	Verify   bool              // its verify command has to be run first
	Carried  engine.Carried
	// Next is what comes next; nil if that was not decided.
	Next *Decision `json:",omitempty"`
	// Last is the commit that the turn pushed, "" for none.
	Last string `json:",omitempty"`
}

// Heartbeat is what a worker tells while an agent works.
type Heartbeat struct {
	Worker  string
	Step    string `json:",omitempty"`
	Attempt int    `json:",omitempty"`
	Session string `json:",omitempty"`
	Line    string `json:",omitempty"`
}

// State is what a run answers to a query.
type State struct {
	Run       string
	AtWork    []AtWork
	Questions []Question
	// Answering is how many of them were answered a moment ago, and are not decided on yet.
	Answering int `json:",omitempty"`
	Until     time.Time
	Account   string `json:",omitempty"` // what a limit closed that lasts until then
	Accepted  int
	// Failed are the last attempts of steps that failed and were not accepted since.
	Failed []report.FleetFailure `json:",omitempty"`
}

// Asks reports whether nothing goes on before a person answers.
func (s *State) Asks() bool {
	return len(s.Questions) > 0 && s.Answering == 0 && len(s.AtWork) == 0 && s.Until.IsZero()
}

// Limited reports whether nothing goes on before a time that is farther off than any pause
// between two attempts: a usage limit or an outage has to end first.
func (s *State) Limited(now time.Time) bool {
	return len(s.AtWork) == 0 && s.Answering == 0 && engine.IsLimit(s.Until, now)
}

// Question is what a run asks.
type Question struct {
	report.Question
	Closed bool // it takes one of its options and nothing else
}

// newQuestions are questions in the form that the server keeps. The first ones are those
// of child runs.
func newQuestions(list []reprise.Question, waits []engine.Waiting) (out []Question) {
	for i, q := range report.NewQuestions(list) {
		if i < len(waits) {
			q.ID = waits[i].Name()
		}
		out = append(out, Question{q, list[i].Closed})
	}
	return out
}

// Asked is the question as everybody else knows it.
func (q *Question) Asked() reprise.Question {
	return reprise.Question{ID: q.ID, Text: q.Text, Subject: q.Subject, Options: q.Options, Closed: q.Closed}
}

// takes tells why an answer is refused.
func (q *Question) takes(text string) error {
	asked := q.Asked()
	_, err := asked.Choose(text)
	return err
}

// first tells that another answer than text was kept. A worker of an earlier version tells
// of none.
func (q *Question) first(text, kept string) error {
	asked := q.Asked()
	mine, err := asked.Choose(text)
	if err != nil || kept == "" {
		return err
	}
	if other, err := asked.Choose(kept); err != nil || other != mine {
		return &engine.AnsweredError{Question: q.ID, Answer: kept, Why: "that came first"}
	}
	return nil
}

// id names this asking of the question.
func (q *Question) id() string {
	if q.AskedAt == nil {
		return q.ID
	}
	return fmt.Sprintf("%s@%d", q.ID, q.AskedAt.UnixMilli())
}

// AtWork is an attempt at work, or one that is to be landed, and since when it is that.
type AtWork struct {
	Start
	Since time.Time
	Ended bool `json:",omitempty"` // it is to be landed
	Lost  bool `json:",omitempty"` // and told no end, since its worker was lost
	// Back is why the last worker that it was given to did not begin it, "" if none gave it back.
	Back string `json:",omitempty"`
}
