package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// Defaults of a run. An agent is at work for long: to do its work again, or to ask a person
// what came of it, costs more than to notice a lost machine some minutes later.
const (
	DefaultHeartbeat = 2 * time.Minute
	DefaultLandings  = 500
)

// Fleet is the fleet as a person in a clone sees it.
type Fleet struct {
	Client client.Client
	Clone  string // the root of the clone, absolute
	Folder string // of the project in it
	Remote string
}

// Open finds the clone around a folder, and the remote it is of.
func Open(ctx context.Context, c client.Client, dir string) (*Fleet, error) {
	top, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	prefix, err := git(ctx, dir, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	remote, err := git(ctx, dir, nil, "remote", "get-url", "origin")
	return &Fleet{Client: c, Clone: top, Folder: strings.TrimSuffix(prefix, "/"), Remote: remote}, err
}

// ID is the workflow of a run, nameOf the run of a workflow.
func (f *Fleet) ID(run string) string { return Identity(f.Remote) + ":" + run }

func (f *Fleet) nameOf(id string) string { return strings.TrimPrefix(id, f.ID("")) }

// Begun is a run that is on a branch of its own.
type Begun struct {
	reprise.Ref
	// Ignored are the files of it that the project's .gitignore names. They are on the
	// branch all the same: the fleet has no other disk.
	Ignored []string
}

// Begin makes a run on a branch of its own, from what is committed in the clone. A branch
// that is there already is the run's, and stays as it is. Without a name, a run that was
// begun without one from the same and is not over is found, however short a time ago that
// was: whoever begins one claims that first.
func (f *Fleet) Begin(ctx context.Context, what string, g reprise.Goal) (run Begun, err error) {
	claim := f.claim(what, g)
	err = f.apart(func(m *Mirror) error {
		for {
			was := ""
			if run, was, err = f.begun(ctx, m, claim); err == nil && run.ID == "" {
				run, err = f.make(ctx, m, what, g, claim, was)
			}
			rejected := new(RejectedError)
			if !errors.As(err, &rejected) {
				return err
			}
		}
	})
	return run, err
}

// claim is the ref that says which run was begun without a name; "" if it has one.
func (f *Fleet) claim(what string, g reprise.Goal) string {
	if g.ID != "" {
		return ""
	}
	return fmt.Sprintf("refs/reprise-begun/%x", sha256.Sum256([]byte(strings.Join([]string{f.Folder, what, g.Path, g.Text}, "\n"))))[:49]
}

// apart has f work with a mirror of its own.
func (f *Fleet) apart(do func(*Mirror) error) error {
	dir, err := os.MkdirTemp("", "reprise-fleet-")
	if err != nil {
		return err
	}
	return errors.Join(do(&Mirror{Remote: f.Remote, Dir: dir}), os.RemoveAll(dir))
}

// begun finds the run that has a claim and is not over; zero if there is none. One that was
// claimed and has no branch gets it. at is where the claim is, "" if no one made it.
func (f *Fleet) begun(ctx context.Context, m *Mirror, claim string) (run Begun, at string, err error) {
	if claim == "" {
		return run, "", nil
	}
	found, err := m.Fetch(ctx, claim)
	if at = found[claim]; err != nil || at == "" {
		return run, at, err
	}
	read, err := m.about(ctx, at)
	if err != nil {
		return run, at, err
	}
	var was Begun
	if err := readNote(read[at].message, &was); err != nil || was.ID == "" {
		return run, at, fmt.Errorf("read %s: it names no run: %w", claim, err)
	}
	if over, err := f.over(ctx, was.ID); err != nil || over {
		return run, at, err
	}
	branch := "refs/heads/" + Branch(was.ID)
	if there, err := m.Fetch(ctx, branch); err != nil || there[branch] != "" {
		return was, at, err
	}
	dir, err := m.open(ctx)
	if err != nil {
		return run, at, err
	}
	return was, at, (&Checkout{Dir: dir, mirror: m}).Push(ctx, at, branch, "")
}

// over reports whether the server knows that nothing is left of a run.
func (f *Fleet) over(ctx context.Context, name string) (bool, error) {
	if f.Client == nil {
		return false, nil // no one to ask
	}
	d, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(name), "")
	if isNotFound(err) {
		return false, nil
	}
	if err != nil || d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return false, err
	}
	var sum report.Summary
	err = f.Client.GetWorkflow(ctx, f.ID(name), "").Get(ctx, &sum)
	return len(sum.Left) == 0, err
}

