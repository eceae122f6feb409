package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Epic is an epic: waves of stories, each story a run of its own, and gates
// between the waves.
type Epic struct{}

var _ reprise.Playbook = Epic{}

// Answers to a gate that did not let its wave pass, and about stories that are
// blocked.
const (
	gateAgain, tryAgain, skipThem = "review it again", "try again", "skip them"
)

// Pick implements reprise.Playbook: all stories of the wave that may run, or one
// gate or prerequisite alone.
func (Epic) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	var out []reprise.Unit
	for _, u := range d.Units {
		s := r.Step(u.ID)
		if s == nil || s.Phase == prerequisites.group {
			if len(out) == 0 && len(busy) == 0 {
				return []reprise.Unit{u}
			}
			return out
		}
		if len(out) > 0 && u.Phase != out[0].Phase {
			return out
		}
		if !isBlocked(s) && !slices.Contains(busy, s.ID) {
			out = append(out, u)
		}
	}
	return out
}

// Assign implements reprise.Playbook.
func (p Epic) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	s := r.Step(u.ID)
	if s != nil && s.Phase != prerequisites.group {
		return p.story(fsys, r, u, s)
	}
	a := assignment(r, u, u.ID, cmp.Or(u.Role, "qa"))
	a.Inputs = []string{r.Path}
	if s != nil {
		withTask(r, &a, s, maxLine)
		return a, nil
	}
	wave := strings.TrimSuffix(u.Phase, " gate")
	a.Facts["gate"] = u.Phase
	for i := range r.Steps {
		if st := &r.Steps[i]; st.Path != "" && (st.Phase == wave || u.ID == "final-gate") {
			a.Inputs = append(a.Inputs, st.Path)
		}
	}
	return a, nil
}

// casting is who makes and who judges a story, where its epic names someone else than
// the cycle does. A quality gate is someone only with the sign of an agent: the field
// holds results, too.
func casting(fsys fs.FS, r *reprise.Run, s *reprise.Step) map[string]string {
	out := map[string]string{}
	if isName(s.Role) && s.Role != cycleRoles[implement] {
		out[cycleRoles[implement]] = s.Role
	}
	readEpic(epicRoot(stateIn(fsys, r.Path))).stories(func(_ *wave, st *waveStory) {
		gate, is := strings.CutPrefix(strings.TrimSpace(st.at.In("quality_gate").Plain()), "@")
		if gate, _, _ = strings.Cut(gate, " "); st.id == s.ID && is && isName(gate) && gate != cycleRoles[review] {
			out[cycleRoles[review]] = gate
		}
	})
	return out
}

// story hands a story over to a run of its own: its open QA loop, else its cycle.
func (Epic) story(fsys fs.FS, r *reprise.Run, u reprise.Unit, s *reprise.Step) (reprise.Assignment, error) {
	a := assignment(r, u, s.ID, u.Role)
	name := s.Path
	if name == "" {
		for _, art := range r.Artifacts {
			if art.Name == "story "+s.ID {
				name = art.Path
			}
		}
		if !strings.Contains(name, "/") {
			if !isName(s.ID) {
				return a, fmt.Errorf("assign %s of %s: the id cannot be that of a file", s.ID, r.ID)
			}
			name = storyPath(s.ID)
		}
	}
	if !fs.ValidPath(name) {
		return a, fmt.Errorf("assign %s of %s: %q is not a path inside the project", s.ID, r.ID, name)
	}
	child := storyRef(name)
	if loop := heldByLoop(s); loop != "" {
		// Its review is on the way: that continues, and closes the story.
		child = reprise.Ref{Layout: layoutName, ID: loopID(fsys, loop), Path: loop, Kind: reprise.KindQALoop}
	}
	a.Child = &child
	a.Cast = casting(fsys, r, s)
	a.Inputs = []string{name}
	a.Facts["story"] = name
	return a, nil
}

