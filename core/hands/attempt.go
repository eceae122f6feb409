//go:build unix

// Package hands starts agents, waits for them, and looks at what they left. It knows
// nothing of plans and records. A Temporal activity is one Start and one wait.
//
// An attempt has a folder. What stands in it survives the engine:
//
//	lease    locked as long as a process of the attempt lives, or its end is not written down;
//	         its time is the last moment at which the engine was there
//	session  which CLI was started, where it keeps its sessions, and the id of this one
//	log      what the agent said, without secrets
//	trace    the git commands it ran, by git itself
//	reply    what it left as its result
//	result   how it ended; it is there before anybody is told. Without one, and with a lease that
//	         nobody holds, it was cut off: nobody saw its end
//
// Nothing of it is flushed: where a power cut takes the result, the attempt was cut off, and
// what it changed is looked at.
package hands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"reprise/agent"
	"reprise/core"
	"reprise/internal/proc"
	"reprise/internal/transcript"
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

// Log is the file with what its agent said, and ReplyFile the one in which it may leave a
// result.
func (a Attempt) Log() string       { return a.path("log") }
func (a Attempt) ReplyFile() string { return a.path("reply") }

// Child is an agent that this process started.
type Child struct {
	Began   time.Time
	session agent.Session
	over    chan struct{}
	err     error
}

// Over reports whether it has ended. The error says that its end could not be written down.
func (c *Child) Over() (bool, error) {
	select {
	case <-c.over:
		return true, c.err
	default:
		return false, nil
	}
}

// Done is closed when it has ended, and its end is written down.
func (c *Child) Done() <-chan struct{} { return c.over }

