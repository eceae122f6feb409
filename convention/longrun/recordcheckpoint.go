package longrun

import (
	"fmt"
	"path"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// task records a task of a plan in the checkpoint, in its version, and whose
// agent is at it. The first version counts: it has no place for a task that
// fails or is left out, and none for one that is done before those in front of
// it.
func (w *runRecorder) task(p *plan, task int) error {
	switch w.ev.Kind {
	case reprise.StepFinished:
		return w.finishTask(p, task)
	case reprise.StepStarted:
		return w.startTask(p, task)
	case reprise.StepReset:
		// Whoever was at it stopped on the way; the next one goes on there.
		if e := lastAgent(p.agents); e != nil && e.status == reprise.InProgress {
			return w.closeEntry(p.agents, "", "interrupted")
		}
		return nil
	}
	if c := p.checkpoint; w.ev.Kind == reprise.StepFailed && c != nil && c.second && c.known && task == c.completed+1 && task <= c.total {
		return w.checkpointStatus(p, "failed")
	}
	return cannot("the checkpoint of plan %s has no place for it", p.id)
}

// startTask: an agent is put to the next task of a plan. The plan keeps one
// agent for as long as the events name no other; one that another takes over
// from has ended.
func (w *runRecorder) startTask(p *plan, task int) error {
	done, total := 0, len(p.tasks)
	if c := p.checkpoint; c != nil {
		if !c.known {
			return fmt.Errorf("%s: does not say how many tasks are done: %w", c.source.File, splice.ErrUnreadable)
		}
		done, total = c.completed, c.total
	}
	if task != done+1 || task > total {
		return cannot("task %d of plan %s is not the next one", task, p.id)
	}
	last, id := lastAgent(p.agents), agentID(w.ev.Agent)
	if last != nil && last.status == reprise.InProgress && !last.interrupted() && last.id != "" && id != "" && id != last.id {
		if err := w.setAgent(w.l.dir, last, "completed", w.ev.At); err != nil {
			return err
		}
	}
	if err := w.enter(p); err != nil {
		return err
	}
	if c := p.checkpoint; c != nil && c.second {
		if err := w.openCheckpoint(p); err != nil {
			return err
		}
		if err := w.putCheckpoint(p, "current_task", w.taskName(p, task)); err != nil {
			return err
		}
		if err := w.putCheckpoint(p, "current_task_index", task-1); err != nil {
			return err
		}
		if err := w.checkpointStatus(p, "in_progress"); err != nil {
			return err
		}
	}
	return w.state(stateChange{status: wordExecuting, at: p, row: reprise.InProgress, what: fmt.Sprintf("Task %d of plan %s", task, p.id)})
}

func (w *runRecorder) finishTask(p *plan, task int) error {
	c := p.checkpoint
	if c == nil {
		return w.newCheckpoint(p, task)
	}
	switch {
	case !c.known:
		return fmt.Errorf("%s: does not say how many tasks are done: %w", c.source.File, splice.ErrUnreadable)
	case task > c.total:
		return cannot("plan %s has %d tasks", p.id, c.total)
	case task > c.completed+1:
		return cannot("task %d of plan %s is not done yet", task-1, p.id)
	}
	if err := w.openCheckpoint(p); err != nil {
		return err
	}
	if task > c.completed {
		if err := w.advance(p, task, c.total); err != nil {
			return err
		}
	}
	if err := w.putCommit(p, task); err != nil {
		return err
	}
	return w.touchCheckpoint(p)
}

// fillCheckpoint brings the checkpoint of a finished plan to its last task.
func (w *runRecorder) fillCheckpoint(p *plan) error {
	if err := w.openCheckpoint(p); err != nil {
		return err
	}
	for task := p.checkpoint.completed + 1; task <= p.checkpoint.total; task++ {
		if err := w.advance(p, task, p.checkpoint.total); err != nil {
			return err
		}
	}
	if err := w.putCommit(p, p.checkpoint.total); err != nil {
		return err
	}
	return w.touchCheckpoint(p)
}

func (w *runRecorder) openCheckpoint(p *plan) error {
	name := p.checkpoint.source.File
	j, err := w.openJSON(name, "tasks of plan "+p.id)
	if err == nil && j == nil {
		err = fmt.Errorf("%s: gone: %w", name, splice.ErrUnreadable)
	}
	return err
}

// tasks is the open checkpoint of a plan as it reads now.
func (w *runRecorder) tasks(p *plan) *splice.JSON { return w.page(p.checkpoint.source.File).json }

// putCheckpoint sets a field that the file has. Fields it does without are not
// added, since each version has its own, and what holds more than a value is
// left alone.
func (w *runRecorder) putCheckpoint(p *plan, key string, value any) error {
	if n := w.tasks(p).Root().Get(key); n == nil || len(n.Items) > 0 || len(n.Keys) > 0 {
		return nil
	}
	return inFile(p.checkpoint.source.File, w.tasks(p).Set(splice.Path{key}, value))
}

// advance counts one more task as done.
func (w *runRecorder) advance(p *plan, task, total int) error {
	j := w.tasks(p)
	if j.Root().Has("last_completed_task") {
		return w.putCheckpoint(p, "last_completed_task", task)
	}
	name := p.checkpoint.source.File
	var current any
	if task < total {
		current = w.taskName(p, task+1)
	}
	if done := j.Root().Get("completed_tasks"); done != nil {
		var item any = w.taskName(p, task)
		if named(done) || len(done.Items) == 0 && named(j.Root().Get("remaining_tasks")) {
			o := splice.Object{{Key: "name", Value: item}}
			if sha := line(w.ev.Commit, 64); sha != "" && task == w.commitTask(p) {
				o = append(o, splice.Member{Key: "commit", Value: sha})
			}
			item = o
		}
		if err := j.Append(splice.Path{"completed_tasks"}, item); err != nil {
			return inFile(name, err)
		}
	}
	if err := w.putCheckpoint(p, "current_task_index", task); err != nil {
		return err
	}
	if left := j.Root().Get("remaining_tasks"); left != nil && len(left.Items) > 0 {
		if err := w.takeRemaining(p, current); err != nil {
			return err
		}
	}
	if err := w.putCheckpoint(p, "current_task", current); err != nil {
		return err
	}
	if err := w.putCheckpoint(p, "error", nil); err != nil {
		return err
	}
	status := "in_progress"
	if task == total {
		status = "completed"
	}
	return w.putCheckpoint(p, "status", status)
}

// commitTask is the task whose commit the event carries.
func (w *runRecorder) commitTask(p *plan) int {
	if _, task, err := w.planOf(w.ev.Step); err == nil && task > 0 {
		return task
	}
	return p.checkpoint.total
}

// named reports whether a list holds its tasks as maps with names.
func named(list *doc.Node) bool {
	return list != nil && len(list.Items) > 0 && list.Items[len(list.Items)-1].Kind == doc.Map
}

// taskName is the name of a task: the current one, one that remains, or the
// plan's.
func (w *runRecorder) taskName(p *plan, task int) string {
	root := w.tasks(p).Root()
	left := root.Get("remaining_tasks")
	done := 0
	if list := root.Get("completed_tasks"); list != nil {
		done = len(list.Items)
	}
	current := textOf(root.Get("current_task"))
	if task == done+1 && current != "" {
		return current
	}
	if left != nil && current != "" {
		// Some files list the current task among those that remain.
		i := task - done - 2
		if len(left.Items) > 0 && itemName(left.Items[0]) == current {
			i++
		}
		if i >= 0 && i < len(left.Items) {
			return itemName(left.Items[i])
		}
	}
	if task <= len(p.tasks) {
		return p.tasks[task-1]
	}
	return "Task " + strconv.Itoa(task)
}

func itemName(n *doc.Node) string {
	if n.Kind == doc.Map {
		return textOf(n.Get("name"))
	}
	return textOf(n)
}

// takeRemaining takes tasks off the list of those that remain, up to the one
// that is current now. The current one stays where the file keeps it there.
func (w *runRecorder) takeRemaining(p *plan, current any) error {
	name := p.checkpoint.source.File
	page := w.page(name)
	left := page.json.Root().Get("remaining_tasks")
	before := textOf(page.json.Root().Get("current_task"))
	keeps := itemName(left.Items[0]) == before && before != ""
	drop := len(left.Items)
	for i, item := range left.Items {
		if itemName(item) == current {
			drop = i
			if !keeps {
				drop = i + 1
			}
			break
		}
	}
	if drop == 0 {
		return nil
	}
	return inFile(name, page.cut(left, drop))
}

// cut removes the first items of a list. Nothing is lost by it: each has been
// added to another list.
func (p *page) cut(list *doc.Node, drop int) error {
	data := p.json.Bytes()
	from, to, text := list.Start, list.End, "[]"
	if drop < len(list.Items) {
		from, to, text = list.Items[0].Start, list.Items[drop].Start, ""
	}
	next := append(append(append([]byte(nil), data[:from]...), text...), data[to:]...)
	j, err := splice.NewJSON(next)
	if err != nil {
		return err
	}
	p.json = j
	return nil
}

// putCommit records the commit of a task.
func (w *runRecorder) putCommit(p *plan, task int) error {
	sha, j := line(w.ev.Commit, 64), w.tasks(p)
	if commits := j.Root().Get("task_commits"); sha != "" && commits != nil && commits.Kind == doc.Map {
		return inFile(p.checkpoint.source.File, j.Put(splice.Path{"task_commits", strconv.Itoa(task)}, sha))
	}
	return nil
}

// touchCheckpoint sets the time of a checkpoint that was changed.
func (w *runRecorder) touchCheckpoint(p *plan) error {
	if w.ev.At.IsZero() || !w.changed() {
		return nil
	}
	for _, key := range []string{"updated_at", "last_activity"} {
		if err := w.putCheckpoint(p, key, timeLike(textOf(w.tasks(p).Root().Get(key)), w.ev.At)); err != nil {
			return err
		}
	}
	return nil
}

// checkpointStatus sets the status of a checkpoint of the second version.
func (w *runRecorder) checkpointStatus(p *plan, word string) error {
	if err := w.openCheckpoint(p); err != nil {
		return err
	}
	if err := inFile(p.checkpoint.source.File, w.tasks(p).Put(splice.Path{"status"}, word)); err != nil {
		return err
	}
	var failure any
	if word == "failed" || word == "timeout" {
		if text := line(w.ev.Text, 500); text != "" {
			failure = text
		}
	}
	if err := w.putCheckpoint(p, "error", failure); err != nil {
		return err
	}
	return w.touchCheckpoint(p)
}

// newCheckpoint writes the first checkpoint of a plan.
func (w *runRecorder) newCheckpoint(p *plan, task int) error {
	total := len(p.tasks)
	switch {
	case total == 0:
		return cannot("plan %s names no tasks", p.id)
	case task > total:
		return cannot("plan %s has %d tasks", p.id, total)
	case task > 1:
		return cannot("task %d of plan %s is not done yet", task-1, p.id)
	}
	commits := splice.Object{}
	sha := line(w.ev.Commit, 64)
	if sha != "" {
		commits = splice.Object{{Key: strconv.Itoa(task), Value: sha}}
	}
	var at any
	if !w.ev.At.IsZero() {
		at = timeLike(w.peerCheckpoint(), w.ev.At)
	}
	file := splice.Object{
		{Key: "plan", Value: p.id}, {Key: "last_completed_task", Value: task}, {Key: "total_tasks", Value: total},
		{Key: "task_commits", Value: commits}, {Key: "files_modified", Value: []any{}}, {Key: "updated_at", Value: at},
	}
	if w.l.second() {
		file = w.secondCheckpoint(p, total, sha, commits, at)
	}
	content, err := newJSON(file)
	if err == nil {
		w.create(path.Join(w.l.dir, "plans", p.id+"-CHECKPOINT.json"), content, fmt.Sprintf("task %d of plan %s is done", task, p.id))
	}
	return err
}

// secondCheckpoint is the checkpoint of the second version after task 1.
func (w *runRecorder) secondCheckpoint(p *plan, total int, sha string, commits splice.Object, at any) splice.Object {
	done := splice.Object{{Key: "name", Value: p.tasks[0]}}
	if sha != "" {
		done = append(done, splice.Member{Key: "commit", Value: sha})
	}
	var current any
	status, left := "completed", []any{}
	if total > 1 {
		current, status = p.tasks[1], "in_progress"
		for _, name := range p.tasks[2:] {
			left = append(left, splice.Object{{Key: "name", Value: name}})
		}
	}
	return splice.Object{
		{Key: "plan_number", Value: p.id}, {Key: "current_task_index", Value: 1}, {Key: "current_task", Value: current},
		{Key: "completed_tasks", Value: []any{done}}, {Key: "remaining_tasks", Value: left}, {Key: "status", Value: status},
		{Key: "last_activity", Value: at}, {Key: "error", Value: nil}, {Key: "total_tasks", Value: total},
		{Key: "task_commits", Value: commits}, {Key: "files_modified", Value: []any{}}, {Key: "partial_commits", Value: []any{}},
	}
}

// peerCheckpoint is how another checkpoint writes its time.
func (w *runRecorder) peerCheckpoint() string {
	for _, p := range w.l.plans {
		if p.checkpoint != nil && p.checkpoint.stamp != "" {
			return p.checkpoint.stamp
		}
	}
	return ""
}
