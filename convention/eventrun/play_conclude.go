package eventrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// Conclude implements reprise.Playbook.
func (b Book) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if len(reply.Questions) > 0 {
		return reprise.Conclusion{Questions: reply.Questions, Text: reply.Summary}
	}
	if s := r.Step(a.Step); s != nil {
		return b.concludeTask(fsys, r, a, s, reply)
	}
	return concludeStage(fsys, r, a, reply)
}

// concludeTask ends the work on a task, or its verification.
func (b Book) concludeTask(fsys fs.FS, r *reprise.Run, a reprise.Assignment, s *reprise.Step, reply reprise.Reply) reprise.Conclusion {
	c := reprise.Conclusion{Text: reply.Summary}
	switch {
	case s.Status == reprise.Blocked:
		// The agent's own last statement about the task, which it wrote itself.
		return reprise.Conclusion{Blocked: true, Text: reply.Summary}
	case s.Status == reprise.Failed && a.Role != verifierRole:
		return reprise.Conclusion{Failed: true, Text: reply.Summary}
	case b.steps != nil:
		return c
	case a.Role == verifierRole:
		if c = verified(s, reply); c.Failed || c.Blocked || c.Problem != "" {
			return c
		}
	case doc.Fold(reply.Verdict) == "implemented" || s.Role == verifierRole || verifies(fsys, r):
		c.Outcome = Implemented
		return c
	}
	if lastOpen(r, s.ID) && named(r.Phase) {
		c.Then = append(c.Then, reprise.Event{Kind: reprise.PhaseEnded, Phase: r.Phase})
	}
	return c
}

// Implemented is the outcome of a task that is made and awaits verification.
const Implemented = "implemented"

// verified ends a verification: only a known approval verifies the task, given as the
// verdict or written into the files by the verifier itself.
func verified(s *reprise.Step, reply reprise.Reply) reprise.Conclusion {
	c := reprise.Conclusion{Text: reply.Summary}
	switch reprise.RulingOf(reply.Verdict) {
	case reprise.Passes:
	case reprise.SendsBack, reprise.PassesWithConcerns:
		c.Failed = true
		if len(reply.Issues) > 0 {
			c.Text = reply.Issues[0]
		}
	case reprise.Holds:
		c.Blocked = true
	case reprise.NoRuling:
		if s.Status != reprise.Done {
			c.Problem = "the verification gave no ruling"
		}
	default:
		c.Problem = fmt.Sprintf("the ruling %q is unknown here", doc.Clip(reply.Verdict, 40))
	}
	return c
}

// verifies reports whether the files show that this run's tasks are verified by someone
// other than their maker.
func verifies(fsys fs.FS, r *reprise.Run) bool {
	for _, dir := range []string{"verifications", "verification"} {
		if info, err := fs.Stat(fsys, path.Join(r.Path, dir)); err == nil && info.IsDir() {
			return true
		}
	}
	return slices.ContainsFunc(r.Steps, func(s reprise.Step) bool {
		return slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool {
			word := doc.Fold(c.Word)
			return word == "task verified" || word == "task implemented"
		})
	})
}

// lastOpen reports whether a task is the only open one.
func lastOpen(r *reprise.Run, id string) bool {
	return !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.ID != id && !s.Status.Closed() })
}

// named reports whether the end of a phase can be recorded as it is.
func named(phase string) bool { return phase == "2 execution" || phase == "4 execution" }

// before is the phase that a document ends, by the phase the run is in once the document
// exists.
var before = map[string]map[string]string{
	"prd":          {"1 planning": "0 intake"},
	"constitution": {"2 execution": "1 planning", "4 execution": "3 approval"},
	"pr-prep":      {"4 consolidation": "3 cleanup", "6 consolidation": "5 cleanup"},
}

// concludeStage ends the making of a document, the clean-up or the consolidation.
func concludeStage(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	c := reprise.Conclusion{Text: reply.Summary}
	revised := revising(fsys, r, a.Step)
	d := playDocuments[a.Step]
	if d.file != "" && !revised && len(r.Next) > 0 && r.Next[0].ID == a.Step {
		return reprise.Conclusion{Problem: d.file + " is not there, or nothing stands in it"}
	}
	if a.Step == "task-graph" || revised && a.Step == "plan" {
		if why := unfit(r); why != "" {
			return reprise.Conclusion{Problem: why}
		}
	}
	switch phase := before[a.Step][r.Phase]; {
	case revised && a.Step == "plan":
		// The gate follows, in the numbering that has a number for it.
		c.Then = append(c.Then, reprise.Event{Kind: reprise.PhaseEnded, Phase: "2 planning"})
		if find(fsys, r, "constitution.md") != "" {
			c.Finished = true
			c.Questions = []reprise.Asked{{
				ID: planRevised, Text: "The plan was revised after it had been approved. Continue with it?", Options: []string{"approve", "cancel"}, Closed: true,
			}}
		}
	case revised && a.Step == "prd":
		c.Then = append(c.Then, reprise.Event{Kind: reprise.PhaseEnded, Phase: "0 intake"})
	case phase != "":
		c.Then = append(c.Then, reprise.Event{Kind: reprise.PhaseEnded, Phase: phase})
	}
	return c
}

// unfit says why a task graph cannot be worked on. Its maker has to redo it, which is
// cheaper than a person finding out.
func unfit(r *reprise.Run) string {
	if r.State == reprise.Unreadable || len(r.Steps) == 0 {
		return "the task graph contains no task that can be read"
	}
	for _, f := range r.Findings {
		if f.Code == reprise.CodeCycle || f.Code == reprise.CodeUnknownDependency || f.Code == reprise.CodeDuplicateID {
			return "the task graph cannot be worked off: " + f.Message
		}
	}
	return ""
}
