package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// World is the id of a git tree: all files of the project that git does not ignore.
// A file larger than the limit of package world stands in it by size and time instead
// of content. The empty World is no world at all.
type World string

// Record is one line of the journal. Exactly one of the pointers is set.
//
// Once Append has returned, the record is durable: it survives a kill and a power cut.
// What it says happened, even if its move was not made yet.
type Record struct {
	Seq int       `json:"seq"` // from 1, without gaps
	At  time.Time `json:"at"`

	Begin  *Begin  `json:"begin,omitempty"`
	Start  *Start  `json:"start,omitempty"`
	End    *End    `json:"end,omitempty"`
	Ask    *Ask    `json:"ask,omitempty"`
	Answer *Answer `json:"answer,omitempty"`
	Undo   *Undo   `json:"undo,omitempty"`
	Made   *Made   `json:"made,omitempty"`
	Plan   *Plan   `json:"plan,omitempty"`
	Note   *Note   `json:"note,omitempty"`
	Close  *Close  `json:"close,omitempty"`
}

// Begin opens a run. It is always the first record.
type Begin struct {
	Run  string `json:"run"`
	Plan string `json:"plan"` // the file of the convention, relative to the project
	// Of names the convention, Kind what its runs are, and ID the run, for people.
	Of   string `json:"of,omitempty"`
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"`
	// Text is what it was begun for, and Move makes its files, where they were not there.
	Text string `json:"text,omitempty"`
	Move *Move  `json:"move,omitempty"`
}

// Plan changes the plan where no attempt ended: it says what its files show.
type Plan struct {
	Why     string   `json:"why"`
	Revised bool     `json:"revised,omitempty"` // a person changed what it asks for: what failed is tried anew
	Skips   string   `json:"skips,omitempty"`   // the question that is closed without an answer
	Reopens []string `json:"reopens,omitempty"`
	Move    *Move    `json:"move,omitempty"`
}

// Start says that an attempt of a step begins. It is written before its agent exists: an
// attempt without an End was cut off, or is at work.
type Start struct {
	Step    string `json:"step"`
	Title   string `json:"title,omitempty"`
	Attempt int    `json:"attempt"` // from 1, for each step
	// Before is the world the step began in. An attempt that continues what another one
	// left has the world of the first, so that the step's commit holds both halves.
	Before World `json:"before"`
	Head   Head  `json:"head"` // likewise of the first
	// Staged is the user's index, as a world: what he stages from now on is his.
	Staged World `json:"staged,omitempty"`
	Place  Place `json:"place,omitempty"`
	// Boot names the time between two starts of the machine: where it is another one, the power
	// went while the attempt was at work, and what it wrote last may be gone.
	Boot string `json:"boot,omitempty"`
	Move *Move  `json:"move,omitempty"` // the plan says that it has begun
	// Inner names the run that does the step: no agent of this one is at work.
	Inner string `json:"inner,omitempty"`
	// Again says that it was done before, and that the plan has it again.
	Again bool `json:"again,omitempty"`
}

// Head is where the user's branch stands.
type Head struct {
	Commit string `json:"commit,omitempty"` // empty on a branch without commits, and without git
	Branch string `json:"branch,omitempty"` // a full ref name; empty if HEAD is detached
}

// Place is where the agent of an attempt works.
type Place string

// Places. Here is the default: a worktree of 50,000 files takes four seconds to make.
const (
	Here   Place = ""       // in the project itself
	Own    Place = "own"    // in a worktree of its own, for steps side by side: own/1, own/2 …
	Branch Place = "branch" // on a branch of its own, where a convention wants that
)

// Outcome is how an attempt ended.
type Outcome string

// Outcomes. Only Done has a move: what failed or was cut off stays in the working tree,
// and the next attempt continues on it.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Cut     Outcome = "cut"     // killed, with the engine or while none was there
	Limited Outcome = "limited" // ended by a usage limit: no fault of its own
	Paused  Outcome = "paused"  // stopped because somebody asked, or not ready to begin: it counts for nothing
	Asking  Outcome = "asking"  // its agent needs an answer to go on
	Passed  Outcome = "skipped" // a person left it out: nothing was done, and nothing is to be done
)

