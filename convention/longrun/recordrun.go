package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// runRecorder writes one event into a `.long-run/` folder.
type runRecorder struct {
	*book
	l  *longRun
	ev reprise.Event
}

// recordLongRun writes in the order of the convention: the history, the marker,
// the checkpoint, the summary, and STATE.md last.
func recordLongRun(fsys fs.FS, ref reprise.Ref, ev reprise.Event) ([]reprise.Edit, error) {
	w := &runRecorder{book: newBook(fsys), l: loadLongRun(doc.NewReader(fsys), &reprise.Run{Ref: ref}), ev: ev}
	about := []string{ev.Question}
	if w.l.blind {
		return nil, fmt.Errorf("%s: plans and summaries cannot be listed: %w", ref.Path, splice.ErrUnreadable)
	}
	var err error
	switch ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepSkipped, reprise.StepReset:
		var p *plan
		p, err = w.step()
		if p != nil {
			about = append(about, p.id)
		}
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped:
		err = w.question()
	case reprise.RunStarted, reprise.RunResumed, reprise.RunEnded, reprise.RunStopped:
		err = w.run()
	default:
		err = cannot(".long-run")
	}
	if err != nil {
		return nil, err
	}
	edits := w.edits()
	return edits, confirm(fsys, ref, edits, about...)
}

// planOf finds the plan a step id names, and the task if it names one.
func (w *runRecorder) planOf(id string) (p *plan, task int, err error) {
	name, number, tasked := strings.Cut(id, "/")
	if tasked {
		if task, err = strconv.Atoi(number); err != nil || task < 1 {
			return nil, 0, cannot("%q names no task", doc.Clip(id, 40))
		}
	}
	if doc.Digits(name) && len(name) < 10 {
		num, _ := strconv.Atoi(name)
		p = w.l.plan(num)
	}
	if p == nil {
		return nil, 0, cannot("there is no plan %q", doc.Clip(name, 40))
	}
	return p, task, nil
}

// transform is the step that writes the plans. Its end is the only thing of it
// that has a place: the run is ready to execute.
const transform = "transform"

func (w *runRecorder) step() (*plan, error) {
	if w.ev.Step == transform && w.ev.Kind == reprise.StepFinished && w.l.firstOpen() != nil {
		if w.l.state.status != wordSetup && w.l.state.status != wordNone {
			return nil, nil // told before; the work has begun since
		}
		return nil, w.stateOnly(stateChange{status: wordReady, at: w.l.firstOpen(), what: "Planned"})
	}
	p, task, err := w.planOf(w.ev.Step)
	if err != nil {
		return nil, err
	}
	if c := p.checkpoint; c != nil && !c.read {
		return nil, fmt.Errorf("%s: %w", c.source.File, splice.ErrUnreadable)
	}
	if w.l.agent.exists && !w.l.agent.read {
		return nil, fmt.Errorf("%s: %w", path.Join(w.l.dir, "agent-history.json"), splice.ErrUnreadable)
	}
	if task > 0 {
		return p, w.task(p, task)
	}
	switch w.ev.Kind {
	case reprise.StepStarted:
		err = w.start(p)
	case reprise.StepReset:
		err = w.reset(p)
	case reprise.StepFinished:
		err = w.end(p, reprise.Done, "completed", "completed")
	case reprise.StepSkipped:
		err = w.end(p, reprise.Skipped, "skipped", "interrupted")
	default:
		word := "failed"
		if doc.Fold(w.ev.Outcome) == "timeout" {
			word = "timeout"
		}
		err = w.end(p, reprise.Failed, word, word)
	}
	return p, err
}

// start: an agent is put to a plan. A summary that called the plan ended is set
// to partial, the convention's word for work that goes on.
func (w *runRecorder) start(p *plan) error {
	if err := w.enter(p); err != nil {
		return err
	}
	if c := p.checkpoint; c != nil && c.second && c.status == reprise.Failed {
		if err := w.checkpointStatus(p, "in_progress"); err != nil {
			return err
		}
	}
	if s := p.summary; s != nil && s.status != reprise.InProgress {
		if err := w.summaryStatus(p, reprise.InProgress, "partial"); err != nil {
			return err
		}
	}
	return w.state(stateChange{status: wordExecuting, at: p, row: reprise.InProgress, what: "Started plan " + p.id})
}

// restart: a person wants the whole plan done again, the tasks that are done
// included. A summary that called it ended is partial from then on.
func (w *runRecorder) restart(p *plan) error {
	if c := p.checkpoint; c != nil && c.completed > 0 {
		if c.second {
			return cannot("%s lists its tasks; those that are done cannot be taken back one by one", c.source.File)
		}
		if err := w.openCheckpoint(p); err != nil {
			return err
		}
		if err := w.putCheckpoint(p, "last_completed_task", 0); err != nil {
			return err
		}
		if err := w.touchCheckpoint(p); err != nil {
			return err
		}
	}
	if s := p.summary; s != nil && s.status.Closed() {
		return w.summaryStatus(p, reprise.InProgress, "partial")
	}
	return nil
}

