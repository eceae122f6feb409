package checklist

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

// The roles: someone else judges a task that is done but not yet accepted.
const (
	role     = "coder"
	reviewer = "reviewer"
	person   = "person"
)

// personDid is the answer of a person who did a task.
const personDid = "done"

func (it *item) role() string {
	switch {
	case it.person:
		return person
	case it.status() == reprise.InReview:
		return reviewer
	}
	return role
}

// Playbook defines how a task list is worked through: one coder for each item, in the
// order of the list.
type Playbook struct {
	// layout returns the layout of a list.
	layout func(fsys fs.FS, list string) (Layout, error)
	// ordered reports whether the tasks of a list build on those before them.
	ordered func(r *reprise.Run) bool
}

// NewPlaybook returns the playbook of a family.
func NewPlaybook(f Family) reprise.Playbook {
	return Playbook{
		layout:  func(fs.FS, string) (Layout, error) { return Layout{f}, nil },
		ordered: func(*reprise.Run) bool { return f.Form == Boxes },
	}
}

// OwnPlaybook returns the playbook of the families that a project describes itself.
func OwnPlaybook() reprise.Playbook {
	return Playbook{layout: of, ordered: func(r *reprise.Run) bool {
		return !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return len(s.Needs) > 0 })
	}}
}

// Begin implements reprise.Playbook. A list is created by its own tool, so only an
// existing one can be worked on. The lists of all families are searched, since a list can
// be named by place or name without knowing its tool.
func (p Playbook) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	at := path.Clean(g.Path)
	layouts := []reprise.Layout{Own{}}
	for _, f := range families() {
		layouts = append(layouts, Layout{f})
	}
	for _, l := range layouts {
		refs, err := l.Find(fsys)
		if err != nil {
			return reprise.Ref{}, nil, err
		}
		for _, ref := range refs {
			if list, ok := l.(Layout); ok && list.planned(ref) {
				continue
			}
			if g.Path != "" && (ref.Path == at || path.Dir(ref.Path) == at) || g.ID != "" && ref.ID == g.ID {
				return ref, nil, nil
			}
		}
	}
	what := "no task list is named"
	if named := cmp.Or(g.Path, g.ID); named != "" {
		what = "no task list found at " + named
	}
	return reprise.Ref{}, nil, &reprise.MissingError{Run: "tasks", What: what, Do: "name a task list or its folder: `reprise run tasks --path specs/001-name`"}
}

// Pick implements reprise.Playbook. Units offered together may be worked on at the same
// time. If the order of the list counts, each task builds on those before it: nothing is
// started after one that is in progress or in doubt, even if its agent ticked it early. One
// that was taken out of the list may have been before any other.
func (p Playbook) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	at := func(id string) int {
		return slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == id && s.Removed == nil })
	}
	offered := func(id string) bool {
		return slices.ContainsFunc(d.Units, func(u reprise.Unit) bool { return u.ID == id })
	}
	return slices.DeleteFunc(slices.Clone(d.Units), func(u reprise.Unit) bool {
		return slices.ContainsFunc(busy, func(id string) bool {
			return id == u.ID || p.ordered(r) && !offered(id) && at(id) < at(u.ID)
		})
	})
}

