package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
)

// attempt is one attempt at a unit of work, at work or brought back from the journal.
type attempt struct {
	a       reprise.Assignment
	attempt int
	key     string
	began   time.Time
	dir     string // where it works, absolute
	inside  string // the same as a path in the project
	head    string // the commit that was checked out there when it began
	// dirty is what no commit held there when it began, nil where that is not
	// known.
	dirty   *[]string
	left    []string                // what of that earlier attempts of the step changed, and nobody since
	after   []string                // what of that somebody changed after they had
	held    *reprise.Event          // its end, which an earlier process saw and could not commit; nil otherwise
	changed []string                // what is not any more as that end tells
	atStart map[string]reprise.Hash // what it is to leave, when its agent was started; nil where nobody knows
	account string                  // what a limit that it runs into closes
	answers []string                // questions whose answers it is told
	through bool                    // it has shown that no limit stands in its way
	result  string                  // where it leaves its reply, absolute
	log     string                  // where its output is kept, a path in the project
	logfile io.Closer
	begun   begun // whether it was told that it began
	session agent.Session
	use     *use // where it works, nil for an attempt of an earlier process
	child   *Summary
	cancel  context.CancelFunc
	// checked goes on once its command that verifies it has ended, nil while that
	// is not at work; verified and refuted are what the command said.
	checked  func(stop context.Context, err error) error
	verified bool
	refuted  string
}

func (f *attempt) kill() {
	f.cancel()
	if f.session != nil && f.checked == nil {
		f.session.Kill()
	}
}

// ending is an attempt that ended.
type ending struct {
	step   string
	result agent.Result
	child  *Summary
	err    error
}

// start begins one unit of work. When it returns, either an attempt is at work
// and on record as started, or the unit needed no agent and is recorded.
//
// The intent is durable before the process exists: if we die in between, the
// next engine finds an attempt that never ran and settles it by its policy.
func (w *work) start(ctx context.Context, a reprise.Assignment) error {
	switch {
	case a.Ask != nil:
		return w.ask(ctx, a, []reprise.Asked{*a.Ask})
	case a.Local != "":
		return w.finish(ctx, &attempt{a: a, began: w.Now(), answers: w.toldTo(a)}, reprise.Conclusion{Text: a.Local}, reprise.Reply{}, "")
	case a.Child != nil:
		return w.startChild(ctx, a)
	}
	bound, err := w.bind(a)
	if err != nil {
		w.hands.Unbound(a, err)
		return nil
	}
	f, err := w.prepare(ctx, a)
	defer func() {
		if f != nil && w.atWork[a.Step] != f {
			w.folders.leave(f.use)
		}
	}()
	if err != nil {
		return &unreadyError{err}
	}
	job, err := w.job(ctx, f, bound)
	if err != nil {
		return &unreadyError{err}
	}
	w.tellMissing(a)
	started := reprise.Event{
		Kind: reprise.StepStarted, At: f.began, Step: a.Step, Phase: a.Unit.Phase, Actor: a.Role, Attempt: f.attempt,
		Agent: job.Session, Policy: policyOf(a), Expect: f.a.Expect, Key: f.key, Answers: f.answers,
	}
	if why := w.notResumed(a.Step, bound, job.Resume); why != "" {
		w.notice(reprise.Finding{Code: reprise.CodeStaleMarker, Severity: reprise.Warning, Subject: a.Step, Source: reprise.Source{File: w.ref.Path}, Message: why})
	}
	// crash: before-intent
	if err := w.record(ctx, started); err != nil {
		return err
	}
	f.atStart = map[string]reprise.Hash{}
	for _, e := range f.a.Expect {
		// Recording the start may have changed it.
		if now, err := w.hash(e.Path); err == nil {
			f.atStart[e.Path] = now
		}
	}
	// crash: intent-recorded
	return w.hands.Launch(ctx, f, bound, job)
}

// tellMissing says which of the files that a step of a workflow file is to begin with are
// not there. Whether it can do without is for whoever does it.
func (w *work) tellMissing(a reprise.Assignment) {
	if _, own := w.book.(workflowBook); !own {
		return
	}
	for _, name := range a.Inputs {
		if _, err := fs.Stat(w.store, name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			w.notice(reprise.Finding{
				Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: a.Step, Source: reprise.Source{File: name},
				Message: a.Step + ": its input " + name + " is not there",
			})
		}
	}
}

// unreadyError tells that one step could not be prepared; nothing is on record of
// the attempt.
type unreadyError struct{ error }

// Unwrap gives the cause.
func (e *unreadyError) Unwrap() error { return e.error }

func (w *work) countLaunch(f *attempt, n int) {
	w.sum.Launches += n
	if len(f.a.Command) > 0 {
		w.sum.Commands += n
	}
}

