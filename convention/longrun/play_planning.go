package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// planningOf reads the files of a run, for what its steps do not tell.
func planningOf(fsys fs.FS, r *reprise.Run) *gsd {
	return loadPlanning(doc.NewReader(fsys), &reprise.Run{Ref: r.Ref})
}

// assignPlanning is for `.planning/`: a plan, its missing summary, the planning
// of a phase, or what a hand-off says.
func assignPlanning(fsys fs.FS, r *reprise.Run, u reprise.Unit) reprise.Assignment {
	a := reprise.Assignment{Unit: u, Step: u.ID, Role: "executor", Policy: reprise.Verify, Commit: true}
	a.Facts = map[string]string{"state": r.Path, "phase": u.Phase}
	a.Inputs = ledger.Present(fsys, path.Join(r.Path, "STATE.md"), path.Join(r.Path, "ROADMAP.md"), path.Join(r.Path, "PROJECT.md"))
	g := planningOf(fsys, r)
	st, p := r.Step(strings.TrimSuffix(u.ID, "-SUMMARY")), g.named(u.ID)
	switch {
	case st == nil && u.ID == "continue":
		a.Facts["task"] = "Continue as the hand-off says. When it is taken up, remove it or move it away: it holds the work up for as long as it is there."
		a.Inputs = append(a.Inputs, ledger.Present(fsys, u.Path)...)
		a.Data = []reprise.Data{{Name: "next action", Source: reprise.Source{File: u.Path}, Text: u.Title}}
	case st == nil:
		a.Role = "planner"
		a.Facts["task"] = "Plan the phase: write its PLAN files below " + path.Join(r.Path, "phases") + " in the names and the form this project uses, all of them, and list them in ROADMAP.md."
		if u.ID == "roadmap" {
			a.Facts["task"] = "Write ROADMAP.md: the phases of the project, each with what it is for."
			a.Expect = []reprise.Expected{{Path: path.Join(r.Path, "ROADMAP.md")}}
		}
		a.Data = []reprise.Data{{Name: "what to plan", Text: u.Title}}
	case p == nil || !p.filed():
		// ROADMAP.md lists it, and it is not written yet.
		a.Role, a.Step = "planner", planStep+st.ID
		a.Facts["task"] = "Write the plan " + st.ID + " that ROADMAP.md lists, in the form and the place of the other plans."
		a.Data = []reprise.Data{{Name: "what to plan", Source: st.Source, Text: st.Title}}
	default:
		g.carryOut(fsys, r, &a, st, p)
	}
	a.Template = a.Role
	return a
}

// planStep stands before the id of a plan that is to be written.
const planStep = "plan-"

// carryOut is for the executor of one plan.
func (g *gsd) carryOut(fsys fs.FS, r *reprise.Run, a *reprise.Assignment, st *reprise.Step, p *plan) {
	name, _ := g.summaryName(p)
	a.Facts["plan"], a.Facts["summary"], a.Facts["commit"] = p.id, name, "type("+p.id+"): what was done"
	a.Facts["task"] = "Carry out plan " + p.id + " and nothing beyond it, with a commit for each task. Then write its summary to " + name + "."
	switch h := g.hand; {
	case a.Step != p.id:
		a.Facts["task"] = "Plan " + p.id + " is recorded as done and has no summary. Check the work and write it to " + name + "; do not do the plan again."
	case st.Again:
		a.Facts["task"] = "Carry out plan " + p.id + " from its beginning and nothing beyond it, with a commit for each task. A person wants all of it done again: go through every task, also those that a hand-off calls done. Then write its summary to " + name + "."
	case h != nil && h.plan == p && h.total > 0 && h.completed > 0:
		a.Facts["task"] = fmt.Sprintf("Continue with plan %s and nothing beyond it, with a commit for each task. Tasks that are done: %d of %d, see the data; do not do those again. Then write its summary to %s.", p.id, h.completed, h.total, name)
		a.Data = append(a.Data, reprise.Data{Name: "tasks that are done", Source: h.source, Text: doc.Clip(strings.Join(h.tasks, "\n"), 8000)})
	}
	a.Expect = []reprise.Expected{{Path: name}}
	a.Inputs = append([]string{p.file()}, a.Inputs...)
	a.Inputs = append(a.Inputs, ledger.Present(fsys, path.Join(r.Path, "HANDOFF.json"), path.Join(r.Path, ".continue-here.md"), path.Join(path.Dir(p.file()), ".continue-here.md"))...)
	for _, q := range g.done {
		if q != p && q.status == reprise.Done && (q.phase == p.phase || slices.Contains(p.needs, q.planKey)) && len(a.Inputs) < 12 {
			a.Inputs = append(a.Inputs, ledger.Present(fsys, q.summary.file)...)
		}
	}
	a.Data = append(a.Data, reprise.Data{Name: "plan", Source: st.Source, Text: p.id + ": " + st.Title})
	told, _ := answers(r, st)
	a.Data = append(a.Data, told...)
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && !strings.HasPrefix(q.ID, gatePrefix) {
			a.Answers = append(a.Answers, q.ID)
		}
	}
}

