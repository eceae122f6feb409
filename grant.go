package reprise

import (
	"slices"
	"strings"
)

// Grant is what the program of an agent can be told to allow after it refused a call, in
// its own words. Only a person's answer gives it.
type Grant struct {
	Agent string `json:"agent"` // the preset whose words they are
	// Once allows the call until its step is finished, Run allows such calls in the
	// whole run. Run is empty where nothing but Once can be said. Wide tells that the
	// words of Once fit more than the call: the program can be told nothing narrower.
	Once []string `json:"once"`
	Run  []string `json:"run,omitempty"`
	Wide bool     `json:"wide,omitempty"`
}

// The answers to a question about a grant; what it allows follows the first two.
const (
	allowOnce = "allow once: "
	allowWide = "allow once, with all else that fits these words: "
	allowRun  = "allow in this run: "
	refuse    = "refuse"
)

// Options are the answers a person chooses from. They show what is granted word for word.
func (g *Grant) Options() []string {
	once := allowOnce
	if g.Wide {
		once = allowWide
	}
	out := []string{once + strings.Join(g.Once, ", ")}
	if len(g.Run) > 0 {
		out = append(out, allowRun+strings.Join(g.Run, ", "))
	}
	return append(out, refuse)
}

// Given is what an answer grants, nil for nothing, and whether it holds for the whole
// run. The words are always those of the question, never those of the answer.
func (g *Grant) Given(answer string) (words []string, run bool) {
	q := Question{Options: g.Options()}
	switch option := q.Option(answer); {
	case strings.HasPrefix(option, allowOnce), strings.HasPrefix(option, allowWide):
		return slices.Clone(g.Once), false
	case strings.HasPrefix(option, allowRun):
		return slices.Clone(g.Run), true
	}
	return nil, false
}
