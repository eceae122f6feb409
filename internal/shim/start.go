package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"reprise/internal/proc"
)

// Command is a command to start under a shim.
type Command struct {
	// Shim is the program that calls Main, with arguments before ours; nil
	// stands for this program.
	Shim []string
	Argv []string
	Env  []string // all of it; PATH in it finds the command
	Dir  string
	// Grace is between asking to stop and killing.
	Grace time.Duration
	// Stdin, Stdout and Stderr are the agent's.
	Stdin, Stdout, Stderr *os.File
	// Inherit are files that the shim, the agent and all below it hold.
	Inherit []*os.File
}

// Errors of Start and Wait, beside those of the system.
var (
	// ErrNotReady: without a Shim, main must call Main first.
	ErrNotReady = errors.New("this program cannot start itself again as a keeper of attempts")
	// ErrLost: the shim ended without a report.
	ErrLost = errors.New("its keeper ended without a report")
)

// tokenVar marks the processes of an attempt.
const tokenVar = "REPRISE_TOKEN="

// Bounds of waiting for a shim: the first word, and an end after all was killed
// that can be.
const (
	firstWord = time.Minute
	lastWord  = 15 * time.Second
	lostWord  = 10 * time.Second
)

// Attempt is an agent that runs under a shim.
type Attempt struct {
	pid   int
	ticks uint64 // of the shim
	token string
	grace time.Duration
	cmd   *exec.Cmd

	mu      sync.Mutex // guards control and timer
	control *os.File
	timer   *time.Timer

	done   chan struct{}
	report Report
	left   []proc.Process // what was found of a lost attempt
	err    error
}

// live are the shims of this process, which are not orphans although they are
// in sessions of their own.
var live = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// Start starts the command and returns once it exists. It makes this process
// inherit the orphans of a shim that is killed. The error tells why the command
// cannot be started; then nothing runs.
func Start(c Command) (*Attempt, error) {
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(c.Dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "chdir", Path: c.Dir, Err: syscall.ENOTDIR}
	}
	if err := proc.Adopt(); err != nil {
		return nil, err
	}
	theirs, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	reports, theirReports, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer theirReports.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = c.Env, c.Dir, ownSession
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.ExtraFiles = append([]*os.File{theirs, theirReports}, c.Inherit...)
	a := &Attempt{cmd: cmd, control: control, grace: c.Grace, done: make(chan struct{})}
	for _, entry := range c.Env {
		if value, ok := strings.CutPrefix(entry, tokenVar); ok {
			a.token = value
		}
	}
	if err := a.launch(); err != nil {
		control.Close()
		reports.Close()
		return nil, err
	}
	theirReports.Close()
	in := bufio.NewReader(reports)
	if err := a.first(reports, in); err != nil {
		a.abandon()
		reports.Close()
		return nil, err
	}
	go a.follow(reports, in)
	return a, nil
}

func (c Command) argv() ([]string, error) {
	shim := c.Shim
	if shim == nil {
		if !ready.Load() {
			return nil, ErrNotReady
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		shim = []string{exe}
	}
	argv := append([]string{}, shim...)
	argv = append(argv, word, c.Grace.String(), strconv.Itoa(len(c.Inherit)))
	return append(argv, c.Argv...), nil
}

// launch starts the shim. No one may look for orphans between its birth and its
// entry in the list.
func (a *Attempt) launch() error {
	live.Lock()
	defer live.Unlock()
	if err := a.cmd.Start(); err != nil {
		return err
	}
	live.pids[a.cmd.Process.Pid] = true
	if id, err := proc.Of(a.cmd.Process.Pid); err == nil {
		a.ticks = id.StartTicks
	}
	return nil
}

// first reads whether the agent was started.
func (a *Attempt) first(reports *os.File, in *bufio.Reader) error {
	_ = reports.SetReadDeadline(time.Now().Add(firstWord))
	defer func() { _ = reports.SetReadDeadline(time.Time{}) }()
	m, err := next(in)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrLost, err)
	case m.Errno != 0:
		return fmt.Errorf("%w (%s)", syscall.Errno(m.Errno), m.Error)
	case m.Error != "":
		return &NotFoundError{Text: m.Error}
	case m.PID <= 0:
		return ErrLost
	}
	a.pid = m.PID
	return nil
}

