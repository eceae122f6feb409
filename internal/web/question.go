package web

import (
	"fmt"
	"net/http"
	"slices"

	"reprise/report"
)

// question is something that a run asks, with where it is asked.
type question struct {
	report.Question
	Page *runPage
}

// Asked are the questions of the run.
func (p *runPage) Asked() (out []question) {
	for _, q := range p.Questions {
		out = append(out, question{q, p})
	}
	return out
}

// Link is the address of the page about it.
func (q question) Link() string { return q.Page.link("question", "question", q.ID) }

// about reports whether it is about a step.
func (q question) about(step string) bool {
	return step != "" && (step == q.Subject || slices.Contains(q.Question.Steps, step))
}

// Steps are those that it is about.
func (q question) Steps() (out []stepLine) {
	for _, s := range q.Page.Steps {
		if q.about(s.ID) {
			out = append(out, s)
		}
	}
	return out
}

// Failures are the attempts at what it is about that failed.
func (q question) Failures() (out []report.Failure) {
	for _, f := range q.Page.Check.Failures {
		if q.about(f.Step) {
			out = append(out, f)
		}
	}
	return out
}

// Chart are the attempts at what it is about; nil if there were none.
func (q question) Chart() *chart {
	if q.Page.Timeline == nil {
		return nil
	}
	of := *q.Page.Timeline
	of.Bars = slices.DeleteFunc(slices.Clone(of.Bars), func(b bar) bool { return !q.about(b.Step) })
	if len(of.Bars) == 0 {
		return nil
	}
	return &of
}

// Entries are what is on record of the question and of what it is about.
func (q question) Entries() (out []report.LogEntry) {
	for _, e := range q.Page.Log.Entries {
		if e.Question == q.ID || q.about(e.Step) {
			out = append(out, e)
		}
	}
	return out
}

// question shows one question with all that it is about.
func (s *Server) question(r *http.Request) (frame, error) {
	f, err := s.run(r)
	if err != nil {
		return frame{}, err
	}
	id := r.URL.Query().Get("question")
	asked := f.content.(*runPage).Asked()
	at := slices.IndexFunc(asked, func(q question) bool { return q.ID == id })
	if at < 0 {
		why := &refusal{Message: "This is not asked, or it was answered."}
		if kept, is := recorded(f.content.(*runPage).Log.Entries, id); is {
			why.Message = fmt.Sprintf("%s was answered at %s UTC: “%s”.", id, clock(kept.At), kept.Text)
		}
		return frame{}, why
	}
	f.Title, f.name, f.content = asked[at].Text, "question.html", asked[at]
	return f, nil
}