// notStarted takes back an attempt whose command could not be started: nothing was
// done and nothing failed. Trying again has no use before somebody mends that.
func (w *work) notStarted(ctx context.Context, f *attempt, cause error) error {
	w.countLaunch(f, -1)
	ev := w.about(ctx, f, reprise.StepReset)
	ev.Text, ev.Outcome = cause.Error(), string(agent.NotStarted)
	if err := w.record(ctx, ev); err != nil {
		return err
	}
	w.refuse(f.a, cause)
	return nil
}

// prepare gathers what an attempt needs before it is on record. The attempt that it
// gives, also with an error, has entered its folder.
func (w *work) prepare(ctx context.Context, a reprise.Assignment) (*attempt, error) {
	f := &attempt{a: a, attempt: w.hist.Step(a.Step).Attempts + 1, began: w.Now(), account: w.account(a), answers: w.toldTo(a)}
	if s := w.run.Step(a.Step); s != nil {
		f.attempt = max(f.attempt, s.Attempts+1)
	}
	var err error
	if f.result, err = w.unused(f); err != nil {
		return nil, err
	}
	f.key = w.keyOf(a.Step, f.attempt)
	if err = w.placeIt(ctx, f); err != nil {
		return nil, err
	}
	if f.dir == "" {
		return f, nil // there is nothing to look at before it is made
	}
	// Before anything is looked at there: who is beside it may change that.
	f.use = w.folders.enter(f.dir)
	f.head = w.head(ctx, f.dir)
	if a.Commit {
		if dirty, err := w.dirty(ctx, f.dir); err == nil {
			f.dirty = &dirty
			f.left, f.after = w.leftSince(ctx, f)
		}
	}
	f.a.Expect = nil
	for _, e := range a.Expect {
		e.Path = w.placed(f, e.Path)
		if e.Before, err = w.hash(e.Path); err != nil {
			return f, fmt.Errorf("prepare %s: %w", a.Step, err)
		}
		f.a.Expect = append(f.a.Expect, e)
	}
	if w.repo != nil {
		expect, prefix := attempt{a: f.a, inside: f.inside}, w.repo.Prefix()
		w.folders.expects(f.use, func(name string) bool { return expect.leaves(prefix, name) })
	}
	return f, nil
}

// maxUnused bounds how many numbers are tried for an attempt.
const maxUnused = 1000

// unused gives the place for the result of a new attempt. One that is there
// before the attempt began is somebody else's word: the next number is taken.
func (w *work) unused(f *attempt) (string, error) {
	for range maxUnused {
		scratch, err := w.hands.Scratch(w.attemptName(f))
		if err != nil {
			return "", err
		}
		result := filepath.Join(scratch, resultName)
		if _, err := os.Lstat(result); errors.Is(err, fs.ErrNotExist) {
			return result, nil
		}
		w.notice(reprise.Finding{Code: reprise.CodeLeftover, Severity: reprise.Warning, Subject: f.a.Step, Message: fmt.Sprintf("a result of attempt %d of %s was there before it began; it does not count", f.attempt, f.a.Step)})
		f.attempt++
	}
	return "", fmt.Errorf("prepare %s: results of its next attempts are there already", f.a.Step)
}

// resultName is the file an agent leaves its reply in.
const resultName = "result.json"

// placed gives a project path as it is in the checkout of the attempt: what an
// agent makes in a checkout of the run's own is looked for there.
func (w *work) placed(f *attempt, name string) string {
	if f.inside == "" || strings.HasPrefix(name, f.inside+"/") {
		return name
	}
	return f.inside + "/" + name
}

// hash is that of a file of the project, zero if there is none; see project.HashIn.
func (w *work) hash(name string) (reprise.Hash, error) { return project.HashIn(w.store, name) }

func (w *work) isFolder(name string) bool {
	info, err := fs.Stat(w.store, name)
	return err == nil && info.IsDir()
}

// keyOf is what commits of an attempt carry. It names the run as it was begun,
// so that a run started afresh under the same name has other keys.
func (w *work) keyOf(step string, attempt int) string {
	return fmt.Sprintf("%s/%s#%d@%s", word(w.ref.ID), word(step), attempt, w.life())
}

// life tells a run from one of the same name that began at another time.
func (w *work) life() string {
	began := w.hist.Began
	if began.IsZero() {
		began = w.sum.Started
	}
	return reprise.TrailerLife(began)
}

// token marks the processes of an attempt. Whoever comes after us can tell it
// from what is on record; no other attempt in any project has it.
func (w *work) token(f *attempt) string {
	return reprise.HashOf([]byte(w.Dir + "\x00" + w.ref.Layout + "\x00" + f.key)).String()[:32]
}

// word makes an id that can stand in a trailer, a file name and a sentence.
func word(id string) string { return reprise.TrailerWord(id) }

// attemptName names the files of an attempt. Those of a run that was started afresh
// are not those of the attempts before, whose numbers it uses again.
func (w *work) attemptName(f *attempt) string {
	return fmt.Sprintf("%s.%s.%s.%d", word(w.ref.Layout+"-"+w.ref.ID), w.life(), word(f.a.Step), f.attempt)
}