// End says that an attempt is over. If it is Done, the step is done: it is never started
// again unless a person says so.
type End struct {
	Step    string  `json:"step"`
	Title   string  `json:"title,omitempty"`
	Attempt int     `json:"attempt"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`  // in words: what showed it
	Says    string  `json:"says,omitempty"` // what its convention makes of it: its Judgement's Outcome
	After   World   `json:"after"`
	// Before replaces that of the step: files that are not its work are in it as they are.
	Before World `json:"before,omitempty"`
	// Marked are other steps that the plan calls done since the attempt began. That proves
	// nothing: a person says what they are.
	Marked []string `json:"marked,omitempty"`
	// Ask is the question of an agent that cannot go on without an answer.
	Ask *Ask `json:"ask,omitempty"`
	// Session is that of its agent, where the next attempt may continue it.
	Session string `json:"session,omitempty"`
	// Usage is what the attempt used, in words that only who counts it reads; empty if no agent
	// was at work.
	Usage json.RawMessage `json:"usage,omitempty"`
	// Account and Until are, for a limit, what it applies to, and when it is over if that is
	// known.
	Account string    `json:"account,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	// Uses are the questions of the plan whose answers it used.
	Uses []string `json:"uses,omitempty"`
	// Reopens are steps that were done and that the plan opens again because of this end: a
	// review that sends work back, the next round of a loop.
	Reopens []string `json:"reopens,omitempty"`
	Move    *Move    `json:"move,omitempty"`
}

// Ask puts a question to a person. The run rests until the Answer.
type Ask struct {
	ID         string `json:"id"`
	Divergence `json:"divergence"`
	// Of is the question of an agent or a plan: the answer to it is text. More are asked after
	// it, one by one.
	Of   *Question  `json:"of,omitempty"`
	More []Question `json:"more,omitempty"`
}

// next gives the question that is asked once this one is answered, nil if there is none.
func (a *Ask) next() *Ask {
	if len(a.More) == 0 {
		return nil
	}
	id, n, _ := strings.Cut(a.ID, ".")
	count, _ := strconv.Atoi(n)
	out := *a
	out.ID, out.Of, out.More, out.Shows = fmt.Sprintf("%s.%d", id, max(count, 1)+1), &a.More[0], a.More[1:], a.More[0].Text
	return &out
}

// Answer is what a person chose.
type Answer struct {
	ID     string `json:"id"`
	Option string `json:"option,omitempty"`
	Text   string `json:"text,omitempty"` // to a question of an agent or of the plan
	Head   Head   `json:"head,omitzero"`  // where the project stood then
	// Lapsed says why the question needs no answer any more: nobody gave one.
	Lapsed  string   `json:"lapsed,omitempty"`
	Reopens []string `json:"reopens,omitempty"`
	Move    *Move    `json:"move,omitempty"`
}

// Made says that the move of a record was made, and where the branch stood afterwards. It
// is not flushed by itself: where a power cut takes it, the move is looked at again, and
// made again only where the project still is where it was to be made.
type Made struct {
	Of   int  `json:"of"` // the record
	Head Head `json:"head,omitzero"`
}

// Undo opens a step again. Its move takes the step's own difference back out of the
// project; without one, the work stays and is continued.
type Undo struct {
	Step string `json:"step"`
	Why  string `json:"why,omitempty"`
	// Keep leaves the work where it is: what was begun is continued.
	Keep bool  `json:"keep,omitempty"`
	Move *Move `json:"move,omitempty"`
}

// Note is for people. It changes no state.
type Note struct {
	Text string `json:"text"`
	// Left says that an engine left the run in good order, and what the run waits for: it is the
	// action of its last decision.
	Left string `json:"left,omitempty"`
	// Taken says that an engine took the run up, in this mode, with the project's lease of this
	// number.
	Taken string `json:"taken,omitempty"`
	Lease uint64 `json:"lease,omitempty"`
	// Call is one of a session of which a person says whether it took effect, Landed what he said,
	// in words that only who asked reads.
	Call   string `json:"call,omitempty"`
	Landed string `json:"landed,omitempty"`
}

// Close ends the run. An Undo opens it again.
type Close struct {
	Why string `json:"why"`
	// Complete says that all steps were done: a step that is added opens the run again.
	Complete bool  `json:"complete,omitempty"`
	Move     *Move `json:"move,omitempty"`
}

// Move is everything that follows from a record, named completely, so that it can be
// made by anybody, at any time, any number of times:
//
//  1. The working tree goes From one world To another. A file that is neither as in From
//     nor as in To was changed by somebody since; it is merged, and left alone where that
//     has conflicts.
//  2. A commit on the user's branch applies the difference of Base and To to HEAD, and
//     nothing else: what the user had not committed stays so. The commit carries the
//     number of the record, so that it is never made twice.
//  3. The user's index follows HEAD in the files of the commit. What he staged stays.
type Move struct {
	Base World `json:"base"`
	From World `json:"from"`
	To   World `json:"to"`
	Head Head  `json:"head"` // when the record was made: the commit is looked for above it
	// Since is the commit at which the attempt began. What was committed between the two is
	// the user's word on the same files, where it is not the agent's.
	Since string `json:"since,omitempty"`

	Whole []string `json:"whole,omitempty"` // files that are committed as they stand in To
	// Own are files of the convention, as they are committed where the user has changes in
	// them that are not: blobs, by path. They never make a question.
	Own map[string]string `json:"own,omitempty"`

	// Aside are files of the difference that are not committed.
	Aside []string `json:"aside,omitempty"`

	// Message is that of the commit. Without one, and where it would change nothing, no commit
	// is made.
	Message string `json:"message,omitempty"`
}

// Worlds gives all that a record names, and that must be there for it.
func (r Record) Worlds() (out []World) {
	switch {
	case r.Start != nil:
		out = append(out, r.Start.Before, r.Start.Staged)
	case r.End != nil:
		out = append(out, r.End.Before, r.End.After)
	}
	if m := r.Move(); m != nil {
		out = append(out, m.Base, m.From, m.To)
		for _, blob := range m.Own {
			out = append(out, World(blob))
		}
	}
	return out
}
