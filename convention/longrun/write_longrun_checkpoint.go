package longrun

import (
	"fmt"
	"path"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// task records a task of a plan in the checkpoint, in its version, and whose
// agent is at it. The first version counts: it has no place for a task that
// fails or is left out, and none for one that is done before those in front of
// it.
func (w *longRunRecorder) task(p *plan, task int) {
	c := p.checkpoint
	switch {
	case w.ev.Kind == reprise.StepFinished:
		w.finishTask(p, task)
	case w.ev.Kind == reprise.StepStarted:
		w.startTask(p, task)
	case w.ev.Kind == reprise.StepReset:
		// Whoever was at it stopped on the way; the next one continues there.
		if e := p.latest(); e != nil && e.status == reprise.InProgress {
			w.closeAgent(p.agents, "", "interrupted")
		}
	case w.ev.Kind == reprise.StepFailed && c != nil && c.second && c.known && task == c.completed+1 && task <= c.total:
		w.checkpointStatus(p, "failed")
	default:
		w.Fail(ledger.Cannot("the checkpoint of plan %s has no place for it", p.id))
	}
}

// tasksDone gives how many tasks of a plan are done and how many there are. It
// fails where the checkpoint does not say it.
func (w *longRunRecorder) tasksDone(p *plan) (done, total int) {
	c := p.checkpoint
	if c == nil {
		return 0, len(p.tasks)
	}
	if !c.known {
		w.Fail(fmt.Errorf("%s: does not say how many tasks are done: %w", c.source.File, splice.ErrUnreadable))
	}
	return c.completed, c.total
}

// startTask: an agent is put to the next task of a plan. The plan keeps one
// agent for as long as the events name no other; one that another takes over
// from has ended.
func (w *longRunRecorder) startTask(p *plan, task int) {
	if done, total := w.tasksDone(p); task != done+1 || task > total {
		w.Fail(ledger.Cannot("task %d of plan %s is not the next one", task, p.id))
		return
	}
	last, id := p.latest(), agentID(w.ev.Agent)
	if last != nil && last.status == reprise.InProgress && !last.interrupted() && last.id != "" && id != "" && id != last.id {
		w.setAgent(last, "completed", w.ev.At)
	}
	w.putTo(p)
	if c := p.checkpoint; c != nil && c.second {
		w.putCheckpoint(p, "current_task", p.taskName(task))
		w.putCheckpoint(p, "current_task_index", task-1)
		w.checkpointStatus(p, "in_progress")
	}
	w.state(stateChange{status: wordExecuting, at: p, row: reprise.InProgress, what: fmt.Sprintf("Task %d of plan %s", task, p.id)})
}

func (w *longRunRecorder) finishTask(p *plan, task int) {
	switch done, total := w.tasksDone(p); {
	case p.checkpoint == nil && total == 0:
		w.Fail(ledger.Cannot("plan %s names no tasks", p.id))
	case task > total:
		w.Fail(ledger.Cannot("plan %s has %d tasks", p.id, total))
	case task > done+1:
		w.Fail(ledger.Cannot("task %d of plan %s is not done yet", task-1, p.id))
	case p.checkpoint != nil:
		w.advance(p, task)
	default:
		commits := map[int]string{}
		if sha := ledger.MarkdownLine(w.ev.Commit, 64); sha != "" {
			commits[task] = sha
		}
		var at any
		if !w.ev.At.IsZero() {
			at = w.spellAs((*plan).checkpointText)
		}
		content, err := newCheckpoint(p, w.l.second(p), task, commits, at)
		w.Fail(err)
		w.Create(path.Join(w.dir, "plans", p.id+"-CHECKPOINT.json"), content, fmt.Sprintf("task %d of plan %s is done", task, p.id))
	}
}

// newCheckpoint is the checkpoint of a plan of which so many tasks are done, in
// either version.
func newCheckpoint(p *plan, second bool, done int, commits map[int]string, at any) ([]byte, error) {
	total, byTask := len(p.tasks), splice.Object{}
	lists := [][]any{{}, {}} // the tasks that are done, and those behind the current one
	for i, t := range p.tasks {
		item := splice.Object{{Key: "name", Value: t.name}}
		if sha := commits[i+1]; sha != "" {
			item = append(item, splice.Member{Key: "commit", Value: sha})
			byTask = append(byTask, splice.Member{Key: strconv.Itoa(i + 1), Value: sha})
		}
		if i < done {
			lists[0] = append(lists[0], item)
		} else if i > done {
			lists[1] = append(lists[1], item)
		}
	}
	if !second {
		return ledger.NewJSON(splice.Object{
			{Key: "plan", Value: p.id}, {Key: "last_completed_task", Value: done}, {Key: "total_tasks", Value: total},
			{Key: "task_commits", Value: byTask}, {Key: "files_modified", Value: []any{}}, {Key: "updated_at", Value: at},
		})
	}
	var current any
	status := "completed"
	if done < total {
		current, status = p.tasks[done].name, "in_progress"
		if done == 0 {
			status = "pending"
		}
	}
	return ledger.NewJSON(splice.Object{
		{Key: "plan_number", Value: p.id}, {Key: "current_task_index", Value: done}, {Key: "current_task", Value: current},
		{Key: "completed_tasks", Value: lists[0]}, {Key: "remaining_tasks", Value: lists[1]}, {Key: "status", Value: status},
		{Key: "last_activity", Value: at}, {Key: "error", Value: nil}, {Key: "total_tasks", Value: total},
		{Key: "task_commits", Value: byTask}, {Key: "files_modified", Value: []any{}}, {Key: "partial_commits", Value: []any{}},
	})
}

// putCheckpoint sets a field that the file has. Fields it does without are not
// added, since each version has its own, and what holds more than a value is
// left alone.
func (w *longRunRecorder) putCheckpoint(p *plan, key string, value any) {
	if v := p.checkpoint.root.In(key); v.Node != nil && len(v.Items) == 0 && len(v.Keys) == 0 {
		w.Structured(v.File).Because("tasks of plan %s", p.id)
		w.Set(v, value)
	}
}

// advance brings the checkpoint of a plan to so many done tasks; the event's
// commit is that of the last of them. A number that it has reached already only
// gets its commit.
func (w *longRunRecorder) advance(p *plan, done int) {
	c, sha := p.checkpoint, ledger.MarkdownLine(w.ev.Commit, 64)
	w.Structured(c.root.File).Because("tasks of plan %s", p.id)
	switch {
	case done <= c.completed:
	case c.root.Has("last_completed_task"):
		w.putCheckpoint(p, "last_completed_task", done)
	default:
		w.advanceLists(p, done, sha)
	}
	if commits := c.root.In("task_commits"); sha != "" && commits.Is(doc.Map) {
		w.Set(commits.In(strconv.Itoa(done)), sha)
	}
	w.touchCheckpoint(p)
}

// advanceLists is advance for the version that lists its tasks.
func (w *longRunRecorder) advanceLists(p *plan, done int, sha string) {
	root := p.checkpoint.root
	completed, left := root.In("completed_tasks"), root.In("remaining_tasks")
	if completed.Node != nil {
		asMaps := named(completed) || len(completed.Items) == 0 && named(left)
		for task := p.checkpoint.completed + 1; task <= done; task++ {
			var item any = p.taskName(task)
			if asMaps {
				o := splice.Object{{Key: "name", Value: item}}
				if sha != "" && task == done {
					o = append(o, splice.Member{Key: "commit", Value: sha})
				}
				item = o
			}
			w.Add(completed, item)
		}
	}
	var current any
	status := "completed"
	if done < p.checkpoint.total {
		current, status = p.taskName(done+1), "in_progress"
	}
	w.putCheckpoint(p, "current_task_index", done)
	w.dropRemaining(root.In("current_task").Plain(), left, current)
	w.putCheckpoint(p, "current_task", current)
	w.putCheckpoint(p, "error", nil)
	w.putCheckpoint(p, "status", status)
}

// named reports whether a list holds its tasks as maps with names.
func named(list ledger.Value) bool {
	return list.Is(doc.List) && len(list.Items) > 0 && list.Items[len(list.Items)-1].Kind == doc.Map
}

// dropRemaining takes tasks off the list of those that remain, up to the one
// that is current now. The current one stays where the file keeps it there.
func (w *longRunRecorder) dropRemaining(before string, left ledger.Value, current any) {
	if !left.Is(doc.List) || len(left.Items) == 0 {
		return
	}
	keeps := before != "" && itemName(left.Item(0)) == before
	drop := len(left.Items)
	for i := range left.Items {
		if itemName(left.Item(i)) == current {
			drop = i
			if !keeps {
				drop = i + 1
			}
			break
		}
	}
	w.Drop(left, drop)
}

// touchCheckpoint sets the time of a checkpoint where the event changed anything.
func (w *longRunRecorder) touchCheckpoint(p *plan) {
	if w.ev.At.IsZero() || !w.Changed() {
		return
	}
	for _, key := range []string{"updated_at", "last_activity"} {
		w.putCheckpoint(p, key, w.spell(p.checkpoint.root.In(key).Plain()))
	}
}

// checkpointStatus sets the status of a checkpoint of the second version.
func (w *longRunRecorder) checkpointStatus(p *plan, word string) {
	status := p.checkpoint.root.In("status")
	w.Structured(status.File).Because("tasks of plan %s", p.id)
	w.Set(status, word)
	var failure any
	if text := ledger.MarkdownLine(w.ev.Text, 500); text != "" && (word == "failed" || word == "timeout") {
		failure = text
	}
	w.putCheckpoint(p, "error", failure)
	w.touchCheckpoint(p)
}