func policyOf(a reprise.Assignment) reprise.Ambiguity {
	if a.Policy == "" {
		return reprise.Verify
	}
	return a.Policy
}

// job makes what the agent is started with.
func (w *work) job(ctx context.Context, f *attempt, bound binding) (agent.Job, error) {
	job := agent.Job{
		Run: noNul(w.ref.ID), Step: noNul(f.a.Step), Attempt: f.attempt, Role: noNul(f.a.Role), Key: f.key, Token: w.token(f), Project: w.Dir,
		Dir: f.dir, Result: f.result, Command: bound.command, Env: bound.env, Secrets: bound.secrets,
		Timeout: bound.timeout, Silence: bound.silence,
		Line: func(text string) { w.tellLine(f, text) },
		Learned: func(session string) error {
			return w.noted(reprise.Event{Kind: reprise.SessionKnown, At: w.Now(), Step: f.a.Step, Attempt: f.attempt, Agent: session})
		},
	}
	for _, e := range f.a.Expect {
		job.Expect = append(job.Expect, noNul(strings.TrimPrefix(e.Path, f.inside+"/")))
	}
	if h := w.hist.Step(f.a.Step); bound.continues && h.Session != "" && w.goesOn(f.a.Step) {
		job.Session, job.Resume = h.Session, true
	}
	job.Inherit = w.inherit()
	job.Answers = map[string]string{}
	for _, id := range f.answers {
		q, _ := w.question(id)
		job.Answers[id] = noNul(q.Answer)
	}
	for _, id := range f.answers {
		if q, _ := w.question(id); q.Own != "" { // it looks for its own name; the latest counts
			job.Answers[q.Own] = noNul(q.Answer)
		}
	}
	if len(f.a.Command) > 0 {
		return job, nil // a command of the person's own is told by its arguments
	}
	task := w.task(f)
	if w.takesOver(f.a.Step, bound, job.Resume) {
		if err := w.brief(ctx, f, &task); err != nil {
			return agent.Job{}, err
		}
	}
	var err error
	if job.Prompt, err = prompt.Render(task, w.Prompts); err != nil {
		return agent.Job{}, fmt.Errorf("write the prompt of %s: %w", f.a.Step, err)
	}
	return job, nil
}

// noNul makes a text that can be a value in an environment.
func noNul(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// begun keeps what an agent says until it was told that the attempt began: its process
// is at work before whoever started it knows.
type begun struct {
	mu   sync.Mutex
	told bool
	said []func()
}

// tell tells that the attempt began, and then what was said before.
func (b *begun) tell(began func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began()
	for _, say := range b.said {
		say()
	}
	b.told, b.said = true, nil
}

// maxSaid bounds how many lines wait; the log has them all.
const maxSaid = 1000

// say passes something on that an agent said, once it was told that it began.
func (b *begun) say(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.told:
		what()
	case len(b.said) < maxSaid:
		b.said = append(b.said, what)
	}
}

// tellLine passes on what an agent says. It is called from the agent's
// goroutine and reads nothing that the loop changes.
func (w *work) tellLine(f *attempt, text string) {
	if w.Tell == nil {
		return
	}
	p := Progress{Kind: Said, At: w.Now(), Run: w.ref.ID, Step: f.a.Step, Title: f.a.Unit.Title, Role: f.a.Role, Attempt: f.attempt, Text: text, Done: -1, Total: -1}
	f.begun.say(func() { w.Tell(p) })
}

// task is what the prompt is made of.
func (w *work) task(f *attempt) prompt.Task {
	t := prompt.Task{
		Assignment: f.a, Run: w.ref.ID, Attempt: f.attempt, Dir: f.dir, Result: f.result,
		Trailer: reprise.TrailerKey + ": " + f.key,
	}
	h := w.hist.Step(f.a.Step)
	if h.Cutoffs > 0 {
		t.Earlier = append(t.Earlier, fmt.Sprintf("An earlier attempt was cut off (%s). What it changed is still there, whole or not: look at it before you do anything again.", journal.Times(h.Cutoffs)))
	}
	if commits := w.unrecorded[f.a.Step]; len(commits) > 0 {
		t.Earlier = append(t.Earlier, "Commits were made that no record tells of. They may hold this work or a piece of it: look at them before you do anything again.")
		t.Data = append(t.Data, reprise.Data{Name: "commits that are not on record", Text: strings.Join(commits, "\n")})
	}
	if h.LastFailure != nil {
		t.Earlier = append(t.Earlier, fmt.Sprintf("The last attempt failed (%s so far).", journal.Times(h.Failures)))
		t.Data = append(t.Data, reprise.Data{Name: "why the last attempt failed", Text: h.LastFailure.Text})
	}
	for _, id := range f.answers {
		q, _ := w.question(id)
		t.Answers = append(t.Answers, prompt.Answer{Question: q.Text, Text: q.Answer})
	}
	return t
}
