package reprise

import "slices"

// Option is one way to continue, as offered to a person.
type Option struct {
	Key   string `json:"key"`   // the word that chooses it, as a flag value
	Label string `json:"label"` // what it does, in words
}

// The keys of options. They are part of the JSON contract and of the command line.
const (
	OptionContinue    = "continue"     // from where it stands
	OptionResume      = "resume"       // the same, for layouts that use this word
	OptionNow         = "now"          // the same, although a limit is said to last
	OptionResumeAgent = "resume-agent" // with the agent that was working
	OptionRespawn     = "respawn"      // with a new agent in its place
	OptionRestart     = "restart"      // with the current step from its beginning
	OptionSkip        = "skip"         // without the current step
	OptionSkipGroup   = "skip-group"   // without what a question is about
	OptionFromPhase   = "from-phase"   // from a phase that a person names
	OptionAnswer      = "answer"       // once a question is answered
	OptionFresh       = "fresh"        // from scratch; the old state is archived
	OptionDiscard     = "discard"      // from scratch; what was built is given up
	OptionClean       = "clean"        // not at all: the state is archived
	OptionReview      = "review"       // shows what was built
	OptionMerge       = "merge"        // merges what was built
	OptionMerged      = "merged"       // not at all: a person merged what was built, and that is recorded
	OptionRepair      = "repair"       // repairs the state first
)

// OptionMeaning says what choosing an option implies.
type OptionMeaning struct {
	Key string
	// Continues: it continues the run as it is, or uses its result.
	Continues bool
	// Works: steps are worked on from the existing state.
	Works bool
	// NeedsState: it cannot be chosen until the state is repaired.
	NeedsState bool
	// Agent: it concerns the agent that was working.
	Agent bool
	// GivesUp: the existing state is archived; with StartsOver, the run begins again.
	GivesUp, StartsOver bool
	// Always: it can be chosen for every run, even if not offered.
	Always bool
	// Shows: it changes nothing.
	Shows bool
}

// OptionTable lists every option and its meaning, in the order of help texts.
func OptionTable() []OptionMeaning {
	return []OptionMeaning{
		{Key: OptionContinue, Continues: true, Works: true, NeedsState: true, Always: true},
		{Key: OptionResume, Continues: true, Works: true, NeedsState: true, Always: true},
		{Key: OptionNow, Continues: true, Works: true, NeedsState: true},
		{Key: OptionResumeAgent, Continues: true, Works: true, NeedsState: true, Agent: true},
		{Key: OptionRespawn, Works: true, NeedsState: true, Agent: true},
		{Key: OptionRestart, Works: true, NeedsState: true},
		{Key: OptionSkip, Works: true, NeedsState: true},
		{Key: OptionSkipGroup, Works: true, NeedsState: true},
		{Key: OptionFresh, GivesUp: true, StartsOver: true},
		{Key: OptionAnswer, Continues: true, Works: true},
		{Key: OptionClean, GivesUp: true, Always: true},
		{Key: OptionFromPhase, Works: true, NeedsState: true, Always: true},
		{Key: OptionReview, Continues: true, Shows: true},
		{Key: OptionMerge, Continues: true},
		{Key: OptionMerged, Continues: true},
		{Key: OptionDiscard, GivesUp: true, StartsOver: true},
		{Key: OptionRepair, Works: true},
	}
}

// OptionOf returns the meaning of a key. The empty key means continuing; for an unknown
// key, known is false.
func OptionOf(key string) (m OptionMeaning, known bool) {
	if key == "" {
		key = OptionContinue
	}
	table := OptionTable()
	i := slices.IndexFunc(table, func(m OptionMeaning) bool { return m.Key == key })
	if i < 0 {
		return OptionMeaning{Key: key}, false
	}
	return table[i], true
}

// Means returns the meaning of the option.
func (o Option) Means() OptionMeaning {
	m, _ := OptionOf(o.Key) // an unknown key has the zero meaning
	return m
}

// Means returns the meaning of the chosen option.
func (c Choice) Means() OptionMeaning { return Option{Key: c.Option}.Means() }

// Offered reports whether options contains the key.
func Offered(options []Option, key string) bool {
	return slices.ContainsFunc(options, func(o Option) bool { return o.Key == key })
}

// without omits the options for which so is true.
func without(options []Option, so func(Option) bool) []Option {
	return slices.DeleteFunc(slices.Clone(options), so)
}
