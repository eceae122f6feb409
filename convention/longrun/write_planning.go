package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// caution is how much of STATE.md is left alone. Its prose counts as a record of
// plans that have no summary: where a line of it holds such a plan up, the line
// is not touched.
type caution uint8

const (
	touchAll   caution = iota
	leaveProse         // what was done last is not written
	leavePhase         // the phase is not moved either
)

// planningRecorder writes one event into a `.planning/` folder.
type planningRecorder struct {
	recorder
	g       *gsd
	caution caution
	about   *plan // the plan the event is about, nil for none
	behind  bool  // the plan reads as done, and nothing else was told of it
	reopens bool  // the plan was done, and nothing else was told that it is not
}

func recordPlanning(fsys fs.FS, ref reprise.Ref, ev reprise.Event) ([]reprise.Edit, error) {
	g := loadPlanning(doc.NewReader(fsys), &reprise.Run{Ref: ref})
	var disturbs error
	for caution := touchAll; caution <= leavePhase; caution++ {
		w := &planningRecorder{recorder: recorder{ledger.NewChanges(fsys), g.dir, ev, g.agent}, g: g, caution: caution}
		w.event()
		edits, err := w.Edits()
		if err != nil {
			return nil, err
		}
		if disturbs = ledger.Undisturbed(loader(ref), fsys, edits, w.touches()...); disturbs == nil {
			return edits, nil
		}
	}
	return nil, disturbs
}

// touches lists what the event may change. A plan that was begun stays begun when
// it is started again; one that is closed takes the questions of its hand-off with
// it.
func (w *planningRecorder) touches() []string {
	out := []string{w.ev.Question}
	if p := w.about; p != nil && (w.ev.Kind != reprise.StepStarted || p.status != reprise.InProgress) {
		out = append(out, p.id)
	}
	if w.ev.Kind == reprise.RunEnded && !w.broken() {
		// Plans outside the roadmap are left out of what is complete.
		for _, p := range w.g.open {
			if p.orphan {
				out = append(out, p.id)
			}
		}
	}
	if h := w.g.hand; h != nil && (w.ev.Kind == reprise.PhaseEnded || h.plan != nil && h.plan == w.about && w.ev.Kind != reprise.StepStarted) {
		for _, q := range h.asks {
			out = append(out, q.ID)
		}
	}
	return out
}

func (w *planningRecorder) event() {
	switch w.ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepSkipped, reprise.StepReset:
		w.about = w.g.named(w.ev.Step)
		switch {
		case w.about == nil:
			w.Fail(ledger.Cannot("there is no plan %q", doc.Clip(w.ev.Step, 40)))
		case w.agent.exists && !w.agent.read:
			w.Fail(fmt.Errorf("%s: %w", w.agent.file, splice.ErrUnreadable))
		default:
			w.step(w.about)
		}
	case reprise.PhaseEnded:
		w.phaseEnded()
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped:
		w.question()
	case reprise.RunStarted, reprise.RunResumed, reprise.RunStopped, reprise.RunEnded:
		w.run()
	default:
		w.Fail(ledger.Cannot(planningDir))
	}
}

// named finds the plan a step id names, nil if there is none. What is offered to be
// started for the sake of its summary alone, NN-MM-SUMMARY, is that plan.
func (g *gsd) named(id string) *plan {
	return firstPlan(g.plans.sorted(), func(p *plan) bool { return p.id == strings.TrimSuffix(id, "-SUMMARY") })
}

func (w *planningRecorder) step(p *plan) {
	e := p.latest()
	switch w.ev.Kind {
	case reprise.StepStarted:
		w.start(p)
	case reprise.StepFinished:
		w.finish(p)
	case reprise.StepSkipped:
		if e != nil && e.status == reprise.InProgress && !e.interrupted() {
			w.setAgent(e, "interrupted", w.ev.At)
		}
		w.summary(p, reprise.Skipped, "skipped")
		w.state(planChange{plan: p, what: "Skipped " + p.id})
	case reprise.StepFailed:
		// A summary would say it to us, but the tools of this convention
		// count a plan with a summary as done, whatever stands in it.
		switch {
		case p.summary != nil:
			w.Fail(ledger.Cannot("plan %s has a summary", p.id))
		case e == nil:
			w.Fail(ledger.Cannot("plan %s has no entry in agent-history.json", p.id))
		case e.status != reprise.Failed:
			w.setAgent(e, "failed", w.ev.At)
		}
	default:
		if w.ev.Actor == reprise.Person && p.summary == nil {
			w.reopen(p)
		}
		switch {
		case e != nil && e.status == reprise.InProgress:
			w.setAgent(e, "queued", w.ev.At)
		case p.status == reprise.InProgress:
			w.Fail(ledger.Cannot("plan %s is called begun by a hand-off", p.id))
		}
	}
}

func (w *planningRecorder) start(p *plan) {
	switch {
	case p.done:
		w.Fail(ledger.Cannot("plan %s has a summary", p.id))
		return
	case !w.agent.exists && !w.g.state.exists:
		w.Fail(ledger.Cannot("there is neither STATE.md nor agent-history.json"))
		return
	case w.agent.exists:
		phase := p.phase.String()
		if n := len(w.agent.entries); n > 0 && p.path != "" && strings.Contains(w.agent.entries[n-1].phase, "-") {
			phase = path.Base(path.Dir(p.path))
		}
		w.enter(p, false, splice.Object{
			{Key: "task_description", Value: "Execute plan " + p.id}, {Key: "phase", Value: phase},
			{Key: "plan", Value: p.number()}, {Key: "segment", Value: nil},
		}...)
	}
	w.state(planChange{word: gsdExecuting, plan: p, what: "Started " + p.id})
}

