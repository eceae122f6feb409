package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

// used is what an attempt used, nil where no agent was at work. Where its stream did not
// tell, its transcript does; what neither tells is not known.
func (w *work) used(s *Seen) *reprise.Usage {
	if s.Number == 0 || !spends(s.Assignment) || s.Child != nil {
		return nil
	}
	u := w.usedBy(&s.Attempt, s.Result, w.hist.Step(s.Step).Session)
	return &u
}

// usedBy is what an attempt used that an agent was at work on, in a session.
func (w *work) usedBy(f *Attempt, r agent.Result, session string) reprise.Usage {
	if r.Outcome == agent.NotStarted {
		return reprise.NoUsage()
	}
	told, more := r.Spent, r.More
	if bound, err := w.bind(f.Assignment); told == nil && err == nil {
		if found, ok := agent.Recorded(bound.preset, bound.env, f.Dir, session, f.Began); ok {
			told, more = found.Requests, found.More
		}
	}
	u := reprise.UsageOf(told, w.Settings.Prices)
	if told != nil && more {
		u.MoreTokens, u.MoreCost = true, true
	}
	w.warnOfUnknown(f, u)
	return u
}

// warnOfUnknown says once that a budget in money does not count an attempt whose cost
// no one knows.
func (w *work) warnOfUnknown(s *Attempt, u reprise.Usage) {
	limits := w.Settings.Budget
	if u.Cost != nil || limits.Run.Cost == 0 && limits.Day.Cost == 0 || !w.folders.tells("cost of "+u.Model) {
		return
	}
	w.notice(reprise.Finding{
		Code: reprise.CodeCostUnknown, Severity: reprise.Warning, Subject: s.Step,
		Message: fmt.Sprintf("the cost of attempt %d at %s is unknown, so max_cost does not include it", s.Number, s.Step), Hint: "set max_tokens, or the price of the model in prices",
	})
}

// spends reports whether an agent does a unit, itself or in a run of its own.
func spends(a reprise.Assignment) bool {
	return a.Local == "" && a.Ask == nil && len(a.Command) == 0
}

// Spending is what was used, and what the settings allow.
type Spending struct {
	settings.Budgets
	Run   reprise.Usage // since it was started
	Today reprise.Usage // by all runs of the project
	Day   string        // which day that is
	// Raised are the questions about a budget that were answered with raising it: those
	// of the run, and those about the day of any run.
	Raised map[string]bool
}

// over is the question about the first budget that is used up, nil if none is.
func (s Spending) over() *reprise.Asked {
	for _, b := range []struct {
		name, says, key string
		used            reprise.Usage
		limit           float64
		money           bool
	}{
		{"run-cost", "This run has used %s", "run.max_cost", s.Run, s.Budgets.Run.Cost, true},
		{"run-tokens", "This run has used %s", "run.max_tokens", s.Run, float64(s.Budgets.Run.Tokens), false},
		{"day-" + s.Day + "-cost", "The runs of this project have used %s today", "day.max_cost", s.Today, s.Budgets.Day.Cost, true},
		{"day-" + s.Day + "-tokens", "The runs of this project have used %s today", "day.max_tokens", s.Today, float64(s.Budgets.Day.Tokens), false},
	} {
		used, words, limit := 0.0, b.used.Counted(), func(n float64) string { return reprise.Count(int64(n)) + " tokens" }
		if b.money {
			words, limit = b.used.Money(), reprise.Dollars
		}
		switch {
		case b.limit <= 0:
			continue
		case b.money && b.used.Cost != nil:
			used = *b.used.Cost
		case !b.money && b.used.Tokens != nil:
			used = float64(b.used.Tokens.Total())
		}
		prefix := journal.BudgetPrefix + b.name + "-x"
		if used < b.limit*float64(s.raised(prefix)) {
			continue
		}
		times := int64(used/b.limit) + 1
		return &reprise.Asked{
			ID: prefix + strconv.FormatInt(times, 10), Options: []string{journal.RaiseOnce, reprise.StopHere}, Closed: true,
			Text: fmt.Sprintf(b.says+", and the budget is %s (budget.%s in reprise.yaml). Raise it once, to %s?",
				words, limit(b.limit*float64(s.raised(prefix))), b.key, limit(b.limit*float64(times))),
		}
	}
	return nil
}

