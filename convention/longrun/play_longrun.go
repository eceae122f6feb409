package longrun

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

// longRunOf reads the files of a run, for what its steps do not tell.
func longRunOf(fsys fs.FS, r *reprise.Run) *longRun {
	return loadLongRun(doc.NewReader(fsys), &reprise.Run{Ref: r.Ref})
}

// tasksLeft tells how many tasks of a plan are done and how many there are. It is
// not ok where the plan is one step: it names no tasks, or its checkpoint says
// that all are done.
func (p *plan) tasksLeft() (done, total int, ok bool) {
	switch c := p.checkpoint; {
	case c == nil:
		return 0, len(p.tasks), len(p.tasks) > 0
	case c.partial() && !p.status.Closed():
		return c.completed, c.total, true
	}
	return 0, 0, false
}

// doneSince reports whether the checkpoint says that all tasks are done, and was
// written after the summary was.
func (p *plan) doneSince() bool {
	c, s := p.checkpoint, p.summary
	return c.status == reprise.InReview && s != nil && !s.at.IsZero() && !c.at.Before(s.at)
}

// assignPlan is for `.long-run/`: the plans themselves, the next task of one, or
// the end of one.
func assignPlan(fsys fs.FS, r *reprise.Run, u reprise.Unit) reprise.Assignment {
	a := reprise.Assignment{Unit: u, Step: u.ID, Role: "executor", Template: "executor", Policy: reprise.Verify, Commit: true}
	l, spec := longRunOf(fsys, r), path.Dir(r.Path)
	a.Facts = map[string]string{"spec": spec, "state": r.Path}
	a.Inputs = ledger.Present(fsys, path.Join(spec, "spec.md"), path.Join(spec, "tasks.md"))
	id, task, _ := strings.Cut(u.ID, "/") // a task is named where it is looked back at, or done again
	st, p := r.Step(id), l.named(id)
	// The run may still be being set up although plans exist: it is not on record that they are complete.
	if st == nil || p == nil || r.State == reprise.NotStarted && l.state.status == wordSetup {
		return assignTransform(r, l, a)
	}
	a.Inputs = append(ledger.Present(fsys, p.path), a.Inputs...)
	at := slices.Index(l.plans, p)
	for i, q := range l.plans {
		if q != p && (slices.Contains(l.byKey.needed(p), q) || i+3 >= at) && q.summary != nil && q.status == reprise.Done {
			a.Inputs = append(a.Inputs, ledger.Present(fsys, q.summary.file)...)
		}
	}
	a.Facts["plan"], a.Facts["commit"] = p.id, "type("+p.id+"): what was done"
	if c := p.checkpoint; c != nil && c.text != "" {
		a.Data = []reprise.Data{{Name: "checkpoint", Source: reprise.Source{File: c.source.File}, Text: doc.Clip(c.text, 8000)}}
	}
	told, unused := answers(r, st)
	a.Data, a.Answers = append(a.Data, told...), unused
	done, total, ok := p.tasksLeft()
	if n, err := strconv.Atoi(task); err == nil && n > 0 && n <= len(p.tasks) {
		done, total, ok = n-1, len(p.tasks), true
	}
	switch {
	case ok:
		a.Step = p.id + "/" + strconv.Itoa(done+1)
		a.Facts["task"] = fmt.Sprintf("Do task %d of %d of plan %s and nothing beyond it. Commit it.", done+1, total, p.id)
		if done < len(p.tasks) {
			t := p.tasks[done]
			a.Unit.Title, a.Facts["commit_subject"] = t.name, "feat("+p.id+"): "+t.name
			a.Data = append([]reprise.Data{{Name: "task", Source: reprise.Source{File: p.path, Line: t.line}, Text: t.text}}, a.Data...)
		}
	case p.checkpoint != nil && !st.Tried() && (st.Status == reprise.InReview || st.Again && p.doneSince()):
		return reprise.Assignment{Unit: u, Step: p.id, Role: a.Role, Local: doneText(p)}
	default:
		name := path.Join(r.Path, "summaries", p.id+"-SUMMARY.md")
		if p.summary != nil {
			name = p.summary.file
		}
		a.Facts["task"] = "Carry out plan " + p.id + ", or check it if it was carried out. Then write " + name + " with `status: completed` in its front matter, or what else is true."
		a.Facts["summary"] = name
		a.Expect = []reprise.Expected{{Path: name}}
	}
	return a
}

