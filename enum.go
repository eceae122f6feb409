package reprise

import (
	"fmt"
	"slices"
)

// Enumerations are small integers whose zero value is "unset". Their words are
// part of the JSON contract and frozen by a test: a word is never renamed, new
// words are added at the end.

// word returns the frozen word of an enumeration value, or "" for unset.
func word[E ~uint8](words []string, e E) string {
	if int(e) < len(words) {
		return words[e]
	}
	return fmt.Sprintf("invalid(%d)", e)
}

// parse is the inverse of word. An unknown word is an error: a caller that
// reads a foreign file must decide what it means there.
func parse[E ~uint8](kind string, words []string, text []byte) (E, error) {
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("parse %s: unknown word %q", kind, text)
	}
	return E(i), nil
}

// StateWords, VerdictWords and SeverityWords list the words that may stand in
// the JSON documents, for schemas and help texts.
func StateWords() []string    { return slices.Clone(stateWords[1:]) }
func VerdictWords() []string  { return slices.Clone(verdictWords[1:]) }
func SeverityWords() []string { return slices.Clone(severityWords[1:]) }

// Status is what one unit of work is said to be.
type Status uint8

// The statuses of a step. Unknown is a value like any other: the file says
// something we have no meaning for.
const (
	Pending    Status = iota + 1 // not started
	InProgress                   // started, not finished
	InReview                     // made, not yet accepted
	Done                         // finished and accepted
	Failed                       // ended without success
	Blocked                      // cannot go on without something from outside
	Skipped                      // left out on purpose
	Unknown                      // a word or shape we have no meaning for
)

var statusWords = []string{"", "pending", "in_progress", "in_review", "done", "failed", "blocked", "skipped", "unknown"}

// String returns the frozen word.
func (s Status) String() string { return word(statusWords, s) }

// MarshalText writes the frozen word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (s *Status) UnmarshalText(b []byte) (err error) {
	*s, err = parse[Status]("status", statusWords, b)
	return err
}

// Closed reports whether nothing is left to do for a unit with this status.
// Unset and Unknown are not closed.
func (s Status) Closed() bool { return s == Done || s == Skipped }

// State is the one answer about a whole run.
type State uint8

// The states of a run.
const (
	NotStarted  State = iota + 1 // planned, nothing done yet
	Running                      // alive now, by evidence from outside its files
	Interrupted                  // begun, not finished, nobody needed to go on
	Waiting                      // for a person, an approval or a limit
	Stopped                      // ended on purpose with work left open
	Complete                     // nothing is left
	Unreadable                   // its files do not say
)

var stateWords = []string{"", "not_started", "running", "interrupted", "waiting", "stopped", "complete", "unreadable"}

// String returns the frozen word.
func (s State) String() string { return word(stateWords, s) }

// MarshalText writes the frozen word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (s *State) UnmarshalText(b []byte) (err error) {
	*s, err = parse[State]("state", stateWords, b)
	return err
}

// Open reports whether a person could still want to resume a run in this state.
func (s State) Open() bool {
	switch s {
	case NotStarted, Running, Interrupted, Waiting, Unreadable:
		return true
	}
	return false
}

// Verdict says whether going on is safe.
type Verdict uint8

// The verdicts. VerdictNone means that nobody looked, or that there is nothing
// to resume.
const (
	VerdictNone Verdict = iota + 1
	Safe
	Caution
	BlockedVerdict
	// UncheckedVerdict means that nothing speaks against going on, and that the
	// expensive evidence was not asked for.
	UncheckedVerdict
)

var verdictWords = []string{"", "none", "safe", "caution", "blocked", "unchecked"}

// String returns the frozen word.
func (v Verdict) String() string { return word(verdictWords, v) }

// MarshalText writes the frozen word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (v *Verdict) UnmarshalText(b []byte) (err error) {
	*v, err = parse[Verdict]("verdict", verdictWords, b)
	return err
}

// Severity orders findings.
type Severity uint8

// The severities, mildest first, so that they can be compared.
const (
	Info     Severity = iota + 1 // worth knowing
	Warning                      // can go on, a person should be aware
	Blocking                     // must be resolved before going on
)

var severityWords = []string{"", "info", "warning", "blocking"}

// String returns the frozen word.
func (s Severity) String() string { return word(severityWords, s) }

// MarshalText writes the frozen word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (s *Severity) UnmarshalText(b []byte) (err error) {
	*s, err = parse[Severity]("severity", severityWords, b)
	return err
}

// Presence says what is known of a file a run refers to.
type Presence uint8

// The presences of an artifact.
const (
	Present   Presence = iota + 1
	Missing            // a run names it and it is not there
	Unchecked          // named, but outside what may be read (another machine's path, out of the tree)
	Damaged            // there, but not readable as what it should be
)

var presenceWords = []string{"", "present", "missing", "unchecked", "damaged"}

// String returns the frozen word.
func (p Presence) String() string { return word(presenceWords, p) }

// MarshalText writes the frozen word.
func (p Presence) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (p *Presence) UnmarshalText(b []byte) (err error) {
	*p, err = parse[Presence]("presence", presenceWords, b)
	return err
}

// Grade says how well it is founded that a step is done.
type Grade uint8

// The grades, weakest first, so that they can be compared.
const (
	Claimed   Grade = iota + 1 // a ledger says so
	Evidenced                  // its artifact or its commit exists
	Verified                   // a command was run and succeeded
)

var gradeWords = []string{"", "claimed", "evidenced", "verified"}

// String returns the frozen word.
func (g Grade) String() string { return word(gradeWords, g) }

// MarshalText writes the frozen word.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (g *Grade) UnmarshalText(b []byte) (err error) {
	*g, err = parse[Grade]("grade", gradeWords, b)
	return err
}

// Life is what is known of a recorded owner.
type Life uint8

// The answers about an owner. File age alone never gives Dead.
const (
	Alive       Life = iota + 1
	Dead             // two facts agree, or the process table settles it
	LifeUnknown      // another machine, another pid namespace, nothing to go by
)

var lifeWords = []string{"", "alive", "dead", "unknown"}

// String returns the frozen word.
func (l Life) String() string { return word(lifeWords, l) }

// MarshalText writes the frozen word.
func (l Life) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (l *Life) UnmarshalText(b []byte) (err error) {
	*l, err = parse[Life]("life", lifeWords, b)
	return err
}