// Start starts an agent with the lease: its keeper and all below it hold that. It returns once
// the agent exists, or cannot: then that is its end, like any other. When ctx ends the agent is
// asked to stop; when hard is closed it is killed. If this process dies in here or later, the
// keeper ends the agent, and no result is there. The error says that nothing could be started
// for another reason, and that nothing is written down.
func (a Attempt) Start(ctx context.Context, hard <-chan struct{}, by agent.Agent, job agent.Job) (*Child, error) {
	if a.Alive() {
		return nil, ErrAtWork
	}
	// What another life of the run left under this name is none of its own.
	if err := errors.Join(os.RemoveAll(string(a)), os.MkdirAll(string(a), 0o700)); err != nil {
		return nil, err
	}
	lease, err := os.OpenFile(a.path("lease"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lease.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for i := 0; i < 20 && errors.Is(err, unix.EWOULDBLOCK); i++ { // somebody looks, perhaps
		time.Sleep(5 * time.Millisecond)
		err = unix.Flock(int(lease.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		lease.Close()
		return nil, fmt.Errorf("%w: %w", ErrAtWork, err)
	}
	log, err := os.OpenFile(a.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		lease.Close()
		return nil, err
	}
	c := &Child{Began: time.Now(), over: make(chan struct{})}
	known := Session{CLI: agent.PresetOf(by), Dir: job.Dir, Began: c.Began, Token: job.Token}
	known.Store = transcript.Folders(lookup(job.Env))[known.CLI]
	if job.Resume {
		known.ID = job.Session
	}
	told := job.Learned
	job.Learned = func(id string) error {
		own := known // it is called while the session runs, by another goroutine
		own.ID = id
		err := a.write("session", own)
		if err == nil && told != nil {
			err = told(id)
		}
		return err
	}
	job.Log, job.Result, job.Inherit = log, a.ReplyFile(), append(slices.Clone(job.Inherit), lease)
	job.Env = append(slices.Clone(job.Env), "GIT_TRACE2_EVENT="+a.path("trace"), "GIT_REFLOG_ACTION="+a.Action())
	if err = a.write("session", known); err == nil {
		c.session, err = by.Start(ctx, job)
	}
	var refused *agent.StartError
	end := agent.Result{Outcome: agent.NotStarted, Session: job.Session}
	switch {
	case err == nil:
	case !errors.As(err, &refused) && ctx.Err() == nil:
		log.Close()
		lease.Close()
		return nil, err
	case ctx.Err() != nil:
		end.Outcome = agent.Stopped
	case errors.Is(err, agent.ErrLost): // it may have run
		end.Outcome, end.CutOff = agent.Lost, true
	}
	go func() {
		defer close(c.over)
		defer lease.Close()
		if c.session == nil {
			end.Reason = err.Error()
		} else {
			go func() {
				select {
				case <-hard:
					c.session.Kill()
				case <-c.over:
				}
			}()
			end = c.session.Wait()
		}
		c.err = errors.Join(log.Close(), a.write("result", resultOf(end)))
	}()
	return c, nil
}

// ErrAtWork is given for an attempt that was started already.
var ErrAtWork = errors.New("an agent is at work on this attempt")

// write replaces a file of the folder whole.
func (a Attempt) write(name string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if err := os.WriteFile(a.path(name+".new"), data, 0o600); err != nil {
		return err
	}
	return os.Rename(a.path(name+".new"), a.path(name))
}

// read reads a file of the folder; ok is false if it is not there, or not whole.
func (a Attempt) read(name string, into any) (ok bool) {
	data, err := os.ReadFile(a.path(name))
	return err == nil && json.Unmarshal(data, into) == nil
}

// Alive reports whether a process of the attempt lives, or its end is being written down. The
// kernel keeps the lock, and the number of a process, which could be another's by now, plays no
// part. One that closed its files is known by what it was started with.
func (a Attempt) Alive() bool {
	f, err := os.OpenFile(a.path("lease"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) || len(proc.Orphans(a.Session().Token)) > 0
}

// Beat notes that an engine is there.
func (a Attempt) Beat(now time.Time) { os.Chtimes(a.path("lease"), now, now) }

// Stop asks what is left of the attempt to stop, and kills what is there after a while: it
// outlived its engine and its keeper.
func (a Attempt) Stop(grace time.Duration) error {
	found := append(proc.Holders(a.path("lease"), string(a)), proc.Orphans(a.Session().Token)...)
	if left := proc.Stop(grace, found...); len(left) > 0 {
		return fmt.Errorf("stop what still runs: process %d (%s) does not end", left[0].PID, left[0].Name)
	}
	return nil
}

// Session is the session of an attempt's agent, as it stands in its folder.
type Session struct {
	CLI   string    // the preset of its agent; "" for a plain command
	ID    string    // "" while it is not known
	Store string    // where its CLI keeps sessions, "" if that is not known
	Dir   string    // where it works
	Began time.Time // when this attempt did
	Token string    // marks its processes
}

// Session gives it.
func (a Attempt) Session() (s Session) {
	a.read("session", &s)
	return s
}

// Result is how an attempt ended, as it stands in its folder.
type Result struct {
	agent.Result
	Questions []core.Question `json:"questions,omitempty"`
}

// resultOf is a result with its questions as the records have them.
func resultOf(r agent.Result) Result {
	out := Result{Result: r}
	asks := r.Asks
	if r.Reply != nil && len(r.Reply.Questions) > 0 {
		asks = r.Reply.Questions
	}
	if r.Outcome != agent.NeedsPerson {
		return out
	}
	for _, ask := range asks {
		q := core.Question{ID: ask.ID, Text: ask.Text, Options: ask.Options, Closed: ask.Closed}
		if ask.Grant != nil {
			q.Options, q.Closed = ask.Grant.Options(), true
			q.Grant, _ = json.Marshal(ask.Grant) // of texts: it always can be
		}
		out.Questions = append(out.Questions, q)
	}
	if len(out.Questions) == 0 {
		out.Questions = []core.Question{{Text: r.Reason}}
	}
	return out
}

// Result gives how the agent ended; ok is false if nobody saw that. What it left as its reply
// is in it either way.
func (a Attempt) Result() (r Result, ok bool) {
	if ok = a.read("result", &r); !ok {
		r = Result{}
		reply, err := agent.ReadReply(a.ReplyFile()) // torn, when it was cut off: no reply
		if r.Reply = reply; err == nil && reply != nil && len(reply.Questions) > 0 {
			r = resultOf(agent.Result{Outcome: agent.NeedsPerson, Reply: reply})
		}
	}
	return r, ok
}

// Action is what git notes of the commands of an agent where they move a branch: the reflog
// tells its commits from those of the user.
func (a Attempt) Action() string { return "reprise " + filepath.Base(string(a)) }

// verdict is what the check of a step said of a world.
type verdict struct {
	World string
	OK    bool
	Words string
}

// Check runs the check of the step and keeps what it says of the world that it leaves: it may
// make files of its own. ok is false if it was stopped, and says nothing.
func (a Attempt) Check(ctx context.Context, hard <-chan struct{}, by agent.Agent, job agent.Job, world func() (string, error)) (ok bool, err error) {
	log, err := os.OpenFile(a.path("check.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	defer log.Close()
	job.Log, job.Result = log, a.path("check.reply")
	v := verdict{}
	if s, err := by.Start(ctx, job); err != nil {
		v.Words = err.Error()
	} else {
		over := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			select {
			case <-hard:
				s.Kill()
			case <-over:
			}
		})
		r := s.Wait()
		close(over)
		wait.Wait()
		if r.Outcome == agent.Stopped || r.Outcome == agent.Lost {
			return false, nil
		}
		v.OK, v.Words = r.Outcome == agent.Done, strings.Join(slices.DeleteFunc([]string{r.Reason, r.LastText}, func(s string) bool { return s == "" }), ": ")
	}
	if ctx.Err() != nil {
		return false, nil
	}
	if v.World, err = world(); err != nil {
		return false, err
	}
	return true, a.write("check", v)
}

// Checked is what the check said of a world; nil if it was not asked about that one.
func (a Attempt) Checked(world string) (ok *bool, words string) {
	var v verdict
	if a.read("check", &v) && v.World == world {
		ok = &v.OK
	}
	return ok, v.Words
}

// LastSign is the last moment at which anything showed that the attempt was at work.
func (a Attempt) LastSign() (last time.Time) {
	for _, name := range []string{"lease", "session", "log", "trace", "reply", "result"} {
		if info, err := os.Stat(a.path(name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Mentions reports whether the log has the name of a file. Agents tell what they write.
func (a Attempt) Mentions(path string) bool {
	data, _ := os.ReadFile(a.Log())
	return bytes.Contains(data, []byte(filepath.Base(path)))
}

// Words gives the last words of the log.
func (a Attempt) Words() string {
	data, _ := os.ReadFile(a.Log())
	return strings.ToValidUTF8(strings.TrimSpace(string(data[max(0, len(data)-600):])), "")
}

// lookup finds a variable in an environment; the last one counts.
func lookup(env []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
