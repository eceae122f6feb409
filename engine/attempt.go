package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
	"reprise/settings"
	"reprise/worktree"
)

// Attempt is one attempt at a unit of work, as plain data: a new one as it was prepared,
// or one of an earlier process as far as the journal and the playbook know it.
type Attempt struct {
	reprise.Assignment
	Number   int
	Key      string // what its commits carry
	Began    time.Time
	Recalled bool      // an earlier process started it
	Told     []string  // questions whose answers it is told
	Again    time.Time // when a person said to try it again what a run of its own does

	Dir    string // where it works, absolute; "" while its checkout is not made
	Inside string // the same as a path in the project, of a checkout of the run's own
	Head   string // the commit that was checked out there when it began, "" if unknown
	Branch string // the branch that was, "" if none was
	// Dirty is what was uncommitted there when it began, nil if that is unknown, and DirtyAs
	// what those files were then, as far as they could be read. Of them, Left is what
	// earlier attempts of the step changed, and After what something else changed after
	// them.
	Dirty       *[]string
	DirtyAs     map[string]reprise.Hash
	Left, After []string
	// Found is what of that git knows and no attempt can have changed, as it is on record.
	Found []reprise.Expected
	// Stash is the latest stash when it began, "" if there was none or that is unknown.
	Stash string
	// Held is its end where an earlier process saw it and could not commit the work; nil
	// otherwise. Changed is what has changed since that end.
	Held    *reprise.Event
	Changed []string
	// AtStart are the hashes of the expected files when its agent was started; nil if
	// unknown.
	AtStart map[string]reprise.Hash
	// Files is a fingerprint of the files where it works then, "" if not all of them could be
	// looked at; nil if that is unknown.
	Files *string
	// Settings is the hash of the settings then, zero if there were none, that is unknown or it
	// was told that they changed.
	Settings reprise.Hash

	Account   string // what a limit that it runs into closes
	Through   bool   // it has shown that no limit stands in its way
	ReplyFile string // where it leaves its reply, absolute
	Log       string // where its output is kept, a path in the project
	// Session is the session of its agent if that is known before it starts. Resumes is
	// set if it is an earlier one. Message is the prompt.
	Session, Message string
	Resumes          bool
	// Ends are the events that will record its end, once its work is committed.
	Ends []reprise.Event
	// Ref is the ref of the git remote that has what it left, "" if that is in the project.
	Ref string
	// Ended is set if an earlier process started it and its end is known where it worked:
	// starting it is to ask for that end. Only hands set it.
	Ended bool
	// Problem is why its agent could not be started. Only a preview sets it.
	Problem string
}

// unreadyError says that a step could not be prepared. The attempt is not on record.
type unreadyError struct{ error }

// Unwrap gives the cause.
func (e *unreadyError) Unwrap() error { return e.error }

// start starts a unit of work. When it returns, either an attempt is at work and on
// record as started, or the unit needed no agent and is recorded.
//
// The intent is durable before the process exists: if we die in between, the
// next engine finds an attempt that never ran and settles it by its policy.
func (w *work) start(ctx context.Context, a reprise.Assignment) error {
	if a.Ask != nil {
		return w.ask(ctx, a, []reprise.Asked{*a.Ask})
	}
	f := &Attempt{Assignment: a, Began: w.Now(), Told: w.answersFor(a)}
	if a.Local != "" && len(f.Told) == 0 && w.run.Step(a.Step).Tried() {
		w.refuse(a, &TriedError{Run: w.ref.ID, Step: a.Step, Says: a.Local})
		return nil
	}
	if a.Local != "" {
		return w.settle(ctx, &Seen{Attempt: *f, Conclusion: &reprise.Conclusion{Text: a.Local}})
	}
	f.Number, f.Account = w.hist.Step(a.Step).Attempts+1, w.account(a)
	if a.Child != nil {
		if w.depth >= maxDepth {
			w.refuse(a, fmt.Errorf("work on %s: it is nested %d runs deep", a.Child.ID, w.depth))
			return nil
		}
		w.Waits = slices.DeleteFunc(w.Waits, func(q Waiting) bool { return q.Step == a.Step })
		f.Key, f.Policy, f.Again = w.keyOf(a.Step, f.Number), reprise.Rerun, w.saidAgain(a.Step)
		return w.launch(ctx, f, nil)
	}
	if err := w.hands.Prepare(ctx, f); err != nil {
		w.folders.leave(f)
		if refused, ok := errors.AsType[*startError](err); ok {
			w.refuse(a, refused.error)
			return nil
		}
		return &unreadyError{err}
	}
	if f.Problem != "" {
		return w.setOff(ctx, f)
	}
	w.tellMissing(a)
	return w.launch(ctx, f, f.Expect)
}

