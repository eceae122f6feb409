package reprise

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Claim is one ledger's statement about one subject. Overruled claims are kept too, so
// that every answer can be explained.
type Claim struct {
	Ledger string    // the file or file family that makes it, e.g. "STATE.md"
	Status Status    // the meaning of Word
	Word   string    // the word as written, not escaped
	Source Source    // where
	At     time.Time // the time the ledger gives for it, zero if none
	Won    bool      // the layout's rule chose this claim
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
	Attempts int      // recorded launches
	Settled  int      // how many of them were over when it was last accepted
	Excused  int      `json:",omitempty"` // how many since then ended with a limit or a question
	Ours     bool     // our own journal says that it was begun
	Rejected int      // how often in a row its work was sent back
	Again    bool     // a person wants all of it repeated, and it has not ended since
	Optional bool     `json:",omitempty"` // it need not be done, and starts only if a person asks for it
	Claimed  bool     // its files mark it done, but nothing that was to do it did: a person decides
	Removed  *Listed  `json:"-"` // how it stood in the files before an attempt deleted it: a person decides; nil if it is there
	Ended    int      // the position of its latest end in the journal, from 1; 0 if there is none
	Commits  []string // commits that the ledgers record for it
	Pieces   bool     // those commits are intermediate: they show that it was begun, not that it is complete
	Files    []string // files its plan or ledger says it touches
	Made     []string `json:",omitempty"` // files its plan or ledger says it makes; empty if it tells only what it touches
	Traces   []Trace  // how to recognize a commit for this step in git's history
	Source   Source   // where it is declared
	// Accepted is how its end was accepted here, nil if our journal has no valid
	// acceptance. Held is why the work of its last attempt is not committed; "" if
	// nothing is waiting to be committed.
	Accepted *Acceptance `json:",omitempty"`
	Held     string      `json:",omitempty"`
	// Noted are the reports of attempts' agents since it was last accepted. They are
	// claims and decide nothing.
	Noted []Claim `json:",omitempty"`
	// Parts are the remaining parts of a step that its ledger counts part by part, in
	// order: the open tasks of a plan. Git may have some of them.
	Parts []Step

	// journal is the step's status according to the journal alone; oversteppedBy is the
	// step whose attempt marked this one done, or ""; filed is the status in the files
	// while that is not believed, since an attempt has no recorded end, else zero; said is
	// what its last attempt, which was not accepted, left in the files, nil if nothing, and
	// overrun tells that it was an attempt at a step before it;
	// tried is set if an attempt was begun and the step has not ended since, leftOut if the
	// last that is on record of it is that it was skipped.
	journal       standing
	oversteppedBy string
	leftOut       bool
	filed         Status
	said          *Says
	overrun       bool
	tried         bool

	// Grade says how well a Done is supported, Evidence by what. Both are set when claims
	// are compared with what the world says.
	Grade    Grade
	Evidence []Evidence
	// Away tells of a step that the files of its run call done that its work is not here;
	// nil if it is, or nothing tells. It is set with the grade.
	Away *Away `json:",omitempty"`
}

// Away is what is known of work that is not where its run continues.
type Away struct {
	Why    string // one clause
	Commit string // that has it, "" if none is known
	Branch string // that has the commit, "" if none does
	Revert string // the commit that took it back, "" if none did
}

// Leaves lists the files by which the step's work can be told.
func (s *Step) Leaves() []string {
	if len(s.Made) > 0 {
		return s.Made
	}
	return s.Files
}

// NamesIn returns the words of a text as names of files and ids are written in it.
func NamesIn(text string) []string {
	between := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("`'\"()[]{}<>,;:*|", c) }
	words := strings.FieldsFunc(text, between)
	for i := range words {
		words[i] = strings.TrimPrefix(strings.TrimRight(words[i], "."), "./")
	}
	return words
}

// MayBeAway reports whether the work of done steps is looked for: a run of another checkout
// continues there, where it is.
func (r *Run) MayBeAway() bool {
	return (r.State.Open() || r.State == Complete) && !strings.HasPrefix(r.Path, "../")
}

// Named lists the files that the title of a task names.
func (r *Run) Named(s *Step) []string {
	if r.Kind != KindTasks {
		return nil
	}
	names := NamesIn(s.Title)
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "#")
	}
	return slices.DeleteFunc(names, func(word string) bool {
		first, _, _ := strings.Cut(word, "/")
		ext := strings.TrimPrefix(path.Ext(word), ".")
		return !strings.ContainsFunc(ext, unicode.IsLetter) || strings.ContainsFunc(ext, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) ||
			!fs.ValidPath(word) || strings.ContainsAny(word, "@=$\\~?!") || first != word && strings.Contains(first[1:], ".") || strings.HasPrefix(path.Base(word), ".")
	})
}

