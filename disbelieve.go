package reprise

import (
	"cmp"
	"slices"
)

// standing is how a step stands by the journal alone.
type standing uint8

const (
	notBegun standing = iota
	underWay          // started, with no end on record
	ended             // finished or left out
)

// restored tells that the files are what they were at some earlier time: what was
// finished once may be that again.
func (s *Step) restored() {
	if s.Ended > 0 {
		s.journal = ended
	}
}

// disbelieve takes what the files alone call done or answered for a claim.
func (r *Run) disbelieve(asked map[string]*Question) {
	for i := range r.Questions {
		have := &r.Questions[i]
		if s := r.Step(cmp.Or(have.By, have.Subject)); s != nil && s.journal == ended {
			continue // it was left out, or is done: its question went with it
		}
		if q := asked[have.ID]; have.Answered && q != nil && q.Text != "" && !q.Answered {
			have.Answered, have.Applied, have.Answer = false, false, ""
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if !s.Status.Closed() || s.journal == ended {
			continue
		}
		why := "it was started, and no end of it is on record"
		if s.journal == underWay {
			s.Status = InProgress
		} else {
			why = "nothing here did it"
			s.Status, s.Claimed = Unknown, true
			r.Report(Finding{
				Code: CodeUnrecordedEnd, Severity: Warning, Subject: s.ID, Source: s.said(),
				Message: s.ID + " is marked done in the files of the run, but its journal, which records all the work, has no end of it",
				Hint:    "look whether its work is there; `reprise resume` asks before anything builds on it",
			})
		}
		if !slices.ContainsFunc(r.Next, func(n Unit) bool { return n.ID == s.ID }) && r.ready(s) {
			u := s.Unit(why)
			u.Path = cmp.Or(u.Path, r.Path)
			r.Next = append(r.Next, u)
		}
		if r.State == Complete {
			r.State, r.Reason = Interrupted, s.ID+" is marked done: "+why
		}
	}
}

// said is where the files say how a step stands.
func (s *Step) said() Source {
	for _, c := range s.Claims {
		if c.Won {
			return c.Source
		}
	}
	return s.Source
}
