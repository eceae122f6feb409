package longrun

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

var _ reprise.Mender = Layout{}

// Mend implements reprise.Mender. What is rebuilt says done only where a
// summary does, and whatever no other ledger tells is written as open. A file
// whose bytes could not be read is not touched.
//
// What it returns has been read back: the damage is gone and no plan is further
// than before.
func (Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	if !fs.ValidPath(r.Path) {
		return nil, nil
	}
	d := &mender{r: doc.NewReader(fsys), ref: r.Ref}
	d.was, _ = Layout{}.Load(fsys, r.Ref)
	if path.Base(r.Path) == longRunDir {
		l := loadLongRun(d.r, &reprise.Run{Ref: r.Ref})
		if l.blind {
			return nil, nil
		}
		for _, p := range l.plans {
			d.checkpoint(l, p)
		}
		key := "entries"
		if l.newer(nil) {
			key = "agents"
		}
		d.history(l.agent, l.atWork(), key)
		d.position(l)
	} else {
		g := loadPlanning(d.r, &reprise.Run{Ref: r.Ref})
		d.history(g.agent, "", "entries")
		d.planning(g)
	}
	return d.mends, nil
}

// mender collects the mends of one run.
type mender struct {
	r     *doc.Reader
	ref   reprise.Ref
	was   *reprise.Run
	mends []reprise.Mend
}

// damageCodes are the findings a mend has to make go away in its file.
var damageCodes = []string{
	reprise.CodeUnreadable, reprise.CodeSalvaged, reprise.CodeDamagedLine, reprise.CodeIntegrity, reprise.CodeAmbiguous,
}

// add keeps a mend if, with it in place, the file reads without damage, every
// plan is still there and none is further than before.
func (d *mender) add(what, from string, e reprise.Edit) {
	now, _ := Layout{}.Load(splice.Over(d.r.FS(), []reprise.Edit{e}), d.ref)
	for _, f := range now.Findings {
		if f.Source.File == e.Path && slices.Contains(damageCodes, f.Code) {
			return
		}
	}
	if now.Further(d.was) {
		return
	}
	for i := range d.was.Steps {
		s := &d.was.Steps[i]
		if after := now.Step(s.ID); after == nil || s.Status.Closed() && !after.Status.Closed() {
			return
		}
	}
	d.mends = append(d.mends, reprise.Mend{What: what, From: from, Edits: []reprise.Edit{e}})
}

// write is the edit that gives a file, there or not, a whole new content.
func write(f *doc.File, content, why string) reprise.Edit {
	if !f.Exists() {
		return splice.Create(f.Path, []byte(content), why)
	}
	return splice.Edit(f.Path, f.Data, []byte(content), why)
}

// checkpoint rebuilds the checkpoint of a plan that does not tell how many
// tasks are done. What of it can be read stays as it is.
func (d *mender) checkpoint(l *longRun, p *plan) {
	c := p.checkpoint
	if c == nil || c.known || len(p.tasks) == 0 {
		return
	}
	f := d.r.Open(c.source.File)
	if !f.OK() {
		return
	}
	done, from := 0, p.path
	if p.summary != nil && p.summary.status == reprise.Done {
		done, from = len(p.tasks), p.path+", "+p.summary.source.File
	}
	why := "rebuild the checkpoint of plan " + p.id
	if j, err := splice.NewJSON(f.Data); err == nil && j.Root().Kind == doc.Map {
		if setCounts(j, p, done) != nil {
			return
		}
		d.add(fmt.Sprintf("the checkpoint of plan %s does not say how many of its tasks are done", p.id), from+", "+f.Path, splice.Edit(f.Path, f.Data, j.Bytes(), why))
		return
	}
	content, err := newJSON(l.checkpointOf(p, done))
	if err != nil {
		return
	}
	d.add(fmt.Sprintf("the checkpoint of plan %s cannot be read", p.id), from, write(f, content, why))
}

// setCounts sets the numbers of a checkpoint that is JSON. A count that the
// plan's list of tasks allows is believed; any other falls back to done.
func setCounts(j *splice.JSON, p *plan, done int) error {
	root, total := j.Root(), len(p.tasks)
	if list := root.Get("completed_tasks"); list != nil && !root.Has("last_completed_task") {
		if list.Kind != doc.List {
			if err := j.Set(splice.Path{"completed_tasks"}, taskNames(p.tasks[:done])); err != nil {
				return err
			}
		}
		return j.Put(splice.Path{"total_tasks"}, total)
	}
	key := "last_completed_task"
	if !root.Has(key) && root.Has("current_task_index") {
		key = "current_task_index"
	}
	if n, ok := root.Get(key).Int(); !ok || n < 0 || n > total {
		for done < total && textOf(root.Get("task_commits").Get(strconv.Itoa(done+1))) != "" {
			done++ // each of these has its commit on record
		}
		if err := j.Put(splice.Path{key}, done); err != nil {
			return err
		}
	}
	return j.Put(splice.Path{"total_tasks"}, total)
}