// reset takes back that a plan was begun. Tasks that are done stay done, unless
// a person wants it all done again.
func (w *runRecorder) reset(p *plan) error {
	again := w.ev.Actor == reprise.Person
	if again {
		if err := w.restart(p); err != nil {
			return err
		}
	}
	if e := lastAgent(p.agents); e != nil && e.status == reprise.InProgress {
		if err := w.closeEntry(p.agents, "", "queued"); err != nil {
			return err
		}
	}
	if c := p.checkpoint; c != nil && c.second && c.known && c.completed == 0 && c.status == reprise.InProgress {
		if err := w.checkpointStatus(p, "pending"); err != nil {
			return err
		}
	}
	row := reprise.Pending
	if p.checkpoint != nil && p.checkpoint.completed > 0 && !again {
		row = reprise.InProgress
	}
	return w.state(stateChange{at: p, row: row, what: "Reset plan " + p.id})
}

// end: a plan came to an end of one kind or another. The marker is left as it
// is: it cannot be removed by an edit, and the closed entry shows that it is
// only a leftover.
func (w *runRecorder) end(p *plan, status reprise.Status, word, agent string) error {
	if status == reprise.Done && p.path == "" && p.summary == nil {
		return cannot("plan %s has no plan file", p.id)
	}
	if e := lastAgent(p.agents); e != nil && (e.status == reprise.InProgress || e.status == reprise.Pending || status == reprise.Done) &&
		!(e.interrupted() && agent == "completed" && agentID(w.ev.Agent) == "") { // who was cut off did not complete it
		if err := w.closeEntry(p.agents, agentID(w.ev.Agent), agent); err != nil {
			return err
		}
	}
	if c := p.checkpoint; c != nil {
		var err error
		switch {
		case status == reprise.Done && c.partial():
			err = w.fillCheckpoint(p)
		case status == reprise.Failed && c.second && c.status != reprise.Failed:
			err = w.checkpointStatus(p, word)
		}
		if err != nil {
			return err
		}
	}
	if p.summary == nil {
		w.newSummary(p, word)
	} else if p.summary.status != status {
		if err := w.summaryStatus(p, status, word); err != nil {
			return err
		}
	}
	change := stateChange{at: p, row: status, what: endWords[status] + " plan " + p.id}
	if status.Closed() {
		change.closes, change.at = p, w.openAfter(p)
		if !w.changed() && w.l.state.plan != p.num {
			change.at = nil // told before; STATE.md has moved on since
		}
	}
	return w.state(change)
}

var endWords = map[reprise.Status]string{reprise.Done: "Completed", reprise.Skipped: "Skipped", reprise.Failed: "Failed"}

// openAfter is the plan that comes next once a plan is closed.
func (w *runRecorder) openAfter(p *plan) *plan {
	for _, q := range w.l.plans {
		if q != p && !q.status.Closed() {
			return q
		}
	}
	return nil
}

// newSummary writes the summary of a plan, with the fields of the convention.
func (w *runRecorder) newSummary(p *plan, word string) {
	ev := w.ev
	var b strings.Builder
	b.WriteString("---\nversion: \"1.0\"\nplan: " + p.id + "\n")
	if p.group != "" {
		b.WriteString("task_group: " + scalar(p.group) + "\n")
	}
	if id := agentID(ev.Agent); id != "" {
		b.WriteString("executed_by_agent: " + quoted(id) + "\n")
	}
	b.WriteString("status: " + word + "\n")
	if !ev.At.IsZero() {
		b.WriteString("completed_at: " + timeLike(w.peerTime(), ev.At) + "\n")
		if e := lastAgent(p.agents); e != nil && !e.at.IsZero() && ev.At.After(e.at) && !e.interrupted() {
			b.WriteString("duration_minutes: " + strconv.Itoa(int(ev.At.Sub(e.at).Minutes())) + "\n")
		}
	}
	if text := line(ev.Text, 500); text != "" && word != "completed" {
		b.WriteString("reason: " + quoted(text) + "\n")
	}
	b.WriteString("---\n\n# Plan " + p.id + ": " + line(p.title, 120) + " Summary\n")
	if text := line(ev.Text, 2000); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	if sha := line(ev.Commit, 64); sha != "" {
		b.WriteString("\nCommit: " + sha + "\n")
	}
	w.create(path.Join(w.l.dir, "summaries", p.id+"-SUMMARY.md"), b.String(), fmt.Sprintf("plan %s is %s", p.id, word))
}

// peerTime is how another summary writes its time.
func (w *runRecorder) peerTime() string {
	for _, p := range w.l.plans {
		if p.summary != nil && p.summary.stamp != "" {
			return p.summary.stamp
		}
	}
	return ""
}

