package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"reprise/engine"
	"reprise/internal/cli"
)

// Activities are what a worker does.
type Activities struct {
	Mirror *Mirror
	Client client.Client
	Name   string // of the worker
	queue  string // of what works on branches alone
	trust  trusted
}

// turn is one activity that works on the branch of a run alone.
type turn struct {
	run  Run
	h    *hands
	e    *engine.Engine
	root string
}

// turned is what the commit of a turn notes, so that a turn whose answer was lost is not
// taken again.
type turned struct {
	Turn   string
	Result json.RawMessage
}

// moment is when and as what an activity was started, as the server tells.
type moment struct {
	turn    string
	started time.Time
}

func now(ctx context.Context) moment {
	info := activity.GetInfo(ctx)
	return moment{info.WorkflowExecution.RunID + "/" + info.ActivityID, info.StartedTime}
}

// take takes a turn: it checks out the branch, has f work on it, and pushes what that
// changed in one commit, if nobody else has moved the branch. Its effect is that of one
// turn however often it is repeated.
func (a *Activities) take(ctx context.Context, at moment, in Run, subject string, result any, f func(t *turn) error) error {
	branch := "refs/heads/" + Branch(in.Ref.ID)
	found, err := a.Mirror.Fetch(ctx, branch)
	if err != nil {
		return err
	}
	if found[branch] == "" {
		return temporal.NewNonRetryableApplicationError("the remote has no branch "+Branch(in.Ref.ID), "gone", nil)
	}
	c, err := a.Mirror.Checkout(ctx, found[branch], Branch(in.Ref.ID))
	if err != nil {
		return err
	}
	defer c.Close()
	if message, err := c.message(ctx, found[branch]); err != nil {
		return err
	} else if was := (turned{}); readNote(message, &was) == nil && was.Turn == at.turn {
		return json.Unmarshal(was.Result, result)
	}
	t := &turn{run: in, root: filepath.Join(c.Dir, filepath.FromSlash(in.Folder))}
	if t.e, err = deciderFor(t.root, clock(at.started)); err != nil {
		return lasting(err)
	}
	t.h = &hands{mirror: a.Mirror, run: in, checkout: c, brought: map[string]*brought{}, longest: t.e.Settings.Timeout}
	for _, agent := range t.e.Settings.Agents {
		t.h.longest = max(t.h.longest, agent.Timeout)
	}
	if t.h.roles, err = projectRoles(t.root); err != nil {
		return lasting(err)
	}
	t.e.Parallel = in.Parallel
	t.e.Hands = func(local engine.Hands) engine.Hands { t.h.Hands = local; return t.h }
	if t.e.Closed, err = a.closed(ctx, t.e); err != nil {
		return err
	}
	if err := f(t); err != nil {
		return lasting(err)
	}
	note, err := json.Marshal(result)
	if err != nil {
		return err
	}
	commit, err := t.h.commit(ctx, subject, turned{at.turn, note})
	if err != nil || commit == "" {
		return err
	}
	return c.Push(ctx, commit, branch, found[branch])
}

// clock is the server's clock: that of the machine may be wrong.
func clock(started time.Time) func() time.Time {
	began := time.Now()
	return func() time.Time { return started.Add(time.Since(began)) }
}

// lasting marks errors that trying again does not mend: what a person has to look at.
func lasting(err error) error {
	if code := cli.ExitCode(err); code > 1 && !errors.Is(err, context.Canceled) {
		return temporal.NewNonRetryableApplicationError(err.Error(), fmt.Sprintf("exit-%d", code), err)
	}
	if errors.Is(err, errChild) {
		return temporal.NewNonRetryableApplicationError(err.Error(), "exit-11", err)
	}
	return err
}

// Decide says what comes next, and puts on record what that needs.
func (a *Activities) Decide(ctx context.Context, in DecideInput) (*Decision, error) {
	stop := beat(ctx, in.Run.Heartbeat, func() any { return Heartbeat{Worker: a.Name} })
	defer stop()
	return a.decide(ctx, now(ctx), in)
}