// checkpointOf is the checkpoint of a plan of which only the number of done
// tasks is known, in the version of the checkpoints beside it.
func (l *longRun) checkpointOf(p *plan, done int) splice.Object {
	total := len(p.tasks)
	if !l.newer(p) {
		return splice.Object{
			{Key: "plan", Value: p.id}, {Key: "last_completed_task", Value: done}, {Key: "total_tasks", Value: total},
			{Key: "task_commits", Value: splice.Object{}}, {Key: "files_modified", Value: []any{}}, {Key: "updated_at", Value: nil},
		}
	}
	var current any
	status, left := "completed", []any{}
	if done < total {
		current, status, left = p.tasks[done], "pending", taskNames(p.tasks[done+1:])
	}
	return splice.Object{
		{Key: "plan_number", Value: p.id}, {Key: "current_task_index", Value: done}, {Key: "current_task", Value: current},
		{Key: "completed_tasks", Value: taskNames(p.tasks[:done])}, {Key: "remaining_tasks", Value: left}, {Key: "status", Value: status},
		{Key: "last_activity", Value: nil}, {Key: "error", Value: nil}, {Key: "total_tasks", Value: total},
		{Key: "task_commits", Value: splice.Object{}}, {Key: "files_modified", Value: []any{}}, {Key: "partial_commits", Value: []any{}},
	}
}

func taskNames(tasks []string) []any {
	out := []any{}
	for _, name := range tasks {
		out = append(out, splice.Object{{Key: "name", Value: name}})
	}
	return out
}

// newer reports whether the files beside the checkpoint of a plan are of the
// second version.
func (l *longRun) newer(but *plan) bool {
	for _, p := range l.plans {
		if p != but && p.checkpoint != nil && p.checkpoint.read {
			return p.checkpoint.second
		}
	}
	return len(l.state.groups) > 0
}

// atWork is the plan that the run was at by STATE.md, if it is open and the run
// was executing: the agent that is marked as at work was put to it. "" if the
// files do not tell.
func (l *longRun) atWork() string {
	if p := l.plan(l.state.plan); p != nil && l.state.status == wordExecuting && !p.status.Closed() {
		return p.id
	}
	return ""
}

// history replaces a history that cannot be read by one that knows the agent
// that is marked as at work and nothing else. The marker does not tell whether
// it came to an end, so it was interrupted.
func (d *mender) history(a *agents, plan, key string) {
	if !a.exists || a.read {
		return
	}
	f := d.r.Open(path.Join(d.ref.Path, "agent-history.json"))
	if !f.OK() {
		return
	}
	entries, from := []any{}, path.Join(d.ref.Path, "current-agent-id.txt")+" (no agent is marked as at work)"
	if a.id != "" && utf8.ValidString(a.id) {
		entry := splice.Object{{Key: "agent_id", Value: a.id}}
		from = a.source.File
		if plan != "" {
			entry = append(entry, splice.Member{Key: "task_description", Value: "Execute plan " + plan}, splice.Member{Key: "plan", Value: plan})
			from += ", " + path.Join(d.ref.Path, "STATE.md")
		}
		entries = append(entries, append(entry, splice.Member{Key: "timestamp", Value: nil},
			splice.Member{Key: "status", Value: "interrupted"}, splice.Member{Key: "completion_timestamp", Value: nil}))
	}
	file := splice.Object{{Key: "version", Value: "1.0"}}
	if key == "entries" {
		file = append(file, splice.Member{Key: "max_entries", Value: maxEntries})
	}
	content, err := newJSON(append(file, splice.Member{Key: key, Value: entries}))
	if err == nil {
		d.add("the history of agents cannot be read", from, write(f, content, "begin the history again with the agent that is marked as at work"))
	}
}

