package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// longRunRecorder writes one event into a `.long-run/` folder.
type longRunRecorder struct {
	recorder
	l *longRun
}

// recordLongRun writes in the order of the convention: the history, the marker,
// the checkpoint, the summary, and STATE.md last.
func recordLongRun(fsys fs.FS, ref reprise.Ref, ev reprise.Event) ([]reprise.Edit, error) {
	l := loadLongRun(doc.NewReader(fsys), &reprise.Run{Ref: ref})
	if l.blind {
		return nil, fmt.Errorf("%s: plans and summaries cannot be listed: %w", ref.Path, splice.ErrUnreadable)
	}
	w := &longRunRecorder{recorder{ledger.NewChanges(fsys), l.dir, ev, l.agent}, l}
	about := []string{ev.Question}
	switch ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepSkipped, reprise.StepReset:
		if p := w.step(); p != nil {
			about = append(about, p.id)
		}
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped:
		w.question()
	case reprise.RunStarted, reprise.RunResumed, reprise.RunEnded, reprise.RunStopped:
		w.run()
	default:
		w.Fail(ledger.Cannot(".long-run"))
	}
	edits, err := w.Edits()
	if err != nil {
		return nil, err
	}
	return edits, ledger.Undisturbed(loader(ref), fsys, edits, about...)
}

// planOf finds the plan a step id names, and the task if it names one.
func (w *longRunRecorder) planOf(id string) (p *plan, task int, err error) {
	name, number, tasked := strings.Cut(id, "/")
	if tasked {
		if task, err = strconv.Atoi(number); err != nil || task < 1 {
			return nil, 0, ledger.Cannot("%q names no task", doc.Clip(id, 40))
		}
	}
	if doc.Digits(name) && len(name) < 10 {
		p = w.l.named(name)
	}
	if p == nil {
		return nil, 0, ledger.Cannot("there is no plan %q", doc.Clip(name, 40))
	}
	return p, task, nil
}

// transform is the step that writes the plans. Its end is the only thing of it
// that has a place: the run is ready to execute.
const transform = "transform"

// step records an event of a plan, which it returns, or of a task of one.
func (w *longRunRecorder) step() *plan {
	if w.ev.Step == transform && w.ev.Kind == reprise.StepFinished && w.l.firstOpen() != nil {
		// Told before unless the run is being set up: the work has begun since.
		if w.l.state.status == wordSetup || w.l.state.status == wordNone {
			w.stateOnly(stateChange{status: wordReady, at: w.l.firstOpen(), what: "Planned"})
		}
		return nil
	}
	p, task, err := w.planOf(w.ev.Step)
	switch {
	case err != nil:
		w.Fail(err)
		return nil
	case p.checkpoint != nil && !p.checkpoint.read:
		w.Fail(fmt.Errorf("%s: %w", p.checkpoint.source.File, splice.ErrUnreadable))
	case w.agent.exists && !w.agent.read:
		w.Fail(fmt.Errorf("%s: %w", w.agent.file, splice.ErrUnreadable))
	case task > 0:
		w.task(p, task)
	case w.ev.Kind == reprise.StepStarted:
		w.start(p)
	case w.ev.Kind == reprise.StepReset:
		w.reset(p)
	case w.ev.Kind == reprise.StepFinished:
		w.end(p, reprise.Done, "completed", "completed")
	case w.ev.Kind == reprise.StepSkipped:
		w.end(p, reprise.Skipped, "skipped", "interrupted")
	case doc.Fold(w.ev.Outcome) == "timeout":
		w.end(p, reprise.Failed, "timeout", "timeout")
	default:
		w.end(p, reprise.Failed, "failed", "failed")
	}
	return p
}

// putTo puts an agent to a plan.
func (w *longRunRecorder) putTo(p *plan) {
	what := "Execute plan " + p.id
	if p.group != "" {
		what += ": " + ledger.MarkdownLine(p.group, 80)
	}
	var about splice.Object
	if len(w.agent.entries) == 0 {
		about = append(about, splice.Member{Key: "agent_type", Value: "general-purpose"})
	}
	w.enter(p, w.l.second(nil), append(about, splice.Member{Key: "task_description", Value: what}, splice.Member{Key: "plan", Value: p.id})...)
}

