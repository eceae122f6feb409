package journal

import (
	"slices"
	"strings"
	"time"

	"reprise"
)

// Spent is what one attempt used.
type Spent struct {
	Step    string
	Attempt int
	At      time.Time // when it ended, or when it began as long as no end tells
	Usage   reprise.Usage

	told  bool // an event tells, be it that it is not known
	agent bool // a session is on record
}

// counts reports whether an agent was at work: commands and runs of their own use
// nothing themselves.
func (s Spent) counts() bool { return s.told || s.agent }

// Questions about a budget: how their names begin, and the answer that raises it.
const (
	BudgetPrefix = "budget-"
	DayPrefix    = BudgetPrefix + "day-"
	RaiseOnce    = "raise it once"
)

// spend keeps what an attempt used.
func (h *History) spend(ev *reprise.Event) {
	switch {
	case ev.Kind == reprise.RunStarted:
		h.Earlier, h.Spent, h.latest = append(h.Earlier, h.Spent...), nil, nil
		for id := range h.Raised {
			if !strings.HasPrefix(id, DayPrefix) {
				delete(h.Raised, id)
			}
		}
	case ev.Kind == reprise.QuestionAnswered && strings.HasPrefix(ev.Question, BudgetPrefix) && strings.HasPrefix(ev.Text, RaiseOnce):
		if h.Raised == nil {
			h.Raised = map[string]bool{}
		}
		h.Raised[ev.Question] = true
	case ev.Step == "" || ev.Attempt == 0:
	case ev.Kind == reprise.StepStarted, ev.Usage != nil, ev.Agent != "":
		s := h.spent(ev)
		s.agent = s.agent || ev.Agent != ""
		if ev.Usage != nil {
			s.Usage, s.told, s.At = *ev.Usage, true, ev.At
		}
	}
}

// spent finds an attempt, or makes a place for it.
func (h *History) spent(ev *reprise.Event) *Spent {
	if i, ok := h.latest[ev.Step]; ok && h.Spent[i].Attempt == ev.Attempt {
		return &h.Spent[i] // attempts of a step follow each other
	}
	if h.latest == nil {
		h.latest = map[string]int{}
	}
	h.latest[ev.Step] = len(h.Spent)
	h.Spent = append(h.Spent, Spent{Step: ev.Step, Attempt: ev.Attempt, At: ev.At})
	return &h.Spent[len(h.Spent)-1]
}

// Used adds up what attempts used, those that keep says; nil stands for all.
func Used(list []Spent, keep func(Spent) bool) (u reprise.Usage) {
	for _, s := range list {
		if s.counts() && (keep == nil || keep(s)) {
			u.Add(s.Usage)
		}
	}
	return u
}

// StepUsed is what the attempts of one step used.
type StepUsed struct {
	Step     string
	Attempts int
	Usage    reprise.Usage
}

// ByStep adds up what attempts used by step, in the order in which those were started.
func ByStep(list []Spent) (out []StepUsed) {
	for _, s := range list {
		if !s.counts() {
			continue
		}
		i := slices.IndexFunc(out, func(u StepUsed) bool { return u.Step == s.Step })
		if i < 0 {
			i, out = len(out), append(out, StepUsed{Step: s.Step})
		}
		out[i].Attempts++
		out[i].Usage.Add(s.Usage)
	}
	return out
}

// On says whether an attempt ended on the day of a time, where that is.
func On(now time.Time) func(Spent) bool {
	year, month, day := now.Date()
	from := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	return func(s Spent) bool { return !s.At.Before(from) }
}
