package reprise

import (
	"slices"
	"strings"
)

// Grant is what an agent CLI can be told to allow after it refused a call, in its own
// syntax. Only a person's answer grants it.
type Grant struct {
	Agent string `json:"agent"` // the preset whose syntax this is
	// Once allows the call until its step is finished; Run allows such calls for the
	// whole run and is empty if only Once can be expressed. Wide says that Once allows
	// more than the one call because nothing narrower can be expressed.
	Once []string `json:"once"`
	Run  []string `json:"run,omitempty"`
	Wide bool     `json:"wide,omitempty"`
}

// The answers to a question about a grant; the first two are followed by what they allow.
const (
	allowOnce = "allow once: "
	allowWide = "allow once, with all else that fits these words: "
	allowRun  = "allow in this run: "
	refuse    = "refuse"
)

// AllowMore is what a person can do where no answer allows a call.
const AllowMore = "set `approve: all` for the agent in reprise.yaml"

// NotReady says that an agent cannot work as it is set up, denied because it is not allowed to,
// and what a person can do about that.
func NotReady(agent, why string, denied bool) (says, hint string) {
	if denied {
		return agent + " may not do what it needs: " + why, "after that `reprise resume` tries again"
	}
	return agent + " is not ready: " + why, "start " + agent + " by hand and sign in, or correct its key or settings (a key in your environment reaches it if `env` in reprise.yaml names that); then `reprise resume` tries again"
}

// Refused reports whether the answer to a question about a refused call is to refuse it.
func (q *Question) Refused() bool { return q.Closed && q.Option(q.Answer) == refuse }

// Options are the answers to choose from. They show literally what is granted.
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

// Given returns what an answer grants, nil for nothing, and whether it applies to the
// whole run. The result always comes from the question, never from the text of the
// answer.
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
