package specloop

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Assign says what a phase, a turn or a node needs.
func (Book) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	a := &order{reprise.Assignment{Unit: u, Step: u.ID, Role: u.Role, Policy: reprise.Verify}}
	if st := r.Step(u.ID); st != nil && a.Role == "" {
		a.Role = st.Role
	}
	spec := specPath(r)
	a.Facts = map[string]string{"feature": feature(r), "spec": spec, "phase": u.Title}
	a.Inputs = ledger.Present(fsys, spec)
	if placeOf(u.ID) < 0 {
		return assignOther(fsys, r, a)
	}
	ix := read(fsys, r)
	a.Facts["iteration"] = fmt.Sprintf("%d of %d", max(ix.iteration.n, 1), ix.iteration.limit(maxIteration))
	a.Data = append(a.Data, ix.about(r))
	answers, _ := unused(r)
	tried := r.Step(u.ID).Tried() // then the files may only say that nothing is left to do
	switch u.ID {
	case "A1":
		a.Facts["task"] = "Make " + spec + " from the project's template for specifications, or with a heading and the sections it usually has. Do not write the specification yet."
		a.Expect = []reprise.Expected{{Path: spec}}
	case "A2":
		a.write(fsys, r, answers)
	case "A3", "B3":
		a.Facts["task"] = "Read the specification as an engineer who has to build it. Report what it leaves open as gaps, each with an id, a priority (Critical, Important or Minor) and the question that would close it. Report none that the list calls closed unless it is open again. Change no file."
		a.gaps(ix)
	case "A4":
		a.checklist(fsys, r)
	case "A5":
		if len(ix.left()) == 0 && !tried {
			return a.local("no critical or important gap is open"), nil
		}
		a.Facts["task"] = "Make questions to a person of the open gaps that are critical or important, as few as will do: name the ids of the gaps a question covers as its subject, and offer options where that helps. Change no file."
		a.gaps(ix)
	case "B1":
		return a.local("no open gap needs an answer from a person"), nil
	case "B2":
		if len(answers) == 0 && !tried {
			return a.local("no answer waits to be applied"), nil
		}
		if !written(fsys, r) {
			a.Role = "spec-writer"
			a.write(fsys, r, answers)
			break
		}
		a.apply(fsys, r, answers)
	default:
		return a.local("the files decide"), nil
	}
	a.Template = a.Role
	return a.Assignment, nil
}

// order is an assignment in the making.
type order struct{ reprise.Assignment }

// local is for steps without an agent.
func (a *order) local(why string) reprise.Assignment {
	return reprise.Assignment{Unit: a.Unit, Step: a.Step, Role: a.Role, Local: why}
}

// write is for the first writing of the specification.
func (a *order) write(fsys fs.FS, r *reprise.Run, answers []reprise.Question) {
	a.Facts["task"] = "Write the specification. It is done when its heading is the feature's and no placeholder of the template is left."
	a.Expect = []reprise.Expected{{Path: specPath(r), Changed: !written(fsys, r)}}
	a.answers(answers)
}

// apply is for working answers into the specification. An attempt that was cut off may
// have done so already: if all ids are in the text, it need not change again.
func (a *order) apply(fsys fs.FS, r *reprise.Run, answers []reprise.Question) {
	a.Facts["task"] = "Work every answer into the specification where it belongs, and list each below a heading Clarifications with the id of its question, also one that the text says already. What is listed there is applied already: leave it."
	text, err := fs.ReadFile(fsys, specPath(r))
	var missing []string
	for _, q := range answers {
		if !playNames(string(text), q.ID) {
			missing = append(missing, q.ID)
		}
	}
	e := reprise.Expected{Path: specPath(r), Changed: err != nil || len(missing) > 0}
	if len(missing) > 0 {
		e.Lacks = "an answer counts as applied once its id is listed there, also where the text says it already: " + strings.Join(missing, ", ")
	}
	a.Expect = []reprise.Expected{e}
	a.answers(answers)
}

func (a *order) answers(answers []reprise.Question) {
	for _, q := range answers {
		a.Answers = append(a.Answers, q.ID)
		a.Data = append(a.Data, reprise.Data{Name: "answer " + q.ID, Source: q.Source, Text: "Question: " + q.Text + "\nAbout: " + q.Subject + "\nAnswer: " + q.Answer})
	}
}

// gaps tells what is known to be open and closed.
func (a *order) gaps(ix *index) {
	if len(ix.gaps) == 0 {
		return
	}
	var b strings.Builder
	for _, g := range ix.gaps {
		fmt.Fprintf(&b, "%s %s (%s): %s\n", g.id, doc.Fold(g.priority), doc.Fold(g.word), g.question)
	}
	a.Data = append(a.Data, reprise.Data{Name: "gaps", Source: ix.file.At(0), Text: b.String()})
}