// launch records that an attempt is started and what it must leave, and starts it.
func (w *work) launch(ctx context.Context, f *Attempt, expect []reprise.Expected) error {
	// crash: before-intent
	if err := w.record(ctx, reprise.Event{
		Kind: reprise.StepStarted, At: f.Began, Step: f.Step, Phase: f.Unit.Phase, Actor: f.Role, Attempt: f.Number,
		Agent: f.Session, Policy: policyOf(f.Assignment), Expect: expect, Key: f.Key, Answers: f.Told, Open: w.opened(),
		Branch: f.Branch, Base: f.Head, Found: f.Found,
	}); err != nil {
		return err
	}
	f.AtStart = map[string]reprise.Hash{}
	for _, e := range f.Expect {
		// Recording the start may have changed it.
		if now, err := w.hash(e.Path); err == nil {
			f.AtStart[e.Path] = now
		}
	}
	f.Settings, _ = w.hash(path.Join(f.Inside, settings.FileName)) // what cannot be read is unknown
	// crash: intent-recorded
	w.countLaunch(f, 1)
	return w.setOff(ctx, f)
}

// setOff has an attempt started. One that cannot be started is settled at once.
func (w *work) setOff(ctx context.Context, f *Attempt) error {
	err := w.hands.Start(ctx, f)
	if err == nil {
		w.atWork[f.Step] = &Seen{Attempt: *f}
		return nil
	}
	defer w.folders.leave(f)
	result, err := notStartedBy(ctx, err)
	if result == nil {
		return err
	}
	s := &Seen{Attempt: *f, Err: err, Result: *result}
	return w.settle(ctx, s)
}

// notStartedBy is how an attempt ended that could not be started, and why; nil where the
// error is about something else. What is being stopped meanwhile is no fault of the agent.
func notStartedBy(ctx context.Context, err error) (*agent.Result, error) {
	refused, ok := errors.AsType[*startError](err)
	switch {
	case !ok:
		return nil, err
	case ctx.Err() != nil:
		return &agent.Result{Outcome: agent.Stopped}, refused.error
	case errors.Is(err, agent.ErrLost):
		// Its keeper was killed before it could say that the agent runs: it may have run.
		return &agent.Result{Outcome: agent.Lost, CutOff: true, Reason: err.Error()}, refused.error
	}
	return &agent.Result{Outcome: agent.NotStarted, Reason: err.Error()}, refused.error
}

