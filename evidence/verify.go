package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/proc"
)

// Outcome is how a command that a person gave for verification ended.
type Outcome struct {
	Command string
	Commit  string // what it was run on
	OK      bool   // it ran and succeeded
	Reason  string // why it did not, in one sentence
	Tail    string // the end of what it printed
}

// verifyLimit is how long a command may take.
const verifyLimit = 30 * time.Minute

// Verify runs a command in a throw-away copy of what is checked out at the head
// of the project's repository. The project itself is only read. The command is
// a person's own, given on the command line, and goes through the shell; text
// from state files never does.
func Verify(ctx context.Context, root, command string) Outcome {
	out := Outcome{Command: command}
	repo, err := gitx.Open(ctx, root, gitx.Options{Timeout: 5 * time.Minute})
	if err != nil {
		out.Reason = "no copy could be made: " + err.Error()
		return out
	}
	out.Commit = repo.Head()
	base, err := os.MkdirTemp("", "reprise-verify-")
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "copy")
	if err := repo.CloneTo(ctx, dir); err != nil {
		out.Reason = "no copy could be made: " + err.Error()
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = filepath.Join(dir, filepath.FromSlash(repo.Prefix()))
	proc.Group(cmd)
	cmd.WaitDelay = 2 * time.Second
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err = cmd.Run()
	out.Tail = tail(printed.String(), 20)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		out.Reason = "it did not end in time"
	case errors.As(err, &exit):
		out.Reason = fmt.Sprintf("it ended with %d", exit.ExitCode())
	case err != nil:
		out.Reason = err.Error()
	default:
		out.OK = true
	}
	return out
}

// tail keeps the last lines of a text.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Apply raises what is evidenced to verified if the command succeeded, and says
// so if it did not. What is only claimed stays claimed: the command says that
// the whole works, not that a step is in it.
func (v *Outcome) Apply(r *reprise.Run) {
	if !v.OK {
		if r.State.Open() {
			r.Report(reprise.Finding{
				Code: reprise.CodeVerifyFailed, Severity: reprise.Warning, Subject: r.ID,
				Message: fmt.Sprintf("the command %q did not succeed on %s: %s", v.Command, short(v.Commit), v.Reason),
				Hint:    "steps marked done may not be; look at what the command printed",
			})
		}
		return
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status == reprise.Done && s.Grade == reprise.Evidenced {
			s.Grade = reprise.Verified
			s.Evidence = append(s.Evidence, reprise.Evidence{
				Kind: reprise.EvidenceCommand, For: true, Source: v.Commit,
				Text: fmt.Sprintf("%q succeeded on %s", v.Command, short(v.Commit)),
			})
		}
	}
}

func short(hash string) string {
	if len(hash) > 10 {
		return hash[:10]
	}
	return hash
}
