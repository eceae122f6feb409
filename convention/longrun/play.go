package longrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Playbook is how plans are carried out: those of `.long-run/` task by task, with
// a checkpoint after each and a summary after each plan, and those of GSD's
// `.planning/` plan by plan. It has no state.
//
// A plan is worked on by one agent at a time. Its tasks are counted in its file,
// and how many are done in its checkpoint; a plan without tasks is one step.
// What only a person can do or judge is asked, never done for them.
type Playbook struct{}

// NewPlaybook returns the playbook.
func NewPlaybook() reprise.Playbook { return Playbook{} }

// Begin starts a run next to a specification: in the folder the goal's path or id
// names, or in one below specs/ that is called after the goal. A `.planning/`
// folder is continued, never created: its roadmap comes from a conversation.
func (Playbook) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	at := path.Clean(strings.TrimSuffix(g.Path, "/"))
	name := path.Base(at)
	if name == planningDir || path.Base(path.Dir(at)) == planningDir || strings.Contains(at, planningDir+"/workstreams/") || g.Path == "" && g.ID == "planning" {
		return takeUp(fsys, at)
	}
	switch {
	case g.Path == "" && g.ID == "long-run":
		at = "."
	case g.Path == "" && g.ID != "":
		at = path.Join("specs", g.ID)
	case g.Path == "":
		at = path.Join("specs", slug(g.Text))
	case name == longRunDir || strings.HasSuffix(name, ".md"):
		at = path.Dir(at)
	}
	dir := path.Join(at, longRunDir)
	if !fs.ValidPath(dir) || g.Path == "" && g.ID != "" && g.ID != "long-run" && path.Base(at) != g.ID {
		return reprise.Ref{}, nil, fmt.Errorf("begin plans: %q cannot be the folder of a run", doc.Clip(at, 80))
	}
	ref := ref(dir, "long-run")
	if there(fsys, dir, "STATE.md", "plans", "agent-history.json", "clarifications.md") {
		return ref, nil, nil
	}
	if strings.TrimSpace(g.Text) == "" && !there(fsys, at, "tasks.md", "spec.md") || at == "specs" {
		return reprise.Ref{}, nil, &reprise.MissingError{Run: at, What: "neither tasks.md nor spec.md is there", Do: "write one of them, or say what is to be done"}
	}
	return ref, []reprise.Event{{Kind: reprise.RunStarted, At: g.Now, Text: g.Text}}, nil
}

// takeUp finds the run of a `.planning/` folder.
func takeUp(fsys fs.FS, at string) (reprise.Ref, []reprise.Event, error) {
	if !strings.Contains(at, planningDir) {
		at = planningDir
	}
	if path.Base(at) != planningDir && path.Base(path.Dir(at)) != "workstreams" {
		at = path.Dir(at)
	}
	ref := ref(at, "planning")
	if path.Base(at) != planningDir {
		ref.ID = path.Base(at)
	}
	if !fs.ValidPath(at) || !there(fsys, at, "ROADMAP.md", "STATE.md", "phases", "HANDOFF.json") {
		return reprise.Ref{}, nil, &reprise.MissingError{Run: at, What: "there is no roadmap", Do: "make PROJECT.md and ROADMAP.md first; they come out of a conversation"}
	}
	return ref, nil, nil
}

func there(fsys fs.FS, dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := fs.Stat(fsys, path.Join(dir, name))
		return err == nil || !errors.Is(err, fs.ErrNotExist)
	})
}

// slug makes a name of the first words of a text.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	return doc.Clip(strings.Join(words[:min(len(words), 5)], "-"), 60)
}

// Pick offers one plan at a time: they share a working tree, and each commits.
// What is a person's is left to the questions.
func (Playbook) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	if len(busy) > 0 {
		return nil
	}
	for _, u := range d.Units {
		if !forPerson(r, u) {
			return []reprise.Unit{u}
		}
	}
	return nil
}

func forPerson(r *reprise.Run, u reprise.Unit) bool {
	st := r.Step(u.ID)
	return strings.HasPrefix(u.ID, "verify") && st == nil || st != nil && st.Role == "person"
}

// Assign says what a unit needs.
func (Playbook) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	if path.Base(r.Path) == longRunDir {
		return assignPlan(fsys, r, u), nil
	}
	return assignPlanning(fsys, r, u), nil
}

// Conclude holds what an attempt left against what it must leave.
func (Playbook) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if reply.Outcome == "question" {
		return reprise.Conclusion{Questions: ask(r, a.Step, reply.Questions)}
	}
	c := reprise.Conclusion{Questions: ask(r, a.Step, reply.Questions), Finished: true}
	if path.Base(r.Path) == longRunDir {
		c.Problem = leftPlan(fsys, r, a.Step)
	} else {
		c.Problem = leftPlanning(r, a.Step)
		c.Then = phaseOver(r, a.Step)
	}
	return c
}

// Settle records the ends that the files show, and asks for what is a person's.
func (Playbook) Settle(fsys fs.FS, r *reprise.Run, _ reprise.Decision) ([]reprise.Event, error) {
	if len(r.PendingQuestions()) > 0 {
		return nil, nil
	}
	if path.Base(r.Path) == longRunDir {
		return settlePlans(fsys, r), nil
	}
	return settlePlanning(fsys, r), nil
}

// Leave gives what is recorded of a run that the engine leaves: `.long-run/` calls it
// Stopped then.
func Leave(r *reprise.Run, why string) []reprise.Event {
	if path.Base(r.Path) != longRunDir {
		return nil
	}
	return []reprise.Event{{Kind: reprise.RunStopped, Actor: "reprise", Outcome: "paused", Text: why}}
}

// GoalOf tells what a run was started for: what STATE.md says of it.
func (Playbook) GoalOf(fsys fs.FS, r *reprise.Run) string {
	if path.Base(r.Path) == longRunDir {
		return longRunOf(fsys, r).state.goalAt.Value
	}
	return planningOf(fsys, r).state.fields["goal"].Value
}

// ask gives an agent's questions unused ids.
func ask(r *reprise.Run, step string, asked []reprise.Asked) []reprise.Asked {
	taken := map[string]bool{}
	for _, q := range r.Questions {
		taken[q.ID] = true
	}
	stem := "q-" + strings.ReplaceAll(step, "/", ".")
	var out []reprise.Asked
	for _, q := range asked {
		if strings.TrimSpace(q.Text) == "" {
			continue
		}
		for n := 1; q.ID == "" || taken[q.ID]; n++ {
			q.ID = fmt.Sprintf("%s-%d", stem, n)
		}
		taken[q.ID] = true
		// It is about the step that asks, whatever the agent calls that.
		q.Subject = ""
		out = append(out, q)
	}
	return out
}

// answers are those a plan's executor should know, as data: this convention
// calls an answer applied as soon as it is written down.
func answers(r *reprise.Run, st *reprise.Step) (out []reprise.Data, unused []string) {
	for _, q := range r.Questions {
		about := q.Subject == st.ID || strings.HasPrefix(q.Subject, st.ID+"/") || st.Phase != "" && strings.HasSuffix(doc.Fold(q.Subject), doc.Fold(st.Phase)) ||
			st.Title != "" && strings.HasSuffix(doc.Fold(q.Subject), doc.Fold(st.Title))
		if q.Answered && q.Answer != "" && about {
			out = append(out, reprise.Data{Name: "answer " + q.ID, Source: q.Source, Text: "Question: " + q.Text + "\nAnswer: " + q.Answer})
			if !q.Applied {
				unused = append(unused, q.ID)
			}
		}
	}
	return out, unused
}
