package autoclaude

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Conclude implements reprise.Playbook.
func (Playbook) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if len(reply.Questions) > 0 {
		return reprise.Conclusion{Questions: reply.Questions, Text: reply.Summary}
	}
	if r.State == reprise.Unreadable {
		return reprise.Conclusion{Problem: "it left a plan that cannot be read: " + r.Reason}
	}
	switch {
	case a.Step == stepQAReview:
		return concludeReview(fsys, r, reply)
	case a.Step == stepQAFix:
		return reprise.Conclusion{Text: reply.Summary}
	case a.Step == stepPlanning && (r.Step(stepPlanning) == nil || r.Step(stepPlanning).Phase == "spec"):
		return concludePlan(r, reply)
	case tasks[a.Step] != "" && (r.Step(a.Step) == nil || r.Step(a.Step).Phase == "spec"):
		return concludeSpec(r, a.Step, reply)
	}
	return concludeItem(fsys, r, a, reply)
}

// concludeSpec asks that the phase left a file that can be read.
func concludeSpec(r *reprise.Run, step string, reply reprise.Reply) reprise.Conclusion {
	if s := r.Step(step); s != nil && !s.Status.Closed() {
		return reprise.Conclusion{Problem: fmt.Sprintf("it left no readable %s", path.Base(s.Path))}
	}
	return reprise.Conclusion{Text: reply.Summary}
}

// concludePlan asks for a plan that can be worked on: items, all of
// them open.
func concludePlan(r *reprise.Run, reply reprise.Reply) reprise.Conclusion {
	if r.Step(stepPlanning) != nil {
		return reprise.Conclusion{Problem: "it left a plan that lists no item"}
	}
	open := 0
	for i := range r.Steps {
		switch s := &r.Steps[i]; {
		case s.Status == reprise.Unknown:
			return reprise.Conclusion{Problem: fmt.Sprintf("it left a plan with an item whose status has no meaning: %q", doc.Clip(s.ID, 60))}
		case !s.Status.Closed():
			open++
		}
	}
	if open == 0 || !r.State.Open() {
		return reprise.Conclusion{Problem: "it left a plan that is closed before any item was begun"}
	}
	return reprise.Conclusion{Text: reply.Summary}
}

// concludeItem honours what the coder itself wrote about the item, and asks for
// the files that the item was to make.
func concludeItem(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	id := a.Step
	if _, err := fs.Stat(fsys, a.Place); a.Place != "" && errors.Is(err, fs.ErrNotExist) {
		// What the plan says now is the project's copy, and not its word.
		return reprise.Conclusion{Problem: "its checkout is gone: " + a.Place}
	}
	s := r.Step(id)
	if s == nil {
		return reprise.Conclusion{Problem: fmt.Sprintf("it left a plan without the item %q", doc.Clip(id, 60))}
	}
	switch s.Status {
	case reprise.Failed:
		return reprise.Conclusion{Failed: true, Text: orElse(reply.Summary, "it marked the item failed in the plan")}
	case reprise.Blocked:
		return reprise.Conclusion{Blocked: true, Text: orElse(reply.Summary, "it marked the item blocked in the plan")}
	case reprise.Unknown:
		return reprise.Conclusion{Problem: "it left a status in the plan that has no meaning"}
	}
	if missing := unmade(fsys, orElse(a.Place, r.Worktree), load(fsys, r.Ref).plan, id); missing != "" {
		return reprise.Conclusion{Problem: fmt.Sprintf("none of the files it should create exists, such as %q", missing)}
	}
	return reprise.Conclusion{Text: reply.Summary}
}

// unmade gives the first file that an item was to make, if not one of them is
// there. Plans are loose about names, so one is enough.
func unmade(fsys fs.FS, place string, p *plan, id string) string {
	if p == nil || !p.lists(id) {
		return ""
	}
	first := ""
	for _, v := range p.item(id).at[0].In("files_to_create").Entries(0) {
		name := path.Clean(strings.TrimSpace(v.Plain()))
		if name == "." || path.IsAbs(name) || !fs.ValidPath(name) || strings.ContainsAny(name, "*?") {
			return "" // prose or a pattern: nothing to look for
		}
		if _, err := fs.Stat(fsys, path.Join(place, name)); err == nil {
			return ""
		}
		first = cmp.Or(first, name)
	}
	return first
}

func orElse(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// concludeReview takes the reviewer's ruling, or the one in the plan's sign-off; where the
// two differ, a rejection counts.
func concludeReview(fsys fs.FS, r *reprise.Run, reply reprise.Reply) reprise.Conclusion {
	word, known := verdict(reply.Verdict)
	if !known && reply.Verdict != "" {
		return reprise.Conclusion{Problem: fmt.Sprintf("its ruling %q is neither approved nor rejected", doc.Clip(reply.Verdict, 40))}
	}
	signed := ""
	if p := load(fsys, r.Ref).plan; p != nil {
		signed, _ = verdict(p.qaWord)
	}
	open := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return !s.Status.Closed() })
	switch {
	case open || signed == "rejected":
		word = "rejected"
	case word == "" && signed == "approved":
		word = "approved"
	case word == "":
		return reprise.Conclusion{Problem: "it gave no ruling"}
	}
	return reprise.Conclusion{Outcome: word, Text: orElse(strings.Join(reply.Issues, "\n"), reply.Summary)}
}

// verdict maps a reviewer's ruling to the words of the plan.
func verdict(word string) (string, bool) {
	switch reprise.RulingOf(word) {
	case reprise.Passes, reprise.PassesWithConcerns:
		return "approved", true
	case reprise.SendsBack:
		return "rejected", true
	}
	return "", false
}
