package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/worktree"
)

// OrphansError says that an engine is dead and agents it started still hold the project.
type OrphansError struct {
	Held *durable.HeldError
	Who  []string
}

// Error implements error.
func (e *OrphansError) Error() string {
	text := "take the project: the process that worked on it is gone, but processes it started still run"
	if len(e.Who) > 0 {
		text += ": " + strings.Join(e.Who, ", ")
	}
	return text
}

// Unwrap gives the refusal of the lease.
func (e *OrphansError) Unwrap() error { return e.Held }

// Hint says what a person can do.
func (e *OrphansError) Hint() string {
	return "wait for it to end, or stop it with --stop-orphans"
}

// NameError says that a name was given for a run that has another one.
type NameError struct{ Given, Path, Is string }

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("start %s: the run there is called %s, and --id %s cannot change that", e.Path, e.Is, e.Given)
}

// Hint says what a person can do.
func (e *NameError) Hint() string { return "leave out --id" }

// UnknownQuestionError says that a run has no such question.
type UnknownQuestionError struct{ Run, Question string }

// Error implements error.
func (e *UnknownQuestionError) Error() string {
	return fmt.Sprintf("answer %s: %s has no such question", e.Question, e.Run)
}

// Hint says what a person can do.
func (e *UnknownQuestionError) Hint() string {
	return "`reprise answer --list` shows the open questions"
}

// AnsweredError says that a question takes no other answer.
type AnsweredError struct {
	Question, Answer string // the answer is "" where it was closed without one
	By               string // the step that used the answer, "" if that is not known
	Ended            bool   // the run was ended with it
	Why              string // why it cannot be changed, where nothing used it
	Files            bool   // the run's files asked it and keep the answer: doing it again does not ask again
}

// Error implements error.
func (e *AnsweredError) Error() string {
	text := fmt.Sprintf("answer %s: already answered: %q", e.Question, e.Answer)
	switch {
	case e.Answer == "":
		text = fmt.Sprintf("answer %s: it was closed without an answer and is no longer asked", e.Question)
	case e.By != "":
		text += ", and " + e.By + " used that"
	case e.Ended:
		text += ", and the run was ended with that"
	case e.Why != "":
		text += "; " + e.Why
	}
	return text
}

// Hint says what a person can do.
func (e *AnsweredError) Hint() string {
	switch {
	case e.By != "" && e.Files:
		return "`reprise resume RUN --from " + reprise.Pasted(e.By, "STEP") + "` does it again from there; the answer is kept in the run's files, change it there first"
	case e.By != "":
		return "`reprise resume RUN --from " + reprise.Pasted(e.By, "STEP") + "` does it again from there"
	case e.Ended:
		return "`reprise resume RUN --option continue` continues it, and asks again"
	case e.Why != "":
		return ""
	}
	return "`reprise log RUN` shows what used it"
}