// finish: the summary is what makes a plan done; box, counters and prose
// follow it.
func (w *planningRecorder) finish(p *plan) {
	if e := p.latest(); e != nil && e.status != reprise.InReview {
		w.setAgent(e, "completed", w.ev.At)
	}
	w.summary(p, reprise.Done, "complete")
	// An agent that wrote the summary itself leaves the rest undone, as the
	// unticked box shows.
	w.behind = p.done && p.box != nil && !p.box.ticked
	counts := count(w.behind || !p.done && !p.recorded)
	w.tick(p, counts > 0)
	name := p.id
	if p.path != "" {
		name = path.Base(p.path)
	}
	w.state(planChange{plan: p, counts: counts, what: "Completed " + name})
}

// reopen takes back what the records say of a plan without a summary that a person wants
// done again: its boxes and those of its phase, and in STATE.md the count, what was
// completed last and a place past it.
func (w *planningRecorder) reopen(p *plan) {
	_, said := w.g.state.said[p.planKey]
	past := w.g.beyond(p)
	if !p.ticked() && !p.recorded && !said && !past {
		return
	}
	w.reopens = true
	w.untick(p)
	word := gsdExecuting
	if w.caution == leavePhase {
		word = gsdNone // another plan without a summary counts as done by it
	}
	w.state(planChange{word: word, plan: p, counts: -1, what: "Reopened " + p.id})
}

// summary writes or changes the summary of a plan. One that states no status
// says done by being there.
func (w *planningRecorder) summary(p *plan, status reprise.Status, word string) {
	why := fmt.Sprintf("plan %s is %s", p.id, word)
	switch s := p.summary; {
	case s == nil && p.path == "":
		w.Fail(ledger.Cannot("plan %s has no plan file", p.id))
	case s == nil:
		name, own := w.g.summaryName(p)
		if !own {
			w.Fail(ledger.Cannot("the summary of plan %s has no name of its own", p.id))
		}
		w.Create(name, []byte(w.newSummary(p, status, word)), why)
	case s.status == status:
	default:
		w.Markdown(s.file).Because("%s", why)
		if s.statusAt == (ledger.Text{}) {
			w.Fail(ledger.Cannot("%s states no status", s.file))
		}
		w.SetText(s.statusAt, word)
		if s.endedAt.Value != "" && !w.ev.At.IsZero() {
			w.set(s.endedAt, w.spell(s.endedAt.Value))
		}
	}
}

// summaryName is where the summary of a plan is, or would be: named after the
// plan's file, in the folder where this project keeps its summaries. own is false
// if that name would be read as another file's.
func (g *gsd) summaryName(p *plan) (name string, own bool) {
	if p.summary != nil {
		return p.summary.file, true
	}
	dir, base := path.Dir(p.path), path.Base(p.path)
	if beside := path.Join(path.Dir(dir), "summaries"); path.Base(dir) == "plans" && g.r.Exists(beside) {
		dir = beside
	}
	reads := func(name string) bool {
		k, _, ok := fileKey(path.Join(dir, name), p.phase, "SUMMARY")
		return ok && k == p.planKey
	}
	if i := strings.LastIndex(strings.ToUpper(base), "PLAN"); i >= 0 {
		word := "SUMMARY"
		if base[i:i+4] == "plan" {
			word = "summary"
		}
		name = base[:i] + word + base[i+4:]
	} else {
		name = strings.TrimSuffix(base, ".md") + "-SUMMARY.md" // NN-MM-FIX.md
	}
	if !reads(name) {
		name = p.String() + "-SUMMARY.md"
	}
	return path.Join(dir, name), reads(name) && !g.r.Exists(path.Join(dir, name))
}

func (w *planningRecorder) newSummary(p *plan, status reprise.Status, word string) string {
	var b strings.Builder
	folder := path.Base(path.Dir(p.path))
	if at, ok := phaseOfFolder(folder, false); !ok || at != p.phase {
		folder = p.phase.String()
	}
	if strings.Trim(folder, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		folder = ledger.Quoted(folder)
	}
	title := "Phase " + p.phase.String()
	b.WriteString("---\nphase: " + folder + "\n")
	if p.num != solePlan {
		b.WriteString("plan: " + p.number() + "\n")
		title += " Plan " + p.number()
	}
	if status != reprise.Done {
		b.WriteString("status: " + word + "\n")
		if why := ledger.MarkdownLine(w.ev.Text, 500); why != "" {
			b.WriteString("reason: " + ledger.Quoted(why) + "\n")
		}
	}
	if !w.ev.At.IsZero() {
		b.WriteString("completed: " + w.ev.At.UTC().Format(time.DateOnly) + "\n")
	}
	if name := ledger.MarkdownLine(p.title, 120); name != "" {
		title += ": " + name
	}
	text := w.ev.Text
	if ledger.MarkdownLine(text, 2000) == "" {
		text = strings.ToUpper(word[:1]) + word[1:] + "."
	}
	return b.String() + "---\n\n# " + title + " Summary\n" + w.summaryBody(text)
}

// number is the number of a plan in its phase: 02, 02b, 02-FIX, B. The only
// plan of a phase is its first.
func (k planKey) number() string {
	switch k.num {
	case lettered:
		return strings.ToUpper(k.suffix)
	case solePlan:
		return "01"
	}
	if i := strings.Index(k.suffix, "fix"); i >= 0 {
		return fmt.Sprintf("%02d%s%s", k.num, k.suffix[:i], fixText(k.suffix[i:]))
	}
	return fmt.Sprintf("%02d%s", k.num, k.suffix)
}