// here checks out what is committed in the clone.
func (f *Fleet) here(ctx context.Context, m *Mirror) (*Checkout, error) {
	at, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := git(ctx, at, nil, "fetch", "-q", "--no-tags", f.Clone, "+HEAD:refs/kept/begin"); err != nil {
		return nil, err
	}
	base, err := git(ctx, at, nil, "rev-parse", "refs/kept/begin")
	if err != nil {
		return nil, err
	}
	return m.Checkout(ctx, base, "reprise-begin")
}

// make makes a run on a branch of its own. The error is a *RejectedError if someone moved the
// claim from where it was.
func (f *Fleet) make(ctx context.Context, m *Mirror, what string, g reprise.Goal, claim, was string) (run Begun, err error) {
	c, err := f.here(ctx, m)
	if err != nil {
		return run, err
	}
	e, err := deciderFor(filepath.Join(c.Dir, filepath.FromSlash(f.Folder)), time.Now)
	if err != nil {
		return run, err
	}
	if run.Ref, err = begin(ctx, e, what, g); err != nil {
		return run, err
	}
	branch := "refs/heads/" + Branch(run.ID)
	found, err := m.Fetch(ctx, branch)
	if err != nil || found[branch] != "" {
		return run, err
	}
	if here, _, err := recorded(filepath.Join(f.Clone, filepath.FromSlash(f.Folder)), run.Ref); err != nil || len(here) > 0 {
		return run, cmp.Or(err, error(&BegunHereError{run.ID}))
	}
	message, err := withNote("reprise: start "+run.ID, run)
	if err != nil {
		return run, err
	}
	commit, _, err := c.Commit(ctx, message, CommitOptions{Parents: []string{c.Base}, Folder: f.Folder, Journal: true, Ignored: true})
	if err == nil {
		run.Ignored, err = c.ignored(ctx, filepath.Join(f.Folder, run.Path))
	}
	if err == nil && claim != "" {
		err = c.Push(ctx, commit, claim, was)
	}
	if err != nil {
		return run, err
	}
	return run, c.Push(ctx, commit, branch, "")
}

// UnknownFlowError says that there is neither a kind nor a committed file of this name.
type UnknownFlowError struct{ Name string }

func (e *UnknownFlowError) Error() string {
	return fmt.Sprintf("run %s: it is neither a kind nor a file that is committed here", e.Name)
}

// Hint says what a person can do.
func (e *UnknownFlowError) Hint() string {
	return "commit the workflow file first, or name a kind: `reprise run --help` lists them"
}

// BegunHereError says that a run of this name was begun in the clone.
type BegunHereError struct{ Name string }

func (e *BegunHereError) Error() string {
	return fmt.Sprintf("begin %s: a run of this name was begun in this clone", e.Name)
}

// Hint says what a person can do.
func (e *BegunHereError) Hint() string {
	return "hand it over: `reprise-fleet resume " + reprise.Pasted(e.Name, "RUN") + "`, or begin another one with --id"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *BegunHereError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// begin begins a run of a kind, or of a workflow file.
func begin(ctx context.Context, e *engine.Engine, what string, g reprise.Goal) (reprise.Ref, error) {
	for _, l := range convention.All() {
		if l.Playbooks[reprise.Kind(what)] != nil {
			return e.Begin(ctx, l.Name(), reprise.Kind(what), g, engine.Choice{})
		}
	}
	wf, hash, err := engine.ReadFlow(filepath.Join(e.Dir, filepath.FromSlash(what)))
	if errors.Is(err, fs.ErrNotExist) {
		return reprise.Ref{}, &UnknownFlowError{what}
	}
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.BeginFlow(ctx, wf, filepath.ToSlash(what), hash, g, engine.Choice{})
}

// Find finds a run by its name: on the server, else on the remote, where it is all there if
// the server has forgotten it, else in the clone.
func (f *Fleet) Find(ctx context.Context, name string) (reprise.Ref, error) {
	if in, err := f.input(ctx, name); err == nil {
		return in.Ref, nil
	} else if !isNotFound(err) {
		return reprise.Ref{}, err
	}
	return f.findBranch(ctx, name)
}

// findBranch finds a run on the remote, else in the clone.
func (f *Fleet) findBranch(ctx context.Context, name string) (ref reprise.Ref, err error) {
	err = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(name)
		found, err := m.Fetch(ctx, branch)
		if err != nil {
			return err
		}
		dir := f.Clone
		if found[branch] != "" {
			c, err := m.Checkout(ctx, found[branch], Branch(name))
			if err != nil {
				return err
			}
			dir = c.Dir
		}
		ref, err = f.findIn(ctx, dir, name)
		return err
	})
	return ref, err
}

