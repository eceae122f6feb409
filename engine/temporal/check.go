package temporal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/project"
)

// Check tells, before anything is started, why a run that is not at work cannot be resumed
// in this way: it has no such step or option, or nothing is left to do. It looks at the
// branch of the run.
func (f *Fleet) Check(ctx context.Context, ref reprise.Ref, c engine.Choice) error {
	_, err := f.onBranch(ctx, ref.ID, func(at *Checkout, was turned) error {
		err := f.checkIn(ctx, at.Dir, ref, c)
		root := filepath.Join(at.Dir, filepath.FromSlash(f.Folder))
		if err == nil && c.Option != "" {
			if _, _, err = unmark(root); err == nil { // they speak to others
				err = f.offers(ctx, root, ref, c)
			}
		}
		if over, is := errors.AsType[*OverError](err); is && was.Journal == "" && over.State == reprise.Complete.String() {
			return nil // whoever finished it was not the fleet, which has to settle that
		}
		return err
	})
	return err // where it has no branch, its first turn says so
}

// onBranch has do work in a checkout of the branch of a run, with what is recorded of it. It
// reports whether there is such a branch.
func (f *Fleet) onBranch(ctx context.Context, run string, do func(at *Checkout, was turned) error) (there bool, err error) {
	err = f.apart(func(m *Mirror) error {
		branch := "refs/heads/" + Branch(run)
		found, err := m.fetchRun(ctx, run, "")
		tip := found[branch]
		if there = tip != ""; err != nil || !there {
			return err
		}
		return m.at(ctx, tip, run, f.Folder, do)
	})
	return there, err
}

// at has do work in a checkout of a commit of the branch of a run, with what is recorded of it.
func (m *Mirror) at(ctx context.Context, tip, run, folder string, do func(at *Checkout, was turned) error) error {
	at, err := m.Checkout(ctx, tip, Branch(run))
	if err != nil {
		return err
	}
	read, err := m.about(ctx, tip)
	if err != nil {
		return err
	}
	var was turned
	if readNote(read[tip].message, &was) == nil && was.Journal != "" {
		if err := at.restoreJournal(ctx, folder, was.Journal); err != nil {
			return err
		}
	}
	return do(at, was)
}

// checkIn is Check in a checkout of the branch.
func (f *Fleet) checkIn(ctx context.Context, dir string, ref reprise.Ref, c engine.Choice) error {
	if err := checkOption(ref.ID, c.Option); err != nil {
		return err
	}
	root := filepath.Join(dir, filepath.FromSlash(f.Folder))
	judged, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, From: c.From, Adopt: true})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(judged.Runs, func(r *reprise.Run) bool { return r.Layout == ref.Layout && r.Path == ref.Path })
	if i < 0 {
		return nil // what is wrong with it, its first turn says
	}
	r := judged.Runs[i]
	d := judged.Decisions[r]
	if err := engine.CheckSteps(c, r, d); err != nil {
		return err
	}
	if d.Action == reprise.Finish && c.Option == "" && c.From == "" {
		return &OverError{Verb: "resume", Run: ref.ID, State: d.State.String(), came: reprise.OutcomeNothing}
	}
	return nil
}

// overHere is err, or that nothing is left of a run whose branch was deleted, as a checkout has it:
// the branches of finished runs are deleted once they are merged.
func (f *Fleet) overHere(ctx context.Context, dir string, ref reprise.Ref, c engine.Choice, err error) error {
	if gone, is := errors.AsType[*NoBranchError](err); !is || gone.At != "" {
		return err
	}
	here := f.checkIn(ctx, dir, ref, c)
	if _, over := errors.AsType[*OverError](here); over {
		return here
	}
	return err
}

// CheckUntil refuses, before anything is begun, a last step that a new run would never reach,
// with an *engine.StepError.
func (f *Fleet) CheckUntil(ctx context.Context, what string, g reprise.Goal, until string) error {
	what, g.Path = f.inside(what), f.inside(g.Path)
	return f.apart(func(m *Mirror) error {
		c, err := f.here(ctx, m)
		if err != nil {
			return err
		}
		e, err := deciderFor(filepath.Join(c.Dir, filepath.FromSlash(f.Folder)), time.Now)
		if err != nil {
			return err
		}
		for _, l := range convention.All() {
			if l.Playbooks[reprise.Kind(what)] == nil {
				continue
			}
			p, err := e.PreviewBegin(ctx, l.Name(), reprise.Kind(what), g, engine.Choice{})
			if err != nil {
				return nil // what is wrong with it, beginning it says
			}
			return p.Comes(until)
		}
		w, _, err := engine.ReadFlow(filepath.Join(e.Dir, filepath.FromSlash(what)))
		if err != nil || w.Step(until) != nil {
			return nil
		}
		wrong := &engine.StepError{Run: "run " + what, Flag: "until", Step: until}
		for _, st := range w.Steps() {
			wrong.Steps = append(wrong.Steps, st.ID)
		}
		return wrong
	})
}

// checkOption refuses an option that no run has.
func checkOption(run, option string) error {
	if _, known := reprise.OptionOf(option); known {
		return nil
	}
	e := &engine.OptionError{Run: run, Option: option}
	for _, o := range reprise.OptionTable() {
		e.Known = append(e.Known, o.Key)
	}
	return e
}

// OverError says that nothing is done with a run because it is over, and how it was left.
type OverError struct {
	Verb, Run, State string
	Back             string // the commands that continue it on one machine, "" if they are not known
	came             reprise.Outcome
}

// Hint says what a person can do.
func (e *OverError) Hint() string {
	if e.Back == "" {
		return ""
	}
	return fmt.Sprintf("`reprise-fleet resume %s` continues it on the fleet; on one machine: `%s`", reprise.Pasted(e.Run, "RUN"), e.Back)
}

func (e *OverError) Error() string {
	if e.State == reprise.Complete.String() {
		return fmt.Sprintf("%s %s: nothing is left to do: it is complete", e.Verb, e.Run)
	}
	return fmt.Sprintf("%s %s: nothing of it is at work: it is %s", e.Verb, e.Run, strings.ReplaceAll(e.State, "_", " "))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *OverError) Outcome() reprise.Outcome { return e.came }

// AtWorkError says that a run is at work, and that flags cannot say what it is to do.
type AtWorkError struct {
	Run   string
	Flags []string
}

func (e *AtWorkError) Error() string {
	return fmt.Sprintf("resume %s: it is at work already, and %s does not change that", e.Run, strings.Join(e.Flags, ", "))
}

// Hint says what a person can do.
func (e *AtWorkError) Hint() string {
	run := reprise.Pasted(e.Run, "RUN")
	return fmt.Sprintf("`reprise-fleet resume %s` follows it; to change what it does, stop it first: `reprise-fleet stop %s`", run, run)
}

// Outcome implements the rule that outcomes have exit codes.
func (e *AtWorkError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// howLeft tells how a run was left whose workflow is not open.
func (f *Fleet) howLeft(ctx context.Context, verb, name string) error {
	runs, err := f.list(ctx, name, listPatience)
	if err != nil {
		return err
	}
	for _, r := range runs.Runs {
		if r.ID == name {
			return &OverError{Verb: verb, Run: name, State: r.State, came: reprise.OutcomeNothing}
		}
	}
	return f.unknown(ctx, name, false)
}

// Open reports whether the workflow of a run is at work on the server.
func (f *Fleet) Open(ctx context.Context, name string) (bool, error) {
	d, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(name), "")
	if isNotFound(err) {
		return false, nil
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}