// Assign implements reprise.Playbook.
func (p Playbook) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	l, err := p.layout(fsys, r.Path)
	if err != nil {
		return reprise.Assignment{}, fmt.Errorf("assign %s: %w", doc.Clip(u.ID, 60), err)
	}
	s := r.Step(u.ID)
	if s == nil {
		return reprise.Assignment{}, fmt.Errorf("assign %s: the list %s has no such task", doc.Clip(u.ID, 60), r.Path)
	}
	a := reprise.Assignment{
		Unit: u, Step: s.ID, Role: s.Role, Template: s.Role, Policy: reprise.Verify, Commit: true,
		Facts:  map[string]string{"workflow": string(r.Kind), "plan": r.Path},
		Inputs: []string{r.Path},
		Data:   []reprise.Data{{Name: "item", Source: s.Source, Text: doc.Clip(s.ID+" "+s.Title, 8<<10)}},
	}
	if s.Path != r.Path {
		a.Inputs = append(a.Inputs, s.Path)
	}
	for _, name := range l.family.Inputs {
		name = strings.ReplaceAll(name, "{id}", u.ID)
		at := path.Join(path.Dir(r.Path), name)
		if info, err := fs.Stat(fsys, at); err == nil && info.Mode().IsRegular() {
			a.Inputs = append(a.Inputs, at)
		}
	}
	if s.Role == reviewer {
		a.Policy, a.Commit = reprise.Rerun, false
		sentBack(r, &a)
	}
	return a, nil
}

// The answers to what happens to a task that a review sent back.
const (
	fixIt    = "fix"
	acceptIt = "accept"
)

func reviewOf(step string) string { return "review-" + step }

// said returns the answered question about a task that a review sent back; nil before it
// is answered, and once the answer was carried out.
func said(r *reprise.Run, step string) *reprise.Question {
	q := r.Question(reviewOf(step))
	if q == nil || !q.Answered || q.Applied {
		return nil
	}
	return q
}

// Aim implements reprise.Aimer: a task to be fixed goes to a coder.
func (Playbook) Aim(_ fs.FS, r *reprise.Run) {
	r.Next = slices.Clone(r.Next)
	for i := range r.Next {
		if q := said(r, r.Next[i].ID); q != nil && q.Answer == fixIt {
			r.Next[i].Role, r.Next[i].Reason = role, "a review sent it back"
		}
	}
}

// sentBack continues a task that a review sent back as a person decided.
func sentBack(r *reprise.Run, a *reprise.Assignment) {
	q := said(r, a.Step)
	if q == nil {
		return
	}
	a.Answers = []string{q.ID}
	if q.Answer == acceptIt {
		a.Local = "a person accepted it"
		return
	}
	a.Role, a.Template, a.Policy, a.Commit = role, role, reprise.Verify, true
	a.Data = append(a.Data, reprise.Data{Name: "what the review wants changed", Source: q.Source, Text: q.Text})
}

// made is the outcome of a task that its coder leaves for review.
const made = "in-review"

// Conclude implements reprise.Playbook. A task results only in its box, unless its coder
// asked for a review or a review sends it back, in which case a person decides. A
// reviewer who reopens the task sends it back, whatever the verdict.
func (Playbook) Conclude(_ fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	s := r.Step(a.Step)
	if a.Role != reviewer {
		c := reprise.Conclusion{}
		if s != nil && s.Status == reprise.InReview && said(r, a.Step) == nil {
			c.Outcome = made
		}
		return c
	}
	ruling := reprise.RulingOf(reply.Verdict)
	if s != nil && (s.Status == reprise.Pending || s.Status == reprise.InProgress) {
		ruling = reprise.SendsBack
	}
	switch ruling {
	case reprise.Passes, reprise.PassesWithConcerns:
		return reprise.Conclusion{Text: reply.Summary}
	case reprise.NoRuling:
		return reprise.Conclusion{Problem: "the review gave no ruling"}
	case reprise.UnclearRuling:
		return reprise.Conclusion{Problem: fmt.Sprintf("the ruling %q is unknown here", doc.Clip(reply.Verdict, 40))}
	}
	return reprise.Conclusion{Questions: []reprise.Asked{{
		ID: reviewOf(a.Step), Subject: a.Step, Options: []string{fixIt, acceptIt}, Closed: true,
		Text: "The review sends " + a.Step + " back: " + doc.Clip(strings.Join(append(reply.Issues, reply.Summary), "; "), 1000),
	}}}
}

// Settle implements reprise.Playbook. Nothing is due between two items.
func (Playbook) Settle(fs.FS, *reprise.Run, reprise.Decision) ([]reprise.Event, error) {
	return nil, nil
}
