package temporal

import (
	"cmp"
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
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"reprise"
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
		if failed, is := errors.AsType[*GitError](err); is && isExit(err) {
			err = &NoCloneError{dir, failed.cause()}
		}
		return nil, err
	}
	prefix, err := git(ctx, dir, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	remote, err := git(ctx, dir, nil, "remote", "get-url", "origin")
	if isExit(err) {
		err = &NoCloneError{dir, "its repository has no remote named origin"}
	}
	return &Fleet{Client: c, Clone: top, Folder: strings.TrimSuffix(prefix, "/"), Remote: absolute(top, remote)}, err
}

// NoCloneError says that a folder is in no clone of a remote, which is what the fleet shares.
type NoCloneError struct{ Dir, Why string }

func (e *NoCloneError) Error() string {
	return fmt.Sprintf("find the clone around %s: %s", e.Dir, e.Why)
}

// Hint says what a person can do.
func (e *NoCloneError) Hint() string {
	return "`git clone URL` makes one, `git remote add origin URL` names the remote of a repository that has none; -C names another folder"
}

// ID is the workflow of a run, nameOf the run of a workflow.
func (f *Fleet) ID(run string) string { return Identity(f.Remote) + ":" + run }

func (f *Fleet) nameOf(id string) string { return strings.TrimPrefix(id, f.ID("")) }

// Find finds a run by its name: on the server, else on the remote, where it is all there if
// the server has forgotten it, else in the clone.
func (f *Fleet) Find(ctx context.Context, name string) (reprise.Ref, error) {
	if in, err := f.input(ctx, name); err == nil {
		return in.Ref, nil
	} else if !isNotFound(err) {
		return reprise.Ref{}, err
	}
	ref, err := f.findBranch(ctx, name)
	if _, none := errors.AsType[*UnknownRunError](err); none {
		err = f.unknown(ctx, name, true)
	}
	return ref, err
}

// Name is the name of the run that a person means: exactly that, else the only one that
// begins with it. Runs of the clone count where here is set. A word that is the beginning of
// none stays as it is. The error is a *SeveralError if several could be meant.
func (f *Fleet) Name(ctx context.Context, word string, here bool) (string, error) {
	if word == "" {
		return "", nil
	}
	if _, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(word), ""); !isNotFound(err) {
		return word, err
	}
	there, err := f.runs(ctx, word)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range there {
		names = append(names, f.nameOf(e.GetExecution().GetWorkflowId()))
	}
	if here {
		found, err := project.Judge(ctx, filepath.Join(f.Clone, filepath.FromSlash(f.Folder)), project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
		if err != nil {
			return "", err
		}
		for _, r := range reprise.Select(found.Runs, word) {
			if r.ID == word {
				return word, nil
			}
			if !slices.Contains(names, r.ID) {
				names = append(names, r.ID)
			}
		}
	}
	switch len(names) {
	case 0:
		return word, nil
	case 1:
		return names[0], nil
	}
	return "", &SeveralError{names}
}

// findBranch finds a run on the remote, else in the clone.
func (f *Fleet) findBranch(ctx context.Context, name string) (ref reprise.Ref, err error) {
	err = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(name)
		found, err := m.Fetch(ctx, branch)
		if err != nil {
			return err
		}
		if found[branch] != "" {
			c, err := m.Checkout(ctx, found[branch], Branch(name))
			if err != nil {
				return err
			}
			ref, err = f.findIn(ctx, c.Dir, name)
			return err
		}
		copies, err := f.copies(ctx, name)
		for _, c := range copies {
			if _, gone := os.Stat(filepath.Join(c.dir, filepath.FromSlash(f.Folder))); c.dir == "" || gone != nil {
				continue // its branch need not have the folder
			}
			ref, err = f.findIn(ctx, c.dir, name)
			if _, none := errors.AsType[*UnknownRunError](err); !none {
				return err
			}
		}
		return err
	})
	return ref, err
}

