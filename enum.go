package reprise

import (
	"fmt"
	"slices"
)

// Enum is an enumeration: a small integer whose zero value is "unset" and that is
// written as a word. The words are part of the JSON contract and frozen by a test: a
// word is never renamed, new words are added at the end.
type Enum[W wordList] uint8

// wordList names an enumeration and gives its words, that of the zero value first.
type wordList interface {
	words() (kind string, words []string)
}

// String returns the frozen word, "" for unset.
func (e Enum[W]) String() string { return word[W](uint8(e)) }

// MarshalText writes the frozen word.
func (e Enum[W]) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads a frozen word and refuses any other: a caller that reads a foreign
// file must decide what it means there.
func (e *Enum[W]) UnmarshalText(b []byte) (err error) {
	n, err := parse[W](b)
	*e = Enum[W](n)
	return err
}

func word[W wordList](n uint8) string {
	var list W
	if _, words := list.words(); int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("invalid(%d)", n)
}

func parse[W wordList](text []byte) (uint8, error) {
	var list W
	kind, words := list.words()
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("parse %s: unknown word %q", kind, text)
	}
	return uint8(i), nil
}

// Words lists the words of an enumeration that may stand in the JSON documents, for
// schemas and help texts.
func Words[W wordList](Enum[W]) []string {
	var list W
	_, words := list.words()
	return slices.Clone(words[1:])
}

// StatusWords and StateWords are Words for these two.
func StatusWords() []string { return Words(Enum[statusWords](0)) }

// StateWords: see StatusWords.
func StateWords() []string { return Words(Enum[stateWords](0)) }

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
	Blocked                      // cannot continue without something from outside
	Skipped                      // left out on purpose
	Unknown                      // a word or shape we have no meaning for
)

type statusWords struct{}

func (statusWords) words() (string, []string) {
	return "status", []string{"", "pending", "in_progress", "in_review", "done", "failed", "blocked", "skipped", "unknown"}
}

// String returns the frozen word.
func (s Status) String() string { return word[statusWords](uint8(s)) }

// MarshalText writes the frozen word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (s *Status) UnmarshalText(b []byte) (err error) {
	n, err := parse[statusWords](b)
	*s = Status(n)
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
	Interrupted                  // begun, not finished, and no person is needed to continue
	Waiting                      // for a person, an approval or a limit
	Stopped                      // ended on purpose with work left open
	Complete                     // nothing is left
	Unreadable                   // its files do not say
)

type stateWords struct{}

func (stateWords) words() (string, []string) {
	return "state", []string{"", "not_started", "running", "interrupted", "waiting", "stopped", "complete", "unreadable"}
}

// String returns the frozen word.
func (s State) String() string { return word[stateWords](uint8(s)) }

// MarshalText writes the frozen word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a frozen word and refuses any other.
func (s *State) UnmarshalText(b []byte) (err error) {
	n, err := parse[stateWords](b)
	*s = State(n)
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

// Verdict says whether it is safe to continue.
type Verdict = Enum[verdictWords]

// The verdicts. VerdictNone means that the run was not judged, or that there is nothing
// to resume.
const (
	VerdictNone Verdict = iota + 1
	Safe
	Caution
	BlockedVerdict
	// UncheckedVerdict means that no problem was found, and that the expensive evidence
	// was not gathered.
	UncheckedVerdict
	// WaitVerdict means that no problem was found, and that a limit has to end first.
	WaitVerdict
)

type verdictWords struct{}

func (verdictWords) words() (string, []string) {
	return "verdict", []string{"", "none", "safe", "caution", "blocked", "unchecked", "wait"}
}

// Severity orders findings.
type Severity = Enum[severityWords]

// The severities, mildest first, so that they can be compared.
const (
	Info     Severity = iota + 1 // worth knowing
	Warning                      // can continue, a person should be aware
	Blocking                     // must be resolved first
)

type severityWords struct{}

func (severityWords) words() (string, []string) {
	return "severity", []string{"", "info", "warning", "blocking"}
}

// Presence says what is known of a file a run refers to.
type Presence = Enum[presenceWords]

// The presences of an artifact.
const (
	Present   Presence = iota + 1
	Missing            // a run names it and it is not there
	Unchecked          // named, but outside what may be read (another machine's path, out of the tree)
	Damaged            // there, but not readable as what it should be
)

type presenceWords struct{}

func (presenceWords) words() (string, []string) {
	return "presence", []string{"", "present", "missing", "unchecked", "damaged"}
}

// Grade says how well it is founded that a step is done.
type Grade = Enum[gradeWords]

// The grades, weakest first, so that they can be compared.
const (
	Claimed   Grade = iota + 1 // a ledger says so
	Evidenced                  // its artifact or its commit exists
	Verified                   // a command was run and succeeded
)

type gradeWords struct{}

func (gradeWords) words() (string, []string) {
	return "grade", []string{"", "claimed", "evidenced", "verified"}
}

// Life is what is known of a recorded owner.
type Life = Enum[lifeWords]

// The answers about an owner. File age alone never gives Dead.
const (
	Alive       Life = iota + 1
	Dead             // two facts agree, or the process table settles it
	LifeUnknown      // another machine, another pid namespace, nothing to go by
)

type lifeWords struct{}

func (lifeWords) words() (string, []string) {
	return "life", []string{"", "alive", "dead", "unknown"}
}