// checklist names the file that is to be there: the one that was begun, else
// the usual one.
func (a *order) checklist(fsys fs.FS, r *reprise.Run) {
	name := path.Join(feature(r), "checklists", "requirements.md")
	if have := checklists(fsys, r); len(have) > 0 && !slices.Contains(have, name) {
		name = have[0]
	}
	a.Facts["checklist"] = name
	a.Facts["task"] = "Write a checklist for the quality of the specification to " + name + ", and report as gaps what does not hold."
	a.Expect = []reprise.Expected{{Path: name}}
	a.Inputs = append(a.Inputs, checklists(fsys, r)...)
}

func checklists(fsys fs.FS, r *reprise.Run) []string {
	var out []string
	dir := path.Join(feature(r), "checklists")
	for _, e := range doc.NewReader(fsys).Dir(dir) {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".md") {
			out = append(out, path.Join(dir, e.Name()))
		}
	}
	return append(out, ledger.Present(fsys, path.Join(feature(r), "checklist.md"))...)
}

// about is what the feature is to be, as it was asked for.
func (ix *index) about(r *reprise.Run) reprise.Data {
	d := reprise.Data{Name: "feature", Source: reprise.Source{File: path.Join(feature(r), stateDir, indexName)}, Text: r.Title}
	if ix.description.given() {
		d.Source.Line, d.Text = ix.description.line, ix.description.text
	}
	return d
}

// GoalOf tells what a run was started for.
func (Book) GoalOf(fsys fs.FS, r *reprise.Run) string { return read(fsys, r).about(r).Text }

// assignOther is for turns of context files, phases of later workflows and
// nodes of graphs.
func assignOther(fsys fs.FS, r *reprise.Run, a *order) (reprise.Assignment, error) {
	st := r.Step(a.Step)
	if st == nil {
		return reprise.Assignment{}, &notOurs{a.Unit}
	}
	if st.Ended > 0 && !st.Status.Closed() && formOf(st) == laterForm {
		return reprise.Assignment{}, &noPlace{st}
	}
	a.Template = a.Role
	a.Facts["task"] = "Do this part of the workflow: " + st.Phase
	a.Data = append(a.Data, reprise.Data{Name: "part", Source: st.Source, Text: st.ID + ": " + st.Title})
	for _, art := range r.Artifacts {
		switch {
		case art.MadeBy == st.ID && (art.Presence == reprise.Missing || art.Presence == reprise.Damaged):
			a.Expect = append(a.Expect, reprise.Expected{Path: art.Path})
		case art.Presence == reprise.Present && !slices.Contains(a.Inputs, art.Path):
			a.Inputs = append(a.Inputs, ledger.Present(fsys, art.Path)...)
		}
	}
	var answers []reprise.Question
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && q.Source.File == st.Source.File {
			answers = append(answers, q)
		}
	}
	kind, _ := playNode(fsys, r, st)
	switch {
	case kind == "milestone":
		return a.local("everything it depends on is closed"), nil
	case kind == "decision":
		a.Ask = &reprise.Asked{ID: st.ID, Text: st.Title}
	case st.ID == "specify.analyst" && len(answers) > 0 && written(fsys, r):
		a.apply(fsys, r, answers)
	case st.ID == "specify.analyst":
		a.write(fsys, r, answers)
	case st.ID == "specify.advocate":
		a.Facts["task"] = "Read the specification as its opponent. Report critical and important gaps with the question that would close each, and questions for a person; none if it is ready."
	default:
		a.answers(answers)
	}
	return a.Assignment, nil
}

// playNode gives the type of a graph's node and whether the step is one.
func playNode(fsys fs.FS, r *reprise.Run, st *reprise.Step) (kind string, ok bool) {
	if formOf(st) != graphForm {
		return "", false
	}
	g := newLoader(fsys, r.Ref).readGraph(path.Split(st.Source.File))
	for _, n := range g.nodes {
		if n.step.ID == st.ID {
			return n.kind, true
		}
	}
	return "", true
}

// notOurs is a unit that only the tool that keeps the graph can do.
type notOurs struct{ u reprise.Unit }

// Error implements error.
func (e *notOurs) Error() string {
	return "work on " + strconv.Quote(e.u.ID) + ": the files of a graph have no place in which we could begin a pass or add a node"
}

// Hint says what a person can do.
func (e *notOurs) Hint() string {
	return "let the tool that keeps " + e.u.Path + " choose what comes next, then continue"
}

// noPlace is a finished phase of a later workflow that still reads as open: the files
// record the workflow, not its phases.
type noPlace struct{ st *reprise.Step }

// Error implements error.
func (e *noPlace) Error() string {
	return "work on " + e.st.ID + ": it was carried out, and " + e.st.Source.File + " has no place that could say so"
}

// Hint says what a person can do.
func (e *noPlace) Hint() string {
	return "add the table of the phases of " + e.st.Phase + " to it, or set its row in the workflow table to what is true"
}