// findIn finds a run in a checkout.
func (f *Fleet) findIn(ctx context.Context, dir, name string) (reprise.Ref, error) {
	root := filepath.Join(dir, filepath.FromSlash(f.Folder))
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return reprise.Ref{}, err
	}
	for _, r := range found.Runs {
		if r.ID == name {
			return r.Ref, nil
		}
	}
	return reprise.Ref{}, &UnknownRunError{name}
}

// UnknownRunError says that neither the fleet nor the clone has a run of this name.
type UnknownRunError struct{ Name string }

func (e *UnknownRunError) Error() string {
	return fmt.Sprintf("find %s: neither the fleet nor this folder has a run of this name", e.Name)
}

// input is what the last workflow of a run was started with.
func (f *Fleet) input(ctx context.Context, name string) (in Run, err error) {
	history := f.Client.GetWorkflowHistory(ctx, f.ID(name), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	ev, err := history.Next()
	if err != nil {
		return in, err
	}
	payloads := ev.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	if len(payloads) != 1 {
		return in, fmt.Errorf("read the run %s: it has no input", name)
	}
	return in, json.Unmarshal(payloads[0].GetData(), &in)
}

// Start starts the workflow of a run, or finds the one that is open.
func (f *Fleet) Start(ctx context.Context, in Run) (client.WorkflowRun, error) {
	in.Repo, in.Folder = Identity(f.Remote), f.Folder
	if in.Heartbeat == 0 {
		in.Heartbeat = DefaultHeartbeat
	}
	if in.Landings == 0 {
		in.Landings = DefaultLandings
	}
	return f.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: f.ID(in.Ref.ID), TaskQueue: queue(in.Repo, ""), WorkflowTaskTimeout: 10 * time.Second,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, RunWorkflow, in)
}

// Stop stops a run: its agents end, what they left is on the branch, and so is that it was
// stopped. It returns once that is so.
func (f *Fleet) Stop(ctx context.Context, name string) error {
	if err := f.Client.CancelWorkflow(ctx, f.ID(name), ""); err != nil {
		return err
	}
	err := f.Client.GetWorkflow(ctx, f.ID(name), "").Get(ctx, nil)
	if temporal.IsCanceledError(err) {
		return nil
	}
	return err
}

// State asks the workflow of a run where it stands. It needs a worker.
func (f *Fleet) State(ctx context.Context, name string) (s State, err error) {
	v, err := f.Client.QueryWorkflow(ctx, f.ID(name), "", StateQuery)
	if err == nil {
		err = v.Get(&s)
	}
	return s, err
}

// Asking is the only run that asks something, "" if none does. The error is an
// *UntoldError if a run does not tell.
func (f *Fleet) Asking(ctx context.Context) (run string, err error) {
	list, err := f.list(ctx, 30*time.Second)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range list.Runs {
		switch {
		case r.State != "open":
		case r.Problem != "":
			return "", &UntoldError{r.ID, r.Problem}
		case len(r.Questions) > 0:
			names = append(names, r.ID)
		}
	}
	if len(names) > 1 {
		return "", &SeveralError{names}
	}
	return strings.Join(names, ""), nil
}

// UntoldError says that a run does not tell whether it asks something.
type UntoldError struct{ Run, Problem string }

func (e *UntoldError) Error() string {
	return "whether " + e.Run + " asks something is not known: " + e.Problem
}

// Hint says what a person can do.
func (e *UntoldError) Hint() string { return "name the run that you answer, or try again" }

// SeveralError says that several runs could be meant.
type SeveralError struct{ Names []string }

func (e *SeveralError) Error() string {
	return "several runs could be meant, name one: " + strings.Join(e.Names, ", ")
}

// Answer answers a question of a run. It returns once the answer is on the branch. The
// same answer given twice is given once. The error is an *engine.AnsweredError if another
// answer came first.
func (f *Fleet) Answer(ctx context.Context, name, question, text string) error {
	s, err := f.State(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Questions, func(q Question) bool { return q.ID == question })
	if i < 0 {
		return &engine.UnknownQuestionError{Run: name, Question: question}
	}
	h, err := f.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: f.ID(name), UpdateID: s.Questions[i].id(), UpdateName: AnswerUpdate,
		Args: []any{question, text}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	var kept string
	if err := h.Get(ctx, &kept); err != nil {
		return err
	}
	return s.Questions[i].first(text, kept)
}