// findIn finds a run in a checkout, not in others beside it.
func (f *Fleet) findIn(ctx context.Context, dir, name string) (reprise.Ref, error) {
	root := filepath.Join(dir, filepath.FromSlash(f.Folder))
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return reprise.Ref{}, err
	}
	for _, r := range found.Runs {
		if r.ID == name && filepath.IsLocal(filepath.FromSlash(r.Path)) {
			return r.Ref, nil
		}
	}
	return reprise.Ref{}, &UnknownRunError{Name: name, Here: true}
}

// UnknownRunError says that the fleet, and the clone where that was looked at, has no run of
// this name.
type UnknownRunError struct {
	Name  string
	Here  bool     // the clone has none either
	There []string // the runs that the fleet has, the latest first
}

func (e *UnknownRunError) Error() string {
	if e.Here {
		return fmt.Sprintf("find %s: neither the fleet nor this folder has a run of this name", e.Name)
	}
	return fmt.Sprintf("find %s: the fleet has no run of this name", e.Name)
}

// Hint names the runs that there are.
func (e *UnknownRunError) Hint() string {
	if len(e.There) == 0 {
		return "the fleet has no runs of this repository; `reprise-fleet run FILE` starts one"
	}
	return "`reprise-fleet status` lists what there is: " + strings.Join(e.There[:min(len(e.There), 10)], ", ")
}

// unknown says that there is no run of a name, and which there are.
func (f *Fleet) unknown(ctx context.Context, name string, here bool) error {
	runs, err := f.runs(ctx, "")
	if err != nil {
		return err
	}
	e := &UnknownRunError{Name: name, Here: here}
	for _, r := range runs {
		e.There = append(e.There, f.nameOf(r.GetExecution().GetWorkflowId()))
	}
	return e
}

// Unknown says that the fleet has no run whose name begins with a text.
func (f *Fleet) Unknown(ctx context.Context, begin string) error { return f.unknown(ctx, begin, false) }

// known is an error about a run that a person named, which says so if there is none. What
// the server says of one that is over stays as it is.
func (f *Fleet) known(ctx context.Context, name string, err error) error {
	if !isNotFound(err) {
		return err
	}
	if _, gone := f.Client.DescribeWorkflowExecution(ctx, f.ID(name), ""); !isNotFound(gone) {
		return err
	}
	return f.unknown(ctx, name, false)
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

// Start starts the workflow of a run, or finds the one that is open. What in leaves out is as it was
// when the run was last started.
func (f *Fleet) Start(ctx context.Context, in Run) (client.WorkflowRun, error) {
	last, err := f.input(ctx, in.Ref.ID)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	in.Repo, in.Folder = Identity(f.Remote), f.Folder
	in.Heartbeat = cmp.Or(in.Heartbeat, last.Heartbeat, DefaultHeartbeat)
	in.Landings = cmp.Or(in.Landings, last.Landings, DefaultLandings)
	in.Parallel = cmp.Or(in.Parallel, last.Parallel)
	return f.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: f.ID(in.Ref.ID), TaskQueue: queue(in.Repo, ""), WorkflowTaskTimeout: 10 * time.Second,
		Memo:                     map[string]any{kindMemo: in.Ref.Kind},
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, RunWorkflow, in)
}

// Run tells what the server knows of one run, and what the run says itself. The error is a
// *NoWorkerError if no worker is there to tell that.
func (f *Fleet) Run(ctx context.Context, name string) (s report.FleetRun, state State, err error) {
	s = report.FleetRun{ID: name, Branch: Branch(name), State: report.FleetOpen}
	state, err = f.look(ctx, &s, listPatience)
	return s, state, err
}

// Stop stops a run: its agents end, what they left is on the branch, and so is that it was
// stopped. It returns once that is so, with a *StoppingError if that takes longer than within. The error is an *OverError if nothing of it is at
// work, or was when the word came.
func (f *Fleet) Stop(ctx context.Context, name string, within time.Duration) error {
	open, err := f.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Track(ctx, name)
	if !open {
		if had, err := f.release(ctx, name); had || err != nil {
			return err
		}
		return f.howLeft(ctx, "stop", name)
	}
	if err := f.Client.CancelWorkflow(ctx, f.ID(name), ""); err != nil && !isNotFound(err) {
		return err
	}
	waits, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = f.Client.GetWorkflow(ctx, f.ID(name), "").Get(waits, nil)
	switch {
	case ctx.Err() == nil && (waits.Err() != nil || Slow(err)): // the call may end a moment before its context
		return &StoppingError{name, within}
	case err != nil && !temporal.IsCanceledError(err):
		return err
	}
	if _, kept := f.release(ctx, name); kept != nil || err != nil {
		return kept
	}
	return f.howLeft(ctx, "stop", name)
}

