package core

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// State is the fold over the records of a run. It has nothing that is not in them, so it
// can be thrown away at any time.
type State struct {
	Run   Begin            `json:"run"`
	Seq   int              `json:"seq"` // of the last record
	Steps map[string]*Past `json:"steps"`
	Open  []*Start         `json:"open,omitempty"`   // attempts that have no End yet, the oldest first
	Asked *Ask             `json:"asked,omitempty"`  // a question that is not settled yet
	Said  string           `json:"said,omitempty"`   // the option chosen for it
	Due   *Record          `json:"due,omitempty"`    // the record whose move is not known to be made
	Last  string           `json:"last,omitempty"`   // the step that was done last
	At    Head             `json:"at,omitzero"`      // where the branch stood when the run last looked
	Ended *Close           `json:"closed,omitempty"` // nothing follows
	// Limits are the accounts whose usage limit was met, and until when; zero if that is not known.
	Limits map[string]time.Time `json:"limits,omitempty"`
}

// Past is what the records say of a step.
type Past struct {
	Title    string    `json:"title,omitempty"`
	Done     bool      `json:"done,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	Failures int       `json:"failures,omitempty"` // in a row
	Cuts     int       `json:"cuts,omitempty"`     // likewise
	Failed   time.Time `json:"failed,omitzero"`    // when it last did
	Why      string    `json:"why,omitempty"`      // and why
	Session  string    `json:"session,omitempty"`  // of its last attempt, which the next one may continue
	Answers  []Said    `json:"answers,omitempty"`  // what a person said to questions of its agents
	First    Start     `json:"first,omitzero"`     // whose work the next attempt continues; no step if none
	Left     World     `json:"left,omitempty"`     // the world its last attempt ended in
	Before   World     `json:"before,omitempty"`   // of what was done, for an undo
	Marked   string    `json:"marked,omitempty"`   // the step whose attempt marked this one done
	After    World     `json:"after,omitempty"`
	Wanted   bool      `json:"wanted,omitempty"` // a person wants it done, whatever the plan says
	Commit   string    `json:"commit,omitempty"` // where the branch stood when its work was in
	// Overruled is what the plan showed when a person said that it is done; the plan may have no better word.
	Overruled string `json:"overruled,omitempty"`
}

// alone reports whether nothing but the mark of an attempt that did not finish it says that a
// step is done: that proves nothing, and it is begun again.
func (p *Past) alone(s Step) bool { return s.Status.Closed() && !p.Done && p.Marked == s.ID }

// unclear reports whether a person must say whether a step is done: the plan does not, and nothing
// was begun or decided.
func (p *Past) unclear(s Step) bool {
	return s.Unclear != "" && !s.Status.Closed() && !p.Done && !p.Wanted && p.First.Step == ""
}

// overrules reports whether a step is done by the word of a person who saw what the plan says.
func (p *Past) overrules(s Step) bool { return p.Done && s.Unclear != "" && s.Unclear == p.Overruled }

// unwanted reports whether the plan does not ask for a step, and nobody else did.
func (p *Past) unwanted(s Step) bool { return s.Optional && !p.Wanted && p.First.Step == "" }

// Said is a question and what a person answered.
type Said struct {
	ID       string          `json:"id,omitempty"` // what who asked calls it
	Question string          `json:"question"`
	Answer   string          `json:"answer"`
	Grant    json.RawMessage `json:"grant,omitempty"` // what the answer may allow
}

// NextQuestion is the id of a question that is asked with the next record.
func (s *State) NextQuestion() string { return fmt.Sprintf("q%d", s.Seq+1) }

// AskID is the id of a question of ours: who foresees it names it as who asks it.
func (s *State) AskID(a AskPerson) string {
	if a.Of != nil && a.Of.Lapses {
		return a.Of.ID
	}
	d := a.Divergence
	return fmt.Sprintf("q%06d", crc32.ChecksumIEEE(fmt.Appendf(nil, "%s\n%s\n%s\n%d", s.Run.Run, d.Step, d.Says, s.Step(d.Step).Attempts))%1e6)
}

// Step gives what the records say of a step; it is never nil.
func (s *State) Step(id string) *Past {
	if p := s.Steps[id]; p != nil {
		return p
	}
	return &Past{}
}

// Fold adds one record. An error means that the records do not follow from each other:
// nobody but a defect writes such a journal, so nothing is guessed.
func (s *State) Fold(r Record) error {
	if r.Seq != s.Seq+1 {
		return fmt.Errorf("record %d follows record %d", r.Seq, s.Seq)
	}
	if s.Ended != nil && !s.Ended.Complete && r.Begin == nil && r.Undo == nil && r.Note == nil && r.Made == nil {
		return fmt.Errorf("record %d follows the end of the run", r.Seq)
	}
	s.Seq = r.Seq
	if s.Steps == nil {
		s.Steps = map[string]*Past{}
	}
	if m := r.Move(); m != nil {
		if s.Due != nil {
			return fmt.Errorf("record %d follows the move of record %d, which was not made", r.Seq, s.Due.Seq)
		}
		s.Due = &r
		for _, p := range s.Steps { // what we write between two attempts is not the user's
			if p.Left != "" && p.Left == m.From && p.First.Place == Here {
				p.Left = m.To
			}
		}
	}
	switch {
	case r.Begin != nil:
		for id, p := range s.Steps { // it begins again, and its attempts are counted on
			s.Steps[id] = &Past{Title: p.Title, Attempts: p.Attempts}
		}
		s.Open, s.Asked, s.Said, s.Ended, s.Limits, s.Last = nil, nil, "", nil, nil, ""
		s.Run = *r.Begin
	case r.Start != nil:
		return s.start(*r.Start)
	case r.End != nil:
		return s.end(*r.End, r.At)
	case r.Ask != nil:
		s.Asked, s.Said = r.Ask, ""
	case r.Answer != nil:
		if s.Asked == nil || s.Asked.ID != r.Answer.ID {
			return fmt.Errorf("record %d answers %q, which is not asked", r.Seq, r.Answer.ID)
		}
		s.reopen(r.Answer.Reopens)
		s.Said = r.Answer.Option
		switch {
		case r.Answer.Lapsed != "":
			s.Asked = nil
		case s.Asked.Of != nil:
			of := s.Asked.Of
			if of.Subject != "" && of.Subject == s.Asked.Step { // it is a person's word on that step
				p := s.past(of.Subject)
				p.Failures, p.Cuts = 0, 0
			}
			if !of.Lapses {
				p := s.past(s.Asked.Step)
				p.Answers = append(p.Answers, Said{of.ID, of.Text, r.Answer.Text, of.Grant})
			}
			s.Asked, s.Said = s.Asked.next(), ""
		case s.Said == Keep.Key:
			s.past(s.Asked.Step).Overruled = s.Asked.Shows
		case s.Said == On.Key:
			s.At = r.Answer.Head
			s.Asked, s.Said = nil, ""
		}
	case r.Undo != nil:
		s.undo(*r.Undo)
	case r.Made != nil:
		if s.Due == nil || s.Due.Seq != r.Made.Of {
			return fmt.Errorf("record %d says that the move of record %d was made, which is not due", r.Seq, r.Made.Of)
		}
		if e := s.Due.End; e != nil && e.Outcome == Done {
			s.past(e.Step).Commit = r.Made.Head.Commit
		}
		s.Due, s.At = nil, r.Made.Head
	case r.Plan != nil:
		if r.Plan.Revised {
			for _, p := range s.Steps {
				p.Failures, p.Cuts, p.Why = 0, 0, ""
			}
			if s.Asked != nil && s.Asked.Of == nil {
				s.Asked, s.Said = nil, ""
			}
		}
		s.Ended = nil
		s.reopen(r.Plan.Reopens)
	case r.Close != nil:
		s.Ended = r.Close
	}
	return nil
}

// reopen takes steps as not done: the plan has them again. What was done of them stays, and
// their attempts are counted on.
func (s *State) reopen(steps []string) {
	for _, id := range steps {
		p := s.past(id)
		*p = Past{Title: p.Title, Attempts: p.Attempts, Answers: p.Answers}
	}
}

func (s *State) start(st Start) error {
	for _, o := range s.Open {
		if o.Step == st.Step || o.Place == st.Place {
			return fmt.Errorf("step %s starts while %s is open in the same place", st.Step, o.Step)
		}
	}
	p := s.past(st.Step)
	if st.Again {
		s.reopen([]string{st.Step})
	}
	if p.Done {
		return fmt.Errorf("step %s starts, and is done", st.Step)
	}
	if p.First.Step == "" {
		p.First = st
	}
	p.Title = st.Title
	p.First.Before = st.Before // with what the user did between two attempts
	p.Attempts = st.Attempt
	s.Open, s.At, s.Ended = append(s.Open, &st), st.Head, nil
	s.settle(st.Step)
	return nil
}

func (s *State) end(e End, at time.Time) error {
	if e.Attempt > 0 && s.OpenOf(e.Step) == nil {
		return fmt.Errorf("an attempt of step %s ends that is not open", e.Step)
	}
	p := s.past(e.Step)
	s.close(e.Step)
	s.Ended = nil
	s.settle(e.Step)
	if e.Before != "" {
		p.First.Before = e.Before
	}
	p.Title, p.Left, p.Marked, p.Session = e.Title, e.After, "", e.Session
	if m := e.Move; m != nil && m.From == e.After {
		p.Left = m.To
	}
	for _, other := range e.Marked {
		s.past(other).Marked = e.Step
	}
	if e.Ask != nil {
		s.Asked, s.Said = e.Ask, ""
	}
	switch e.Outcome {
	case Failed:
		p.Failures++
		p.Failed, p.Why = at, e.Why
	case Cut:
		p.Cuts++
	case Limited:
		if s.Limits == nil {
			s.Limits = map[string]time.Time{}
		}
		s.Limits[e.Account] = e.Until
	case Passed:
		if !p.Done && e.Move != nil {
			p.Before, p.After = e.Move.Base, e.Move.To
		}
		p.Done, p.First, p.Left = true, Start{}, ""
	case Done:
		if !p.Done && e.Move != nil {
			p.Before, p.After = e.Move.Base, e.Move.To
		}
		p.Done, p.Failures, p.Cuts, p.Why, p.First, p.Left = true, 0, 0, "", Start{}, ""
		s.Last = e.Step
	}
	s.reopen(e.Reopens)
	return nil
}

func (s *State) undo(u Undo) {
	p := s.past(u.Step)
	fresh := Past{Title: p.Title, Attempts: p.Attempts, Wanted: true}
	if u.Keep && !p.Done {
		fresh.First, fresh.Left, fresh.Answers = p.First, p.Left, p.Answers
	}
	*p = fresh
	s.close(u.Step)
	s.Ended = nil
	s.settle(u.Step)
}

// OpenOf gives the attempt of a step that has no End, nil if there is none.
func (s *State) OpenOf(step string) *Start {
	for _, o := range s.Open {
		if o.Step == step {
			return o
		}
	}
	return nil
}

func (s *State) close(step string) {
	s.Open = slices.DeleteFunc(s.Open, func(o *Start) bool { return o.Step == step })
	if len(s.Open) == 0 {
		s.Open = nil
	}
}

// settle forgets the question about a step: something was done about it.
func (s *State) settle(step string) {
	if s.Asked != nil && (s.Asked.Step == step || s.Asked.Step == "") {
		s.Asked, s.Said = nil, ""
	}
}

func (s *State) past(step string) *Past {
	if s.Steps[step] == nil {
		s.Steps[step] = &Past{}
	}
	return s.Steps[step]
}

// step gives the step that a record is about.
func (r Record) step() string {
	switch {
	case r.Start != nil:
		return r.Start.Step
	case r.End != nil:
		return r.End.Step
	case r.Undo != nil:
		return r.Undo.Step
	}
	return ""
}

// Move gives the move of a record; nil if it has none.
func (r Record) Move() *Move {
	switch {
	case r.Begin != nil:
		return r.Begin.Move
	case r.Plan != nil:
		return r.Plan.Move
	case r.Start != nil:
		return r.Start.Move
	case r.End != nil:
		return r.End.Move
	case r.Undo != nil:
		return r.Undo.Move
	case r.Answer != nil:
		return r.Answer.Move
	case r.Close != nil:
		return r.Close.Move
	}
	return nil
}
