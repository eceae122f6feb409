// Package notify tells a person who is elsewhere that a run asks, ended or ran into a
// limit: on the desktop, with the terminal's bell, or by a command of their own. It never
// delays or fails the run: notices are sent by a goroutine of their own, each in a bounded
// time, and those that come too fast are dropped.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"reprise/internal/proc"
	"reprise/report"
)

const (
	each  = 10 * time.Second // for one way of telling one notice
	last  = 3 * time.Second  // for what is under way when the work is over
	queue = 16
)

// Ways say how a person is told. Environ is the environment of the desktop program,
// CommandEnviron that of the command.
type Ways struct {
	Desktop                 bool
	Bell                    io.Writer // the terminal, nil for none
	Command                 []string  // argv; the notice is on its standard input
	Dir                     string    // the project: programs are not taken out of it
	Environ, CommandEnviron []string
	// Failed is told the first thing that went wrong, from another goroutine.
	Failed func(error)
}

// Notifier sends notices until it is closed.
type Notifier struct {
	ways    Ways
	notices chan report.Notice
	done    chan struct{}
	stop    context.CancelFunc
	failed  sync.Once
	mu      sync.Mutex
	closed  bool
}

// Open makes a notifier; nil, which tells no one, where no way is set.
func Open(ways Ways) *Notifier {
	if !ways.Desktop && ways.Bell == nil && len(ways.Command) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &Notifier{ways: ways, notices: make(chan report.Notice, queue), done: make(chan struct{}), stop: stop}
	go func() {
		defer close(n.done)
		for notice := range n.notices {
			n.tell(ctx, notice)
		}
	}()
	return n
}

// Send sends a notice, and returns at once.
func (n *Notifier) Send(notice report.Notice) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	select {
	case n.notices <- notice:
	default:
	}
}

// Close waits a few seconds for what is under way, and ends the rest. What is sent
// afterwards is dropped.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.closed = true
	close(n.notices)
	n.mu.Unlock()
	timer := time.AfterFunc(last, n.stop)
	<-n.done
	timer.Stop()
	n.stop()
}

// tell tells a person in every way that is set.
func (n *Notifier) tell(ctx context.Context, notice report.Notice) {
	if n.ways.Bell != nil {
		_, _ = io.WriteString(n.ways.Bell, "\a") // a terminal that is gone rings for no one
	}
	var errs []error
	if n.ways.Desktop {
		errs = append(errs, n.desktop(ctx, notice))
	}
	if len(n.ways.Command) > 0 {
		errs = append(errs, n.command(ctx, notice))
	}
	if err := errors.Join(errs...); err != nil && n.ways.Failed != nil {
		n.failed.Do(func() { n.ways.Failed(err) })
	}
}

// desktop shows a notice with the program of the system.
func (n *Notifier) desktop(ctx context.Context, notice report.Notice) error {
	title, text := "reprise: "+shown(notice.Title, 80), shown(notice.Text, 300)
	program, args := "notify-send", []string{"--app-name=reprise", "--", title, html.EscapeString(text)}
	if runtime.GOOS == "darwin" {
		// The texts are arguments of the script and no part of it.
		program, args = "osascript", []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, text}
	}
	at, err := proc.Find(program, n.ways.Environ, n.ways.Dir)
	if err != nil {
		return fmt.Errorf("notify on the desktop: %w", err)
	}
	return n.run(ctx, n.ways.Environ, nil, at, args...)
}

// command gives a notice to the person's own command.
func (n *Notifier) command(ctx context.Context, notice report.Notice) error {
	text, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	program := n.ways.Command[0]
	if !strings.ContainsRune(program, filepath.Separator) {
		if program, err = proc.Find(program, n.ways.CommandEnviron, n.ways.Dir); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
	return n.run(ctx, n.ways.CommandEnviron, append(text, '\n'), program, n.ways.Command[1:]...)
}

// run runs a program with all it starts for a bounded time.
func (n *Notifier) run(ctx context.Context, environ []string, in []byte, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = n.ways.Dir, environ, bytes.NewReader(in), time.Second
	proc.Group(cmd)
	_, err := cmd.Output()
	name := filepath.Base(program)
	ended, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("notify with %s: it took too long and was ended", name)
	case ended != nil && len(ended.Stderr) > 0:
		return fmt.Errorf("notify with %s: %w: %s", name, err, shown(string(ended.Stderr), 300))
	case err != nil:
		return fmt.Errorf("notify with %s: %w", name, err)
	}
	return nil
}

// shown is a text on one line, without what is no letter, and cut.
func shown(s string, most int) string {
	runes := []rune(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