// GiveBack gives back a run whose server will not come back: what is pushed of it lands, and its
// branch no longer says that the fleet has it. The error is an *OverError if that does not say so,
// and an *UnheardError if an agent may be at work on it, unless such attempts count as lost.
func (f *Fleet) GiveBack(ctx context.Context, name string, lost bool) error {
	var had bool
	defer f.Track(ctx, name)
	err := f.apart(func(m *Mirror) (err error) {
		if had, err = f.landPushed(ctx, m, name, true); err != nil || !had { // whoever goes on verifies it
			return err
		}
		open, err := f.unheard(ctx, m, name)
		if err == nil && len(open) > 0 && !lost {
			err = &UnheardError{name, open}
		}
		if err != nil {
			return err
		}
		return f.unmarkBranch(ctx, m, name)
	})
	if err == nil && !had {
		var ref reprise.Ref
		if ref, err = f.findBranch(ctx, name); err != nil {
			return err
		}
		state := "not the fleet's"
		err = f.apart(func(m *Mirror) error {
			over, err := f.over(ctx, m, ref)
			if over {
				state = reprise.Complete.String()
			}
			return err
		})
		if err == nil {
			err = &OverError{Verb: "give back", Run: name, State: state, came: reprise.OutcomeNothing}
		}
	}
	return err
}

// GoneError says that the server of a run cannot be reached to stop it.
type GoneError struct {
	Run string
	Err error
}

func (e *GoneError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *GoneError) Hint() string {
	return fmt.Sprintf("is it running? TEMPORAL_ADDRESS says where; if it will not come back, `reprise-fleet stop %s --server-gone` puts on the branch what is pushed and gives the run back", reprise.Pasted(e.Run, "RUN"))
}

// StoppingError says that a run was told to stop, and is not stopped yet.
type StoppingError struct {
	Run    string
	Within time.Duration
}

func (e *StoppingError) Error() string {
	return fmt.Sprintf("stop %s: it was told to stop, and that is not done within %s", e.Run, e.Within)
}

// Hint says what a person can do.
func (e *StoppingError) Hint() string {
	return "it stops by itself once the remote and a worker can be reached: `reprise-fleet status " + reprise.Pasted(e.Run, "RUN") + "` says what it waits for"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *StoppingError) Outcome() reprise.Outcome { return reprise.OutcomeHeld }

// State asks the workflow of a run where it stands. It needs a worker.
func (f *Fleet) State(ctx context.Context, name string) (s State, err error) {
	v, err := f.Client.QueryWorkflow(ctx, f.ID(name), "", StateQuery)
	if err == nil {
		err = v.Get(&s)
	}
	return s, f.known(ctx, name, f.unheardOf(ctx, name, err))
}

// Reach asks the server whether it can be worked with at all: before anything is pushed for a
// run that it would have to start.
func (f *Fleet) Reach(ctx context.Context) error {
	_, err := f.Open(ctx, "-") // whether there is one of this name does not matter
	return err
}

// StartError says that the branch of a run is ready and the server did not start the run, or
// stopped telling what it does.
type StartError struct {
	Run string
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Run, e.Err) }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *StartError) Hint() string {
	run := reprise.Pasted(e.Run, "RUN")
	if Unreachable(e.Err) {
		return fmt.Sprintf("what was done is on its branch %s: once the server answers, type the same command again, which does nothing twice; TEMPORAL_ADDRESS says where the server is", Branch(e.Run))
	}
	return fmt.Sprintf("its branch %s is on the remote and says that the fleet has it: `reprise-fleet resume %s` tries again, `reprise-fleet stop %s` gives it back", Branch(e.Run), run, run)
}
