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
)

// transform is the step that writes the plans.
const playTransform = "transform"

// task is one task of a plan, as its file has it.
type task struct {
	name, text string
	files      []string
	line       int
}

// tasks reads the tasks of a plan: what stands between <name> and </name>, with
// the block around it.
func tasks(fsys fs.FS, name string) []task {
	md := doc.NewReader(fsys).Open(name).Markdown()
	if md == nil {
		return nil
	}
	var out []task
	var block []string
	named := -1 // the task the block belongs to
	for _, l := range md.All().Lines() {
		if strings.Contains(l.Text, "<task") {
			block, named = nil, -1
		}
		block = append(block, l.Text)
		if _, rest, ok := strings.Cut(l.Text, "<name>"); ok {
			if title, _, ok := strings.Cut(rest, "</name>"); ok {
				out = append(out, task{name: strings.TrimSpace(title), line: l.No})
				named = len(out) - 1
			}
		}
		if named >= 0 {
			out[named].text = doc.Clip(strings.Join(block, "\n"), 8000)
		}
		if strings.Contains(l.Text, "</task>") {
			block, named = nil, -1
		}
	}
	for i := range out {
		_, rest, _ := strings.Cut(out[i].text, "<files>")
		list, _, _ := strings.Cut(rest, "</files>")
		for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' }) {
			name, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(name), "`-* "), " ")
			if name != "" && !strings.ContainsAny(name, "*?<>{}") && fs.ValidPath(path.Clean(name)) {
				out[i].files = append(out[i].files, path.Clean(name))
			}
		}
	}
	return out
}

// progress tells how many tasks of a plan are done and how many there are. It is
// not ok where the plan is one step: it names no tasks, or its checkpoint says
// that all are done.
func progress(fsys fs.FS, r *reprise.Run, st *reprise.Step) (done, total int, ok bool) {
	for _, s := range resumes(r) {
		if s.Type == reprise.PartialPlan && sameNumber(s.Plan, st.ID) && s.CompletedTasks != nil && s.TotalTasks != nil {
			return *s.CompletedTasks, *s.TotalTasks, true
		}
	}
	if checkpointed(st) {
		return 0, 0, false
	}
	total = len(tasks(fsys, st.Path))
	return 0, total, total > 0
}

func resumes(r *reprise.Run) []reprise.ResumeState {
	if r.Resume == nil {
		return nil
	}
	return append([]reprise.ResumeState{*r.Resume}, r.Resume.Also...)
}

func sameNumber(a, b string) bool {
	x, y := doc.Numbers(a), doc.Numbers(b)
	return len(x) > 0 && len(y) > 0 && x[0] == y[0]
}

func checkpointed(st *reprise.Step) bool {
	return slices.ContainsFunc(st.Claims, func(c reprise.Claim) bool {
		return strings.HasSuffix(strings.ToLower(c.Source.File), "checkpoint.json")
	})
}

// checkpoint is what the checkpoint of a plan says, for whoever takes the plan over.
func playCheckpoint(fsys fs.FS, st *reprise.Step) []reprise.Data {
	for _, c := range st.Claims {
		if f := doc.NewReader(fsys).Open(c.Source.File); strings.HasSuffix(strings.ToLower(c.Source.File), "checkpoint.json") && f.OK() {
			return []reprise.Data{{Name: "checkpoint", Source: reprise.Source{File: c.Source.File}, Text: doc.Clip(string(f.Data), 8000)}}
		}
	}
	return nil
}

