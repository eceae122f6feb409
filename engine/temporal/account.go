package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
)

// An account that a usage limit closed is a workflow, whose memo says until when. While it is open,
// the account is closed. One that a person opened before its time was terminated: that needs no worker,
// and says to all who have that limit on record that it no longer counts.

// accountID is the workflow of an account. That of a plain command is one of its repository.
func accountID(repo, account string, own bool) string {
	if own {
		account = repo + ":" + account
	}
	return "reprise-account:" + account
}

// Met says which run met a limit.
type Met struct{ Repo, Run string }

// limits asks the server which accounts of an engine limits close, and which a person opened.
func limits(ctx context.Context, c client.Client, repo string, e *engine.Engine) error {
	e.Closed, e.Opened = map[string]time.Time{}, nil
	if c == nil {
		return nil // no one to ask
	}
	for account, own := range e.Accounts() {
		is, err := accountAt(ctx, c, accountID(repo, account, own))
		if err != nil {
			return err
		}
		if is.Until.After(e.Now()) {
			e.Closed[account] = is.Until
		}
		if is.opened {
			e.Opened = append(e.Opened, account)
		}
	}
	return nil
}

// closing is what the server knows of an account that a limit closed: until when, zero if it is
// open, and who met that limit when.
type closing struct {
	Until  time.Time
	Met    Met
	At     time.Time
	opened bool // by a person
}

func accountAt(ctx context.Context, c client.Client, id string) (is closing, err error) {
	d, err := c.DescribeWorkflowExecution(ctx, id, "")
	if isNotFound(err) {
		return is, nil
	}
	if err != nil {
		return is, err
	}
	info := d.GetWorkflowExecutionInfo()
	if is.opened = info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED; info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return is, nil
	}
	is.At = info.GetStartTime().AsTime()
	memo := info.GetMemo().GetFields()
	_ = json.Unmarshal(memo[untilMemo].GetData(), &is.Until) // an earlier worker has it say so a moment later
	_ = json.Unmarshal(memo[metMemo].GetData(), &is.Met)     // or does not say who
	return is, nil
}

// close tells all runs that a limit closed an account.
func (a *Activities) close(ctx context.Context, t *turn, sum *engine.Summary) error {
	if a.Client == nil {
		return nil // no one to tell
	}
	accounts := t.e.Accounts()
	for account, until := range sum.Limits {
		o := client.StartWorkflowOptions{TaskQueue: a.queue, Memo: map[string]any{untilMemo: until, metMemo: Met{t.run.Repo, t.run.Ref.ID}}}
		_, err := a.Client.SignalWithStartWorkflow(ctx, accountID(t.run.Repo, account, accounts[account]), ClosedSignal, until, o, AccountWorkflow, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// open opens accounts that a person opened, and has all runs look again that wait.
func (a *Activities) open(ctx context.Context, t *turn, opened []string) error {
	if a.Client == nil {
		return nil // no one to tell
	}
	accounts, told := t.e.Accounts(), false
	for _, account := range opened {
		own, shared := accounts[account]
		if !shared {
			continue // no one else waits for it
		}
		told = true
		id := accountID(t.run.Repo, account, own)
		if err := a.Client.TerminateWorkflow(ctx, id, "", "opened with "+t.run.Ref.ID); err != nil && !isNotFound(err) {
			return err
		}
	}
	if !told {
		return nil
	}
	var page []byte
	for {
		list, err := a.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = '" + RunWorkflow + "' AND ExecutionStatus = 'Running'", NextPageToken: page,
		})
		if err != nil {
			return err
		}
		for _, e := range list.GetExecutions() {
			id := e.GetExecution().GetWorkflowId()
			if id == t.run.Repo+":"+t.run.Ref.ID {
				continue
			}
			if err := a.Client.SignalWorkflow(ctx, id, "", OpenedSignal, false); err != nil && !isNotFound(err) {
				return err
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return nil
		}
	}
}

// TryNow has a run try now that is at work and waits for a limit. The error is an
// *engine.OptionError if it waits for none.
func (f *Fleet) TryNow(ctx context.Context, ref reprise.Ref) error {
	s, err := f.State(ctx, ref.ID)
	if err != nil {
		return err
	}
	none := &engine.OptionError{Run: ref.ID, Option: reprise.OptionNow, Known: []string{reprise.OptionContinue}, Why: "it waits for no limit"}
	if len(s.AtWork) > 0 || !s.Until.After(time.Now()) {
		return none
	}
	if err := f.Check(ctx, ref, engine.Choice{Option: reprise.OptionNow}); err != nil {
		return err
	}
	return f.Client.SignalWorkflow(ctx, f.ID(ref.ID), "", OpenedSignal, true)
}

// offers refuses an option that the run does not have as it stands in a checkout.
func (f *Fleet) offers(ctx context.Context, root string, ref reprise.Ref, c engine.Choice) error {
	marks, err := filepath.Glob(filepath.Join(literal(root), filepath.FromSlash(durable.FleetMark("*"))))
	if c.Option == "" || err != nil || len(marks) > 0 {
		return err // a copy that the fleet has offers nothing itself
	}
	e, err := deciderFor(root, time.Now)
	if err == nil {
		err = limits(ctx, f.Client, Identity(f.Remote), e)
	}
	if err != nil {
		return err
	}
	_, err = e.Preview(ctx, ref, c)
	if none, is := errors.AsType[*engine.OptionError](err); is {
		return none
	}
	return nil // what else is wrong with it, its first turn says
}

// closedBy is what the server knows of the limit that a run waits for.
func (f *Fleet) closedBy(ctx context.Context, account string) (is closing) {
	if account == "" {
		return is
	}
	for _, own := range []bool{true, false} {
		if found, err := accountAt(ctx, f.Client, accountID(Identity(f.Remote), account, own)); err == nil && !found.Until.IsZero() {
			return found
		}
	}
	return is
}
