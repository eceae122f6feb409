package temporal

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
)

// What a person reads when the server or the workers cannot be reached is said in our words: those of
// the libraries in between are about connections.

// SilentError says that the server did not answer in time.
type SilentError struct {
	Address string
	Within  time.Duration // 0 if that is not known
}

func (e *SilentError) Error() string {
	if e.Within == 0 {
		return fmt.Sprintf("ask the server at %s: it did not answer in time", e.Address)
	}
	return fmt.Sprintf("ask the server at %s: it did not answer within %s", e.Address, e.Within)
}

// Unwrap gives the cause.
func (e *SilentError) Unwrap() error { return context.DeadlineExceeded }

// Unreachable reports whether an error says that the server cannot be reached.
func Unreachable(err error) bool {
	var gone *serviceerror.Unavailable
	return errors.As(err, &gone) || Slow(err)
}

// Slow reports whether an error says that the server did not answer in time.
func Slow(err error) bool {
	var slow *serviceerror.DeadlineExceeded
	return errors.As(err, &slow) || errors.Is(err, context.DeadlineExceeded)
}

// AwayError says that the server cannot be reached.
type AwayError struct {
	Address string
	Err     error
}

func (e *AwayError) Error() string {
	why := e.Err.Error()
	if at := strings.LastIndex(why, dialing); at >= 0 {
		why = strings.Trim(dialed.ReplaceAllString(why[at+len(dialing):], ""), `"`)
	}
	if strings.Contains(why, "first record does not look like a TLS handshake") {
		return fmt.Sprintf("ask the server at %s: it does not speak TLS", e.Address)
	}
	if why = strings.TrimPrefix(why, "failed reaching server: "); why == "no children to pick from" {
		why = "this name has no address" // of the library, for a name that was looked up
	}
	return fmt.Sprintf("ask the server at %s: it cannot be reached: %s", e.Address, why)
}

// Unwrap gives the cause.
func (e *AwayError) Unwrap() error { return e.Err }

// dialing is what the library says before the reason, and dialed before the word of the system.
const dialing = "transport: Error while dialing: "

var dialed = regexp.MustCompile(`^dial tcp( \S+)?: (lookup [^:]*(:\d+)?: )?(connect: )?`)

// Asked is an error of the server in our words: which server it is, and that it cannot be reached or
// does not answer. Another error stays as it is.
func Asked(err error) error {
	_, silent := errors.AsType[*SilentError](err)
	_, away := errors.AsType[*AwayError](err)
	switch {
	case silent || away || !Unreachable(err):
		return err
	case Slow(err):
		return &SilentError{Address: Address()}
	}
	return &AwayError{Address(), err}
}

// NoWorkerError says that the server is there and no worker to tell what a run does.
type NoWorkerError struct{ Run string }

func (e *NoWorkerError) Error() string { return fmt.Sprintf("ask %s: no worker answers", e.Run) }

// Hint says what a person can do.
func (e *NoWorkerError) Hint() string {
	return "`reprise-fleet worker` in a clone of the project starts one; the run goes on once a worker is there"
}

// unheardOf is why a run does not tell what it does: where the server answers, it is its workers that
// do not.
func (f *Fleet) unheardOf(ctx context.Context, name string, err error) error {
	if err == nil || !Slow(err) && !strings.Contains(err.Error(), "no poller seen") || errors.Is(context.Cause(ctx), context.Canceled) {
		return err
	}
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, away := f.Client.DescribeWorkflowExecution(ask, f.ID(name), ""); away != nil {
		return err
	}
	return &NoWorkerError{name}
}
