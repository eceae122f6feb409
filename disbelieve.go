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

// disbelieve takes for a claim what the files alone call done: of a run whose journal
// records all the work everything that it does not have, of any other what an attempt at
// another step marked done. Of the former it does so with what the files alone call
// answered, too.
func (r *Run) disbelieve(asked map[string]*Question, own bool) {
	for i := range r.Questions {
		if !own {
			break
		}
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
		if !s.Status.Closed() || s.journal == ended || !own && s.oversteppedBy == "" {
			continue
		}
		why := "it was started, and no end of it is on record"
		if s.journal == underWay {
			s.Status = InProgress
		} else {
			why = "nothing here did it"
			s.Status, s.Claimed = Unknown, true
			message := s.ID + " is marked done in the files of the run, but its journal, which records all the work, has no end of it"
			if s.oversteppedBy != "" {
				message = s.ID + " is marked done, but by the attempt at " + s.oversteppedBy + ", whose job it was not"
			}
			r.Report(Finding{
				Code: CodeUnrecordedEnd, Severity: Warning, Subject: s.ID, Source: s.said(), Message: message,
				Hint: "look whether its work is there; `reprise resume` asks before anything builds on it",
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