func (a *Activities) decide(ctx context.Context, at moment, in DecideInput) (*Decision, error) {
	d := &Decision{Carried: in.Run.Carried}
	err := a.take(ctx, at, in.Run, "reprise: "+in.Run.Ref.ID, d, func(t *turn) error {
		if len(in.Answers) > 0 {
			if err := t.e.Answer(ctx, t.run.Ref, in.Answers); err != nil {
				d.Refused = err.Error()
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if in.Stop {
			cancel() // nothing more is started
		}
		var sum *engine.Summary
		var err error
		if in.Run.Taken || in.Stop {
			sum, err = t.e.Continue(ctx, t.run.Ref, in.Run.Choice, in.AtWork, &d.Carried)
		} else {
			sum, err = t.e.Resume(ctx, t.run.Ref, in.Run.Choice)
		}
		d.Starts, d.Until = t.h.starts, t.h.until
		switch {
		case sum == nil:
			return err
		case errors.Is(err, engine.ErrApart):
		case err != nil:
			return err
		default:
			doc := cli.SummaryDocument(in.Run.Ref.ID, sum)
			doc.Findings = doc.Findings[:min(len(doc.Findings), 20)]
			d.Left, d.Until = &doc, sum.Until
		}
		d.Questions = newQuestions(sum.Questions)
		return nil
	})
	return d, err
}

// Land settles an attempt that ended and lands its work. An attempt that has an end on
// record already is late, and changes nothing.
func (a *Activities) Land(ctx context.Context, in LandInput) (*Landing, error) {
	stop := beat(ctx, in.Run.Heartbeat, func() any { return Heartbeat{Worker: a.Name} })
	defer stop()
	return a.land(ctx, now(ctx), in)
}

func (a *Activities) land(ctx context.Context, at moment, in LandInput) (*Landing, error) {
	l := &Landing{Carried: in.Run.Carried}
	subject := fmt.Sprintf("%s: attempt %d", in.Start.Step, in.Start.Number)
	if in.Start.Title != "" && in.Start.Title != in.Start.Step {
		subject = fmt.Sprintf("%s: %s", in.Start.Step, oneLine(in.Start.Title))
	}
	err := a.take(ctx, at, in.Run, subject, l, func(t *turn) error {
		t.h.end = &in
		sum, err := t.e.TakeEnd(ctx, t.run.Ref, in.Start.Elsewhere, &l.Carried)
		var late *engine.LateError
		switch {
		case errors.As(err, &late):
			l.Late = true
			return nil
		case errors.Is(err, engine.ErrApart):
			l.Verify = true
		case err != nil:
			return err
		}
		if len(sum.Finished) > 0 {
			doc := cli.SummaryDocument("", sum).Finished[0]
			doc.Text = tail(doc.Text, 500)
			l.Accepted = &doc
		}
		return a.close(ctx, sum)
	})
	return l, err
}

func oneLine(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	return string(words[:min(len(words), 80)])
}

// accountID is the workflow of an account.
func accountID(account string) string { return "reprise-account:" + account }

// closed asks the server which accounts a limit closes.
func (a *Activities) closed(ctx context.Context, e *engine.Engine) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for _, account := range e.Accounts() {
		if a.Client == nil {
			break // nobody to ask
		}
		d, err := a.Client.DescribeWorkflowExecution(ctx, accountID(account), "")
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var until time.Time
		if memo := d.GetWorkflowExecutionInfo().GetMemo().GetFields()[untilMemo]; memo != nil && json.Unmarshal(memo.GetData(), &until) == nil && until.After(e.Now()) {
			out[account] = until
		}
	}
	return out, nil
}

// close tells all runs that a limit closed an account.
func (a *Activities) close(ctx context.Context, sum *engine.Summary) error {
	for account, until := range sum.Limits {
		_, err := a.Client.SignalWithStartWorkflow(ctx, accountID(account), ClosedSignal, until,
			client.StartWorkflowOptions{TaskQueue: a.queue}, AccountWorkflow, until)
		if err != nil {
			return err
		}
	}
	return nil
}

func isNotFound(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
