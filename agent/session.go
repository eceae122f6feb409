package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"reprise/internal/redact"
	"reprise/internal/shim"
)

// session is a process that runs.
type session struct {
	job     Job
	launch  Launch
	attempt *shim.Attempt
	redact  *redact.Redactor
	keep    *keep
	say     *sayer

	began   time.Time
	heard   atomic.Int64 // when it last printed something, after began
	calling atomic.Bool  // a tool call is under way
	bytes   atomic.Int64
	broken  chan error // the first error of Stream
	stdin   *os.File
	outputs []*os.File
	readers sync.WaitGroup
	stderr  tail // of a process whose standard output is a protocol

	why    error // why we asked it to stop, nil if we did not
	unfed  error // why it did not get its whole input, nil if it did or took no more
	done   chan struct{}
	result Result
}

// Why an agent was asked to stop, beside an error of the stream.
var (
	errTimeout = errors.New("it took longer than it may")
	errSilence = errors.New("it gave no sign of life")
	errCall    = errors.New("its tool call gave no sign of life")
)

// start makes the pipes and the process. On an error nothing is open.
func (s *session) start() (err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil && s.stdin != nil {
			s.stdin.Close()
		}
		if err != nil {
			for _, f := range s.outputs {
				f.Close()
			}
		}
	}()
	in, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	theirs, s.stdin = append(theirs, in), ours
	// One pipe for both keeps the order of what it prints; only where standard
	// output is a protocol must the two be told apart.
	pipes := 1
	if s.launch.Stream != nil {
		pipes = 2
	}
	var outs []*os.File
	for range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		theirs, outs, s.outputs = append(theirs, w), append(outs, w), append(s.outputs, r)
	}
	s.attempt, err = shim.Start(shim.Command{
		Shim: s.launch.Shim, Argv: s.launch.Argv, Env: s.launch.environ(s.job), Dir: s.job.Dir, Grace: s.launch.Grace,
		Stdin: in, Stdout: outs[0], Stderr: outs[len(outs)-1], Inherit: s.job.Inherit,
	})
	s.began = time.Now()
	return err
}

// PID implements Session.
func (s *session) PID() int { return s.attempt.PID() }

// Kill implements Session.
func (s *session) Kill() { s.attempt.Kill() }

// Wait implements Session.
func (s *session) Wait() Result {
	<-s.done
	return s.result
}

// run is the life of the session, from the start of the process to its result.
func (s *session) run(ctx context.Context) {
	defer close(s.done)
	var feeding sync.WaitGroup
	feeding.Go(s.feed)
	for i, f := range s.outputs {
		s.readers.Go(func() { s.read(f, i == 0) })
	}
	if s.why = s.watch(ctx); s.why != nil {
		s.attempt.Stop()
	}
	report, err := s.attempt.Wait()
	// Everything that wrote is gone. A descriptor that was handed to a process
	// outside must not keep us.
	for _, f := range s.outputs {
		_ = f.SetReadDeadline(time.Now().Add(2 * time.Second))
	}
	s.readers.Wait()
	_ = s.stdin.SetWriteDeadline(time.Now())
	feeding.Wait()
	s.conclude(report, err)
}

// feed gives the process its input. One that ends or closes its input without reading is
// in its right. One that gets half of it for another reason is stopped: it would work on
// half a prompt.
func (s *session) feed() {
	_, err := io.WriteString(s.stdin, s.launch.Stdin)
	_ = s.stdin.Close()
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	s.unfed = fmt.Errorf("its prompt could not be given to it: %w", err)
	select {
	case s.broken <- s.unfed:
	default: // it is stopped already
	}
}

