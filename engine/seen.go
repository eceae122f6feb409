package engine

import (
	"time"

	"reprise"
	"reprise/agent"
	"reprise/journal"
)

// Seen is what is known of an attempt that is over, as plain data. What is expensive to
// find out is empty until an Ending asks for it.
type Seen struct {
	Attempt
	// Result is how it ended. Its Outcome is "" for an attempt of an earlier process,
	// whose end was not seen.
	Result agent.Result
	// Ran is the summary of the child run that did it.
	Ran *Summary
	// Err is why its agent was not started.
	Err error
	// Verified is what the verify command said, Refuted why it failed. Verifying is set
	// while it runs.
	Verified  Verified
	Refuted   string
	Verifying bool

	// Run, Events and History are the run, its events and those of the step, as of now.
	Run     *reprise.Run
	Events  []reprise.Event
	History journal.StepHistory
	Now     time.Time
	// Stopping is set if everything is to stop, Git if the project is in a repository.
	Stopping, Git bool

	// Missing says what it should have left and did not, "" if nothing is missing.
	// MadeBefore is set if earlier attempts that were not accepted had changed all of
	// that.
	Missing    string
	MadeBefore bool
	// Reply is the result that it left, if that was not seen.
	Reply *reprise.Reply
	// Filed is the status of the step in the files if that is a closed one, else "".
	// An attempt whose end was not seen may have written that itself, before it did
	// anything: it proves nothing.
	Filed string
	// Wrote is what the files say of the step where that is neither done nor open; nil
	// otherwise. Its agent wrote that.
	Wrote *Wrote
	// Denied is set if its verify command failed before.
	Denied bool
	// Commits is what git has of it; nil before it was looked for.
	Commits *Commits
	// Landed is the proof that it finished, once that is on record.
	Landed string
	// Conclusion is what the playbook makes of it; nil before it was asked.
	Conclusion *reprise.Conclusion
	// Landing is what came of committing its work; nil before.
	Landing *Landing
	// Billed is set once what it used is on record.
	Billed bool
}

// Wrote is what the files say of a step.
type Wrote struct {
	Status reprise.Status
	// Text is that in the words of the files, with the place.
	Text string
	// Was is how the step stood when it was started, where it is no longer listed; else
	// nil.
	Was *reprise.Listed
	// Gone says that the branch lost commits, the run acceptance criteria, or the project other
	// runs: a person is asked, whatever else came of the attempt.
	Gone bool
}

// Commits is what git has of an attempt.
type Commits struct {
	Accepted string // the commit that was made when everything was there
	Before   string // the latest of attempts before it
}

// Landing is what came of making the work of an attempt durable.
type Landing struct {
	Commit string    // "" if there is none
	At     time.Time // of its end
	Ended  time.Time // see reprise.Event
	Unheld []string  // see reprise.Event
	Empty  bool      // it left nothing at all: no commit, no file
	Unsure string    // why whether it is Empty is unknown; it counts as Empty
	Err    error     // why git cannot commit it
	Own    bool      // that is the attempt's own doing
}

// Verified is what the user's verify command says of an attempt.
type Verified uint8

// The answers.
const (
	NotVerified   Verified = iota // it was not asked yet
	VerifiedDone                  // it calls it done
	VerifiedNot                   // it does not
	VerifyStopped                 // it was stopped before it could say anything
	VerifySkipped                 // it is not run in a preview
)

// Move is what has to be found out or done before an end can be recorded.
type Move uint8

// The moves.
const (
	RecordEnd      Move = iota // nothing: how it ended is recorded
	LookForCommits             // fill in Commits and Changed
	RunVerify                  // fill in Verified
	RecordLanded               // record that it finished, and fill in Landed
	AskPlaybook                // fill in Conclusion
	LandWork                   // make its work durable, and fill in Landing
)

// Ending is what to do next about an attempt that is over.
type Ending struct {
	Move Move
	// Record is how it ended, as a group of events. Recording adds what the attempt left
	// to those about it.
	Record []reprise.Event
	// Outcome and Text are reported. Without an Outcome nothing is.
	Outcome, Text string
	// Accepted is set if the step is finished, Failed if the attempt is reported as
	// failed, Found if its end was found by evidence.
	Accepted, Failed, Found bool
	// Park is why only a person can move the step on. Unpark is set once they did.
	Park   string
	Unpark bool
	// Hold is set if finished work cannot be committed, Refuse if the agent cannot be
	// started, or cannot work as it is set up.
	Hold, Refuse bool
	// Limit is set if a limit closed the account that the first event names.
	Limit bool
	// Used is the question whose answer ended the attempt.
	Used string
	// Waits are open questions of the child run.
	Waits []reprise.Question
}
