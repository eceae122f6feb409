package reprise

import "slices"

// Option is one way to continue that is offered to a person.
type Option struct {
	Key   string `json:"key"`   // the word that chooses it, as a flag value
	Label string `json:"label"` // what it does, in words
}

// The keys of options. They are part of the JSON contract and of the command line.
const (
	OptionContinue    = "continue"     // where it stands
	OptionResume      = "resume"       // the same, for layouts that call it so
	OptionResumeAgent = "resume-agent" // with the agent that was at work
	OptionRespawn     = "respawn"      // with a new agent in its place
	OptionRestart     = "restart"      // with the current step from its beginning
	OptionSkip        = "skip"         // without the current step
	OptionSkipGroup   = "skip-group"   // without what a question is about
	OptionFromPhase   = "from-phase"   // at a phase that a person names
	OptionAnswer      = "answer"       // once a question is answered
	OptionFresh       = "fresh"        // from nothing; the old state is archived
	OptionDiscard     = "discard"      // from nothing; what was built is given up
	OptionClean       = "clean"        // not at all: the state is archived
	OptionReview      = "review"       // shows what was built
	OptionMerge       = "merge"        // merges what was built
	OptionRepair      = "repair"       // mends the state first
)

// OptionMeaning is what it means to choose an option.
type OptionMeaning struct {
	Key string
	// Continues: it takes the run up as it stands, or its result.
	Continues bool
	// Works: steps are worked on from the state that is there.
	Works bool
	// NeedsState: it cannot be chosen while the state has to be mended.
	NeedsState bool
	// Agent: it is about the agent that was at work.
	Agent bool
	// GivesUp: the state that is there is archived; with StartsOver the run begins again.
	GivesUp, StartsOver bool
	// Always: it can be chosen for every run, offered or not.
	Always bool
	// Shows: it changes nothing.
	Shows bool
}

// OptionTable lists every option with what it means, in the order of help texts.
func OptionTable() []OptionMeaning {
	return []OptionMeaning{
		{Key: OptionContinue, Continues: true, Works: true, NeedsState: true, Always: true},
		{Key: OptionResume, Continues: true, Works: true, NeedsState: true, Always: true},
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
		{Key: OptionDiscard, GivesUp: true, StartsOver: true},
		{Key: OptionRepair, Works: true},
	}
}

// OptionOf gives what a key means. No key stands for continuing; a key that is not in
// the table means nothing, and known is false.
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

// Means gives what it means to choose the option.
func (o Option) Means() OptionMeaning {
	m, _ := OptionOf(o.Key) // what is not in the table means nothing
	return m
}

// Means gives what it means to do as a person chose.
func (c Choice) Means() OptionMeaning { return Option{Key: c.Option}.Means() }

// Offered reports whether an option with this key is among some.
func Offered(options []Option, key string) bool {
	return slices.ContainsFunc(options, func(o Option) bool { return o.Key == key })
}

// without leaves out the options that are as said.
func without(options []Option, so func(Option) bool) []Option {
	return slices.DeleteFunc(slices.Clone(options), so)
}