// watch waits until the process has ended, or there is a reason to stop it.
func (s *session) watch(ctx context.Context) error {
	never := make(<-chan time.Time)
	timeout, tick := never, never
	if s.job.Timeout > 0 {
		timer := time.NewTimer(s.job.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	if s.job.Silence > 0 || s.job.Call > 0 {
		shorter := min(cmp.Or(s.job.Silence, s.job.Call), cmp.Or(s.job.Call, s.job.Silence))
		ticker := time.NewTicker(max(shorter/10, time.Millisecond))
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-s.attempt.Done():
			return nil
		case <-ctx.Done():
			return context.Canceled
		case err := <-s.broken:
			return err
		case <-timeout:
			return errTimeout
		case <-tick:
			if err := s.job.overdue(time.Since(s.began)-time.Duration(s.heard.Load()), s.calling.Load()); err != nil {
				return err
			}
		}
	}
}

// overdue says whether an agent was quiet for too long, nil if it was not. The end of a
// call is printed, so that silence counts from there.
func (j *Job) overdue(quiet time.Duration, calling bool) error {
	limit, why := j.Silence, errSilence
	if calling {
		limit, why = j.Call, errCall
	}
	if limit > 0 && quiet > limit {
		return why
	}
	return nil
}

// read passes one output on until it ends.
func (s *session) read(f *os.File, stdout bool) {
	defer f.Close()
	// Everything but the protocol is made of redacted text only.
	var second io.Writer = io.Discard
	var protocol io.Writer = io.Discard
	switch {
	case s.launch.Stream == nil:
		show := &lines{most: 4 << 10, returns: true, each: func(line []byte) { s.say.say(string(line)) }}
		defer show.flush()
		second = lastOf{show}
	case stdout:
		l := &lines{most: maxStreamLine, each: s.stream}
		defer l.flush()
		protocol = l
	default:
		second = &s.stderr
	}
	log := s.redact.Writer(io.MultiWriter(s.keep, second))
	defer log.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			s.heard.Store(int64(time.Since(s.began)))
			s.bytes.Add(int64(n))
			_, _ = log.Write(buf[:n]) // the log tells in the end what it could not take
			_, _ = protocol.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// tail keeps the end of what is written to it.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	*t = append(*t, p...)
	*t = append((*t)[:0], (*t)[max(0, len(*t)-most):]...)
	return len(p), nil
}

// lastOf passes on the end of a large block alone: only the last line of it is
// shown anyway.
type lastOf struct{ w io.Writer }

// Write implements io.Writer.
func (l lastOf) Write(p []byte) (int, error) {
	const enough = 8 << 10
	_, err := l.w.Write(p[max(0, len(p)-enough):])
	return len(p), err
}

func (s *session) stream(line []byte) {
	show, err := s.launch.Stream(line)
	s.calling.Store(s.launch.Busy != nil && s.launch.Busy())
	if show != "" {
		s.say.say(s.redact.String(show))
	}
	if err != nil {
		select {
		case s.broken <- err:
		default: // the first counts
		}
	}
}

// conclude makes the result of how it ended and what it left.
func (s *session) conclude(report shim.Report, err error) {
	r := Result{Exit: report.Code, Signal: report.Signal, Session: s.job.Session, Bytes: s.bytes.Load(), Stderr: string(s.stderr)}
	if last := s.say.close(); s.launch.Stream == nil {
		r.LastText = last
	}
	for _, p := range report.Left {
		r.LeftOver = append(r.LeftOver, oneLine(p.String()))
	}
	s.ending(&r, report, err)
	reply, problem := ReadReply(s.job.Result)
	r.Reply = reply
	if problem != nil {
		r.ReplyProblem = problem.Error()
	}
	r.weigh()
	if s.launch.Finish != nil {
		s.launch.Finish(&r)
	}
	var failure error
	if r.Dropped, failure = s.keep.Close(); failure != nil {
		r.Reason += fmt.Sprintf("; its log is incomplete: %v", failure)
	}
	s.redactResult(&r)
	s.result = r
}

// ending says how the process ended.
func (s *session) ending(r *Result, report shim.Report, lost error) {
	switch {
	case s.unfed != nil && lost == nil:
		r.Outcome, r.Reason = Failed, s.unfed.Error()
	case lost != nil:
		r.Outcome, r.Reason, r.Exit, r.CutOff = Lost, "how it ended is unknown: "+lost.Error(), -1, true
	case report.Asked && errors.Is(s.why, errTimeout):
		r.Outcome, r.Reason = TimedOut, fmt.Sprintf("it was stopped after %s, the longest it may take", s.job.Timeout)
	case report.Asked && errors.Is(s.why, errSilence):
		r.Outcome, r.Reason = TimedOut, fmt.Sprintf("it was stopped because it printed nothing for %s", s.job.Silence)
		r.silent = true
	case report.Asked && errors.Is(s.why, errCall):
		r.Outcome, r.Reason = TimedOut, fmt.Sprintf("it was stopped because a tool call gave no sign of life for %s", s.job.Call)
	case report.Asked && s.why != nil && !errors.Is(s.why, context.Canceled):
		r.Outcome, r.Reason = Failed, "it was stopped: "+s.why.Error()
	case report.Asked:
		r.Outcome, r.Reason = Stopped, "it was asked to stop"
	case report.Signal != "":
		r.Outcome, r.Reason = Killed, "it was ended by "+report.Signal
	case report.Code != 0:
		r.Outcome, r.Reason = Failed, fmt.Sprintf("it ended with exit code %d", report.Code)
	default:
		r.Outcome, r.Reason = Done, "it ended with exit code 0"
	}
}

// weigh holds what it said against how it ended: a result can take success
// away, and never gives it.
func (r *Result) weigh() {
	if r.Outcome != Done && r.Outcome != Failed {
		return
	}
	switch {
	case r.ReplyProblem != "":
		r.Outcome, r.Reason = Failed, r.ReplyProblem
	case r.Reply == nil:
	case r.Reply.Outcome == "question" && len(r.Reply.Questions) == 0:
		r.Outcome, r.Reason = Failed, "it says it has a question but asks none"
	case r.Reply.Outcome == "question" || len(r.Reply.Questions) > 0:
		r.Outcome, r.Reason = NeedsPerson, "it has a question"
	case r.Reply.Outcome == "failed" || r.Reply.Outcome == "blocked":
		r.Outcome, r.Reason = Failed, "it says that it "+map[string]string{"failed": "failed", "blocked": "is blocked"}[r.Reply.Outcome]
		if r.Reply.Summary != "" {
			r.Reason += ": " + oneLine(r.Reply.Summary)
		}
	}
}

// result takes the secrets out of all that a result says in words: it is kept
// in the journal.
func (s *session) redactResult(res *Result) {
	r := s.redact
	for _, text := range []*string{&res.Reason, &res.ReplyProblem, &res.LastText, &res.Stderr} {
		*text = r.String(*text)
	}
	for i := range res.LeftOver {
		res.LeftOver[i] = r.String(res.LeftOver[i])
	}
	for i := range res.Open {
		res.Open[i].Input = r.String(res.Open[i].Input)
	}
	for i := range res.Asks {
		r.Asked(&res.Asks[i])
	}
	if res.Reply != nil {
		r.Reply(res.Reply)
	}
}