// maxListed bounds how many runs are listed.
const maxListed = 100

// runs are the last workflows of the runs of the repository, the latest first.
func (f *Fleet) runs(ctx context.Context) (out []*workflow.WorkflowExecutionInfo, err error) {
	page, err := f.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query:    fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s'", RunWorkflow, strings.ReplaceAll(f.ID(""), "'", "")),
		PageSize: maxListed,
	})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range page.GetExecutions() {
		id := e.GetExecution().GetWorkflowId()
		if !known[id] && e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			known[id] = true
			out = append(out, e)
		}
	}
	return out, nil
}

// List lists the runs of the repository, open ones first.
func (f *Fleet) List(ctx context.Context) (*report.Fleet, error) { return f.list(ctx, 5*time.Second) }

// list is List that waits for what each run tells.
func (f *Fleet) list(ctx context.Context, patience time.Duration) (*report.Fleet, error) {
	runs, err := f.runs(ctx)
	if err != nil {
		return nil, err
	}
	out := []report.FleetRun{}
	for _, e := range runs {
		name := f.nameOf(e.GetExecution().GetWorkflowId())
		s := report.FleetRun{ID: name, Branch: Branch(name), State: strings.ToLower(e.GetStatus().String()), Started: e.GetStartTime().AsTime(), AtWork: []report.FleetStep{}, Questions: []report.Question{}}
		if e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			s.State = "open"
			f.look(ctx, &s, patience)
		} else {
			at := e.GetCloseTime().AsTime()
			s.Ended = &at
			f.ended(ctx, &s, e.GetStatus(), patience)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b report.FleetRun) int {
		if (a.State == "open") != (b.State == "open") {
			return map[bool]int{true: -1, false: 1}[a.State == "open"]
		}
		return b.Started.Compare(a.Started)
	})
	return &report.Fleet{Schema: report.FleetSchema, Repository: Identity(f.Remote), Runs: out}, nil
}

// ended fills in what came of a run that is over.
func (f *Fleet) ended(ctx context.Context, s *report.FleetRun, status enums.WorkflowExecutionStatus, patience time.Duration) {
	if status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED && status != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
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
		s.Problem = err.Error()
	}
	s.Accepted = len(sum.Finished)
}

// look fills in what is at work. What the server alone tells is there without any worker.
func (f *Fleet) look(ctx context.Context, s *report.FleetRun, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(s.ID), "")
	if err != nil {
		s.Problem = err.Error()
		return
	}
	beats := map[string]report.FleetStep{}
	for _, p := range d.GetPendingActivities() {
		var b Heartbeat
		if list := p.GetHeartbeatDetails().GetPayloads(); len(list) == 1 && json.Unmarshal(list[0].GetData(), &b) == nil && b.Step != "" {
			at := p.GetLastHeartbeatTime().AsTime()
			beats[b.Step] = report.FleetStep{Worker: b.Worker, Session: b.Session, Line: b.Line, Beat: &at, Since: p.GetLastStartedTime().AsTime(), Step: b.Step, Attempt: b.Attempt}
		}
	}
	state, err := f.State(ctx, s.ID)
	if err != nil {
		s.Problem = "no worker answers: " + err.Error()
		for _, b := range beats {
			s.AtWork = append(s.AtWork, b)
		}
		return
	}
	s.Accepted = state.Accepted
	for _, q := range state.Questions {
		s.Questions = append(s.Questions, q.Question)
	}
	if !state.Until.IsZero() {
		s.Until = &state.Until
	}
	for _, w := range state.AtWork {
		b, started := beats[keyOf(w.Elsewhere)]
		if !started || b.Attempt != w.Number {
			b = report.FleetStep{Attempt: w.Number, Since: w.Since}
		}
		b.Step, b.Role = w.Name(), w.Role
		s.AtWork = append(s.AtWork, b)
	}
}

// Unreachable reports whether an error says that the server cannot be reached.
func Unreachable(err error) bool {
	var gone *serviceerror.Unavailable
	var slow *serviceerror.DeadlineExceeded
	return errors.As(err, &gone) || errors.As(err, &slow) || errors.Is(err, context.DeadlineExceeded)
}