// Unit returns the step as something that may be started, and why.
func (s *Step) Unit(reason string) Unit {
	return Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: reason}
}

// Tried reports whether an attempt at the step was begun here and the step has not ended
// since. Its agent may have written whatever the files say of the step: they do not close it.
func (s *Step) Tried() bool { return s != nil && s.tried }

// Due reports whether the step, as it is, keeps the run from being complete.
func (s *Step) Due() bool { return !s.Status.Closed() && (!s.Optional || s.Again) }

// Acceptance is the accepted end of a step, from our own journal.
type Acceptance struct {
	Commit string    // holds its work, "" if none does
	Key    string    // identifies the attempt in commit trailers
	Base   string    // the commit that the attempt began on, "" if unknown
	At     time.Time // when it was accepted
	Gone   []string  // what it should have left and is gone
	// Emptied is what it left with content and is empty now.
	Emptied []string `json:",omitempty"`
	// Unread is what it left and cannot be looked at now: whether it is there is unknown.
	Unread []string `json:",omitempty"`
	// Earlier are accepted attempts at the step, or at parts of it, whose work is in other
	// commits.
	Earlier []Acceptance `json:",omitempty"`
	// WordAlone tells that its agent said it is done and changed nothing.
	WordAlone bool `json:",omitempty"`
	// Changed is what it left and something other than the run changed since, as it is
	// now.
	Changed []Expected `json:",omitempty"`
}

// SaidAlone says, behind the name of a step, that WordAlone is set.
const SaidAlone = ": the agent said it is done and changed nothing"

// Unrecorded returns the commits that may contain part of a step: they name it or its
// part, and the ledger does not mention them.
func (s *Step) Unrecorded() []Evidence {
	var out []Evidence
	for _, e := range s.Evidence {
		if e.Kind == EvidencePartial && e.For {
			out = append(out, e)
		}
	}
	return out
}

// Trace is a rule by which a layout's commits name a step.
type Trace struct {
	// Subject must begin the commit's subject, or occur anywhere in it if Anywhere is
	// set. It is case-sensitive.
	Subject  string
	Anywhere bool
	// Ends, with Anywhere, requires that nothing follow it.
	Ends bool
	// Since, if set, excludes older commits, because ids repeat between runs.
	Since time.Time
	// Partial marks a rule for intermediate commits: they show that the step was begun,
	// not that it is complete.
	Partial bool
}

// Kinds of evidence. A partial commit shows that a step was begun; a commit shows that it
// landed.
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
	// Elsewhere says that it is a commit which the run's checkout does not have.
	Elsewhere bool
}

// Artifact is a file that a run refers to.
type Artifact struct {
	Name     string // what it is for, e.g. "spec", "constitution"
	Path     string
	Presence Presence
	Critical bool   // the run cannot continue without it
	NeededBy string // the phase or step that needs it
	MadeBy   string // the id of the step that makes it, if one does
	Source   Source // where it is mentioned
}

// Step returns the step with this id, or nil.
func (r *Run) Step(id string) *Step {
	if len(r.Steps) > indexed {
		return r.find(id)
	}
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// StepOrPart returns the step with this id, or the open part of one, or nil.
func (r *Run) StepOrPart(id string) *Step {
	if s := r.Step(id); s != nil {
		return s
	}
	return r.part(id)
}

func (r *Run) part(id string) *Step {
	for i := range r.Steps {
		for k := range r.Steps[i].Parts {
			if p := &r.Steps[i].Parts[k]; p.ID == id {
				return p
			}
		}
	}
	return nil
}

// indexed is the number of steps from which an index is used.
const indexed = 256

// find is Step for large runs. The index is built on the first call and rebuilt if the
// steps changed.
func (r *Run) find(id string) *Step {
	if i, ok := r.index[id]; ok && i < len(r.Steps) && r.Steps[i].ID == id && r.indexedSteps == len(r.Steps) {
		return &r.Steps[i]
	}
	if r.index != nil && r.indexedSteps == len(r.Steps) {
		if _, ok := r.index[id]; !ok {
			return nil
		}
	}
	r.index, r.indexedSteps = make(map[string]int, len(r.Steps)), len(r.Steps)
	for i := len(r.Steps) - 1; i >= 0; i-- {
		r.index[r.Steps[i].ID] = i // of two with the same id, the first
	}
	if i, ok := r.index[id]; ok {
		return &r.Steps[i]
	}
	return nil
}
