// Package shim is the keeper of one attempt: this program started again as a
// process of its own, between the engine and the agent. All that an agent starts
// is below its shim, so that the attempts of one engine cannot be mixed up, and
// the shim outlives an engine that is killed by the moment it needs to end
// everything of the attempt.
//
// The engine holds the writing end of a control pipe. A byte on it asks for a
// stop or a kill; its end means that the engine is dead. On a report pipe the
// shim says in lines of JSON that the agent was started, that it ended, and last
// that nothing of it is left. It holds the inherited files, the lease among
// them, until then.
package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"reprise/internal/proc"
)

// word is the hidden first argument that makes this program a shim.
const word = "__keep-attempt"

// The orders on the control pipe.
const (
	orderStop = 's' // ask the agent, kill after the grace
	orderKill = 'k'
)

// Descriptors that the engine passes, beside the first three.
const (
	controlFile = 3 + iota
	reportFile
	firstInherited
)

const (
	// deserted is how long an agent may take to end when its engine is dead:
	// the lease must be free before someone looks for it.
	deserted = 50 * time.Millisecond
	// settle is how long children may take to end after the agent before they
	// count as left over.
	settle = 100 * time.Millisecond
)

// Report is what the shim says last, when nothing of the attempt is left.
type Report struct {
	proc.Exit
	// Asked tells that the agent was asked to stop, or killed, before it ended.
	Asked bool `json:"asked,omitempty"`
	// Left are descendants that outlived the agent and were stopped.
	Left []proc.Process `json:"left,omitempty"`
}

// message is one line on the report pipe.
type message struct {
	PID   int     `json:"pid,omitempty"` // the agent was started
	Error string  `json:"error,omitempty"`
	Errno int     `json:"errno,omitempty"`
	Ended bool    `json:"ended,omitempty"` // the agent itself has ended
	Gone  *Report `json:"gone,omitempty"`
}

// ready is set once main has called Main: only then may the program be started
// again as a shim.
var ready atomic.Bool

// Main makes the process a shim if its arguments say so; main calls it before
// anything else and exits with code if it was handled.
func Main(args []string) (handled bool, code int) {
	ready.Store(true)
	if len(args) == 0 || args[0] != word {
		return false, 0
	}
	if err := run(args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "keep an attempt:", err)
		return true, 1
	}
	return true, 0
}

// run is the whole life of a shim: arguments are the grace, the number of
// inherited files, and the command.
func run(args []string) error {
	if len(args) < 3 {
		return errors.New("this is started by the engine, not by hand")
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	inherited, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	control, report := os.NewFile(controlFile, "control"), os.NewFile(reportFile, "report")
	if control == nil || report == nil {
		return errors.New("the engine's pipes are missing")
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	for i := range inherited {
		files = append(files, os.NewFile(uintptr(firstInherited+i), "inherited"))
	}
	// The agent gets what is passed on and nothing else: with the control pipe
	// in its hands the engine's death would go unseen.
	for fd := controlFile; fd < firstInherited+inherited; fd++ {
		closeOnExec(fd)
	}
	// Before the agent exists: a signal must not end the shim alone.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	out := json.NewEncoder(report)
	tree, err := start(args[2:], files)
	if err != nil {
		m := message{Error: err.Error()}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			m.Errno = int(errno)
		} else if errors.Is(err, fs.ErrPermission) {
			m.Errno = int(syscall.EACCES)
		}
		return out.Encode(m)
	}
	_ = os.Stdin.Close() // or a prompt that no one reads would wait for us
	k := &keeper{tree: tree, grace: grace, now: make(chan struct{})}
	if err := out.Encode(message{PID: tree.PID()}); err != nil {
		// The engine would wait for this word while the agent works: it is told at once,
		// by our end, that the attempt is lost.
		k.kill()
		tree.Sweep(0, 0, k.now)
		return err
	}
	go k.obey(control)
	go k.heed(signals)
	<-tree.Ended()
	// An engine that is gone reads nothing; what must be done stays the same.
	_ = out.Encode(message{Ended: true})
	r := Report{Exit: tree.Exit(), Asked: k.asked.Load()}
	pause := settle
	if r.Asked {
		pause = 0
	}
	r.Left = tree.Sweep(pause, grace, k.now)
	_ = out.Encode(message{Gone: &r})
	return nil
}

func start(argv []string, files []*os.File) (*proc.Tree, error) {
	path, err := proc.Find(argv[0], os.Environ())
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		tree, err := proc.StartTree(proc.Spec{Path: path, Argv: argv, Env: os.Environ(), Files: files})
		// A program that was written a moment ago can still be open in a process
		// that is about to become another one.
		if !errors.Is(err, syscall.ETXTBSY) || try == 10 {
			return tree, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// keeper carries out orders.
type keeper struct {
	tree  *proc.Tree
	grace time.Duration
	asked atomic.Bool
	once  sync.Once
	now   chan struct{} // closed when everything is to be killed
}

// obey reads the control pipe until the engine is gone.
func (k *keeper) obey(control io.Reader) {
	b := make([]byte, 1)
	for {
		if _, err := control.Read(b); err != nil {
			k.stop(deserted)
			return
		}
		switch b[0] {
		case orderStop:
			k.stop(k.grace)
		case orderKill:
			k.kill()
		}
	}
}

// heed takes a signal that a person sends to the shim for the engine's order.
func (k *keeper) heed(signals <-chan os.Signal) {
	for range signals {
		k.stop(k.grace)
	}
}

func (k *keeper) stop(grace time.Duration) {
	k.asked.Store(true)
	k.tree.Ask()
	time.AfterFunc(grace, k.kill)
}

func (k *keeper) kill() {
	k.asked.Store(true)
	k.once.Do(func() { close(k.now) })
	k.tree.Kill()
}
