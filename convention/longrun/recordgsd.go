package longrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// care is how much of STATE.md is left alone. Its prose counts as a record of
// plans that have no summary: where a line of it holds such a plan up, the line
// is not touched.
type care uint8

const (
	careNone  care = iota
	careProse      // what was done last is not written
	carePhase      // the phase is not moved either
)

// planRecorder writes one event into a `.planning/` folder.
type planRecorder struct {
	*book
	g    *gsd
	ev   reprise.Event
	care care
	// behind: the plan reads as done, and nothing else was told of it.
	behind bool
}

func recordPlanning(fsys fs.FS, ref reprise.Ref, ev reprise.Event) ([]reprise.Edit, error) {
	var err error
	for care := careNone; care <= carePhase; care++ {
		w := &planRecorder{book: newBook(fsys), g: loadPlanning(doc.NewReader(fsys), &reprise.Run{Ref: ref}), ev: ev, care: care}
		about, refused := w.event()
		if refused != nil {
			return nil, refused
		}
		edits := w.edits()
		if err = confirm(fsys, ref, edits, w.touches(about)...); err == nil {
			return edits, nil
		}
		if !errors.Is(err, errDisturbs) {
			break
		}
	}
	return nil, err
}

// touches lists what the event may change beside its own plan. A plan that was
// begun stays begun when it is started again; one that is closed takes the
// questions of its hand-off with it.
func (w *planRecorder) touches(about string) []string {
	out := []string{w.ev.Question}
	s := w.g.run.Step(about)
	if s == nil || w.ev.Kind != reprise.StepStarted || s.Status != reprise.InProgress {
		out = append(out, about)
	}
	if w.ev.Kind == reprise.RunEnded && !w.broken() {
		// Plans outside the roadmap are left out of what is complete.
		for _, k := range w.g.open {
			if w.g.orphan[k] {
				out = append(out, w.g.id(k))
			}
		}
	}
	if h := w.g.hand; h != nil && (w.ev.Kind == reprise.PhaseEnded || h.hasPlan && w.g.id(h.plan) == about && w.ev.Kind != reprise.StepStarted) {
		for _, q := range h.asks {
			out = append(out, q.ID)
		}
	}
	return out
}

// event writes the event and returns the id of the plan it is about.
func (w *planRecorder) event() (about string, err error) {
	switch w.ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepSkipped, reprise.StepReset:
		k, ok := w.planOf(w.ev.Step)
		if !ok {
			return "", cannot("there is no plan %q", doc.Clip(w.ev.Step, 40))
		}
		if w.g.agent.exists && !w.g.agent.read {
			return "", fmt.Errorf("%s: %w", path.Join(w.g.dir, "agent-history.json"), splice.ErrUnreadable)
		}
		return w.g.id(k), w.step(k)
	case reprise.PhaseEnded:
		return "", w.phaseEnded()
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		return "", w.question()
	case reprise.RunStarted, reprise.RunResumed, reprise.RunStopped, reprise.RunEnded:
		return "", w.run()
	}
	return "", cannot(planningDir)
}

// planOf finds the plan a step id names. What is offered to be started for the
// sake of its summary alone, NN-MM-SUMMARY, is that plan.
func (w *planRecorder) planOf(id string) (planKey, bool) {
	id = strings.TrimSuffix(id, "-SUMMARY")
	for _, k := range w.g.stepKeys() {
		if w.g.id(k) == id {
			return k, true
		}
	}
	return planKey{}, false
}

func (w *planRecorder) step(k planKey) error {
	switch w.ev.Kind {
	case reprise.StepStarted:
		return w.start(k)
	case reprise.StepFinished:
		return w.finish(k)
	case reprise.StepSkipped:
		return w.skip(k)
	case reprise.StepFailed:
		// A summary would say it to us, but the tools of this convention
		// count a plan with a summary as done, whatever stands in it.
		e := w.entry(k)
		if s := w.g.sums[k]; s != nil {
			return cannot("plan %s has a summary", w.g.id(k))
		}
		if e == nil {
			return cannot("plan %s has no entry in agent-history.json", w.g.id(k))
		}
		if e.status == reprise.Failed {
			return nil
		}
		return w.setAgent(w.g.dir, e, "failed", w.ev.At)
	}
	e := w.entry(k)
	if e != nil && e.status == reprise.InProgress {
		return w.setAgent(w.g.dir, e, "queued", w.ev.At)
	}
	if s := w.g.run.Step(w.g.id(k)); s != nil && s.Status == reprise.InProgress {
		return cannot("plan %s is called begun by a hand-off", s.ID)
	}
	return nil
}

