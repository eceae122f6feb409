package engine

import (
	"context"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/upkeep"
	"reprise/worktree"
)

// Hands do what reaches beyond the run's own files: they start agents, run git and wait.
// Those of a preview only say what would be done. They take and return plain data, so
// that another program can carry out the same rules.
type Hands interface {
	// Keep takes a snapshot of the state, and with going of the tree too, so that what
	// follows can be undone. It returns the name of the snapshot.
	Keep(ctx context.Context, r *reprise.Run, note string, going bool) (string, error)
	// Prepare readies the place that an attempt works in, and fills in what it needs and
	// finds there. For one of an earlier process it only finds the place.
	Prepare(ctx context.Context, f *Attempt) error
	// Start starts the agent of an attempt that is on record, or the child run that does
	// it. Await returns its end.
	Start(ctx context.Context, f *Attempt) error
	// Verify starts the user's command that says whether an attempt is done. Await
	// returns its end.
	Verify(ctx context.Context, f *Attempt) error
	// Land commits what an attempt left uncommitted and makes everything it left durable.
	// A commit that git refuses is in the Landing; the error says that not even that
	// could be recorded.
	Land(stop context.Context, f *Attempt) (Landing, error)
	// CommitRecord commits what an event that is being recorded changes in a list of tasks
	// that git knows, with the event's key. Where git cannot commit, it is left for the
	// user, who is told.
	CommitRecord(ctx context.Context, ev *reprise.Event)
	// Await waits for an end, or until a time that is not zero, or for an answer in the
	// inbox; for the latter two it returns nil. While nothing is at work it also ends
	// with ctx.
	Await(ctx context.Context, until time.Time) (*End, error)
	// Stop asks everything at work to stop because of an error.
	Stop(cause error)
}

// Archive carries out choices that give up or merge what a run made.
type Archive interface {
	// PutAway archives the state of a run that begins again elsewhere, GiveUp that of a
	// run that does not.
	PutAway(old reprise.Ref) (string, error)
	GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error)
	// Merge merges what was built into the project's branch, Discard archives it.
	Merge(ctx context.Context) (worktree.Merged, error)
	Discard(ctx context.Context) (worktree.Discarded, error)
}

// End is the end of an attempt, or of the command that verifies one.
type End struct {
	Step   string
	Result agent.Result // of an agent
	Ran    *Summary     // of a run of its own
	// Err is why the verify command failed; otherwise why the end is unknown.
	Err      error
	Findings []reprise.Finding
	// AtStart are the hashes of the expected files when the agent was started, if that was
	// in another process; see Attempt.
	AtStart map[string]reprise.Hash
}

// startError says that no agent is configured for a unit, or that it cannot be started.
type startError struct{ error }

// Unwrap gives the cause.
func (e *startError) Unwrap() error { return e.error }
