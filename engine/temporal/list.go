package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/internal/cli"
	"reprise/report"
)

// maxListed bounds how many runs are listed.
const maxListed = 100

// runs are the last workflows of the runs of the repository whose names begin with a text,
// the latest first.
func (f *Fleet) runs(ctx context.Context, begin string) (out []*workflow.WorkflowExecutionInfo, err error) {
	page, err := f.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query:    fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s'", RunWorkflow, strings.ReplaceAll(f.ID(begin), "'", "")),
		PageSize: maxListed,
	})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range page.GetExecutions() {
		id := e.GetExecution().GetWorkflowId()
		if strings.HasPrefix(id, f.ID(begin)) && !known[id] && e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			known[id] = true
			out = append(out, e)
		}
	}
	return out, nil
}

// List lists the runs of the repository whose names begin with a text, open ones first.
func (f *Fleet) List(ctx context.Context, begin string) (*report.Fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	out, err := f.list(ctx, begin, listPatience)
	if err != nil && ctx.Err() != nil {
		err = &SilentError{Address(), listWithin}
	}
	return out, err
}

// How long a list may take, and how long the runs may take to tell what they do. Plain reprise
// waits for longer than that.
const (
	listWithin   = 8 * time.Second
	listPatience = 5 * time.Second
)

// list is List that waits for what each run tells.
func (f *Fleet) list(ctx context.Context, begin string, patience time.Duration) (*report.Fleet, error) {
	runs, err := f.runs(ctx, begin)
	if err != nil {
		return nil, err
	}
	if begin != "" && len(runs) == 0 {
		return f.forgotten(ctx, begin)
	}
	out := make([]report.FleetRun, len(runs))
	var ask sync.WaitGroup // where no worker is there to tell, each takes all of its patience
	for i, e := range runs {
		name := f.nameOf(e.GetExecution().GetWorkflowId())
		out[i] = report.FleetRun{ID: name, Branch: Branch(name), State: strings.ToLower(e.GetStatus().String()), Started: e.GetStartTime().AsTime(), AtWork: []report.FleetStep{}, Questions: []report.Question{}}
		ask.Go(func() {
			if s := &out[i]; e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				s.State = report.FleetOpen
				_, _ = f.look(ctx, s, patience) // it notes the problem
			} else {
				at := e.GetCloseTime().AsTime()
				s.Ended = &at
				f.ended(ctx, s, e.GetStatus(), patience)
			}
		})
	}
	ask.Wait()
	remote := f.since(ctx, out, patience)
	slices.SortStableFunc(out, func(a, b report.FleetRun) int {
		if (a.State == report.FleetOpen) != (b.State == "open") {
			return map[bool]int{true: -1, false: 1}[a.State == report.FleetOpen]
		}
		return b.Started.Compare(a.Started)
	})
	return &report.Fleet{Schema: report.FleetSchema, Repository: Identity(f.Remote), Runs: out, Remote: remote}, nil
}

// forgotten tells of a run that the server no longer knows what its branch says; there is none
// where that is not on the remote.
func (f *Fleet) forgotten(ctx context.Context, name string) (*report.Fleet, error) {
	out := &report.Fleet{Schema: report.FleetSchema, Repository: Identity(f.Remote), Runs: []report.FleetRun{}}
	s := report.FleetRun{ID: name, Branch: Branch(name), AtWork: []report.FleetStep{}, Questions: []report.Question{}}
	there, err := f.onBranch(ctx, name, func(at *Checkout, _ turned) (err error) {
		began, err := at.git(ctx, "log", "--first-parent", "-1", "--format=%cI", "-E", "--grep", "^reprise: (start|hand over) ")
		if err == nil && began != "" {
			s.Started, err = time.Parse(time.RFC3339, began)
		}
		if err == nil {
			err = f.standsIn(ctx, at, &s)
		}
		return err
	})
	if there && err == nil && s.State != "" {
		out.Runs = append(out.Runs, s)
	}
	return out, err
}

// ended fills in what came of a run that is over.
func (f *Fleet) ended(ctx context.Context, s *report.FleetRun, status enums.WorkflowExecutionStatus, patience time.Duration) {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_FAILED:
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED: // it was stopped, and can be resumed
		s.State = reprise.Interrupted.String()
		f.askedAtStop(ctx, s, patience)
		return
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var sum report.Summary
	var app *temporal.ApplicationError
	switch err := f.Client.GetWorkflow(ctx, f.ID(s.ID), "").Get(ctx, &sum); {
	case errors.As(err, &app):
		s.Problem = app.Message()
	case err != nil:
		s.Problem = Asked(err).Error()
	default:
		s.State = StateOf(&sum)
		if sum.Exit == cli.OutcomeCode(reprise.OutcomeBlocked) {
			s.Problem = strings.Join(sum.Reasons, "; ")
		}
	}
	if n := len(sum.Finished); s.Problem == "" && n < maxFinished { // else it names the first of them alone
		s.Accepted = &n
	}
	for _, step := range sum.Failed {
		s.Failed = append(s.Failed, report.FleetFailure{Step: step.ID, Attempt: step.Attempt, Reason: step.Text})
	}
}