// start: an agent is put to a plan. A summary that called the plan ended is set
// to partial, the convention's word for work that continues.
func (w *longRunRecorder) start(p *plan) {
	w.putTo(p)
	if c := p.checkpoint; c != nil && c.second && c.status == reprise.Failed {
		w.checkpointStatus(p, "in_progress")
	}
	if s := p.summary; s != nil && s.status != reprise.InProgress {
		w.summaryStatus(p, reprise.InProgress, "partial")
	}
	w.state(stateChange{status: wordExecuting, at: p, row: reprise.InProgress, what: "Started plan " + p.id})
}

// restart: a person wants the whole plan done again, the tasks that are done
// included.
func (w *longRunRecorder) restart(p *plan) {
	if c := p.checkpoint; c != nil && c.completed > 0 {
		if c.second {
			w.Fail(ledger.Cannot("%s lists its tasks; those that are done cannot be taken back one by one", c.source.File))
			return
		}
		w.putCheckpoint(p, "last_completed_task", 0)
		w.touchCheckpoint(p)
	}
}

// reset takes back that a plan was begun, and that it ended: it is partial as of
// now, and a later checkpoint knows more. Tasks that are done stay done, unless a
// person wants it all done again.
func (w *longRunRecorder) reset(p *plan) {
	again := w.ev.Actor == reprise.Person && w.ev.Outcome != reprise.NotDone
	if again {
		w.restart(p)
	}
	if s := p.summary; s != nil && s.status.Closed() {
		w.summaryStatus(p, reprise.InProgress, "partial")
		if !w.ev.At.IsZero() && s.endedAt != (ledger.Text{}) {
			w.SetText(s.endedAt, w.spell("")) // to the second, to compare by
		}
	}
	if e := p.latest(); e != nil && e.status == reprise.InProgress {
		w.closeAgent(p.agents, "", "queued")
	}
	c := p.checkpoint
	if c != nil && c.second && c.known && c.completed == 0 && c.status == reprise.InProgress {
		w.checkpointStatus(p, "pending")
	}
	row := reprise.Pending
	if c != nil && c.completed > 0 && !again {
		row = reprise.InProgress
	}
	w.state(stateChange{at: p, row: row, what: "Reset plan " + p.id})
}

// end: a plan came to an end of one kind or another. The marker is left as it
// is: it cannot be removed by an edit, and the closed entry shows that it is
// only a leftover.
func (w *longRunRecorder) end(p *plan, status reprise.Status, word, agent string) {
	if status == reprise.Done && p.path == "" && p.summary == nil {
		w.Fail(ledger.Cannot("plan %s has no plan file", p.id))
		return
	}
	id := agentID(w.ev.Agent)
	if e := p.latest(); e != nil && (e.status == reprise.InProgress || e.status == reprise.Pending || status == reprise.Done) &&
		!(e.interrupted() && agent == "completed" && id == "") { // an agent that was cut off did not complete it
		w.closeAgent(p.agents, id, agent)
	}
	switch c := p.checkpoint; {
	case status == reprise.Done && c.partial():
		w.advance(p, c.total)
	case status == reprise.Failed && c != nil && c.second && c.status != reprise.Failed:
		w.checkpointStatus(p, word)
	}
	if p.summary == nil {
		w.newSummary(p, word)
	} else if p.summary.status != status {
		w.summaryStatus(p, status, word)
	}
	change := stateChange{at: p, row: status, what: endWords[status] + " plan " + p.id}
	if status.Closed() {
		change.closes, change.at = p, w.l.openAfter(p)
		if !w.Changed() && w.l.state.plan != p.num {
			change.at = nil // told before; STATE.md has moved on since
		}
	}
	w.state(change)
}

var endWords = map[reprise.Status]string{reprise.Done: "Completed", reprise.Skipped: "Skipped", reprise.Failed: "Failed"}

// newSummary writes the summary of a plan, with the fields of the convention.
func (w *longRunRecorder) newSummary(p *plan, word string) {
	ev := w.ev
	var b strings.Builder
	b.WriteString("---\nversion: \"1.0\"\nplan: " + p.id + "\n")
	if p.group != "" {
		b.WriteString("task_group: " + ledger.YAMLText(p.group) + "\n")
	}
	if id := agentID(ev.Agent); id != "" {
		b.WriteString("executed_by_agent: " + ledger.Quoted(id) + "\n")
	}
	b.WriteString("status: " + word + "\n")
	if !ev.At.IsZero() {
		b.WriteString("completed_at: " + w.spellAs((*plan).endText) + "\n")
		if e := p.latest(); e != nil && !e.at.IsZero() && ev.At.After(e.at) && !e.interrupted() {
			b.WriteString("duration_minutes: " + strconv.Itoa(int(ev.At.Sub(e.at).Minutes())) + "\n")
		}
	}
	if text := ledger.MarkdownLine(ev.Text, 500); text != "" && word != "completed" {
		b.WriteString("reason: " + ledger.Quoted(text) + "\n")
	}
	b.WriteString("---\n\n# Plan " + p.id + ": " + ledger.MarkdownLine(p.title, 120) + " Summary\n" + w.summaryBody(ev.Text))
	w.Create(path.Join(w.dir, "summaries", p.id+"-SUMMARY.md"), []byte(b.String()), fmt.Sprintf("plan %s is %s", p.id, word))
}

