package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

// Defaults of a run.
const (
	DefaultHeartbeat = 30 * time.Second
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

// Begin makes a run on a branch of its own, from what is committed in the clone. A branch
// that is there already is the run's, and stays as it is. Without a name, a run that was
// made from the same and is not over is found.
func (f *Fleet) Begin(ctx context.Context, what string, g reprise.Goal) (run Run, err error) {
	run.Made = strings.Join([]string{f.Folder, what, g.Path, g.Text}, "\n")
	if g.ID == "" {
		if run.Ref, err = f.begun(ctx, run.Made); err != nil || run.Ref.ID != "" {
			return run, err
		}
	}
	run.Ref, err = f.make(ctx, what, g)
	return run, err
}

// begun finds the run that was made from the same and is not over; zero if there is none.
func (f *Fleet) begun(ctx context.Context, made string) (ref reprise.Ref, err error) {
	runs, err := f.runs(ctx)
	if err != nil {
		return ref, err
	}
	for _, e := range runs {
		var was string
		if memo := e.GetMemo().GetFields()[madeMemo]; memo == nil || json.Unmarshal(memo.GetData(), &was) != nil || was != made {
			continue
		}
		id := e.GetExecution().GetWorkflowId()
		if e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			var sum report.Summary
			if err := f.Client.GetWorkflow(ctx, id, e.GetExecution().GetRunId()).Get(ctx, &sum); err != nil {
				return ref, err
			}
			if len(sum.Left) == 0 {
				continue
			}
		}
		in, err := f.input(ctx, f.nameOf(id))
		return in.Ref, err
	}
	return ref, nil
}

// make makes a run on a branch of its own.
func (f *Fleet) make(ctx context.Context, what string, g reprise.Goal) (reprise.Ref, error) {
	dir, err := os.MkdirTemp("", "reprise-fleet-")
	if err != nil {
		return reprise.Ref{}, err
	}
	defer os.RemoveAll(dir)
	m := &Mirror{Remote: f.Remote, Dir: dir}
	at, err := m.open(ctx)
	if err != nil {
		return reprise.Ref{}, err
	}
	if _, err := git(ctx, at, nil, "fetch", "-q", "--no-tags", f.Clone, "+HEAD:refs/kept/begin"); err != nil {
		return reprise.Ref{}, err
	}
	base, err := git(ctx, at, nil, "rev-parse", "refs/kept/begin")
	if err != nil {
		return reprise.Ref{}, err
	}
	c, err := m.Checkout(ctx, base, "reprise-begin")
	if err != nil {
		return reprise.Ref{}, err
	}
	defer c.Close()
	root := filepath.Join(c.Dir, filepath.FromSlash(f.Folder))
	e, err := deciderFor(root, time.Now)
	if err != nil {
		return reprise.Ref{}, err
	}
	ref, err := begin(ctx, e, what, g)
	if err != nil {
		return ref, err
	}
	branch := "refs/heads/" + Branch(ref.ID)
	found, err := m.Fetch(ctx, branch)
	if err != nil || found[branch] != "" {
		return ref, err
	}
	commit, _, err := c.Commit(ctx, "reprise: start "+ref.ID+"\n", CommitOptions{Parents: []string{base}, Folder: f.Folder, Journal: true, Ignored: true})
	if err != nil {
		return ref, err
	}
	return ref, c.Push(ctx, commit, branch, "")
}

// begin begins a run of a kind, or of a workflow file.
func begin(ctx context.Context, e *engine.Engine, what string, g reprise.Goal) (reprise.Ref, error) {
	for _, l := range convention.All() {
		if l.Playbooks[reprise.Kind(what)] != nil {
			return e.Begin(ctx, l.Name(), reprise.Kind(what), g, engine.Choice{})
		}
	}
	wf, hash, err := engine.ReadFlow(filepath.Join(e.Dir, filepath.FromSlash(what)))
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.BeginFlow(ctx, wf, filepath.ToSlash(what), hash, g, engine.Choice{})
}

