package longrun

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

func (l *longRun) readCheckpoint(p *plan, name string) {
	f := l.r.Open(name)
	c := &checkpoint{plan: p.id, status: reprise.Unknown, source: f.At(0), text: string(f.Data)}
	p.checkpoint = c
	n := f.JSON().Object("plan", "plan_number", "status", "last_completed_task", "completed_tasks", "current_task_index", "total_tasks")
	c.root = ledger.Root(f, n)
	if n == nil {
		return
	}
	c.source, c.read = f.At(n.Line), true
	c.second = !n.Has("last_completed_task") && (n.Has("plan_number") || n.Has("completed_tasks") || n.Has("current_task_index"))
	if plan := n.Get("plan", "plan_number"); !plan.IsNull() {
		if nums := doc.Numbers(plan.Str()); len(nums) > 0 && nums[0] == p.num {
			c.plan = plan.Str()
		} else {
			f.Report(reprise.Warning, reprise.CodeIntegrity, plan.Line,
				fmt.Sprintf("the checkpoint of plan %s says it is about plan %s; the file name counts", p.id, strconv.Quote(doc.Clip(plan.Str(), 20))), "")
		}
	}
	c.count(f, n)
	c.readCommits(n)
	at := n.Get("updated_at", "last_activity")
	c.at, c.stamp = lenientTime(at), textOf(at)
	l.run.Active(c.at, at.Source())
	c.current = plainText(n.Get("current_task").Str())
	c.failure = n.Get("error").Str()
	c.files = texts(child(n, "files_modified"))
	c.judge(f, n, p.id)
}

// count finds how many tasks are done and how many there are. A list of
// completed tasks is better than the index, which stands on the running task.
func (c *checkpoint) count(f *doc.File, n *doc.Node) {
	var haveDone, haveTotal bool
	if n.Has("last_completed_task") {
		c.completed, haveDone = n.Get("last_completed_task").Int()
	} else if n.Has("completed_tasks") {
		list := n.Get("completed_tasks")
		haveDone = !list.IsNull() && list.Kind == doc.List
		c.completed = len(list.List())
	} else if n.Has("current_task_index") {
		c.completed, haveDone = n.Get("current_task_index").Int()
	}
	if n.Has("total_tasks") {
		c.total, haveTotal = n.Get("total_tasks").Int()
	} else if n.Has("remaining_tasks") && haveDone {
		// The running task stands in neither list in some files; counting
		// it once too often only keeps the plan open.
		left, current := n.Get("remaining_tasks").List(), n.Get("current_task").Str()
		c.total, haveTotal = c.completed+len(left), true
		listed := slices.Clone(left)
		if done := n.Get("completed_tasks"); done != nil {
			listed = append(listed, done.Items...)
		}
		if current != "" && !slices.ContainsFunc(listed, func(item *doc.Node) bool { return itemName(ledger.Value{Node: item}) == current }) && doc.Fold(n.Get("status").Str()) != "completed" {
			c.total++
		}
	}
	c.known = haveDone && haveTotal
	if !c.known {
		f.Report(reprise.Warning, reprise.CodeIntegrity, n.Line, "the checkpoint does not say how many of its tasks are done", "look at the commits of this plan to see how far it got")
		return
	}
	if c.completed < 0 || c.total < 0 || c.completed > c.total {
		f.Report(reprise.Warning, reprise.CodeIntegrity, n.Line, fmt.Sprintf("%d of %d tasks done cannot be right", c.completed, c.total), "look at the commits of this plan to see how far it got")
		c.known = false
	}
}

// readCommits takes the commits by task number: those of the list of completed
// tasks, and those of their own map over them. Keys are text in JSON.
func (c *checkpoint) readCommits(n *doc.Node) {
	c.commits = map[int]string{}
	for i, item := range n.Get("completed_tasks").List() {
		if item.Kind == doc.Map && item.Get("commit").Str() != "" {
			c.commits[i+1] = item.Get("commit").Str()
		}
	}
	for _, field := range n.Get("task_commits").Fields() {
		if task, err := strconv.Atoi(field.Name); err == nil && field.Value.Str() != "" {
			c.commits[task] = field.Value.Str()
		}
	}
	if c.known {
		c.last = c.commits[c.completed]
	}
}

func (c *checkpoint) judge(f *doc.File, n *doc.Node, id string) {
	word := doc.Fold(n.Get("status").Str())
	if !c.known {
		c.word = "unreadable count"
		return
	}
	c.word = fmt.Sprintf("%d of %d tasks", c.completed, c.total)
	if word != "" {
		c.word += ", " + n.Get("status").Str()
	}
	switch {
	case word == "failed" || word == "timeout":
		c.status = reprise.Failed
	case c.total == 0 && c.completed == 0:
		c.status = reprise.Pending
	case c.completed == c.total:
		c.status = reprise.InReview
	case c.completed == 0 && (word == "" || word == "pending"):
		c.status = reprise.Pending
	default:
		c.status = reprise.InProgress
	}
	switch word {
	case "", "pending", "in progress", "failed", "timeout":
	case "completed", "complete":
		if c.completed < c.total {
			f.Report(reprise.Warning, reprise.CodeFalseCompletion, n.Get("status").Line,
				fmt.Sprintf("the checkpoint of plan %s says completed with %d of %d tasks done; the tasks count", id, c.completed, c.total), "check what the missing tasks asked for")
		}
	default:
		f.Report(reprise.Warning, reprise.CodeUnknownStatus, n.Get("status").Line,
			fmt.Sprintf("the checkpoint of plan %s has the status %s, which is unknown here", id, quoted(word)), "")
	}
}

// readStrayCheckpoint reads `.long-run/checkpoint.json`, the place one workflow
// of the convention looks for a checkpoint in. It counts only for a plan that
// has none of its own.
func (l *longRun) readStrayCheckpoint() {
	name := path.Join(l.dir, "checkpoint.json")
	f := l.r.Open(name)
	n := f.JSON()
	if n == nil {
		return
	}
	nums := doc.Numbers(n.Get("plan", "plan_number").Str())
	if len(nums) == 0 {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, n.Line, "this checkpoint names no plan, so it is not used", "move it to plans/NN-CHECKPOINT.json of its plan")
		return
	}
	p := l.byKey.at(planKey{num: nums[0]}, fmt.Sprintf("%02d", nums[0]))
	if p.checkpoint != nil {
		f.Report(reprise.Info, reprise.CodeStatusDrift, n.Line, fmt.Sprintf("plan %s has a checkpoint of its own, which counts", p.id), "")
		return
	}
	l.readCheckpoint(p, name)
}