// assignPlan is for `.long-run/`: the plans themselves, the next task of one, or
// the end of one.
func assignPlan(fsys fs.FS, r *reprise.Run, u reprise.Unit) reprise.Assignment {
	a := reprise.Assignment{Unit: u, Step: u.ID, Role: "executor", Template: "executor", Policy: reprise.Verify, Commit: true}
	spec := path.Dir(r.Path)
	a.Facts = map[string]string{"spec": spec, "state": r.Path}
	a.Inputs = present(fsys, path.Join(spec, "spec.md"), path.Join(spec, "tasks.md"))
	id, _, _ := strings.Cut(u.ID, "/") // of a plan, also where a task of it is looked back at
	st := r.Step(id)
	if st == nil || halfPlanned(fsys, r) {
		return assignTransform(fsys, r, a)
	}
	a.Inputs = append(present(fsys, st.Path), a.Inputs...)
	for i := range r.Steps {
		if s := &r.Steps[i]; s.ID != st.ID && (slices.Contains(st.Needs, s.ID) || i+3 >= slices.IndexFunc(r.Steps, func(o reprise.Step) bool { return o.ID == st.ID })) {
			if c, ok := summarised(s); ok && s.Status == reprise.Done {
				a.Inputs = append(a.Inputs, present(fsys, c.Source.File)...)
			}
		}
	}
	a.Facts["plan"], a.Facts["commit"] = st.ID, "type("+st.ID+"): what was done"
	a.Data = append(playCheckpoint(fsys, st), answers(r, st)...)
	done, total, ok := progress(fsys, r, st)
	switch {
	case ok:
		a.Step = st.ID + "/" + strconv.Itoa(done+1)
		a.Facts["task"] = fmt.Sprintf("Do task %d of %d of plan %s and nothing beyond it. Commit it.", done+1, total, st.ID)
		if list := tasks(fsys, st.Path); done < len(list) {
			a.Unit.Title = list[done].name
			a.Facts["commit_subject"] = "feat(" + st.ID + "): " + list[done].name
			a.Data = append([]reprise.Data{{Name: "task", Source: reprise.Source{File: st.Path, Line: list[done].line}, Text: list[done].text}}, a.Data...)
		}
	case st.Status == reprise.InReview && checkpointed(st):
		return reprise.Assignment{Unit: u, Step: st.ID, Role: a.Role, Local: doneText(fsys, st)}
	default:
		name := path.Join(r.Path, "summaries", st.ID+"-SUMMARY.md")
		if c, ok := summarised(st); ok {
			name = c.Source.File
		}
		a.Facts["task"] = "Carry out plan " + st.ID + ", or check it if it was carried out. Then write " + name + " with `status: completed` in its front matter, or what else is true."
		a.Facts["summary"] = name
		a.Expect = []reprise.Expected{{Path: name}}
	}
	return a
}