// entry is the latest entry of an agent about a plan.
func (w *planRecorder) entry(k planKey) (last *agentEntry) {
	for _, e := range w.g.agent.entries {
		if at, ok := w.g.entryPlan(e); ok && at == k {
			last = e
		}
	}
	return last
}

func (w *planRecorder) start(k planKey) error {
	if s := w.g.sums[k]; s != nil && s.status.Closed() {
		return cannot("plan %s has a summary", w.g.id(k))
	}
	if !w.g.agent.exists && !w.g.state.exists {
		return cannot("there is neither STATE.md nor agent-history.json")
	}
	if w.g.agent.exists {
		if err := w.enter(k); err != nil {
			return err
		}
	}
	return w.state(planChange{word: gsdExecuting, plan: k, what: "Started " + w.g.id(k)})
}

// enter puts an agent to a plan, in the files of agents where they are kept.
func (w *planRecorder) enter(k planKey) error {
	id, last := agentID(w.ev.Agent), w.entry(k)
	if last != nil && last.status == reprise.InProgress && (id == "" || id == last.id) && last.id != "" {
		return w.mark(w.g.dir, last.id)
	}
	if id == "" {
		launches := 1
		for _, e := range w.g.agent.entries {
			if at, ok := w.g.entryPlan(e); ok && at == k {
				launches++
			}
		}
		id = fmt.Sprintf("plan-%s-%d", w.g.id(k), launches)
	}
	if last != nil && last.id == id && last.status != reprise.Unknown {
		if err := w.setAgent(w.g.dir, last, "resumed", time.Time{}); err != nil {
			return err
		}
		return w.mark(w.g.dir, id)
	}
	var stamp any
	phase := k.phase.String()
	if e := lastAgent(w.g.agent.entries); e != nil {
		if !w.ev.At.IsZero() {
			stamp = timeLike(e.stamp, w.ev.At)
		}
		if p := w.g.plans[k]; p != nil && strings.ContainsAny(e.phase, "-") {
			phase = path.Base(path.Dir(p.path))
		}
	} else if !w.ev.At.IsZero() {
		stamp = timeLike("", w.ev.At)
	}
	entry := splice.Object{
		{Key: "agent_id", Value: id}, {Key: "task_description", Value: "Execute plan " + w.g.id(k)},
		{Key: "phase", Value: phase}, {Key: "plan", Value: planNumber(k)}, {Key: "segment", Value: nil},
		{Key: "timestamp", Value: stamp}, {Key: "status", Value: "spawned"}, {Key: "completion_timestamp", Value: nil},
	}
	if err := w.addAgent(w.g.dir, entry, fmt.Sprintf("agent %s is at plan %s", doc.Clip(id, 60), w.g.id(k))); err != nil {
		return err
	}
	return w.mark(w.g.dir, id)
}

// finish: the summary is what makes a plan done; box, counters and prose
// follow it.
func (w *planRecorder) finish(k planKey) error {
	if e := w.entry(k); e != nil && e.status != reprise.InReview {
		if err := w.setAgent(w.g.dir, e, "completed", w.ev.At); err != nil {
			return err
		}
	}
	if err := w.summary(k, reprise.Done, "complete"); err != nil {
		return err
	}
	// An agent that wrote the summary itself leaves the rest behind: the box
	// that nobody ticked shows it.
	box, boxed := w.g.road.boxes[k]
	counted := w.g.done[k] || w.g.recorded[k]
	w.behind = w.g.done[k] && boxed && !box.ticked
	counted = counted && !w.behind
	if err := w.tick(k, !counted); err != nil {
		return err
	}
	name := w.g.id(k)
	if p := w.g.plans[k]; p != nil {
		name = path.Base(p.path)
	}
	return w.state(planChange{plan: k, counts: !counted, what: "Completed " + name})
}

func (w *planRecorder) skip(k planKey) error {
	if e := w.entry(k); e != nil && e.status == reprise.InProgress && doc.Fold(e.word) != "interrupted" {
		if err := w.setAgent(w.g.dir, e, "interrupted", w.ev.At); err != nil {
			return err
		}
	}
	if err := w.summary(k, reprise.Skipped, "skipped"); err != nil {
		return err
	}
	return w.state(planChange{plan: k, what: "Skipped " + w.g.id(k)})
}

