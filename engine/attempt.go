package engine

import (
	"fmt"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/journal"
	"reprise/prompt"
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

// token marks the processes of an attempt.
func (w *work) token(f *Attempt) string {
	return reprise.AttemptToken(w.Dir, w.ref.Layout, f.Key)
}

// word makes an id that can stand in a trailer, a file name and a sentence.
func word(id string) string { return reprise.TrailerWord(id) }

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