// summaryStatus changes the status a summary states, where it states it.
func (w *runRecorder) summaryStatus(p *plan, status reprise.Status, word string) error {
	name := p.summary.source.File
	m, err := w.openMarkdown(name, fmt.Sprintf("plan %s is %s", p.id, word))
	if err != nil {
		return err
	}
	for _, q := range w.l.plans {
		if q.summary != nil && q.summary.status == status && summaryWords[doc.Fold(q.summary.word)] == status && q.summary.word != "" && status == reprise.Done {
			word = q.summary.word // the word this project uses
			break
		}
	}
	if m.Doc().Front == nil {
		fields := m.Fields(splice.Where{}, "Status")
		if len(fields) == 0 {
			return cannot("%s states no status", name)
		}
		return inFile(name, m.SetLabel(splice.Where{Line: fields[0].Line}, "Status", word))
	}
	if err := m.SetFront(splice.Path{"status"}, word); err != nil {
		return inFile(name, err)
	}
	if at := m.Doc().Front.Get("completed_at"); at != nil && status != reprise.InProgress && !w.ev.At.IsZero() {
		if err := m.SetFront(splice.Path{"completed_at"}, timeLike(at.Str(), w.ev.At)); err != nil {
			return inFile(name, err)
		}
	}
	why := line(w.ev.Text, 500)
	switch {
	case status == reprise.Done || status == reprise.InProgress:
		// Why it once came to a bad end stays in the body.
		if m.Doc().Front.Has("reason") {
			return inFile(name, m.SetFront(splice.Path{"reason"}, ""))
		}
	case why != "":
		return inFile(name, m.SetFront(splice.Path{"reason"}, why))
	}
	return nil
}

// run: events of the run as a whole stand in STATE.md alone.
func (w *runRecorder) run() error {
	open := w.l.firstOpen()
	switch w.ev.Kind {
	case reprise.RunStarted:
		if !w.l.state.exists {
			return w.begin()
		}
		if len(w.l.plans) == 0 {
			return nil // it is set up, and no plan says more
		}
		return w.stateOnly(stateChange{status: wordExecuting, at: open, what: "Started"})
	case reprise.RunResumed:
		// Nobody is at work when a run is taken up: who was has been cut off.
		for _, p := range w.l.plans {
			e := lastAgent(p.agents)
			if e == nil || e.status != reprise.InProgress || p.status.Closed() {
				continue
			}
			word := "interrupted"
			if id := agentID(w.ev.Agent); id != "" && e.id == id {
				word = "resumed"
			}
			if doc.Fold(e.word) == word {
				continue
			}
			if err := w.setEntry(e, word); err != nil {
				return err
			}
		}
		return w.stateOnly(stateChange{status: wordExecuting, at: open, what: "Resumed"})
	case reprise.RunStopped:
		if w.ev.Outcome == "paused" && w.l.state.status != wordExecuting {
			return nil // nobody is said to be at work
		}
		return w.stateOnly(stateChange{status: wordStopped, at: open, what: stopText(w.ev.Text)})
	}
	switch doc.Fold(w.ev.Outcome) {
	case "failed":
		return w.stateOnly(stateChange{status: wordFailed, at: open, what: "Failed"})
	case "aborted", "stopped":
		return w.stateOnly(stateChange{status: wordStopped, at: open, what: stopText(w.ev.Text)})
	}
	if open != nil {
		return cannot("the run is not complete: plan %s is %s", open.id, open.status)
	}
	return w.stateOnly(stateChange{status: wordComplete, what: "Completed all plans"})
}

func stopText(why string) string {
	if why = line(why, 200); why != "" {
		return "Stopped: " + why
	}
	return "Stopped"
}

// begin writes the files of a run that is not there yet.
func (w *runRecorder) begin() error {
	var b strings.Builder
	b.WriteString("# Long-Run Implementation State\n\n## Spec Reference\nSpec: " + path.Dir(w.l.dir) + "/\n")
	if !w.ev.At.IsZero() {
		b.WriteString("Started: " + timeLike("", w.ev.At) + "\n")
	}
	if goal := line(w.ev.Text, 2000); goal != "" {
		b.WriteString("Goal: " + goal + "\n")
	}
	b.WriteString("\n## Current Position\n")
	status, plan := "Initializing", "[X] of [Y]"
	if p := w.l.firstOpen(); p != nil {
		status, plan = "Executing", fmt.Sprintf("%d of %d", p.num, len(w.l.plans))
	}
	b.WriteString("Plan: " + plan + "\nStatus: " + status + "\n")
	if !w.ev.At.IsZero() {
		b.WriteString("Last activity: " + activity("", w.ev.At, "Started") + "\n")
	}
	b.WriteString("Progress: [░░░░░░░░░░] 0%\n")
	w.create(path.Join(w.l.dir, "STATE.md"), b.String(), "the run is started")
	if !w.l.agent.exists {
		content, err := newJSON(splice.Object{{Key: "version", Value: "1.0"}, {Key: "max_entries", Value: maxEntries}, {Key: "entries", Value: []any{}}})
		if err != nil {
			return err
		}
		w.create(path.Join(w.l.dir, "agent-history.json"), content, "the run is started")
	}
	return nil
}
