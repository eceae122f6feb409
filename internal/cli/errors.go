package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
	"reprise/upkeep"
)

// Exit codes. They are part of the contract, and documented in the README.
const (
	exitOK          = 0
	exitUnexpected  = 1
	exitUsage       = 2
	exitNothing     = 3
	exitCaution     = 10
	exitBlocked     = 11
	exitNeedsAnswer = 12
	exitChanged     = 13
	exitHeld        = 20
	exitUnreadable  = 40
	exitWait        = 75
	exitInterrupt   = 130
	exitUnread      = 141
	exitTerminated  = 143
)

// failure is why a command ended early: the message, the exit code, and what a person can
// do about it.
type failure struct {
	code int
	err  error
	hint string // "" means err's own hint
	safe bool   // the message is already safe for a terminal
}

// fail makes a failure.
func fail(code int, hint, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), hint: hint}
}

// misuse returns an error about how the program was called.
func misuse(format string, args ...any) error { return fail(exitUsage, "", format, args...) }

// Error implements error.
func (e *failure) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *failure) Unwrap() error { return e.err }

// Hint says what a person can do.
func (e *failure) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return reprise.HintOf(e.err)
}

// errorCodes is the single table from errors to exit codes; the first match counts.
func errorCodes() []errorCode {
	return []errorCode{
		{exitBlocked, has[*durable.CopiedError]},
		{exitBlocked, has[*durable.UnusableError]},
		{exitBlocked, func(err error) bool {
			e, is := errors.AsType[*upkeep.ElsewhereError](err)
			return is && !e.Live()
		}},
		{exitHeld, has[*upkeep.ElsewhereError]},
		{exitHeld, has[*durable.HeldError]},
		{exitChanged, func(err error) bool { return errors.Is(err, reprise.ErrChanged) }},
		{exitBlocked, func(err error) bool { return errors.Is(err, durable.ErrFenced) }},
		{exitUnreadable, has[*durable.DamageError]},
		{exitUnreadable, has[*engine.GoneError]},
		{exitBlocked, has[*engine.InTheWayError]},
		{exitBlocked, has[*engine.FlowError]},
		{exitBlocked, has[*settings.UnboundError]},
		{exitBlocked, has[*agent.StartError]},
		{exitChanged, has[*engine.StaleError]},
		{exitUsage, has[*engine.OptionError]},
		{exitUsage, has[*engine.StepError]},
		{exitUsage, has[*engine.NameError]},
		{exitUsage, has[*engine.UnknownQuestionError]},
		{exitUsage, has[settings.Problems]},
		{exitUsage, has[*convention.UnknownKindError]},
		{exitUsage, has[*project.UnknownLayoutError]},
		{exitUsage, func(err error) bool { return errors.Is(err, reprise.ErrNotFromNothing) }},
		{exitInterrupt, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{exitUnreadable, func(err error) bool {
			return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
		}},
	}
}

type errorCode struct {
	code int
	fits func(error) bool
}

func has[T error](err error) bool {
	_, is := errors.AsType[T](err)
	return is
}

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if f, is := errors.AsType[*failure](err); is {
		return f.code
	}
	var came interface{ Outcome() reprise.Outcome }
	if errors.As(err, &came) {
		return outcomeCodes[came.Outcome()]
	}
	for _, c := range errorCodes() {
		if c.fits(err) {
			return c.code
		}
	}
	return exitUnexpected
}

// printError says what went wrong and returns the exit code.
func (a *app) printError(err error) int {
	code := ExitCode(err)
	if code == exitInterrupt {
		code = a.interruptCode()
		if a.signal.Load() != nil && !a.json {
			return code // whoever interrupted it knows
		}
	}
	hint := reprise.HintOf(err)
	if at, is := errors.AsType[*fs.PathError](err); hint == "" && is && errors.Is(at.Err, fs.ErrPermission) {
		hint = "the file system does not let you: see with `ls -ld` who owns it; run reprise as that user or change its permissions"
	}
	if has[*durable.CopiedError](err) && a.adopts {
		hint += ": `" + a.again("--adopt") + "`"
	}
	hint = a.site.fill(hint)
	if a.json && a.writeJSON(a.err, report.Error{Schema: report.ErrorSchema, Message: err.Error(), Hint: hint, Exit: code}) == nil {
		return code
	}
	if problems, is := errors.AsType[settings.Problems](err); is {
		// Each already contains its line with a mark under it, sanitized.
		for _, p := range problems {
			fmt.Fprintf(a.err, "reprise: %s\n", p.String())
		}
		return code
	}
	text := plain(err.Error())
	if f, is := err.(*failure); is && f.safe {
		text = f.Error() // every space of a command counts
	}
	fmt.Fprintf(a.err, "reprise: %s\n", text)
	if hint != "" {
		fmt.Fprintf(a.err, "  %s\n", plain(hint))
	}
	return code
}