// HandOver puts a run that was begun in the clone on a branch of its own, with everything
// that is not committed there. No one may be working on it.
func (f *Fleet) HandOver(ctx context.Context, ref reprise.Ref) error {
	branch := "refs/heads/" + Branch(ref.ID)
	dir, err := os.MkdirTemp("", "reprise-fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m := &Mirror{Remote: f.Remote, Dir: dir}
	found, err := m.Fetch(ctx, branch)
	if err != nil || found[branch] != "" {
		return err // it is there
	}
	root := filepath.Join(f.Clone, filepath.FromSlash(f.Folder))
	store, err := durable.Open(root, durable.Options{Now: time.Now})
	if err != nil {
		return err
	}
	if _, err := store.Take(ctx); err != nil {
		return err
	}
	defer store.Release()
	at, err := m.open(ctx)
	if err != nil {
		return err
	}
	if _, err := git(ctx, at, nil, "fetch", "-q", "--no-tags", f.Clone, "+HEAD:refs/kept/begin"); err != nil {
		return err
	}
	base, err := git(ctx, at, nil, "rev-parse", "refs/kept/begin")
	if err != nil {
		return err
	}
	c, err := m.Checkout(ctx, base, "reprise-begin")
	if err != nil {
		return err
	}
	defer c.Close()
	// The files of the clone, with an index of our own: nothing is changed in it.
	in := &Checkout{Dir: f.Clone, Base: base, mirror: m, index: filepath.Join(c.Dir, ".git", "index")}
	commit, _, err := in.Commit(ctx, "reprise: hand over "+ref.ID+"\n", CommitOptions{
		Parents: []string{base}, Folder: f.Folder, Journal: true, Also: []string{filepath.Join(f.Folder, ref.Path)},
	})
	if err != nil {
		return err
	}
	if err := in.Push(ctx, commit, branch, ""); err != nil {
		return err
	}
	// The branch is the run now: the copy here is not worked on as well.
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	if err != nil {
		return err
	}
	return j.Note(reprise.Event{Kind: reprise.RunStopped, At: time.Now(), Actor: "reprise-fleet", Outcome: "handed over", Text: "the fleet works on it, on the branch " + Branch(ref.ID)})
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
func (f *Fleet) findBranch(ctx context.Context, name string) (reprise.Ref, error) {
	dir, err := os.MkdirTemp("", "reprise-fleet-")
	if err != nil {
		return reprise.Ref{}, err
	}
	defer os.RemoveAll(dir)
	m, branch := &Mirror{Remote: f.Remote, Dir: dir}, "refs/heads/"+Branch(name)
	found, err := m.Fetch(ctx, branch)
	if err != nil {
		return reprise.Ref{}, err
	}
	if found[branch] == "" {
		return f.findIn(ctx, f.Clone, name)
	}
	c, err := m.Checkout(ctx, found[branch], Branch(name))
	if err != nil {
		return reprise.Ref{}, err
	}
	return f.findIn(ctx, c.Dir, name)
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
	if was, err := f.input(ctx, in.Ref.ID); err == nil && in.Made == "" {
		in.Made = was.Made
	} else if err != nil && !isNotFound(err) {
		return nil, err
	}
	return f.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: f.ID(in.Ref.ID), TaskQueue: queue(in.Repo, ""), WorkflowTaskTimeout: 10 * time.Second, Memo: map[string]any{madeMemo: in.Made},
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

// Asking is the only run that asks something, "" if none does.
func (f *Fleet) Asking(ctx context.Context) (run string, err error) {
	list, err := f.List(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range list.Runs {
		if len(r.Questions) > 0 {
			names = append(names, r.ID)
		}
	}
	if len(names) > 1 {
		return "", &SeveralError{names}
	}
	return strings.Join(names, ""), nil
}

// SeveralError says that several runs could be meant.
type SeveralError struct{ Names []string }

func (e *SeveralError) Error() string {
	return "several runs could be meant, name one: " + strings.Join(e.Names, ", ")
}

// Answer answers a question of a run. It returns once the answer is on the branch. The
// same answer given twice is given once.
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
	return h.Get(ctx, nil)
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
func (f *Fleet) List(ctx context.Context) (*report.Fleet, error) {
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
			f.look(ctx, &s)
		} else {
			at := e.GetCloseTime().AsTime()
			s.Ended = &at
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

// look fills in what is at work. What the server alone tells is there without any worker.
func (f *Fleet) look(ctx context.Context, s *report.FleetRun) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
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
	return errors.As(err, &gone) || errors.Is(err, context.DeadlineExceeded)
}