// raised is how many times its size a budget has, by the answers of a person.
func (s Spending) raised(prefix string) int64 {
	most := int64(1)
	for id := range s.Raised {
		if times, ok := strings.CutPrefix(id, prefix); ok {
			if n, err := strconv.ParseInt(times, 10, 64); err == nil && n > most {
				most = n
			}
		}
	}
	return most
}

// tally knows what all runs of a project used, for a run and its children.
type tally struct {
	mu     sync.Mutex
	spent  map[string][]journal.Spent // by the name of the log; nil before they are read
	raised map[string]bool            // of the day
	unread bool                       // a log could not be read
}

// add takes over what the journal of a run tells.
func (t *tally) add(log string, h *journal.History) {
	t.spent[log] = slices.Concat(h.Earlier, h.Spent)
	for id := range h.Raised {
		if strings.HasPrefix(id, journal.DayPrefix) {
			t.raised[id] = true
		}
	}
}

// on gives what was used on the day of a time, and the questions about a day's budget
// that were answered with raising it. own is the history of the run with a log. A log
// that cannot be read leaves the sum at the least it can be.
func (t *tally) on(store *durable.Store, log string, own *journal.History, now time.Time) (u reprise.Usage, raised map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent == nil {
		t.spent, t.raised = map[string][]journal.Spent{}, map[string]bool{}
		names, err := journal.Logs(store)
		t.unread = err != nil
		for _, name := range names {
			a, err := journal.ReadAccount(store, name)
			t.unread = t.unread || err != nil
			t.add(name, journal.Fold(a.Entries))
		}
	}
	t.add(log, own)
	var all []journal.Spent
	for _, list := range t.spent {
		all = append(all, list...)
	}
	u = journal.Used(all, journal.On(now))
	u.MoreTokens, u.MoreCost = u.MoreTokens || t.unread, u.MoreCost || t.unread
	return u, maps.Clone(t.raised)
}

// spending is what the run and its project have used. Without a budget no one asks.
func (w *work) spending() Spending {
	all := w.tally
	if all == nil {
		all = &tally{}
	}
	return all.against(w.Settings.Budget, w.store, w.ref, w.hist, w.Now())
}

// against holds what a run and its project have used against budgets.
func (t *tally) against(budgets settings.Budgets, store *durable.Store, ref reprise.Ref, hist *journal.History, now time.Time) (s Spending) {
	if s.Budgets = budgets; budgets == (settings.Budgets{}) {
		return s
	}
	s.Run, s.Day, s.Raised = journal.Used(hist.Spent, nil), now.Format(time.DateOnly), hist.Raised
	if budgets.Day != (settings.Limit{}) {
		var raised map[string]bool
		s.Today, raised = t.on(store, journal.Name(ref), hist, now)
		maps.Copy(raised, s.Raised)
		s.Raised = raised
	}
	return s
}

// Lapsed gives the events by which resuming a run closes questions about a budget that is
// not used up any more, for project.JudgeOptions. Of the settings only the budgets count, so
// they do not have to be trusted. While they cannot be read, everything is still asked.
func Lapsed(dir string, getenv func(string) string, now time.Time) func(*durable.Store, *project.Record) []reprise.Event {
	return func(store *durable.Store, rec *project.Record) []reprise.Event {
		root, err := filepath.Abs(dir)
		if err != nil {
			return nil
		}
		set, err := settings.Budget(settings.Options{User: settings.UserFile(getenv), Project: root})
		if err != nil {
			return nil
		}
		return (&Engine{Settings: set, Now: func() time.Time { return now }}).lapsed(store, rec)
	}
}

func (e *Engine) lapsed(store *durable.Store, rec *project.Record) []reprise.Event {
	return lapsed(rec.Run.Questions, (&tally{}).against(e.Settings.Budget, store, rec.Run.Ref, rec.History, e.Now()).over())
}

// lapsed gives the events that close questions about budgets, but the one about what is
// over: the budget was changed, or another day has begun.
func lapsed(questions []reprise.Question, over *reprise.Asked) (out []reprise.Event) {
	for _, q := range questions {
		if !strings.HasPrefix(q.ID, journal.BudgetPrefix) || q.Applied || !q.Answered && over != nil && over.ID == q.ID {
			continue
		}
		text := q.Answer
		if !q.Answered {
			text = "the budget or what was used has changed; this is no longer asked"
		}
		out = append(out, reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID, Text: text, Actor: actor})
	}
	return out
}