// doneText sums up the tasks of a plan with their commits.
func doneText(p *plan) string {
	var parts []string
	for i, t := range p.tasks {
		text := t.name
		if sha := p.checkpoint.commits[i+1]; sha != "" {
			text += " (" + doc.Clip(sha, 12) + ")"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "All tasks are done."
	}
	return "All tasks are done: " + strings.Join(parts, "; ") + "."
}

// assignTransform is for the planner. It may be cut off with some of the plans
// written: until its end is on record it is to complete them.
func assignTransform(r *reprise.Run, l *longRun, a reprise.Assignment) reprise.Assignment {
	a.Step, a.Role, a.Template, a.Commit = transform, "planner", "planner", false
	if a.Unit.ID != transform {
		a.Unit = reprise.Unit{ID: transform, Title: "Write the plans", Phase: transform, Role: a.Role, Path: r.Path, Reason: "the planner was not seen to end"}
	}
	next := 1
	for _, p := range l.plans {
		if p.status.Closed() {
			next = max(next, p.num+1)
		}
	}
	first := path.Join(r.Path, "plans", fmt.Sprintf("%02d-PLAN.md", next))
	a.Facts["plans"] = path.Join(r.Path, "plans")
	a.Facts["task"] = "Write the plans for what is to be done, one file for each group of tasks, numbered in the order of the work and beginning with " + first +
		". Front matter: task_group, depends_on (numbers of plans). Body: a <task> for each task with <name>, <files>, <action> and <verify>, each tag and its text on one line. Complete what is there; leave plans alone that were begun."
	a.Expect = []reprise.Expected{{Path: first}}
	if goal := l.state.goalAt; goal.Value != "" {
		a.Data = append(a.Data, reprise.Data{Name: "goal", Source: reprise.Source{File: goal.File, Line: goal.Line}, Text: goal.Value})
	}
	return a
}

// leftPlan says what is wrong with what an attempt left, "" if nothing is.
func leftPlan(fsys fs.FS, r *reprise.Run, step string) string {
	l := longRunOf(fsys, r)
	if step == transform {
		for _, p := range l.plans {
			switch {
			case p.path == "" && !p.status.Closed():
				return "plan " + p.id + " has no plan file"
			case p.path != "" && !p.read:
				return p.path + " cannot be read"
			}
		}
		if len(l.plans) == 0 {
			return "no plan is there that could be read"
		}
		return ""
	}
	id, number, tasked := strings.Cut(step, "/")
	p := l.named(id)
	if p == nil || p.path == "" {
		return "the file of plan " + id + " is gone"
	}
	if s := p.summary; s != nil && !tasked && !s.status.Closed() {
		return fmt.Sprintf("the summary of plan %s does not say that it is completed: it says %q", id, doc.Clip(s.claim().Word, 40))
	}
	if n, err := strconv.Atoi(number); tasked && err == nil && n >= 1 && n <= len(p.tasks) && !anyThere(fsys, r, p.tasks[n-1].files) {
		return fmt.Sprintf("none of the files that task %d of plan %s names exists", n, id)
	}
	return ""
}

// anyThere looks for the files that a task names, from the top of the project and
// from the folders above the state. A task that names none asks for none.
func anyThere(fsys fs.FS, r *reprise.Run, names []string) bool {
	any := false
	for _, name := range names {
		name, _, _ = strings.Cut(strings.Trim(name, "`-* "), " ")
		if name == "" || strings.ContainsAny(name, "*?<>{}") || !fs.ValidPath(path.Clean(name)) {
			continue
		}
		any = true
		for dir := path.Dir(r.Path); ; dir = path.Dir(dir) {
			if _, err := fs.Stat(fsys, path.Join(dir, name)); err == nil {
				return true
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	return !any
}

// settlePlans ends a run whose plans are all closed, where STATE.md has a line for
// it that does not say so yet.
func settlePlans(fsys fs.FS, r *reprise.Run) []reprise.Event {
	if r.State != reprise.Complete || len(r.Steps) == 0 {
		return nil
	}
	if s := &longRunOf(fsys, r).state; !s.statusAt.There() || s.status == wordComplete {
		return nil
	}
	return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
}
