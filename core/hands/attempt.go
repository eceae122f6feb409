//go:build unix

// Package hands starts agents, waits for them, and looks at what they left. It knows
// nothing of plans and records. A Temporal activity is one Start and one Wait.
//
// An attempt has a folder. What stands in it survives the engine:
//
//	lease   locked as long as a process of the attempt lives; its time is the last moment
//	        at which the engine was there
//	pid     the process group
//	log     what the agent said
//	trace   the git commands it ran, by git itself
//	result  its exit status: the attempt ended, whoever saw it
package hands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"reprise/core"
)

// Attempt is the folder of one attempt.
type Attempt string

// At gives the attempt of a step in the folder of a run.
func At(run, step string, n int) Attempt {
	safe := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, step)
	return Attempt(filepath.Join(run, "attempts", fmt.Sprintf("%.100s.%d", safe, n)))
}

func (a Attempt) path(name string) string { return filepath.Join(string(a), name) }

// wrapper is the process over an agent. It says who it is, and how the agent ended: that
// survives an engine that is not there to hear it.
const wrapper = `echo $$ >"$REPRISE_ATTEMPT_DIR/pid"; (eval "$REPRISE_COMMAND"); echo $? >"$REPRISE_ATTEMPT_DIR/result"`

// Start starts an agent by a command for the shell, in a process group of its own, with
// the lease. If the engine dies in here, the agent exists or not: Alive tells.
func (a Attempt) Start(command, dir string, env []string) (ended <-chan struct{}, err error) {
	if err := os.MkdirAll(string(a), 0o700); err != nil {
		return nil, err
	}
	lease, err := os.OpenFile(a.path("lease"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer lease.Close() // the agent has it
	if err := unix.Flock(int(lease.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("an agent is at work on this attempt: %w", err)
	}
	log, err := os.OpenFile(a.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", "-c", wrapper)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = dir, log, log, []*os.File{lease}
	cmd.Env = append(env, "REPRISE_COMMAND="+command, "REPRISE_ATTEMPT_DIR="+string(a), "GIT_TRACE2_EVENT="+a.path("trace"), "GIT_REFLOG_ACTION="+a.Action(), "REPRISE_REPLY="+a.path("reply"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() {
		cmd.Wait() //nolint:errcheck // how it ended stands in the attempt's folder
		close(over)
	}()
	return over, nil
}

// Alive reports whether a process of the attempt lives. It is sure: the kernel keeps the
// lock, and the number of a process, which could be another's by now, plays no part.
func (a Attempt) Alive() bool {
	f, err := os.OpenFile(a.path("lease"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Wait returns when the attempt is over: its agent has ended, or no process of it lives.
// What is left of its group then is ended. ended is nil if another engine started it.
func (a Attempt) Wait(ctx context.Context, ended <-chan struct{}) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for beat := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			a.endRest()
			return nil
		case now := <-tick.C:
			if now.Sub(beat) > time.Second {
				beat = now
				os.Chtimes(a.path("lease"), now, now)
			}
			if _, over := a.Exit(); ended == nil && (over || !a.Alive()) {
				a.endRest()
				return nil
			}
		}
	}
}

// endRest ends the processes of the group. One that left the group and kept the lease is
// waited for ten seconds.
func (a Attempt) endRest() {
	signal := syscall.SIGTERM
	for i := 0; i < 200 && a.Alive(); i++ {
		data, _ := os.ReadFile(a.path("pid"))
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(data))); pid > 1 && i%20 == 0 {
			syscall.Kill(-pid, signal) // the lease is held, so the number is not another's
			signal = syscall.SIGKILL
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Exit gives how the agent ended; ok is false if nobody saw that.
func (a Attempt) Exit() (code int, ok bool) {
	data, _ := os.ReadFile(a.path("result"))
	code, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return code, err == nil
}

// Action is what git notes of the commands of an agent where they move a branch: the reflog
// tells its commits from those of the user.
func (a Attempt) Action() string { return "reprise " + filepath.Base(string(a)) }

// Reply is what the agent wrote into its reply: that the step is done, perhaps that nothing
// needed to change, or a question and the answers it offers, a line each.
func (a Attempt) Reply() (done, nothing bool, asks *core.Question) {
	data, _ := os.ReadFile(a.path("reply"))
	word, rest, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if text, ok := strings.CutPrefix(word, "ask "); ok {
		asks = &core.Question{Text: text, Options: strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' })}
	}
	return word == "done" || word == "nothing", word == "nothing", asks
}

// Limit is what was noted of a usage limit that ended the attempt.
func (a Attempt) Limit() (why string, until time.Time) {
	data, _ := os.ReadFile(a.path("limit"))
	at, why, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	until, _ = time.Parse(time.RFC3339, at)
	return why, until
}

// Check runs the check of the step and keeps what it says of a world.
func (a Attempt) Check(ctx context.Context, command, dir string, env []string, world string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	text := fmt.Appendf(nil, "%s %d\n%s", world, cmd.ProcessState.ExitCode(), out[max(0, len(out)-600):])
	temp := a.path("check.new")
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, a.path("check"))
}

// Checked is what the check said of a world; nil if it was not asked about that one.
func (a Attempt) Checked(world string) (ok *bool, words string) {
	data, _ := os.ReadFile(a.path("check"))
	head, words, _ := strings.Cut(string(data), "\n")
	if of, code, _ := strings.Cut(head, " "); of == world {
		good := code == "0"
		ok = &good
	}
	return ok, strings.ToValidUTF8(strings.TrimSpace(words), "")
}

// LastSign is the last moment at which anything showed that the attempt was at work.
func (a Attempt) LastSign() (last time.Time) {
	for _, name := range []string{"lease", "log", "trace", "pid", "result"} {
		if info, err := os.Stat(a.path(name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Mentions reports whether the log has the name of a file. Agents tell what they write.
func (a Attempt) Mentions(path string) bool {
	data, _ := os.ReadFile(a.path("log"))
	return bytes.Contains(data, []byte(filepath.Base(path)))
}

// Words gives the last words of the log.
func (a Attempt) Words() string {
	data, _ := os.ReadFile(a.path("log"))
	return strings.ToValidUTF8(strings.TrimSpace(string(data[max(0, len(data)-600):])), "")
}
