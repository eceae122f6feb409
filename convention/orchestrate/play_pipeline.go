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

// Pipeline is the specification pipeline: gather, assess, research, write,
// critique, and at last the story.
type Pipeline struct{ alone }

var (
	_ reprise.Playbook = Pipeline{}
	_ reprise.Aimer    = Pipeline{}
)

// Begin implements reprise.Playbook.
func (Pipeline) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	dir, id := g.Path, g.ID
	if dir != "" && !exists(fsys, dir) && !isSpecArtifact(specState(dir)) {
		specs := survey(fsys).specs
		at := slices.IndexFunc(specs, func(d string) bool { return strings.EqualFold(specID(d), path.Base(dir)) })
		if at < 0 {
			return reprise.Ref{}, nil, notNamed("specification", "specification", dir, reprise.KindSpecPipeline)
		}
		dir = specs[at]
	}
	if dir == "" {
		id = cmp.Or(id, slug(g.Text))
		if !isName(id) {
			return reprise.Ref{}, nil, notFromNothing("specification", "a name or a text that says what it is about is needed")
		}
		dir = "docs/specs/" + id
		if stories := "docs/stories/" + id + "/spec"; exists(fsys, stories) {
			dir = stories
		}
	}
	ref := reprise.Ref{Layout: layoutName, ID: specID(dir), Path: dir, Kind: reprise.KindSpecPipeline}
	if g.Text == "" && !exists(fsys, dir) {
		return reprise.Ref{}, nil, notFromNothing("specification", "a text that says what it is about is needed")
	}
	return begun(fsys, ref, g, reprise.Event{Actor: "pm", Text: g.Text})
}

// GoalOf implements reprise.Goaler: the title, or the name, which is made of the
// first words of what was asked for.
func (Pipeline) GoalOf(_ fs.FS, r *reprise.Run) string {
	if r.Title != "" {
		return r.Title
	}
	return strings.ReplaceAll(r.ID, "-", " ")
}

// step is the phase that a unit means. A story is made of a specification whose
// critique approved it, and of no other: one that was sent back is written and
// criticised again, one whose critique says nothing is criticised. What is on record
// of the critique counts before its file.
func (Pipeline) step(fsys fs.FS, r *reprise.Run, u reprise.Unit) string {
	w, c := r.Step(write), r.Step(critique)
	if w == nil || c == nil || !made(r, write) || !made(r, critique) {
		return u.Phase
	}
	word := onDisk(fsys, r)
	switch {
	case c.Ended > 0 && c.Settled == c.Attempts, c.Ended == 0 && word == reprise.Passes:
		return create
	case c.Ended == 0 && word != reprise.SendsBack && word != reprise.Holds, w.Ended > c.Ended:
		return critique
	}
	return write
}

// Aim implements reprise.Aimer: the files cannot tell that a specification was written
// anew since its critique, nor that the critique was accepted by another word than its
// own.
func (p Pipeline) Aim(fsys fs.FS, r *reprise.Run) {
	w, c := r.Step(write), r.Step(critique)
	if w == nil || c == nil || w.Ended+c.Ended == 0 || len(r.Next) != 1 {
		return
	}
	u := &r.Next[0]
	step := p.step(fsys, r, *u)
	if step == u.Phase {
		return
	}
	switch u.Phase = step; step {
	case create:
		c.Status, u.Role, u.Reason = reprise.Done, cycleRoles[create], "the specification is accepted and has no story yet"
	case critique:
		c.Status, u.Role, u.Reason = reprise.Pending, pipelinePhases[pipelinePhase(step)].role, "it was written anew since its critique"
	default:
		c.Status, u.Role, u.Reason = reprise.Pending, pipelinePhases[pipelinePhase(step)].role, "its critique sent it back"
	}
	r.Phase = step
	if r.State == reprise.Interrupted {
		r.Reason = u.Reason
	}
}

// made reports whether the output of a phase is there and can be read.
func made(r *reprise.Run, phase string) bool {
	return slices.ContainsFunc(r.Artifacts, func(a reprise.Artifact) bool { return a.MadeBy == phase && a.Presence == reprise.Present })
}

// onDisk is the verdict that the critique's own file gives.
func onDisk(fsys fs.FS, r *reprise.Run) reprise.Ruling {
	return rule(newLoader(fsys, r.Ref).readSpec().verdict.Plain())
}

// output is the file of a phase: the one that is there, else its usual name.
func output(r *reprise.Run, phase string) string {
	for _, a := range r.Artifacts {
		if a.MadeBy == phase {
			return a.Path
		}
	}
	p := pipelinePhases[pipelinePhase(phase)]
	return path.Join(r.Path, p.artifact+p.ext)
}

// Assign implements reprise.Playbook.
func (p Pipeline) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	step := p.step(fsys, r, u)
	u.Phase = step
	if step == create {
		if !isName(r.ID) {
			return reprise.Assignment{}, fmt.Errorf("assign %s of %s: the name cannot be that of a file", step, r.ID)
		}
		a := assignment(r, u, step, cycleRoles[create])
		p.inputs(fsys, r, &a)
		story := storyPath(r.ID)
		a.Facts["story"] = story
		a.Expect = []reprise.Expected{{Path: story}}
		return a, nil
	}
	i := pipelinePhase(step)
	if i < 0 {
		return reprise.Assignment{}, fmt.Errorf("assign %s: a specification has no phase %q", r.ID, step)
	}
	a := assignment(r, u, step, pipelinePhases[i].role)
	p.inputs(fsys, r, &a)
	file := output(r, step)
	s := r.Step(step)
	a.Facts["output"] = file
	a.Expect = []reprise.Expected{{Path: file, Changed: step != critique && s != nil && s.Status.Closed()}}
	return a, nil
}

// inputs adds what earlier phases left and what the whole is about.
func (Pipeline) inputs(fsys fs.FS, r *reprise.Run, a *reprise.Assignment) {
	for _, art := range r.Artifacts {
		if art.Presence == reprise.Present {
			a.Inputs = append(a.Inputs, art.Path)
		}
	}
	if goal := stateIn(fsys, specState(r.Path)).In("goal"); goal.Plain() != "" {
		a.Data = append(a.Data, reprise.Data{Name: "goal", Source: goal.Source(), Text: doc.Clip(goal.Plain(), maxSection)})
	}
}

// Conclude implements reprise.Playbook: a phase is over when its output can be
// read, and the critique when it says something that is understood.
func (Pipeline) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if a.Step == create {
		if r.State != reprise.Complete {
			return reprise.Conclusion{Problem: "no story was written from the specification"}
		}
		return finished(reply)
	}
	if !made(r, a.Step) {
		return reprise.Conclusion{Problem: "the output of " + a.Step + " is not there or cannot be read"}
	}
	if a.Step != critique {
		return finished(reply)
	}
	return judge(reply, onDisk(fsys, r))
}

// Settle implements reprise.Playbook.
func (Pipeline) Settle(_ fs.FS, r *reprise.Run, _ reprise.Decision) ([]reprise.Event, error) {
	return firstOf(answers(r, ended), escalations(r)), nil
}