// doneText sums up the tasks of a plan with their commits.
func doneText(fsys fs.FS, st *reprise.Step) string {
	var parts []string
	commits := commitsOf(fsys, st)
	for i, t := range tasks(fsys, st.Path) {
		text := t.name
		if sha := commits[i+1]; sha != "" {
			text += " (" + doc.Clip(sha, 12) + ")"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "All tasks are done."
	}
	return "All tasks are done: " + strings.Join(parts, "; ") + "."
}

// commitsOf gives the commits in the checkpoint of a plan by the numbers of their
// tasks: not each task has one.
func commitsOf(fsys fs.FS, st *reprise.Step) map[int]string {
	out := map[int]string{}
	for _, c := range st.Claims {
		if !strings.HasSuffix(strings.ToLower(c.Source.File), "checkpoint.json") {
			continue
		}
		n := doc.NewReader(fsys).Open(c.Source.File).JSON()
		for i, item := range n.Get("completed_tasks").List() {
			if item.Kind == doc.Map {
				out[i+1] = item.Get("commit").Str()
			}
		}
		for _, field := range n.Get("task_commits").Fields() {
			if task, err := strconv.Atoi(field.Name); err == nil {
				out[task] = field.Value.Str()
			}
		}
	}
	return out
}

// assignTransform is for the planner. It may be cut off with some of the plans
// written: until its end is on record it is to complete them.
func assignTransform(fsys fs.FS, r *reprise.Run, a reprise.Assignment) reprise.Assignment {
	a.Step, a.Role, a.Template, a.Commit = playTransform, "planner", "planner", false
	if a.Unit.ID != playTransform {
		a.Unit = reprise.Unit{ID: playTransform, Title: "Write the plans", Phase: playTransform, Role: a.Role, Path: r.Path, Reason: "the planner was not seen to end"}
	}
	next := 1
	for i := range r.Steps {
		if n := doc.Numbers(r.Steps[i].ID); len(n) > 0 && r.Steps[i].Status.Closed() {
			next = max(next, n[0]+1)
		}
	}
	first := path.Join(r.Path, "plans", fmt.Sprintf("%02d-PLAN.md", next))
	a.Facts["plans"] = path.Join(r.Path, "plans")
	a.Facts["task"] = "Write the plans for what is to be done, one file for each group of tasks, numbered in the order of the work and beginning with " + first +
		". Front matter: task_group, depends_on (numbers of plans). Body: a <task> for each task with <name>, <files>, <action> and <verify>, each tag and its text on one line. Complete what is there; leave plans alone that were begun."
	a.Expect = []reprise.Expected{{Path: first}}
	a.Data = append(a.Data, goal(fsys, r)...)
	return a
}

// halfPlanned reports whether the run is still being set up although plans are
// there: nobody has recorded that they are all.
func halfPlanned(fsys fs.FS, r *reprise.Run) bool {
	if r.State != reprise.NotStarted {
		return false
	}
	switch word, _, _ := strings.Cut(stateWord(fsys, r), " "); word {
	case "initializing", "initialising", "transforming":
		return true
	}
	return false
}

// stateWord is the status of the run in STATE.md, folded; "" for none.
func stateWord(fsys fs.FS, r *reprise.Run) string {
	md := doc.NewReader(fsys).Open(path.Join(r.Path, "STATE.md")).Markdown()
	if md == nil {
		return ""
	}
	where := md.All()
	if s, ok := md.Section("Current Position", "Status"); ok {
		where = s
	}
	for _, key := range []string{"Status", "Phase"} {
		for _, l := range where.Labels() {
			if doc.Fold(l.Key) == doc.Fold(key) && l.Form != doc.TableLabel {
				return doc.Fold(l.Value)
			}
		}
	}
	return ""
}

// leftPlan says what is wrong with what an attempt left, "" if nothing is.
func leftPlan(fsys fs.FS, r *reprise.Run, step string) string {
	if step == playTransform {
		if len(r.Steps) == 0 {
			return "no plan is there that could be read"
		}
		for i := range r.Steps {
			if st := &r.Steps[i]; !st.Status.Closed() && st.Path == "" {
				return "plan " + st.ID + " has no plan file"
			}
			if f := doc.NewReader(fsys).Open(r.Steps[i].Path); r.Steps[i].Path != "" && f.Markdown() == nil {
				return r.Steps[i].Path + " cannot be read"
			}
		}
		return ""
	}
	id, number, tasked := strings.Cut(step, "/")
	st := r.Step(id)
	if st == nil || st.Path == "" {
		return "the file of plan " + id + " is gone"
	}
	if c, ok := summarised(st); ok && !tasked && !c.Status.Closed() {
		return fmt.Sprintf("the summary of plan %s says %q", id, doc.Clip(c.Word, 40))
	}
	n, err := strconv.Atoi(number)
	if list := tasks(fsys, st.Path); tasked && err == nil && n >= 1 && n <= len(list) && len(list[n-1].files) > 0 {
		if !slices.ContainsFunc(list[n-1].files, func(name string) bool { return found(fsys, r, name) }) {
			return fmt.Sprintf("none of the files that task %d of plan %s names is there", n, id)
		}
	}
	return ""
}

// found looks for a file that a plan names, from the top of the project and from
// the folders above the state.
func found(fsys fs.FS, r *reprise.Run, name string) bool {
	for dir := path.Dir(r.Path); ; dir = path.Dir(dir) {
		if _, err := fs.Stat(fsys, path.Join(dir, name)); err == nil {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// settlePlans ends a run whose plans are all closed, where STATE.md does not say
// so yet.
func settlePlans(fsys fs.FS, r *reprise.Run) []reprise.Event {
	if r.State != reprise.Complete || len(r.Steps) == 0 {
		return nil
	}
	words := strings.Fields(stateWord(fsys, r))
	if len(words) == 0 {
		return nil // there is no place for it
	}
	switch words[0] {
	case "complete", "completed", "done", "finished":
		if len(words) == 1 || !slices.Contains([]string{"plan", "task", "group", "phase", "plans", "tasks"}, words[1]) {
			return nil
		}
	}
	return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
}
