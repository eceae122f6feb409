package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// assignPlanning is for `.planning/`: a plan, its missing summary, the planning
// of a phase, or what a hand-off says.
func assignPlanning(fsys fs.FS, r *reprise.Run, u reprise.Unit) reprise.Assignment {
	a := reprise.Assignment{Unit: u, Step: u.ID, Role: "executor", Policy: reprise.Verify, Commit: true}
	a.Facts = map[string]string{"state": r.Path, "phase": u.Phase}
	a.Inputs = present(fsys, path.Join(r.Path, "STATE.md"), path.Join(r.Path, "ROADMAP.md"), path.Join(r.Path, "PROJECT.md"))
	id := strings.TrimSuffix(u.ID, "-SUMMARY")
	st := r.Step(id)
	switch {
	case st == nil && u.ID == "continue":
		a.Facts["task"] = "Go on as the hand-off says. When it is taken up, remove it or move it away: it holds the work up for as long as it is there."
		a.Inputs = append(a.Inputs, present(fsys, u.Path)...)
		a.Data = []reprise.Data{{Name: "next action", Source: reprise.Source{File: u.Path}, Text: u.Title}}
	case st == nil:
		a.Role = "planner"
		a.Facts["task"] = "Plan the phase: write its PLAN files below " + path.Join(r.Path, "phases") + " in the names and the form this project uses, all of them, and list them in ROADMAP.md."
		if u.ID == "roadmap" {
			a.Facts["task"] = "Write ROADMAP.md: the phases of the project, each with what it is for."
			a.Expect = []reprise.Expected{{Path: path.Join(r.Path, "ROADMAP.md")}}
		}
		a.Data = []reprise.Data{{Name: "what to plan", Text: u.Title}}
	case len(present(fsys, st.Path)) == 0:
		// ROADMAP.md lists it and nobody has written it.
		a.Role, a.Step = "planner", planStep+st.ID
		a.Facts["task"] = "Write the plan " + st.ID + " that ROADMAP.md lists, in the form and the place of the other plans."
		a.Data = []reprise.Data{{Name: "what to plan", Source: st.Source, Text: st.Title}}
	default:
		carryOut(fsys, r, &a, st)
	}
	a.Template = a.Role
	return a
}

// planStep stands before the id of a plan that is to be written.
const planStep = "plan-"

// carryOut is for the executor of one plan.
func carryOut(fsys fs.FS, r *reprise.Run, a *reprise.Assignment, st *reprise.Step) {
	name := summaryOf(fsys, st)
	a.Facts["plan"], a.Facts["summary"], a.Facts["commit"] = st.ID, name, "type("+st.ID+"): what was done"
	a.Facts["task"] = "Carry out plan " + st.ID + " and nothing beyond it, with a commit for each task. Then write its summary to " + name + "."
	switch done, list := handedOver(fsys, r, st); {
	case a.Step != st.ID:
		a.Facts["task"] = "Plan " + st.ID + " is recorded as done and has no summary. Check the work and write it to " + name + "; do not do the plan again."
	case st.Again:
		a.Facts["task"] = "Carry out plan " + st.ID + " from its beginning and nothing beyond it, with a commit for each task. A person wants all of it done again: go through every task, also those that a hand-off calls done. Then write its summary to " + name + "."
	case done != "":
		a.Facts["task"] = "Go on with plan " + st.ID + " and nothing beyond it, with a commit for each task. Tasks that are done: " + done + ", see the data; do not do those again. Then write its summary to " + name + "."
		a.Data = append(a.Data, list)
	}
	a.Expect = []reprise.Expected{{Path: name}}
	a.Inputs = append([]string{st.Path}, a.Inputs...)
	a.Inputs = append(a.Inputs, present(fsys, path.Join(r.Path, "HANDOFF.json"), path.Join(r.Path, ".continue-here.md"), path.Join(path.Dir(st.Path), ".continue-here.md"))...)
	for i := range r.Steps {
		if s := &r.Steps[i]; s.ID != st.ID && s.Status == reprise.Done && (s.Phase == st.Phase || slices.Contains(st.Needs, s.ID)) && len(a.Inputs) < 12 {
			if c, ok := summarised(s); ok {
				a.Inputs = append(a.Inputs, present(fsys, c.Source.File)...)
			}
		}
	}
	a.Data = append(a.Data, reprise.Data{Name: "plan", Source: st.Source, Text: st.ID + ": " + st.Title})
	a.Data = append(a.Data, answers(r, st)...)
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && !isGate(q.ID) {
			a.Answers = append(a.Answers, q.ID)
		}
	}
}