// askedAtStop fills in what a run asked when it was stopped, as the server was told.
func (f *Fleet) askedAtStop(ctx context.Context, s *report.FleetRun, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := f.Client.GetWorkflow(ctx, f.ID(s.ID), "").Get(ctx, nil)
	stopped, is := errors.AsType[*temporal.CanceledError](err)
	if !is {
		s.Problem = Asked(err).Error()
		return
	}
	var asks []Question
	if stopped.HasDetails() && stopped.Details(&asks) == nil {
		for _, q := range asks {
			s.Questions = append(s.Questions, q.Question)
		}
	}
}

// StateOf is how a run was left, in a word.
func StateOf(sum *report.Summary) string {
	if len(sum.Parked) > 0 && sum.State != reprise.Stopped { // a person ended it
		return failedState
	}
	return sum.State.String()
}

// failedState is the state of a run that has steps that failed for good, or whose workflow
// failed.
const failedState = "failed"

// look fills in what is at work, and returns what the run says itself. What the server alone tells is
// there without any worker.
func (f *Fleet) look(ctx context.Context, s *report.FleetRun, patience time.Duration) (state State, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(s.ID), "")
	if err != nil {
		s.Problem = Asked(err).Error()
		return state, err
	}
	s.Stopping = d.GetWorkflowExtendedInfo().GetCancelRequested()
	beats := map[string]report.FleetStep{}
	for _, p := range d.GetPendingActivities() {
		if why := p.GetLastFailure(); why != nil && p.GetAttempt() > 1 {
			what := map[string]string{LandActivity: "landing what ended", DecideActivity: "deciding what comes next"}[p.GetActivityType().GetName()]
			s.Stuck = fmt.Sprintf("%s is tried again (%d failed): %s", what, p.GetAttempt()-1, whyAgain(why))
		}
		var b Heartbeat
		if list := p.GetHeartbeatDetails().GetPayloads(); len(list) == 1 && json.Unmarshal(list[0].GetData(), &b) == nil && b.Step != "" {
			at := p.GetLastHeartbeatTime().AsTime()
			beats[b.Step] = report.FleetStep{Worker: b.Worker, Session: b.Session, Line: b.Line, Beat: &at, Since: p.GetLastStartedTime().AsTime(), Step: b.Step, Attempt: b.Attempt}
		}
	}
	state, err = f.State(ctx, s.ID) // the library waits for half of the time that is left
	if _, silent := errors.AsType[*NoWorkerError](err); silent {
		state, err = f.State(ctx, s.ID) // the worker that knew it died a moment ago: another one answers
	}
	if err != nil {
		s.Problem = Asked(err).Error()
		if none, is := errors.AsType[*NoWorkerError](err); is {
			s.Problem = "no worker answers: " + none.Hint()
		}
		for _, b := range beats {
			s.AtWork = append(s.AtWork, b)
		}
		return state, err
	}
	s.Accepted, s.Failed = &state.Accepted, state.Failed
	for _, q := range state.Questions {
		s.Questions = append(s.Questions, q.Question)
	}
	if !state.Until.IsZero() {
		s.Until, s.Account = &state.Until, state.Account
		if is := f.closedBy(ctx, state.Account); !is.Until.IsZero() {
			s.Met = &report.FleetLimit{Repository: is.Met.Repo, Run: is.Met.Run, At: is.At}
		}
	}
	for _, w := range state.AtWork {
		b, started := beats[keyOf(w.Elsewhere)]
		if !started || b.Attempt != w.Number {
			b = report.FleetStep{Attempt: w.Number, Since: w.Since}
			if !w.Ended {
				b.Waits = cmp.Or(f.unoffered(ctx, w.Start), w.Back)
			}
		}
		b.Step, b.Role, b.Ended, b.Lost = w.Name(), w.Role, w.Ended, w.Lost
		s.AtWork = append(s.AtWork, b)
	}
	return state, nil
}

// unoffered says that no worker offers the role of an attempt, "" if one does or that is not known.
func (f *Fleet) unoffered(ctx context.Context, s Start) string {
	d, err := f.Client.DescribeTaskQueue(ctx, s.Queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil || len(d.GetPollers()) > 0 {
		return ""
	}
	role := s.Queue[strings.LastIndex(s.Queue, ":")+1:]
	text := "no worker offers the role " + role
	if role != s.Role && s.Role != "" {
		text += ", which does the steps of " + s.Role + ", as reprise.yaml does not name that"
	}
	return text
}

// whyAgain is why something is tried again, in our words where no worker said why.
func whyAgain(why *failure.Failure) string {
	if why.GetTimeoutFailureInfo() != nil {
		return "the worker that had it was lost"
	}
	return why.GetMessage()
}
