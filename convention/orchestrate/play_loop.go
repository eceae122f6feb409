package orchestrate

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Loop is the QA loop of a story: review and fix, iteration after iteration, up
// to the maximum of its state; then a person decides.
type Loop struct{ alone }

var _ reprise.Playbook = Loop{}

// Begin implements reprise.Playbook: the loop of a story that is there, named
// by its id or its path, or the state of a loop itself.
func (Loop) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	none := reprise.Ref{}
	if base := path.Base(g.Path); strings.HasPrefix(base, "loop-status.") && exists(fsys, g.Path) {
		return reprise.Ref{Layout: layoutName, ID: loopID(fsys, g.Path), Path: g.Path, Kind: reprise.KindQALoop}, nil, nil
	}
	var story string
	var err error
	if g.Path == "" || strings.HasPrefix(path.Base(g.Path), "loop-status.") {
		story, err = findStory(fsys, strings.TrimPrefix(g.ID, "qa-loop-"))
	} else {
		story, err = namedStory(fsys, "QA loop", g.Path)
	}
	if err != nil {
		return none, nil, err
	}
	if story == "" || !exists(fsys, story) {
		return none, nil, notFromNothing("QA loop", "there is no story to review")
	}
	id := storyRef(story).ID
	if !isName(id) {
		return none, nil, notFromNothing("QA loop", "the story's name cannot be that of a folder")
	}
	ref := reprise.Ref{Layout: layoutName, ID: "qa-loop-" + id, Path: "qa/" + id + "/loop-status.json", Kind: reprise.KindQALoop}
	// The loop of the project as a whole may be this story's.
	if one := "qa/loop-status.json"; exists(fsys, one) && loopID(fsys, one) == ref.ID {
		ref.Path = one
	}
	return begun(fsys, ref, g, reprise.Event{Actor: "qa", Text: g.Text, Given: g.Given})
}

// GivenOf implements reprise.Giver: the loop's own maximum.
func (Loop) GivenOf(fsys fs.FS, r *reprise.Run) (map[string]string, error) {
	if n, ok := stateIn(fsys, r.Path).In("maxIterations", "max_iterations").Int(); ok && n > 0 {
		return map[string]string{"maxIterations": strconv.Itoa(n)}, nil
	}
	return nil, nil
}

// loopID is what the loop in a file is called.
func loopID(fsys fs.FS, name string) string {
	if id := stateIn(fsys, name).In("storyId", "story_id").Plain(); id != "" {
		return "qa-loop-" + id
	}
	return "qa-loop-" + path.Base(path.Dir(name))
}

// Assign implements reprise.Playbook.
func (Loop) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	what, n := loopStep(u.ID, u.Phase, 0)
	if n == 0 {
		return reprise.Assignment{}, fmt.Errorf("assign %s: the loop has no phase %q", r.ID, u.Phase)
	}
	role := "qa"
	if what == "fix" {
		role = "dev"
	}
	a := assignment(r, u, fmt.Sprintf("%s-%d", what, n), role)
	a.Facts["iteration"] = strconv.Itoa(n)
	if nums := doc.Numbers(u.Phase); len(nums) > 1 {
		a.Facts["max"] = strconv.Itoa(nums[1])
	}
	a.Inputs = append(a.Inputs, r.Path)
	if story := storyOf(r); story != "" {
		withStory(fsys, &a, story)
		a.Expect = []reprise.Expected{{Path: story}}
	}
	a.Commit = role == "dev"
	return a, nil
}

// Conclude implements reprise.Playbook.
func (Loop) Conclude(_ fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if r.State == reprise.Unreadable {
		return reprise.Conclusion{Problem: "the state of the loop can no longer be read: " + r.Reason}
	}
	if !strings.HasPrefix(a.Step, "review-") {
		return finished(reply)
	}
	// A reviewer may have written the verdict into the state itself.
	known := reprise.NoRuling
	if s := r.Step(a.Step); s != nil && len(s.Claims) > 0 {
		known = rule(s.Claims[0].Word)
	}
	return judge(reply, known)
}

// Settle implements reprise.Playbook: when the iterations are used up, the
// person who is asked finds that in the state.
func (Loop) Settle(_ fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if out := unheard(r); len(out) > 0 {
		return out, nil
	}
	if q, yes, ok := closes(r); ok {
		out := []reprise.Event{applied(q)}
		if yes {
			// In the state of a loop this is an accepted last iteration.
			out = append([]reprise.Event{{Kind: reprise.AnswerApplied, Question: "escalation", Text: acceptIt, Actor: "person"}}, out...)
		}
		return out, nil
	}
	if out := firstOf(outside(r, d), answers(r, ended)); len(out) > 0 {
		return out, nil
	}
	if r.State != reprise.Waiting || !strings.HasPrefix(r.Phase, "escalate") {
		return nil, nil
	}
	for _, q := range r.Questions {
		if q.ID == "escalation" && !q.Answered && q.AskedAt.IsZero() {
			return []reprise.Event{{Kind: reprise.QuestionAsked, Question: q.ID, Text: r.Reason, Options: q.Options, Closed: true}}, nil
		}
	}
	return nil, nil
}
