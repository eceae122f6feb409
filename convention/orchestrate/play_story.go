package orchestrate

import (
	"cmp"
	"io/fs"
	"strings"

	"reprise"
)

// Story is the development cycle of one story: create, validate, implement, qa.
type Story struct{ alone }

var (
	_ reprise.Playbook = Story{}
	_ reprise.Aimer    = Story{}
)

// cycleRoles are who does a phase where the layout does not say.
var cycleRoles = map[string]string{create: "sm", validate: "po", implement: "dev", review: "qa", closing: "po"}

// Begin implements reprise.Playbook: a story that is there is continued, else
// its form is made, for the first phase to fill.
func (Story) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	name, id := "", g.ID
	var err error
	if g.Path != "" {
		name, err = namedStory(fsys, "story", g.Path)
	} else if id != "" {
		name, err = findStory(fsys, id)
	}
	if err != nil {
		return reprise.Ref{}, nil, err
	}
	if name == "" {
		id = cmp.Or(id, slug(g.Text))
		if !isName(id) {
			return reprise.Ref{}, nil, notFromNothing("story", "a name or a text that says what it is about is needed")
		}
		name = storyPath(id)
	}
	return begun(fsys, storyRef(name), g, reprise.Event{Actor: "sm", Text: g.Text})
}

// step is the phase that a unit means. A story that is only a form, or that its
// validation sent back, is written first.
func (Story) step(fsys fs.FS, r *reprise.Run, u reprise.Unit) string {
	if u.Phase == validate && (unwritten(fsys, r) || again(r, validate, create)) {
		return create
	}
	return u.Phase
}

// Aim implements reprise.Aimer: the files cannot tell that a validation sent the story
// back and that it was not rewritten since, or what a person answered when asked whether
// the story is done.
func (p Story) Aim(fsys fs.FS, r *reprise.Run) {
	if len(r.Next) != 1 {
		return
	}
	u := &r.Next[0]
	if answer, phase := ruledOn(r); phase != "" {
		r.State, r.Phase, r.Reason = reprise.Interrupted, phase, "asked whether it is done, a person said: "+answer
		u.Phase, u.Role, u.Reason = phase, cycleRoles[phase], r.Reason
	}
	step := p.step(fsys, r, *u)
	if step == u.Phase {
		return
	}
	u.Phase, u.Role, u.Reason = step, cycleRoles[step], "its validation sent it back"
	if unwritten(fsys, r) {
		u.Reason = "it has neither acceptance criteria nor tasks"
	}
	r.Phase = step
	if r.State == reprise.Interrupted || r.State == reprise.NotStarted {
		r.Reason = u.Reason
	}
}

// ruledOn returns what a person answered when asked whether the story is done, and the
// phase that follows from it; "" without an answer.
func ruledOn(r *reprise.Run) (answer, phase string) {
	for _, q := range unused(r) {
		if strings.HasPrefix(q.ID, closeStory) {
			switch answer = q.Option(q.Answer); answer {
			case markDone:
				phase = closing
			case reviewIt:
				phase = review
			case notDoneYet:
				phase = openPhase(r)
			}
		}
	}
	return answer, phase
}

// openPhase is the first phase of a story that is not closed, where its status does not
// tell the implementation, and where all are closed the review.
func openPhase(r *reprise.Run) string {
	for _, s := range r.Steps {
		switch {
		case s.Status == reprise.Unknown:
			return implement
		case !s.Status.Closed():
			return s.ID
		}
	}
	return review
}

// Assign implements reprise.Playbook.
func (p Story) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	step := p.step(fsys, r, u)
	role := u.Role
	if step != u.Phase || role == "" {
		role = cycleRoles[step]
	}
	u.Phase = step
	a := assignment(r, u, step, role)
	withStory(fsys, &a, r.Path)
	a.Expect = []reprise.Expected{{Path: r.Path, Changed: step == create}}
	a.Commit = step == implement
	if s := r.Step(review); s != nil && s.Rejected > 0 && step == implement {
		a.Facts["fix"] = "the review rejected it; its findings come first"
	}
	if step == closing {
		a.Local = "its review passed; only the status was not updated"
	}
	return a, nil
}

// Conclude implements reprise.Playbook.
func (Story) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if r.State == reprise.Unreadable {
		return reprise.Conclusion{Problem: "the story can no longer be read: " + r.Reason}
	}
	is := func(step string, status reprise.Status) bool {
		s := r.Step(step)
		return s != nil && s.Status == status
	}
	switch a.Step {
	case create, validate:
		if unwritten(fsys, r) {
			return reprise.Conclusion{Problem: "the story has neither acceptance criteria nor tasks"}
		}
		if a.Step == create {
			return finished(reply)
		}
		known := reprise.NoRuling
		if is(validate, reprise.Done) {
			known = reprise.Passes
		}
		return judge(reply, known)
	case implement:
		switch {
		case emptied(fsys, r.Path):
			return reprise.Conclusion{Problem: "the story is empty now"}
		case is(implement, reprise.Blocked):
			return reprise.Conclusion{Blocked: true, Text: said(reply)}
		case is(review, reprise.Done):
			// A story that was not reviewed is not closed.
			return reprise.Conclusion{Outcome: "unreviewed", Text: said(reply)}
		}
	case review:
		known := reprise.NoRuling
		if is(review, reprise.Done) || r.Phase == closing {
			known = reprise.Passes
		}
		return judge(reply, known)
	}
	return finished(reply)
}

// Settle implements reprise.Playbook.
func (Story) Settle(_ fs.FS, r *reprise.Run, _ reprise.Decision) ([]reprise.Event, error) {
	if out := answers(r, func(step string) []reprise.Event {
		if step != review {
			return ended(step)
		}
		// The files can tell only of an implementation that it stands still.
		if s := r.Step(implement); s == nil || s.Status == reprise.Blocked || r.State == reprise.Complete {
			return nil
		}
		return []reprise.Event{{Kind: reprise.StepBlocked, Step: implement, Phase: implement, Actor: "person", Text: "stopped by a person after its reviews sent it back"}}
	}); len(out) > 0 {
		return out, nil
	}
	return escalations(r), nil
}