// NotFoundError tells that no program has the command's name.
type NotFoundError struct{ Text string }

// Error implements error.
func (e *NotFoundError) Error() string { return e.Text }

// Is makes it a case of fs.ErrNotExist.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

func next(in *bufio.Reader) (m message, err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

// follow reads the reports until they end.
func (a *Attempt) follow(reports io.ReadCloser, in *bufio.Reader) {
	defer close(a.done)
	defer reports.Close()
	gone := false
	for !gone {
		m, err := next(in)
		if err != nil {
			break
		}
		if m.Ended {
			a.limit(a.grace + lastWord)
		}
		if m.Gone != nil {
			a.report, gone = *m.Gone, true
		}
	}
	if !gone {
		a.err = ErrLost
		a.abandon()
		return
	}
	a.collect()
}

// limit kills the shim if it has not reported by then: something of the attempt
// cannot be killed, or the shim is stopped itself.
func (a *Attempt) limit(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil && a.control != nil {
		a.timer = time.AfterFunc(d, func() { _ = a.cmd.Process.Kill() })
	}
}

// collect waits for the shim itself.
func (a *Attempt) collect() {
	_ = a.cmd.Wait() // how it ended is in its report, or nowhere
	live.Lock()
	delete(live.pids, a.cmd.Process.Pid)
	live.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
	a.control.Close()
	a.control = nil
}

// abandon ends a shim that does not report, and all of its attempt that can be
// found: what it kept is our own now, and what has the token is anyhow.
func (a *Attempt) abandon() {
	_ = a.cmd.Process.Kill()
	a.collect()
	deadline := time.Now().Add(lostWord)
	for quiet := 0; quiet < 2; {
		found := a.orphans()
		if len(found) == 0 {
			quiet++
			continue
		}
		quiet = 0
		a.left = append(a.left, found...)
		proc.Stop(deserted, found...)
		if time.Now().After(deadline) {
			a.err = fmt.Errorf("%w, and process %v cannot be ended", ErrLost, found[0])
			return
		}
	}
}

func (a *Attempt) orphans() []proc.Process {
	found := proc.Orphans(a.token)
	live.Lock()
	defer live.Unlock()
	known := map[int]bool{}
	for _, p := range found {
		known[p.PID] = true
	}
	for _, p := range proc.Adopted(a.ticks, func(pid int) bool { return live.pids[pid] }) {
		if !known[p.PID] {
			found = append(found, p)
		}
	}
	return found
}

// PID is the agent's own.
func (a *Attempt) PID() int { return a.pid }

// Stop asks the agent to stop; after the grace it and all below it are killed.
func (a *Attempt) Stop() { a.order(orderStop) }

// Kill ends the agent and all below it.
func (a *Attempt) Kill() { a.order(orderKill) }

func (a *Attempt) order(b byte) {
	a.mu.Lock()
	if a.control != nil {
		_, _ = a.control.Write([]byte{b}) // a shim that is gone needs no order
	}
	a.mu.Unlock()
	a.limit(a.grace + lastWord)
}

// Done is closed when nothing of the attempt is left; Wait then returns at once.
func (a *Attempt) Done() <-chan struct{} { return a.done }

// Wait returns when nothing of the attempt is left. The error is ErrLost if the
// shim ended without a report: Left then names what was found and stopped.
func (a *Attempt) Wait() (Report, error) {
	<-a.done
	if a.err != nil {
		return Report{Left: a.left}, a.err
	}
	return a.report, nil
}