// hollow reports whether a Markdown file tells nothing: it is no text, or holds
// nothing but headings. A write that was cut off leaves that.
func hollow(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return true
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// lost tells whether STATE.md is to be rebuilt, and what is wrong with it.
func (d *mender) lost(told bool) (f *doc.File, what string, ok bool) {
	f = d.r.Open(path.Join(d.ref.Path, "STATE.md"))
	switch {
	case !f.Exists():
		return f, "STATE.md is missing", true
	case f.OK() && !told && hollow(f.Data):
		return f, "STATE.md does not say where the run stands", true
	}
	return f, "", false
}

// position rebuilds STATE.md of `.long-run/`: the first plan that is open, and
// Complete only where each plan has a completed summary.
func (d *mender) position(l *longRun) {
	f, what, ok := d.lost(l.state.read)
	if !ok || len(l.plans) == 0 {
		return
	}
	at, status := l.firstOpen(), "Complete"
	if at == nil {
		at = l.plans[len(l.plans)-1]
	}
	closed := 0
	for _, p := range l.plans {
		if p.summary == nil || p.summary.status != reprise.Done {
			status = "Executing"
		}
		if p.status.Closed() {
			closed++
		}
	}
	if status == "Executing" && !l.begun() {
		status = "Ready to Execute"
	}
	var b strings.Builder
	b.WriteString("# Long-Run Implementation State\n\n## Spec Reference\nSpec: " + path.Dir(l.dir) + "/\n\n## Current Position\n")
	fmt.Fprintf(&b, "Plan: %d of %d\n", at.num, len(l.plans))
	if at.group != "" {
		b.WriteString("Task Group: " + line(at.group, 120) + "\n")
	}
	b.WriteString("Status: " + status + "\n")
	if t := lastClaim(l.run); !t.IsZero() {
		b.WriteString("Last activity: " + t.UTC().Format(time.RFC3339) + "\n")
	}
	bar, _ := withBar("[░░░░░░░░░░] 0%", closed, len(l.plans))
	b.WriteString("Progress: " + bar + "\n")
	d.add(what, path.Join(l.dir, "plans")+", "+path.Join(l.dir, "summaries"), write(f, b.String(), "rebuild STATE.md"))
}

// lastClaim is the latest time that a ledger records about a plan.
func lastClaim(run *reprise.Run) (last time.Time) {
	for i := range run.Steps {
		for _, c := range run.Steps[i].Claims {
			if c.At.After(last) {
				last = c.At
			}
		}
	}
	return last
}

// planning rebuilds STATE.md of `.planning/`: the phase in which work goes on
// by ROADMAP.md and the summaries. It never calls the milestone complete, and a
// phase only where all its plans are closed.
func (d *mender) planning(g *gsd) {
	f, what, ok := d.lost(g.state.ok)
	if !ok || len(g.road.phases) == 0 && len(g.plans) == 0 {
		return
	}
	phase, status := g.current, "In progress"
	if phase.none() {
		phase = g.frontier()
		status = "Phase complete"
	}
	if pending := g.pendingPhases(); phase.none() && len(pending) > 0 {
		phase, status = pending[0], "Ready to plan"
	}
	if phase.none() {
		return
	}
	done, total := 0, 0
	for _, k := range g.allKeys() {
		if k.phase != phase || g.plans[k] == nil {
			continue
		}
		total++
		if g.done[k] {
			done++
		}
	}
	switch {
	case status == "Phase complete" && done < total && !g.road.done(phase):
		status = "In progress"
	case status == "In progress" && len(g.done) == 0 && !g.anyTick():
		status = "Ready to execute"
	}
	var b strings.Builder
	b.WriteString("# Project State\n\n## Current Position\n\nPhase: " + trimZero(phase.String()))
	if n := len(g.road.phases); n > 0 && phase.depth == 1 && phase.letter == 0 && phase.n[0] <= n {
		b.WriteString(" of " + strconv.Itoa(n))
	}
	if ph := g.road.phases[phase]; ph != nil && ph.title != "" {
		b.WriteString(" (" + line(ph.title, 80) + ")")
	}
	fmt.Fprintf(&b, "\nPlan: %d of %d in current phase\nStatus: %s\n", done, total, status)
	if t := lastClaim(g.run); !t.IsZero() {
		b.WriteString("Last activity: " + t.UTC().Format(time.DateOnly) + "\n")
	}
	d.add(what, path.Join(g.dir, "ROADMAP.md")+" and the summaries below "+path.Join(g.dir, "phases"), write(f, b.String(), "rebuild STATE.md"))
}

func trimZero(s string) string {
	if len(s) > 1 && s[0] == '0' {
		return s[1:]
	}
	return s
}