// leftPlanning says what is wrong with what an attempt left, "" if nothing is.
func leftPlanning(r *reprise.Run, step string) string {
	if id, ok := strings.CutPrefix(step, planStep); ok {
		if st := r.Step(id); st == nil || st.Path == "" {
			return "plan " + id + " is not written"
		}
		return ""
	}
	st := r.Step(strings.TrimSuffix(step, "-SUMMARY"))
	if st == nil {
		// What it was for must have come to be: the files ask for
		// something else now.
		if len(r.Next) > 0 && r.Next[0].ID == step {
			return "the files still ask for " + step + ": " + r.Next[0].Reason
		}
		return ""
	}
	if c := st.Claims[0]; c.Ledger == "SUMMARY" && !c.Status.Closed() {
		return fmt.Sprintf("the summary of plan %s does not say that it is completed: it says %q", st.ID, doc.Clip(c.Word, 40))
	}
	return ""
}

// phaseOver gives the end of the phase whose last plan this is.
func phaseOver(r *reprise.Run, step string) []reprise.Event {
	st := r.Step(strings.TrimSuffix(step, "-SUMMARY"))
	if st == nil || strings.HasPrefix(step, planStep) {
		return nil
	}
	if slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Phase == st.Phase && s.ID != st.ID && !s.Status.Closed() }) {
		return nil
	}
	return []reprise.Event{{Kind: reprise.PhaseEnded, Phase: st.Phase}}
}

// settlePlanning ends what is over, lets the next phase be planned, and asks for
// what is a person's.
func settlePlanning(fsys fs.FS, r *reprise.Run) []reprise.Event {
	if r.State != reprise.Complete && (!r.State.Open() || len(r.Next) == 0) {
		return nil
	}
	g := planningOf(fsys, r)
	words := g.state.words()
	if r.State == reprise.Complete {
		if g.finished && len(words) > 0 {
			return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
		}
		return nil
	}
	u := r.Next[0]
	switch {
	case forPerson(r, u) && (r.State == reprise.Waiting || !slices.ContainsFunc(r.Next, func(o reprise.Unit) bool { return !forPerson(r, o) })):
		return gate(r, u)
	case r.State == reprise.Waiting && u.Role == "planner" && g.between &&
		firstPlan(g.plans.sorted(), func(p *plan) bool { return p.status == reprise.Done && p.summary == nil }) == nil && // done by the records alone
		slices.ContainsFunc(words, func(word gsdWord) bool { return word != gsdExecuting }):
		// STATE.md can be made to say that the work continues: it has a place for
		// it that does not say so yet.
		return []reprise.Event{{Kind: reprise.RunResumed}}
	}
	return nil
}

// words are what STATE.md says of the status where that can be changed, below and
// above.
func (s *gsdState) words() (out []gsdWord) {
	for _, t := range []ledger.Text{s.fields["status"], s.at("status")} {
		if t.There() {
			out = append(out, readGSDWord(t.Value))
		}
	}
	return out
}

const gatePrefix = "gate-"

// gate asks a person about a plan that only they can do, or for their judgement
// of a phase, and acts on what they said. Words that say neither are heard and
// the question stays.
func gate(r *reprise.Run, u reprise.Unit) []reprise.Event {
	asked := 0
	for _, q := range r.Questions {
		if q.ID != gatePrefix+u.ID && !strings.HasPrefix(q.ID, gatePrefix+u.ID+".") {
			continue
		}
		if asked++; q.Answered && !q.Applied {
			return append(passed(r, u, q.Answer), reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID})
		}
	}
	id := gatePrefix + u.ID
	if asked > 0 {
		id += fmt.Sprintf(".%d", asked+1)
	}
	ev := reprise.Event{
		Kind: reprise.QuestionAsked, Question: id, Step: u.ID, Phase: u.Phase,
		Text: fmt.Sprintf("Plan %s (%s) is to be done by a person. Is it done?", u.ID, doc.Clip(u.Title, 80)), Options: []string{"done", "skip it", "not yet"},
	}
	if r.Step(u.ID) == nil {
		ev.Text, ev.Options = u.Title+": is the work accepted?", []string{"approved", "not yet"}
	}
	return []reprise.Event{ev}
}

// passed gives the events of a gate that was answered.
func passed(r *reprise.Run, u reprise.Unit, answer string) []reprise.Event {
	word, _, _ := strings.Cut(doc.Fold(answer), " ")
	word = strings.Trim(word, ".,!")
	switch plan := r.Step(u.ID) != nil; {
	case plan && (word == "done" || word == "yes"):
		return append([]reprise.Event{{Kind: reprise.StepFinished, Step: u.ID, Text: "A person did it: " + answer}}, phaseOver(r, u.ID)...)
	case plan && (word == "skip" || word == "skipped"):
		return append([]reprise.Event{{Kind: reprise.StepSkipped, Step: u.ID, Text: answer}}, phaseOver(r, u.ID)...)
	case !plan && (word == "approved" || word == "accepted" || word == "yes") && u.Phase != "":
		// Where ROADMAP.md has no place for the end of the phase, that the
		// work continues shows that it was judged.
		return []reprise.Event{{Kind: reprise.PhaseEnded, Phase: u.Phase}, {Kind: reprise.RunResumed}}
	case !plan && (word == "approved" || word == "accepted" || word == "yes"):
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
	}
	return nil
}