// Outcome tells that what was done with the answer is in the way.
func (e *AnsweredError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// NotReadyError says that an agent cannot work as it is set up: it is not signed in, its
// key is refused, it does not trust the folder, or it may not do what it needs.
type NotReadyError struct {
	Agent, Reason string
	Denied        bool // it may not do what it needs
}

// Error implements error.
func (e *NotReadyError) Error() string {
	says, _ := reprise.NotReady(e.Agent, e.Reason, e.Denied)
	return says
}

// Hint says what a person can do.
func (e *NotReadyError) Hint() string {
	_, hint := reprise.NotReady(e.Agent, e.Reason, e.Denied)
	return hint
}

// TriedError says that the files call a step done, or without need, that an attempt which
// was not accepted may have written them for.
type TriedError struct{ Run, Step, Says string }

// Error implements error.
func (e *TriedError) Error() string {
	return fmt.Sprintf("finish %s: its files say %q, but its last attempt was not accepted and may have written that", e.Step, e.Says)
}

// Hint says what a person can do.
func (e *TriedError) Hint() string {
	return "look whether its work is there; then `reprise resume " + reprise.Pasted(e.Run, "RUN") + " --skip " + reprise.Pasted(e.Step, "STEP") + "` goes on without it"
}

// UnsafeError says that a run was not resumed or started, and why.
type UnsafeError struct {
	Run     string
	Reasons []string
	// Came is what looking at the run came to; zero stands for blocked.
	Came reprise.Outcome
	// Begins tells that the run was not even made.
	Begins bool
	// Cause is the error that resuming it would end with, nil if it is not that.
	Cause error
	todo  string // what resolves it where no command here shows that
}

// Unwrap gives the cause.
func (e *UnsafeError) Unwrap() error { return e.Cause }

// unsafe refuses a run as it was decided.
func unsafe(run string, d reprise.Decision) *UnsafeError {
	return &UnsafeError{Run: run, Reasons: d.Reasons, Came: d.Outcome()}
}

// Outcome is that of looking at the run, unless a person who looked would have continued.
func (e *UnsafeError) Outcome() reprise.Outcome {
	switch e.Came {
	case reprise.OutcomeHeld, reprise.OutcomeUnreadable, reprise.OutcomeAsk, reprise.OutcomeWait:
		return e.Came
	}
	return reprise.OutcomeBlocked
}

// Error implements error.
func (e *UnsafeError) Error() string {
	op := "resume"
	if e.Begins {
		op = "start"
	}
	return fmt.Sprintf("%s %s: it is not safe: %s", op, e.Run, strings.Join(e.Reasons, "; "))
}

// Hint says what a person can do.
func (e *UnsafeError) Hint() string {
	if todo := reprise.HintOf(e.Cause); todo != "" {
		return todo
	}
	if e.todo != "" {
		return e.todo
	}
	if e.Begins {
		return "nothing was created; resolve that, then start it with the same command"
	}
	if name := reprise.Pasted(e.Run, ""); name != "" {
		return "`reprise check " + name + "` shows what blocks and what can be done"
	}
	return "`reprise check` shows what blocks and what can be done"
}

// GoneError says that the files of a run are gone.
type GoneError struct {
	Run, Path string
	Reason    string // what is known of it, "" for nothing but that
}

// Error implements error.
func (e *GoneError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("work on %s: %s", e.Run, e.Reason)
	}
	return fmt.Sprintf("work on %s: its state in %s is gone", e.Run, e.Path)
}

// Hint says what a person can do.
func (e *GoneError) Hint() string {
	return journal.GoneHint(e.Run)
}

// StaleError says that the state has changed since the choice was made.
type StaleError struct {
	Op         string // what was to be done, "" for resuming
	Want, Have string
}

// Error implements error.
func (e *StaleError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("resume: the state has changed since it was checked (%s): there is nothing left to resume", e.Want)
	}
	return fmt.Sprintf("%s: the state has changed since it was checked (%s, now %s)", cmp.Or(e.Op, "resume"), e.Want, e.Have)
}

// Hint says what a person can do.
func (e *StaleError) Hint() string { return "check it again with `reprise check`" }

// OptionError says that an option does not exist for a run.
type OptionError struct {
	Run, Option string
	Known       []string
	Why         string // what is known of why not
}

// Error implements error.
func (e *OptionError) Error() string {
	text := fmt.Sprintf("resume %s: %q cannot be chosen here", e.Run, e.Option)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Hint says what a person can do.
func (e *OptionError) Hint() string {
	if len(e.Known) == 0 {
		return "there is nothing to choose: it is finished or being worked on; `reprise check` shows which"
	}
	return "one of: " + strings.Join(e.Known, ", ")
}

// InTheWayError says that something beside the run prevents what was chosen: conflicting
// branches, a checkout that cannot be changed. Nothing was changed there. The cause has a
// hint.
type InTheWayError struct{ Cause error }

// Error implements error.
func (e *InTheWayError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *InTheWayError) Unwrap() error { return e.Cause }

// inTheWay wraps such an error.
func inTheWay(err error) error {
	var conflict *gitx.ConflictError
	var busy *gitx.NotReadyError
	var refused *worktree.RefusedError
	if errors.As(err, &conflict) || errors.As(err, &busy) || errors.As(err, &refused) {
		return &InTheWayError{err}
	}
	return err
}