// tellMissing reports inputs of a step of a workflow file that do not exist. Its agent
// decides whether it can do without them.
func (w *work) tellMissing(a reprise.Assignment) {
	if _, own := w.playbook.(workflowPlaybook); !own {
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

// countLaunch counts the processes of agents and commands that were started.
func (w *work) countLaunch(f *Attempt, n int) {
	if f.Child != nil {
		return
	}
	w.sum.Launches += n
	if len(f.Command) > 0 {
		w.sum.Commands += n
	}
}

// prepare fills in what an attempt needs and, for a new one, what it finds where it
// works. checkout makes the run's own checkout and returns its path in the project, "" if
// it is not made. A prepared attempt is registered in its folder.
func (w *work) prepare(ctx context.Context, f *Attempt, checkout func(context.Context) (string, error)) error {
	if f.Recalled {
		f.ReplyFile = w.replyFile(f)
		return w.place(ctx, f, checkout)
	}
	bound, err := w.bind(f.Assignment)
	if err != nil {
		return err
	}
	if s := w.run.Step(f.Step); s != nil {
		f.Number = max(f.Number, s.Attempts+1)
	}
	if err := w.unused(f); err != nil {
		return err
	}
	f.Key = w.keyOf(f.Step, f.Number)
	if err := w.place(ctx, f, checkout); err != nil {
		return err
	}
	if f.Dir != "" { // else there is nothing to look at before it is made
		if err := w.survey(ctx, f); err != nil {
			return err
		}
	}
	return w.instruct(ctx, f, bound)
}

// place sets the folder that an attempt works in: the project, or the project's folder in
// the run's own checkout.
func (w *work) place(ctx context.Context, f *Attempt, checkout func(context.Context) (string, error)) error {
	f.Dir = w.Dir
	if !f.Worktree || w.repo == nil || w.InPlace {
		return nil
	}
	if err := w.builtHere(ctx); err != nil {
		return err
	}
	at, err := checkout(ctx)
	if f.Dir = ""; err != nil || at == "" {
		return err
	}
	f.Inside = path.Join(at, w.repo.Prefix())
	f.Dir, f.Place = w.absolute(f.Inside), f.Inside
	return w.load()
}

// builtHere refuses to go on with what was built here, all of it, on a branch that is no
// longer here: a new one would be empty, or be what it was merged into.
func (w *work) builtHere(ctx context.Context) error {
	if w.hist.Worktree == nil || len(w.run.Steps) == 0 || slices.ContainsFunc(w.run.Steps, func(s reprise.Step) bool { return !s.Status.Closed() }) {
		return nil
	}
	branch := worktree.Branch(w.run)
	if _, ok, err := w.repo.Resolve(ctx, branch); ok || err != nil {
		return err
	}
	return inTheWay(&worktree.RefusedError{
		Path: w.ref.ID, Reason: "all of it was built, on " + branch + ", which is not here",
		Todo: "`reprise resume RUN --option merged` records that it is merged; `reprise resume RUN --option discard` builds it again",
	})
}

// survey looks at the folder before an attempt begins.
func (w *work) survey(ctx context.Context, f *Attempt) error {
	// Register first: what works beside it may change what is seen.
	w.folders.enter(f)
	repo, err := w.repoAt(ctx, f.Dir)
	now := &gitx.Look{}
	if err == nil && repo != nil {
		now, err = repo.Look(ctx)
	}
	if err == nil {
		f.Stash = w.stash(ctx, f.Dir)
		f.Head, f.Branch, f.Dirty, f.DirtyAs = now.Head, w.branch(ctx, f.Dir), &now.Changed, map[string]reprise.Hash{}
		for _, e := range w.printed(ctx, f, now.Changed[:min(len(now.Changed), maxLeft)]) {
			f.DirtyAs[e.Path] = e.Before
		}
		f.Left, f.After = w.leftSince(ctx, f)
		f.Found = w.found(f, now.Untracked)
	}
	if err := w.expects(f); err != nil {
		return err
	}
	if w.repo != nil {
		expects, prefix := *f, w.repo.Prefix()
		w.folders.expects(f, func(name string) bool { return expects.leaves(prefix, name) })
	}
	return nil
}

// expects sets where an attempt must leave what it makes, and what is there before it begins.
func (w *work) expects(f *Attempt) error {
	expect := f.Expect
	f.Expect = nil
	for _, e := range expect {
		var err error
		e.Path = w.placed(f, e.Path)
		if e.Before, err = w.hash(e.Path); err != nil {
			return fmt.Errorf("prepare %s: %w", f.Step, err)
		}
		f.Expect = append(f.Expect, e)
	}
	return nil
}

// maxUnused bounds how many numbers are tried for an attempt.
const maxUnused = 1000

// unused numbers a new attempt and sets the place of its result. A result that exists
// before the attempt began is not its own: then the next number is used.
func (w *work) unused(f *Attempt) error {
	for range maxUnused {
		f.ReplyFile = w.replyFile(f)
		if _, err := os.Lstat(f.ReplyFile); err != nil {
			return nil
		}
		w.notice(reprise.Finding{Code: reprise.CodeLeftover, Severity: reprise.Warning, Subject: f.Step, Message: fmt.Sprintf("a result of attempt %d of %s existed before it began; it does not count", f.Number, f.Step)})
		f.Number++
	}
	return fmt.Errorf("prepare %s: results of its next attempts already exist", f.Step)
}

// replyFile is the file an agent leaves its reply in.
func (w *work) replyFile(f *Attempt) string {
	return filepath.Join(w.absolute(filepath.FromSlash(durable.ScratchPath(w.attemptName(f)))), "result.json")
}

// placed is a project path as it is in the checkout of the attempt.
func (w *work) placed(f *Attempt, name string) string {
	if f.Inside == "" || strings.HasPrefix(name, f.Inside+"/") {
		return name
	}
	return f.Inside + "/" + name
}

// hash is the hash of a project file, zero if it does not exist; see project.HashIn.
func (w *work) hash(name string) (reprise.Hash, error) { return project.HashIn(w.store, name) }

func (w *work) isFolder(name string) bool {
	info, err := fs.Stat(w.store, name)
	return err == nil && info.IsDir()
}

// keyOf is the trailer value of an attempt's commits. It includes when the run began, so
// that a fresh start under the same name has other keys.
func (w *work) keyOf(step string, attempt int) string {
	return fmt.Sprintf("%s/%s#%d@%s", word(w.ref.ID), word(step), attempt, w.life())
}

// life distinguishes a run from one of the same name that began at another time.
func (w *work) life() string { return reprise.TrailerLife(w.began()) }

// began is when the run began, as far as its journal tells.
func (w *work) began() time.Time {
	if w.hist.Began.IsZero() {
		return w.sum.Started
	}
	return w.hist.Began
}

// token marks the processes of an attempt.
func (w *work) token(f *Attempt) string {
	return reprise.AttemptToken(w.Dir, w.ref.Layout, f.Key)
}

// word makes an id that can stand in a trailer, a file name and a sentence.
func word(id string) string { return reprise.TrailerWord(id) }

// attemptName names the files of an attempt.
func (w *work) attemptName(f *Attempt) string { return w.ref.AttemptName(w.began(), f.Step, f.Number) }

func policyOf(a reprise.Assignment) reprise.Ambiguity {
	if a.Policy == "" {
		return reprise.Verify
	}
	return a.Policy
}

// instruct decides which session an attempt continues, and writes the prompt.
func (w *work) instruct(ctx context.Context, f *Attempt, bound binding) (err error) {
	if h := w.hist.Step(f.Step); bound.continues && h.Session != "" && !w.NewSessions {
		// What its own program cannot continue, a new session takes over with a briefing.
		if found, _ := agent.Recorded(bound.preset, bound.env, first(f.Dir, w.Dir), h.Session, w.Now()); found.Broken == "" {
			f.Session, f.Resumes = h.Session, true
		}
	}
	if why := w.notResumed(f.Step, bound, f.Resumes); why != "" {
		w.notice(reprise.Finding{Code: reprise.CodeStaleMarker, Severity: reprise.Warning, Subject: f.Step, Source: reprise.Source{File: w.ref.Path}, Message: why})
	}
	if len(f.Command) > 0 {
		return nil // a command of the person's own is told by its arguments
	}
	task := w.task(f)
	if err := w.tellInAir(ctx, f, bound, &task); err != nil {
		return err
	}
	if w.takesOver(f.Step, bound, f.Resumes) {
		if err := w.brief(ctx, f, &task); err != nil {
			return err
		}
	}
	if f.Message, err = prompt.Render(task, w.Prompts); err != nil {
		return fmt.Errorf("write the prompt of %s: %w", f.Step, err)
	}
	return nil
}

// job is what the agent of an attempt is started with.
func (w *work) job(f *Attempt, bound binding) agent.Job {
	job := agent.Job{
		Run: noNul(w.ref.ID), Step: noNul(f.Step), Attempt: f.Number, Role: noNul(f.Role), Key: f.Key, Token: w.token(f), Project: w.Dir,
		Dir: f.Dir, Result: f.ReplyFile, Command: bound.command, Env: bound.env, Secrets: bound.secrets, Prompt: f.Message,
		Timeout: bound.timeout, Silence: bound.silence, Call: bound.call, Session: f.Session, Resume: f.Resumes, Answers: map[string]string{},
		Grants: granted(w.events, f.Step, bound.preset),
	}
	if f.Commit && w.repo != nil {
		job.GitDir = string(w.repo.CommonDir())
	}
	for _, e := range f.Expect {
		job.Expect = append(job.Expect, noNul(strings.TrimPrefix(e.Path, f.Inside+"/")))
	}
	for _, id := range f.Told {
		q, _ := w.question(id)
		job.Answers[id] = noNul(q.Answer)
	}
	for _, id := range f.Told {
		if q, _ := w.question(id); q.Own != "" { // it looks for its own name; the latest counts
			job.Answers[q.Own] = noNul(q.Answer)
		}
	}
	return job
}

// noNul makes a text that can be a value in an environment.
func noNul(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// task is what the prompt is made of.
func (w *work) task(f *Attempt) prompt.Task {
	t := prompt.Task{
		Assignment: f.Assignment, Run: w.ref.ID, Attempt: f.Number, Dir: f.Dir, Result: f.ReplyFile,
		Trailer: reprise.TrailerKey + ": " + f.Key,
	}
	h := w.hist.Step(f.Step)
	if h.Cutoffs > 0 {
		t.Earlier = append(t.Earlier, fmt.Sprintf("An earlier attempt was cut off (%s). What it changed is still there, whole or not: look at it before you do anything again.", journal.Times(h.Cutoffs)))
	}
	if h.Ref != "" && !f.Recalled { // whoever has an attempt carried out elsewhere brings it there
		t.Earlier = append(t.Earlier, "An earlier attempt worked on another machine. What it left unfinished may not be among the files here: the block named `left elsewhere` says how to see it. Look at it before you begin.")
		t.Data = append(t.Data, reprise.Data{Name: "left elsewhere", Text: "git fetch origin " + h.Ref + " && git diff HEAD...FETCH_HEAD"})
	}
	if commits := w.Unrecorded[f.Step]; len(commits) > 0 {
		t.Earlier = append(t.Earlier, "Commits were made that no record tells of. They may hold this work or a piece of it: look at them before you do anything again.")
		t.Data = append(t.Data, reprise.Data{Name: "commits that are not on record", Text: strings.Join(commits, "\n")})
	}
	if len(h.Reported) > 0 {
		var noted []string
		for i := range h.Reported {
			n := reprise.ReportedBy(&h.Reported[i]).Note(h.Reported[i].At, reprise.Source{})
			noted = append(noted, n.Ledger+" "+n.Word)
		}
		t.Earlier = append(t.Earlier, "Earlier attempts noted what they began and finished: the block named `noted by earlier attempts`. It has not been verified: look before you rely on it or do it again.")
		t.Data = append(t.Data, reprise.Data{Name: "noted by earlier attempts", Text: strings.Join(noted, "\n")})
	}
	if h.LastFailure != nil {
		t.Earlier = append(t.Earlier, fmt.Sprintf("The last attempt failed (%s so far).", journal.Times(h.Failures)))
		t.Data = append(t.Data, reprise.Data{Name: "why the last attempt failed", Text: h.LastFailure.Text})
	}
	for _, id := range f.Told {
		q, _ := w.question(id)
		t.Answers = append(t.Answers, prompt.Answer{Question: q.Text, Text: q.Answer})
	}
	return t
}