// summaryBody is what a new summary says below its title: a text, and the commit.
func (w *recorder) summaryBody(text string) (out string) {
	if text = ledger.MarkdownLine(text, 2000); text != "" {
		out = "\n" + text + "\n"
	}
	if sha := ledger.MarkdownLine(w.ev.Commit, 64); sha != "" {
		out += "\nCommit: " + sha + "\n"
	}
	return out
}

// spellAs writes the time of the event as the first plan that has one does.
func (w *longRunRecorder) spellAs(written func(p *plan) string) string {
	for _, p := range w.l.plans {
		if sample := written(p); sample != "" {
			return w.spell(sample)
		}
	}
	return w.spell("")
}

// summaryStatus changes the status a summary states, where it states it.
func (w *longRunRecorder) summaryStatus(p *plan, status reprise.Status, word string) {
	s := p.summary
	w.Markdown(s.file).Because("plan %s is %s", p.id, word)
	for _, q := range w.l.plans {
		if q.summary != nil && status == reprise.Done && summaryWords[doc.Fold(q.summary.word)] == status {
			word = q.summary.word // the word this project uses
			break
		}
	}
	if s.statusAt == (ledger.Text{}) {
		w.Fail(ledger.Cannot("%s states no status", s.file))
		return
	}
	w.SetText(s.statusAt, word)
	if status != reprise.InProgress && !w.ev.At.IsZero() {
		w.set(s.endedAt, w.spell(s.endedAt.Value))
	}
	why := ledger.MarkdownLine(w.ev.Text, 500)
	switch {
	case status == reprise.Done || status == reprise.InProgress:
		w.set(s.reasonAt, "") // why it once came to a bad end stays in the body
	case why != "" && s.reasonAt != (ledger.Text{}):
		w.SetText(s.reasonAt, why)
	}
}

// run: events of the run as a whole stand in STATE.md alone.
func (w *longRunRecorder) run() {
	open, outcome := w.l.firstOpen(), doc.Fold(w.ev.Outcome)
	switch w.ev.Kind {
	case reprise.RunStarted:
		switch {
		case !w.l.state.exists:
			w.begin()
		case len(w.l.plans) > 0: // else it is set up, and no plan says more
			w.stateOnly(stateChange{status: wordExecuting, at: open, what: "Started"})
		}
	case reprise.RunResumed:
		// No agent works when a run is resumed: the previous one was cut off.
		for _, p := range w.l.plans {
			e, word := p.latest(), "interrupted"
			if e == nil || e.status != reprise.InProgress || p.status.Closed() {
				continue
			}
			if id := agentID(w.ev.Agent); id != "" && e.id == id {
				word = "resumed"
			}
			if doc.Fold(e.word) != word {
				w.setAgent(e, word, time.Time{})
			}
		}
		w.stateOnly(stateChange{status: wordExecuting, at: open, what: "Resumed"})
	case reprise.RunStopped:
		if w.ev.Outcome != "paused" || w.l.state.status == wordExecuting { // else no one is said to be at work
			w.stateOnly(stateChange{status: wordStopped, at: open, what: stopText(w.ev.Text)})
		}
	default:
		switch {
		case outcome == "failed":
			w.stateOnly(stateChange{status: wordFailed, at: open, what: "Failed"})
		case outcome == "aborted", outcome == "stopped":
			w.stateOnly(stateChange{status: wordStopped, at: open, what: stopText(w.ev.Text)})
		case open != nil:
			w.Fail(ledger.Cannot("the run is not complete: plan %s is %s", open.id, open.status))
		default:
			w.stateOnly(stateChange{status: wordComplete, what: "Completed all plans"})
		}
	}
}

func stopText(why string) string {
	if why = ledger.MarkdownLine(why, 200); why != "" {
		return "Stopped: " + why
	}
	return "Stopped"
}
