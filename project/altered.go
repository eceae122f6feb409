package project

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
)

// What a run does next follows from all that its files say: the marks of its steps, what holds
// it for a person, what was asked and answered. An attempt at another run is not there to
// change any of it.

// changedSince gives what an attempt at another run changed in what the files of a run say: an
// event for each step that was open and is closed, and one without a step where they say
// anything else in another way. names are the files that differ. What the steps of one run are
// is also told by others, such as the epic that it is a story of.
func changedSince(then, now fs.FS, was, is, own *reprise.Run, names []string) (out []reprise.Event) {
	marked, loops := map[string]bool{}, convention.Of(is.Layout).Reopens != nil
	for _, id := range openSteps(was) {
		s := is.Step(id)
		if s == nil || !s.Status.Closed() || isStep(own, s) || loops { // the phases of a loop follow from the rest
			continue
		}
		marked[id] = true
		out = append(out, markedNow(now, s))
	}
	if says(was, own, marked) == says(is, own, marked) {
		return out
	}
	ev := reprise.Event{Kind: reprise.StepOverstepped}
	var did []string
	for _, name := range names {
		before, err := HashIn(then, name)
		if err != nil {
			continue
		}
		ev.Expect = append(ev.Expect, reprise.Expected{Path: name, Before: before, Changed: true})
		switch after, err := HashIn(now, name); {
		case err == nil && after.IsZero():
			did = append(did, "removed "+name)
		case before.IsZero():
			did = append(did, "made "+name)
		default:
			did = append(did, "changed "+name)
		}
	}
	if len(did) == 0 {
		return out
	}
	if more := len(did) - maxEnds; more > 1 {
		did = append(did[:maxEnds:maxEnds], fmt.Sprintf("and %d more files", more))
	}
	ev.Text = strings.Join(did, ", ")
	return append(out, ev)
}

// bornSince gives the closed steps of a run that was not there then. What was closed before in a
// run that is no longer there stays so: it was renamed. The phases of a loop follow from the rest.
func bornSince(then, now fs.FS, l reprise.Layout, is, own *reprise.Run) (out []reprise.Event) {
	known, open := map[reprise.Listed]bool{}, map[reprise.Listed]bool{}
	there := convention.Of(l.Name()).Reopens != nil
	refs, _ := l.Find(then) // what is not found is nothing that is known
	for _, ref := range refs {
		there = there || ref == is.Ref
		if isIn(now, ref) || is.Kind.Facts().Phased && ref.ID != is.ID {
			continue
		}
		was, err := reprise.Load(l, then, ref)
		for i := 0; err == nil && i < len(was.Steps); i++ {
			s := &was.Steps[i]
			at := reprise.Listed{ID: s.ID, Title: s.Title}
			known[at], open[at] = true, open[at] || !s.Status.Closed()
		}
	}
	for i := range is.Steps {
		s := &is.Steps[i]
		at := reprise.Listed{ID: s.ID, Title: s.Title}
		if s.Status.Closed() && (open[at] || !there && !known[at]) && !isStep(own, s) {
			out = append(out, markedNow(now, s))
		}
	}
	return out
}

// markedNow gives the event that something else closed a step, with what the step is called.
func markedNow(now fs.FS, s *reprise.Step) reprise.Event {
	ev := reprise.Event{Kind: reprise.StepOverstepped, Step: s.ID, Text: s.Title}
	name := s.Said().File
	if is, err := HashIn(now, name); err == nil {
		ev.Expect = []reprise.Expected{{Path: name, Before: is}}
	}
	return ev
}

// isStep reports whether a run is what a step of another one does.
func isStep(own *reprise.Run, s *reprise.Step) bool { return s.ID == own.ID || s.Path == own.Path }

// says is what the files of a run say that decides how it goes on, without the steps that are
// named and one that is a run of its own. Where there are such steps, more follows from them.
func says(r, own *reprise.Run, but map[string]bool) string {
	var b strings.Builder
	whole := len(but) == 0 && !storyOf(own.Ref, r)
	for i := range r.Steps {
		s := &r.Steps[i]
		if isStep(own, s) {
			whole = false
		} else if !but[s.ID] {
			fmt.Fprintf(&b, "step %q %v %t\n", s.ID, s.Status, s.Optional)
		}
	}
	for _, q := range r.Questions {
		fmt.Fprintf(&b, "question %q %t %q\n", q.ID, q.Answered, q.Answer)
	}
	fmt.Fprintf(&b, "paused %t\n", r.Paused)
	if whole {
		fmt.Fprintf(&b, "%v\n", r.State)
		for _, u := range r.Next {
			fmt.Fprintf(&b, "next %q\n", u.ID)
		}
	}
	return b.String()
}

// wereThere lists the files that an attempt at another run changed or removed.
func wereThere(ev *reprise.Event) (out []string) {
	for _, e := range ev.Expect {
		if ev.Step == "" && !e.Before.IsZero() {
			out = append(out, e.Path)
		}
	}
	return out
}

// withoutPutBack leaves out what attempts at other runs changed in the files where these are
// again as they were, and what was asked about that.
func (s *Scope) withoutPutBack(events []reprise.Event) []reprise.Event {
	alters := func(ev *reprise.Event) bool { return ev.Kind == reprise.StepOverstepped && ev.Step == "" }
	asWere := func(ev *reprise.Event) bool {
		return len(ev.Expect) > 0 && !slices.ContainsFunc(ev.Expect, func(e reprise.Expected) bool {
			is, err := HashIn(s.Files, e.Path)
			return err != nil || is != e.Before
		})
	}
	back := func(ev reprise.Event) bool { return alters(&ev) && asWere(&ev) }
	lapsed := map[string]bool{} // the questions whose files are back, as long as no one answered
	for i := range events {
		switch ev := &events[i]; {
		case ev.Question == "":
		case ev.Kind == reprise.QuestionAsked:
			lapsed[ev.Question] = asWere(ev)
		default:
			lapsed[ev.Question] = false
		}
	}
	if maps.DeleteFunc(lapsed, func(_ string, lapsed bool) bool { return !lapsed }); len(lapsed) > 0 {
		events = slices.DeleteFunc(slices.Clone(events), func(ev reprise.Event) bool { return lapsed[ev.Question] })
	}
	if !slices.ContainsFunc(events, back) {
		return events
	}
	left := slices.DeleteFunc(slices.Clone(events), back)
	if slices.ContainsFunc(left, func(ev reprise.Event) bool { return alters(&ev) }) {
		return left
	}
	return slices.DeleteFunc(left, func(ev reprise.Event) bool { return strings.HasPrefix(ev.Question, AlteredPrefix) })
}

// altered asks whether what attempts at other runs changed in the files of a run stays.
func altered(r *reprise.Run) []Doubt {
	if len(r.Altered) == 0 {
		return nil
	}
	d := Doubt{Prefix: AlteredPrefix, Done: "keep it as it is"}
	var did []string
	for _, ev := range r.Altered {
		d.Ends = append(d.Ends, reprise.Event{Kind: ev.Kind, Stands: ev.Expect})
		did = append(did, ev.Altered())
	}
	what := strings.Join(did, "; ")
	d.Finding = reprise.Finding{Code: reprise.CodeUnrecordedEnd, Message: what + ": nothing builds on it until you decide"}
	d = d.about(r, what+". Put it back and resume, or keep it as it is?")
	d.Question.Options = []string{d.Done}
	return []Doubt{d}
}
