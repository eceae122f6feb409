package web

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/report"
)

// runPage is the content of the page about one run.
type runPage struct {
	target
	report.Check
	Name      string
	Age       string // in words
	Questions []report.Question
	Steps     []stepLine
	Graph     *graph // nil where a picture of the steps tells nothing
	NoGraph   string // why there is none, "" if no one would miss it
	Log       report.Log
	NoLog     error  // why there is none
	Timeline  *chart // nil where nothing is on record
	Resumed   *job   // the last resumption from a page, nil once something came after it
	Answered  *job   // the last answer from a page, nil once something came after it
	Actions   bool
	Alone     bool // it is a file of its own

	nonce func(action string, t target) string
}

// stepLine is a step with what was decided about it.
type stepLine struct {
	report.Step
	Note string // what the decision says of it, "" for nothing
	Here bool   // resuming begins here
}

// run shows everything that is known of one run.
func (s *Server) run(r *http.Request) (frame, error) {
	t, err := s.targetOf(r)
	if err != nil {
		return frame{}, err
	}
	p, err := s.look(r.Context(), t)
	if err != nil {
		return frame{}, err
	}
	if p.Timeline != nil {
		p.Timeline.link(t)
	}
	state := filepath.Join(p.Root, s.State)
	at := filepath.Join(p.Root, filepath.FromSlash(p.Check.Run.Path))
	return frame{
		Title: p.Name, name: "run.html", content: p, working: p.Decision.State == reprise.Running || p.Resumed != nil && p.Resumed.Ended.IsZero(),
		folders: []string{p.Root, state, filepath.Join(state, "journal"), filepath.Join(state, "logs"), at, filepath.Dir(at)},
	}, nil
}

// look asks check and log about a run.
func (s *Server) look(ctx context.Context, t target) (*runPage, error) {
	p := &runPage{target: t, Actions: s.Actions, nonce: s.nonce}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		p.Log, p.NoLog = ask[report.Log](ctx, s, t.Dir, []string{"log"}, t.Run)
		if len(p.Log.Entries) > 0 {
			var timeline report.Timeline
			timeline, p.NoLog = ask[report.Timeline](ctx, s, t.Dir, []string{"log", "--timeline"}, t.Run)
			p.Timeline = chartOf(timeline.Timeline)
		}
	}()
	check, err := ask[report.Check](ctx, s, t.Dir, []string{"check"}, t.Run)
	<-logged
	if err != nil {
		return nil, err
	}
	var latest time.Time
	if n := len(p.Log.Entries); n > 0 {
		latest = p.Log.Entries[n-1].At
	}
	p.Resumed, p.Answered = s.news(t, latest)
	p.Check = check
	s.complete(p.Check.Findings, t)
	p.Name, p.Age = cmp.Or(check.Run.Title, check.Run.ID), s.age(check.Run.LastActivity)
	p.Questions = slices.Concat(check.Run.Questions, check.Run.Asks)
	p.Steps = stepLines(check)
	p.Graph, p.NoGraph = graphOf(p.Steps)
	slices.Reverse(p.Log.Entries)
	return p, nil
}

// Ways are the ways to continue that a page can take: an answer has a form of its own, and
// what is blocked is mended or put away before anything else.
func (p *runPage) Ways() []reprise.Option {
	return slices.DeleteFunc(slices.Clone(p.Check.Options), func(o reprise.Option) bool {
		means := o.Means()
		return o.Key == reprise.OptionAnswer || p.blocked() && (means.NeedsState || means.StartsOver)
	})
}

func (p *runPage) blocked() bool { return p.Decision.Verdict == reprise.BlockedVerdict }

// WaysTitle says what the ways to continue lead to.
func (p *runPage) WaysTitle() string {
	switch {
	case p.Decision.Action == reprise.Repair:
		return "Ways out"
	case p.blocked():
		return "Ways to continue, once that is resolved"
	}
	return "Ways to continue"
}

// FromPhase tells that a person can name the step to begin at.
func (p *runPage) FromPhase() bool { return reprise.Offered(p.Ways(), reprise.OptionFromPhase) }

// Link is the address of another page about the run.
func (p *runPage) Link(page string) string { return p.link(page) }

// stepLines adds to each step what the decision says of it.
func stepLines(c report.Check) []stepLine {
	notes := map[string]string{}
	for _, id := range c.Decision.Again {
		notes[id] = "has to run again: what it left is missing"
	}
	for _, o := range c.Decision.Doubtful {
		notes[o.ID] = cmp.Or(o.Reason, "marked done and not confirmed")
	}
	for _, o := range c.Decision.Verify {
		notes[o.ID] = cmp.Or(o.Reason, "has a commit: it is checked and marked, not done again")
	}
	out := make([]stepLine, len(c.Steps))
	for i, step := range c.Steps {
		out[i] = stepLine{Step: step, Note: notes[step.ID]}
		out[i].Here = c.Plan.Next != nil && c.Plan.Next.Name == step.ID && c.Decision.Action != reprise.Finish
	}
	return out
}