// handedOver tells how many tasks of a plan its hand-off calls done, "" for none or
// no such hand-off, and which they are, with their commits.
func handedOver(fsys fs.FS, r *reprise.Run, st *reprise.Step) (done string, list reprise.Data) {
	at := slices.IndexFunc(resumes(r), func(s reprise.ResumeState) bool {
		return s.Type == reprise.PartialPlan && s.Plan == st.ID && s.CompletedTasks != nil && s.TotalTasks != nil
	})
	from := slices.IndexFunc(st.Claims, func(c reprise.Claim) bool { return path.Base(c.Source.File) == "HANDOFF.json" })
	if at < 0 || from < 0 || *resumes(r)[at].CompletedTasks == 0 {
		return "", reprise.Data{}
	}
	f := doc.NewReader(fsys).Open(st.Claims[from].Source.File)
	var lines []string
	for _, item := range f.JSON().Get("completed_tasks").List() {
		if item.Kind != doc.Map {
			lines = append(lines, item.Str())
			continue
		}
		var words []string
		for _, key := range []string{"id", "name", "status", "commit"} {
			if n := item.Get(key); !n.IsNull() && n.Text != "" {
				words = append(words, key+" "+n.Text)
			}
		}
		lines = append(lines, strings.Join(words, ", "))
	}
	s := resumes(r)[at]
	return fmt.Sprintf("%d of %d", *s.CompletedTasks, *s.TotalTasks),
		reprise.Data{Name: "tasks that are done", Source: f.At(0), Text: doc.Clip(strings.Join(lines, "\n"), 8000)}
}

// summaryOf is where the summary of a plan is, or will be: named after the plan,
// in the folder where the project keeps them.
func summaryOf(fsys fs.FS, st *reprise.Step) string {
	if c, ok := summarised(st); ok {
		return c.Source.File
	}
	dir, base := path.Dir(st.Path), path.Base(st.Path)
	if beside := path.Join(path.Dir(dir), "summaries"); path.Base(dir) == "plans" {
		if info, err := fs.Stat(fsys, beside); err == nil && info.IsDir() {
			dir = beside
		}
	}
	at := strings.LastIndex(strings.ToUpper(base), "PLAN")
	switch {
	case at >= 0 && base[at:at+4] == "plan":
		base = base[:at] + "summary" + base[at+4:]
	case at >= 0:
		base = base[:at] + "SUMMARY" + base[at+4:]
	default:
		base = strings.TrimSuffix(base, ".md") + "-SUMMARY.md"
	}
	return path.Join(dir, base)
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
	if c, ok := summarised(st); ok && !c.Status.Closed() {
		return fmt.Sprintf("the summary of plan %s says %q", st.ID, doc.Clip(c.Word, 40))
	}
	return ""
}

// phaseOver gives the end of the phase whose last plan this is.
func phaseOver(r *reprise.Run, step string) []reprise.Event {
	st := r.Step(strings.TrimSuffix(step, "-SUMMARY"))
	if st == nil || strings.HasPrefix(step, planStep) {
		return nil
	}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Phase == st.Phase && s.ID != st.ID && !s.Status.Closed() {
			return nil
		}
	}
	return []reprise.Event{{Kind: reprise.PhaseEnded, Phase: st.Phase}}
}

// settlePlanning ends what is over, lets the next phase be planned, and asks for
// what is a person's.
func settlePlanning(fsys fs.FS, r *reprise.Run) []reprise.Event {
	if r.State == reprise.Complete {
		if strings.HasPrefix(r.Reason, "every phase of ROADMAP.md") && hasStatus(fsys, r) {
			return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
		}
		return nil
	}
	if !r.State.Open() || len(r.Next) == 0 {
		return nil
	}
	u := r.Next[0]
	switch {
	case forPerson(r, u) && !slices.ContainsFunc(r.Next, func(o reprise.Unit) bool { return !forPerson(r, o) }):
		return gate(r, u)
	case r.State == reprise.Waiting && u.Role == "planner" && strings.HasPrefix(r.Reason, "between phases") && canGoOn(fsys, r):
		return []reprise.Event{{Kind: reprise.RunResumed}}
	}
	return nil
}

// canGoOn reports whether STATE.md can be made to say that the work goes on: it
// has a place for it that does not say so yet, and no plan counts as done only
// because the phase is called complete there.
func canGoOn(fsys fs.FS, r *reprise.Run) bool {
	for i := range r.Steps {
		if _, ok := summarised(&r.Steps[i]); !ok && r.Steps[i].Status == reprise.Done {
			return false
		}
	}
	return slices.ContainsFunc(statuses(fsys, r), func(word string) bool {
		return word != "executing" && word != "in progress"
	})
}

// hasStatus reports whether STATE.md has a line that a change of the status can
// be written to.
func hasStatus(fsys fs.FS, r *reprise.Run) bool { return len(statuses(fsys, r)) > 0 }

// statuses are the words for the status in STATE.md, above and below.
func statuses(fsys fs.FS, r *reprise.Run) []string {
	md := doc.NewReader(fsys).Open(path.Join(r.Path, "STATE.md")).Markdown()
	if md == nil {
		return nil
	}
	var out []string
	if md.Front != nil && md.Front.Kind == doc.Map && md.Front.Has("status") {
		out = append(out, doc.Fold(md.Front.Get("status").Str()))
	}
	s, ok := md.Section("Current Position")
	if !ok {
		s = md.All()
	}
	if l, ok := s.Label("Status"); ok {
		out = append(out, doc.Fold(l.Value))
	}
	return out
}

const gatePrefix = "gate-"

func isGate(id string) bool { return strings.HasPrefix(id, gatePrefix) }

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
		// work goes on shows that it was judged.
		return []reprise.Event{{Kind: reprise.PhaseEnded, Phase: u.Phase}, {Kind: reprise.RunResumed}}
	case !plan && (word == "approved" || word == "accepted" || word == "yes"):
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
	}
	return nil
}