// Conclude implements reprise.Playbook. What the run of a story says of itself
// does not count, what the story says does.
func (Epic) Conclude(_ fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	s := r.Step(a.Step)
	switch {
	case r.State == reprise.Unreadable:
		return reprise.Conclusion{Problem: "the state of the epic can no longer be read: " + r.Reason}
	case s != nil && s.Phase == prerequisites.group:
		return finished(reply)
	case s != nil && !s.Status.Closed():
		return reprise.Conclusion{Problem: "the story is not done: " + s.Status.String()}
	case s != nil:
		return finished(reply)
	}
	c := judge(reply, reprise.NoRuling)
	if c.Outcome == rejected || c.Blocked {
		c = reprise.Conclusion{Outcome: rejected, Text: c.Text, Finished: true, Questions: []reprise.Asked{askAboutGate(r, a.Step, c.Text)}}
	}
	return c
}

// askAboutGate is the question about a gate that was not passed.
func askAboutGate(r *reprise.Run, step, why string) reprise.Asked {
	return reprise.Asked{
		ID: gateQuestion(r, step), Subject: step, Options: []string{gateAgain, acceptIt, stopIt}, Closed: true,
		Text: strings.TrimSpace(fmt.Sprintf("The gate %s was not passed. How should it continue? %s", step, why)),
	}
}

// sentBack asks about a gate that somebody else did not let pass, once: the answer may be to
// review it again, with the old verdict on record.
func sentBack(fsys fs.FS, r *reprise.Run, gate string) []reprise.Event {
	e := readEpic(epicRoot(stateIn(fsys, r.Path)))
	switch e.ruling(waveName(gate)) {
	case reprise.Failed, reprise.Blocked, reprise.Unknown:
	default:
		return nil
	}
	q := askAboutGate(r, gate, fmt.Sprintf("Its verdict is %s.", short(e.verdict(waveName(gate)), 40)))
	if q.ID != gateID(gate) {
		return nil
	}
	return []reprise.Event{{Kind: reprise.QuestionAsked, Question: q.ID, Step: gate, Text: q.Text, Options: q.Options, Closed: true}}
}

func gateID(step string) string { return "gate-" + step }

// gateQuestion names the question about a gate; one that was asked and used
// before is another one.
func gateQuestion(r *reprise.Run, step string) string {
	id := gateID(step)
	for n := 2; slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == id }); n++ {
		id = fmt.Sprintf("gate-%s.%d", step, n)
	}
	return id
}

// Settle implements reprise.Playbook.
func (p Epic) Settle(fsys fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if out := p.answers(r); len(out) > 0 || !r.State.Open() {
		return out, nil
	}
	if out := elsewhere(r, stateLedger); len(out) > 0 {
		return out, nil
	}
	switch {
	case d.Action != reprise.Start || d.Point == nil:
	case d.Point.Phase == closing:
		if out, held := contested(r); held {
			return out, nil
		}
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed", Text: "all waves and gates are done"}}, nil
	case len(p.Pick(r, d, nil)) == 0:
		return p.stuck(r), nil
	case isGate(d.Point.ID):
		return sentBack(fsys, r, d.Point.ID), nil
	}
	return nil, nil
}

// openReview is the question about an epic whose stories are done by their files
// while a QA loop of one of them was left open.
const openReview = "open-review"

// contested asks about such stories before the epic is closed; held tells that it
// is not to be closed yet.
func contested(r *reprise.Run) (ask []reprise.Event, held bool) {
	var ids []string
	for i := range r.Steps {
		if s := &r.Steps[i]; slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool {
			return c.Ledger == loopLedger && s.Status == reprise.Done && !c.Status.Closed()
		}) {
			ids = append(ids, s.ID)
		}
	}
	said := slices.ContainsFunc(r.Questions, func(q reprise.Question) bool {
		return q.ID == openReview && q.Applied && strings.HasPrefix(saidTo(q), "close")
	})
	switch {
	case len(ids) == 0 || said:
		return nil, false
	case pending(r, openReview):
		return nil, true
	}
	return askToClose(openReview, "The files of "+doc.Clip(strings.Join(ids, ", "), 150)+" say that they are done, but their QA loops are open. Close the epic anyway?"), true
}

