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

// Attempt is one attempt at a unit of work.
type Attempt struct {
	reprise.Assignment
	Number    int
	Key       string // what its commits carry
	Began     time.Time
	Dir       string // where it works, absolute
	ReplyFile string // where it leaves its reply, absolute
	// Session is the session of its agent if that is known before it starts. Resumes is
	// set if it is an earlier one. Message is the prompt.
	Session, Message string
	Resumes          bool
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
	for _, e := range f.Expect {
		job.Expect = append(job.Expect, noNul(e.Path))
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
	return t
}
