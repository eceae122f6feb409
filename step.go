package reprise

import "time"

// Claim is a statement by one ledger about one subject. Claims are kept also
// when they lose, so that every answer can be explained.
type Claim struct {
	Ledger string    // the file or file family that speaks, e.g. "STATE.md"
	Status Status    // what the word means
	Word   string    // the word as written, not escaped
	Source Source    // where
	At     time.Time // when the ledger says so, zero if it does not
	Won    bool      // the layout's rule let this claim decide
}

// Step is one unit of work of a run.
type Step struct {
	ID       string
	Title    string
	Phase    string // the phase, wave or plan it belongs to
	Path     string // the file that holds the unit itself, if it has one
	Role     string // who does it: planner, coder, dev, qa, …
	Status   Status
	Claims   []Claim
	Needs    []string // ids of steps that must be closed first
	Attempts int      // launches on record
	Settled  int      // how many of them were over when it was last accepted, on record
	Excused  int      `json:",omitempty"` // how many since then ended by a limit or with a question, on record
	Ours     bool     // our own journal tells that it was begun
	Rejected int      // how often in a row it ended with the work sent back, on record
	Again    bool     // a person wants it done again, all of it, and it was not ended since, on record
	Optional bool     `json:",omitempty"` // it need not be done, and is not begun: only a person who asks for it has it started
	Claimed  bool     // its files mark it done and nothing that was to do it did: a person decides
	Removed  *Listed  `json:"-"` // how it stood in the files that an attempt took it out of: a person decides; nil if it is there
	Ended    int      // the place of its latest end in the journal, from 1; 0 if none is there
	Commits  []string // commits the ledgers record for it
	Pieces   bool     // those commits are made on the way: they show that it was begun, not that it is whole
	Files    []string // files its plan or ledger says it touches
	Traces   []Trace  // how a commit for this step can be told in git's history
	Source   Source   // where it is declared
	// Accepted is how its end was accepted here, nil where our own journal tells of none
	// that counts. Held is why git could not commit the work of its last attempt, which
	// ended and is on record; "" where nothing waits to be committed.
	Accepted *Acceptance `json:",omitempty"`
	Held     string      `json:",omitempty"`
	// Noted is what the agents of attempts told of it since it was last accepted. They are
	// claims that decide nothing.
	Noted []Claim `json:",omitempty"`
	// Parts are what is left of a step that its ledger counts part by part, in
	// the order of the work: the open tasks of a plan. Git may show some of them.
	Parts []Step

	// journal is how the step stands by the journal alone, oversteppedBy the step whose
	// attempt marked this one done, "" if none did.
	journal       standing
	oversteppedBy string

	// Grade says how well a Done is founded; Evidence is what it rests on.
	// Both are filled when what the world says is held against the claims.
	Grade    Grade
	Evidence []Evidence
}

// Unit gives the step as something that may be started, and why.
func (s *Step) Unit(reason string) Unit {
	return Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: reason}
}

// Due reports whether a run is not complete while the step is as it is.
func (s *Step) Due() bool { return !s.Status.Closed() && (!s.Optional || s.Again) }

// Acceptance is the accepted end of a step in our own journal.
type Acceptance struct {
	Commit string    // holds its work, "" if none does
	Key    string    // what commits of the attempt carry in their trailer
	At     time.Time // when it was accepted
	Gone   []string  // what it was to leave and is gone
	// Changed is what it left and something else than the run changed since, as it is now.
	Changed []Expected `json:",omitempty"`
}

// Unrecorded gives the commits that may hold a piece of a part of a step: they name
// it or the step, and the ledger does not tell of them.
func (s *Step) Unrecorded() []Evidence {
	var out []Evidence
	for _, e := range s.Evidence {
		if e.Kind == EvidencePartial && e.For {
			out = append(out, e)
		}
	}
	return out
}

// Trace is a convention by which a layout's commits name a step.
type Trace struct {
	// Subject must stand at the beginning of the commit's subject, or
	// anywhere in it if Anywhere is set. Case counts.
	Subject  string
	Anywhere bool
	// Ends, with Anywhere, asks that nothing follows it in the commit's subject.
	Ends bool
	// Since, if set, leaves older commits out: ids repeat between runs.
	Since time.Time
	// Partial marks a convention for commits made on the way: they show that
	// the step was begun, not that it is whole.
	Partial bool
}

// Kinds of evidence. A partial commit shows that a step was begun; a commit
// that it landed.
const (
	EvidenceCommit   = "commit"
	EvidencePartial  = "partial-commit"
	EvidenceArtifact = "artifact"
	EvidenceCommand  = "command"
)

// Evidence is one fact from outside the ledgers about a step.
type Evidence struct {
	Kind   string
	Text   string // one sentence
	Source string // a commit, a file:line, a command
	For    bool   // supports that the step is done; false: contradicts it
	// Elsewhere tells that it is a commit which the checkout of the run does not have.
	Elsewhere bool
}

// Artifact is a file a run refers to.
type Artifact struct {
	Name     string // what it is for, e.g. "spec", "constitution"
	Path     string
	Presence Presence
	Critical bool   // the run cannot continue without it
	NeededBy string // the phase or step that needs it
	MadeBy   string // the id of the step that makes it, if one does
	Source   Source // where it is referred to
}