// elsewhere brings a state up to stories that were closed outside of it.
func elsewhere(r *reprise.Run, ledger string) []reprise.Event {
	var out []reprise.Event
	for i := range r.Steps {
		s := &r.Steps[i]
		lags := slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Ledger == ledger && !c.Status.Closed() })
		if !s.Status.Closed() || !lags || s.Phase == prerequisites.group {
			continue
		}
		ev := reprise.Event{Kind: reprise.StepFinished, Step: s.ID, Phase: s.Phase, Actor: s.Role, Text: "completed outside this workflow"}
		if s.Status == reprise.Skipped {
			ev.Kind, ev.Text = reprise.StepSkipped, "given up outside this workflow"
		}
		out = append(out, ev)
	}
	return out
}

// stuck asks about stories that hold their wave up.
func (Epic) stuck(r *reprise.Run) []reprise.Event {
	held := blockedStories(r)
	if len(held) == 0 {
		return nil
	}
	id := "blocked-" + strings.ReplaceAll(held[0].Phase, " ", "-")
	if pending(r, id) {
		return nil
	}
	var ids []string
	for _, s := range held {
		ids = append(ids, s.ID)
	}
	return []reprise.Event{{
		Kind: reprise.QuestionAsked, Question: id, Phase: held[0].Phase, Options: []string{tryAgain, skipThem, stopIt}, Closed: true,
		Text: "Nothing of " + held[0].Phase + " can be started: blocked are " + doc.Clip(strings.Join(ids, ", "), 150) + ". How should it continue?",
	}}
}

// isBlocked reports whether the state or the story itself calls an open story
// blocked. Either is enough: only a person takes it back.
func isBlocked(s *reprise.Step) bool {
	return !s.Status.Closed() && (s.Status == reprise.Blocked ||
		slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Status == reprise.Blocked }))
}

// blockedStories are those of the first wave that has any.
func blockedStories(r *reprise.Run) []*reprise.Step {
	var out []*reprise.Step
	for i := range r.Steps {
		s := &r.Steps[i]
		if isBlocked(s) && s.Phase != prerequisites.group && (len(out) == 0 || out[0].Phase == s.Phase) {
			out = append(out, s)
		}
	}
	return out
}

// answers acts on what a person said about a gate or about blocked stories.
func (Epic) answers(r *reprise.Run) []reprise.Event {
	if out := unheard(r); len(out) > 0 {
		return out
	}
	for _, q := range unused(r) {
		gate, about := strings.CutPrefix(q.ID, "gate-")
		answer := saidTo(q)
		var out []reprise.Event
		switch {
		case q.ID == openReview:
		case !about && !strings.HasPrefix(q.ID, "blocked-"):
			continue
		case answer == stopIt:
			if r.State.Open() {
				out = ended("")
			}
		case about && strings.HasPrefix(answer, "accept"):
			wave, _, _ := strings.Cut(gate, "-gate")
			out = append(out, reprise.Event{Kind: reprise.PhaseEnded, Phase: strings.ReplaceAll(wave, "wave-", "wave "), Outcome: approved, Actor: "person", Text: "accepted as it is by a person"})
		case !about:
			for _, s := range blockedStories(r) {
				ev := reprise.Event{Kind: reprise.StepReset, Step: s.ID, Phase: s.Phase, Actor: "person"}
				if answer == skipThem {
					ev.Kind, ev.Text = reprise.StepSkipped, "skipped by a person"
				}
				out = append(out, ev)
			}
		}
		return append(out, applied(q))
	}
	return answers(r, ended)
}