// summary writes or changes the summary of a plan. One that states no status
// says done by being there.
func (w *planRecorder) summary(k planKey, status reprise.Status, word string) error {
	s := w.g.sums[k]
	if s == nil {
		name, err := w.summaryName(k)
		if err == nil {
			w.create(name, w.newSummary(k, status, word), fmt.Sprintf("plan %s is %s", w.g.id(k), word))
		}
		return err
	}
	if s.status == status {
		return nil
	}
	m, err := w.openMarkdown(s.path, fmt.Sprintf("plan %s is %s", w.g.id(k), word))
	if err != nil {
		return err
	}
	if m == nil || m.Doc().Front == nil {
		return cannot("%s states no status", s.path)
	}
	if err := m.SetFront(splice.Path{"status"}, word); err != nil {
		return inFile(s.path, err)
	}
	if at := m.Doc().Front.Get("completed"); at != nil && textOf(at) != "" && !w.ev.At.IsZero() {
		return inFile(s.path, m.SetFront(splice.Path{"completed"}, timeLike(textOf(at), w.ev.At)))
	}
	return nil
}

// summaryName is the name of the plan's file with the other word, in the folder
// where this project keeps its summaries.
func (w *planRecorder) summaryName(k planKey) (string, error) {
	p := w.g.plans[k]
	if p == nil {
		return "", cannot("plan %s has no plan file", w.g.id(k))
	}
	dir, base := path.Dir(p.path), path.Base(p.path)
	if beside := path.Join(path.Dir(dir), "summaries"); path.Base(dir) == "plans" && w.r.Exists(beside) {
		dir = beside
	}
	phase := k.phase
	name := k.String() + "-SUMMARY.md"
	if i := strings.LastIndex(strings.ToUpper(base), "PLAN"); i >= 0 {
		word := "SUMMARY"
		if base[i:i+4] == "plan" {
			word = "summary"
		}
		if got, _, ok := fileKey(path.Join(dir, base[:i]+word+base[i+4:]), phase, "SUMMARY"); ok && got == k {
			name = base[:i] + word + base[i+4:]
		}
	} else if stem, ok := strings.CutSuffix(base, ".md"); ok {
		name = stem + "-SUMMARY.md" // NN-MM-FIX.md
	}
	if got, _, ok := fileKey(path.Join(dir, name), phase, "SUMMARY"); !ok || got != k || w.r.Exists(path.Join(dir, name)) {
		return "", cannot("the summary of plan %s has no name of its own", w.g.id(k))
	}
	return path.Join(dir, name), nil
}

func (w *planRecorder) newSummary(k planKey, status reprise.Status, word string) string {
	var b strings.Builder
	p := w.g.plans[k]
	folder := path.Base(path.Dir(p.path))
	if at, ok := phaseOfFolder(folder, false); !ok || at != k.phase {
		folder = k.phase.String()
	}
	b.WriteString("---\nphase: " + quotedIfOdd(folder) + "\n")
	if k.num != solePlan {
		b.WriteString("plan: " + planNumber(k) + "\n")
	}
	if status != reprise.Done {
		b.WriteString("status: " + word + "\n")
		if why := line(w.ev.Text, 500); why != "" {
			b.WriteString("reason: " + quotedYAML(why) + "\n")
		}
	}
	if !w.ev.At.IsZero() {
		b.WriteString("completed: " + timeLike("2006-01-02", w.ev.At) + "\n")
	}
	b.WriteString("---\n\n# Phase " + k.phase.String())
	if k.num != solePlan {
		b.WriteString(" Plan " + planNumber(k))
	}
	if title := line(p.title, 120); title != "" {
		b.WriteString(": " + title)
	}
	b.WriteString(" Summary\n")
	text := line(w.ev.Text, 2000)
	if text == "" {
		text = strings.ToUpper(word[:1]) + word[1:] + "."
	}
	b.WriteString("\n" + text + "\n")
	if sha := line(w.ev.Commit, 64); sha != "" {
		b.WriteString("\nCommit: " + sha + "\n")
	}
	return b.String()
}

// planNumber is the number of a plan in its phase: 02, 02b, 02-FIX, B. The only
// plan of a phase is its first.
func planNumber(k planKey) string {
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

// quotedIfOdd leaves 03-checkout as it is.
func quotedIfOdd(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return s
	}
	return quotedYAML(s)
}
