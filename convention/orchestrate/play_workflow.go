package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Workflow is a named workflow with steps or phases: that of the engine, the
// short form, the development cycle executor, or a build.
type Workflow struct{ alone }

var _ reprise.Playbook = Workflow{}

// Begin implements reprise.Playbook: a state that is there, or a new one whose
// steps the text lists, one in a line as "role: what is to be done".
func (Workflow) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	none := reprise.Ref{}
	if g.Path != "" {
		if !exists(fsys, g.Path) {
			return none, nil, notFromNothing("workflow", g.Path+" is not there")
		}
		base := path.Base(g.Path)
		return reprise.Ref{Layout: layoutName, ID: strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), "-state"), Path: g.Path, Kind: reprise.KindWorkflow}, nil, nil
	}
	var steps []string
	for _, line := range strings.Split(g.Text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		role, what, ok := strings.Cut(line, ": ")
		if !ok || !isName(strings.TrimPrefix(role, "@")) || strings.TrimSpace(what) == "" {
			return none, nil, notFromNothing("workflow", fmt.Sprintf("%q is not a step: it takes a role, a colon and what is to be done", doc.Clip(line, 60)))
		}
		steps = append(steps, strings.TrimPrefix(role, "@")+": "+strings.TrimSpace(what))
	}
	if len(steps) == 0 || !isName(g.ID) || strings.HasPrefix(g.ID, "epic-") {
		return none, nil, notFromNothing("workflow", "a name and its steps are needed")
	}
	ref := reprise.Ref{Layout: layoutName, ID: g.ID, Path: home(fsys) + "/" + g.ID + "-state.yaml", Kind: reprise.KindWorkflow}
	return begun(fsys, ref, g, reprise.Event{Options: steps})
}

// step is the step that a unit means. The layout calls a unit by its story where
// there is one. What a review sent back is made again first.
func (Workflow) step(r *reprise.Run, u reprise.Unit) *reprise.Step {
	s := r.Step(u.ID)
	if s == nil || s.Phase == "story" {
		s = r.Step(u.Phase)
	}
	for i := 0; s == nil && i < len(r.Steps); i++ {
		if st := &r.Steps[i]; st.Phase != "story" && !st.Status.Closed() {
			s = st
		}
	}
	if s == nil {
		return nil
	}
	if maker := makerOf(r, s); maker != nil && (again(r, s.ID, maker.ID) || s.ID == bobGate && s.Status == reprise.Failed) {
		return maker
	}
	return s
}

// makerOf is the step whose work another one judges: the nearest before it that
// a developer does.
func makerOf(r *reprise.Run, s *reprise.Step) *reprise.Step {
	if s.ID == bobGate {
		return r.Step(bobDevelop)
	}
	var out *reprise.Step
	for i := range r.Steps {
		if r.Steps[i].ID == s.ID {
			return out
		}
		if r.Steps[i].Role == "dev" {
			out = &r.Steps[i]
		}
	}
	return nil
}

// Assign implements reprise.Playbook.
func (p Workflow) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	s := p.step(r, u)
	if s == nil {
		return reprise.Assignment{}, fmt.Errorf("assign %s: it has no step for %q", r.ID, u.Phase)
	}
	a := assignment(r, u, s.ID, cmp.Or(s.Role, u.Role))
	a.Inputs = []string{r.Path}
	story := storyOf(r)
	withStory(fsys, &a, story)
	withTask(r, &a, s, maxSection)
	// The task is that of the role, whichever agent does it.
	switch s.ID {
	case bobDevelop, bobHeal:
		a.Template = cycleRoles[implement]
	case bobGate:
		a.Template = cycleRoles[review]
	}
	a.Commit = a.Template == cycleRoles[implement]
	return a, nil
}

// Conclude implements reprise.Playbook. A quality gate must give a verdict; any
// other step may.
func (Workflow) Conclude(_ fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if r.State == reprise.Unreadable {
		return reprise.Conclusion{Problem: "the state can no longer be read: " + r.Reason}
	}
	if a.Step != bobGate && rule(reply.Verdict) == reprise.NoRuling {
		return finished(reply)
	}
	return judge(reply, reprise.NoRuling)
}

// Settle implements reprise.Playbook: where all steps are on record and behind
// it, the workflow is closed; where it is unknown whether more would follow, or
// its story was closed outside of it, a person is asked.
func (p Workflow) Settle(_ fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if out := unheard(r); len(out) > 0 {
		return out, nil
	}
	if q, yes, ok := closes(r); ok {
		if !yes {
			return []reprise.Event{applied(q)}, nil
		}
		return append(p.close(r), applied(q)), nil
	}
	if out := firstOf(answers(r, ended), outside(r, d), escalations(r)); len(out) > 0 || !r.State.Open() || d.Action != reprise.Start {
		return out, nil
	}
	return p.end(r), nil
}

// close ends a workflow on a person's word: what is open is skipped.
func (Workflow) close(r *reprise.Run) []reprise.Event {
	var out []reprise.Event
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Phase != "story" && !s.Status.Closed() {
			ev := reprise.Event{Kind: reprise.StepSkipped, Step: s.ID, Phase: s.Phase, Actor: "person", Text: "closed by a person"}
			if s.ID == bobEnd {
				ev.Kind = reprise.StepFinished // the person's word is the checkpoint
			}
			out = append(out, ev)
		}
	}
	return append(out, reprise.Event{Kind: reprise.RunEnded, Outcome: "completed", Actor: "person"})
}

// end closes a workflow whose steps are all behind it.
func (Workflow) end(r *reprise.Run) []reprise.Event {
	own := 0
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase == "story" {
			continue
		}
		if own++; !s.Status.Closed() {
			return nil
		}
	}
	// Only these list all of their steps; others tell what was done and what
	// is being done.
	whole := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return strings.HasPrefix(s.ID, "step ") })
	switch {
	case own == 0 || pending(r, closeState):
		return nil
	case whole:
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed", Text: "all its steps are done"}}
	}
	return askToClose(closeState, "All recorded phases are done, and its state does not say which one follows. Close it?")
}
