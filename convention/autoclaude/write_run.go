package autoclaude

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// specFolder is where a spec of this name is made.
func specFolder(r *reprise.Run) (string, error) {
	if r.Path != "" {
		return r.Path, nil
	}
	if r.ID == "" || r.ID != path.Base(r.ID) || strings.HasPrefix(r.ID, ".") || strings.ContainsAny(r.ID, "\\:\x00\r\n") || !fs.ValidPath(r.ID) {
		return "", fmt.Errorf("start a spec: %s cannot name a folder", quoteWord(r.ID))
	}
	return path.Join(specsDir, r.ID), nil
}

// startRun begins a spec. From nothing it makes what the desktop program makes
// when a task is created and started: the task in words, and a plan without
// phases that is in progress. What a person gave an earlier start of it is put
// back as it was. Of a spec that is there, only such a stub is moved: once there
// are items, the first of them says that the work began, and a plan that waits
// for approval must keep waiting.
func (w *writer) startRun() {
	l, dir := w.l, w.l.run.Path
	switch {
	case l.plan != nil && len(l.plan.items) == 0 && !l.plan.lossy && l.run.State.Open():
		w.setPlanStatus(l.plan, "in_progress", true)
	case l.plan == nil:
		w.refuseBroken()
		if !isDir(l.fsys, dir) || !isSpec(l.fsys, dir) {
			w.makeSpec(dir)
		}
	}
}

// givenFiles are what a person gives a spec, directly or through the program's
// window.
var givenFiles = []string{"requirements.json", "task_metadata.json", "spec.md"}

// makeSpec makes the files of a new spec.
func (w *writer) makeSpec(dir string) {
	task := ledger.Prose(w.ev.Text, 64<<10)
	title := titleOf(nil, path.Base(dir))
	if first, _, _ := strings.Cut(task, "\n"); strings.TrimSpace(first) != "" {
		title = oneLine(first, 120)
	}
	task = cmp.Or(task, title)
	for _, name := range givenFiles {
		if text, ok := w.ev.Given[name]; ok {
			w.Create(path.Join(dir, name), []byte(text), "what a person gave the task")
		}
	}
	if _, ok := w.ev.Given[givenFiles[0]]; !ok {
		w.make(path.Join(dir, givenFiles[0]), "the task in words",
			splice.Object{{Key: "task_description", Value: task}, {Key: "workflow_type", Value: "feature"}})
	}
	plan := splice.Object{{Key: "feature", Value: title}, {Key: "description", Value: task}}
	if !w.ev.At.IsZero() {
		now := ledger.SpellTime(w.ev.At, "", "")
		plan = append(plan, splice.Member{Key: "created_at", Value: now}, splice.Member{Key: "updated_at", Value: now})
	}
	w.make(path.Join(dir, planFile), "a plan to be filled by the planner",
		append(plan, splice.Member{Key: "status", Value: "in_progress"}, splice.Member{Key: "phases", Value: []any{}}))
}

// make makes a JSON file.
func (w *writer) make(name, why string, content splice.Object) {
	text, err := ledger.NewJSON(content)
	if err != nil {
		w.Fail(err)
		return
	}
	w.Create(name, text, why)
}

// setPlanStatus changes plan.status, and planStatus if it exists. Other fields with the
// same meaning (xstateState, executionPhase, reviewReason)
// are the desktop program's own and stay.
func (w *writer) setPlanStatus(p *plan, word string, add bool) {
	w.Structured(p.file.Path).Because("the plan is %s", word)
	n := w.Now(p.root.In("status"))
	if n.Node == nil && !add || n.Node != nil && samePlanStatus(n.Str(), word) {
		return
	}
	var manner []string
	if old := n.Plain(); plainWord(old) && strings.ContainsAny(old, "- ") {
		manner = []string{old}
	}
	w.Set(n, ledger.InManner(word, manner...))
	second := map[string]string{"in_progress": "in_progress", "human_review": "review", "done": "completed"}[word]
	if n := w.Now(p.root.In("planStatus")); n.Is(doc.String) && doc.Fold(n.Text) != doc.Fold(second) {
		w.Set(n, second)
	}
	w.planTimes(p)
}

// samePlanStatus reports whether a status says already what is to be said.
func samePlanStatus(have, want string) bool {
	have = doc.Fold(have)
	switch want {
	case "in_progress":
		return have == "in progress" || have == "coding" || have == "planning"
	case "done":
		return closing(have)
	}
	return have == doc.Fold(want)
}

// closable lists the copies whose status can close the spec.
func (l *loader) closable() []*plan {
	var out []*plan
	for _, p := range []*plan{l.copies[0], l.plan} {
		if p != nil && p.ok() && (len(out) == 0 || out[0] != p) {
			out = append(out, p)
		}
	}
	return out
}

// reopen takes back that the spec was closed.
func (w *writer) reopen() {
	for _, p := range w.l.closable() {
		if closing(p.status) {
			w.setPlanStatus(p, "in_progress", false)
		}
	}
}

// notOver takes back what an attempt at an item wrote of the end of the spec: when it began,
// the spec was open, and neither QA nor a person's review was its job.
func (w *writer) notOver() {
	if w.ev.Attempt == 0 {
		return
	}
	w.reopen()
	if w.l.plan.qa == qaApproved {
		w.signOff("pending")
	}
}

// resumeRun lifts what holds the run: a closed plan is opened again, and a file
// RESUME ends a pause for a limit or a sign-in, not before the time that the limit
// names. PAUSE would have to be removed.
func (w *writer) resumeRun() {
	if at, held := w.l.pathOf("PAUSE"); held {
		w.cannot("%s holds it until the file is removed", at)
		return
	}
	w.reopen()
	_, lifted := w.l.pathOf("RESUME")
	for _, name := range []string{"RATE_LIMIT_PAUSE", "AUTH_PAUSE"} {
		if at, held := w.l.pathOf(name); held && !lifted && !w.l.run.Until.After(w.ev.At) {
			w.Create(path.Join(path.Dir(at), "RESUME"), []byte("resume\n"), "the pause is over")
			return
		}
	}
}

// stopRun leaves the file by which people pause the program.
func (w *writer) stopRun() {
	at, held := w.l.pathOf("PAUSE")
	if held || !w.l.run.State.Open() {
		return
	}
	text := orElse(ledger.Prose(w.ev.Text, 4000), "stopped on purpose")
	w.Create(at, []byte(text+"\n"), "the run is paused")
}

// endRun closes the spec. With open items that is a person's decision, which
// only an abort is.
func (w *writer) endRun() {
	if !w.l.run.State.Open() || !w.planned() {
		return
	}
	p := w.l.plan
	switch doc.Fold(w.ev.Outcome) {
	case "", "completed", "approved":
		if len(p.items) == 0 || p.done() < len(p.items) || p.lossy {
			w.cannot("it cannot be called done: items are open")
		}
	case "aborted":
	default:
		w.cannot("a plan has no word for an end as %s", quoteWord(w.ev.Outcome))
	}
	for _, p := range w.l.closable() {
		w.setPlanStatus(p, "done", true)
	}
}

// The questions that have a place.
const (
	askHuman    = "HUMAN_INPUT.md"
	askQA       = "QA_ESCALATION.md"
	askApproval = "plan-approval"
)

// recordQuestion records what has a file: QA asking for a person, the approval
// of the plan, and instructions for the next session.
func (w *writer) recordQuestion() {
	answered, applied := w.ev.Kind == reprise.QuestionAnswered, w.ev.Kind == reprise.AnswerApplied
	switch q := w.ev.Question; {
	case q == askHuman && answered:
		w.instruct()
	case q == askHuman && applied:
		// The program removes the file once it was read; one without text
		// says the same to it.
		if have, there := w.text(askHuman); there && len(bytes.TrimSpace(have)) > 0 {
			w.rewrite(askHuman, "", "the instructions were used")
		}
	case q == askQA && applied && w.l.plan != nil && w.l.plan.qa == qaApproved:
	case q == askQA && answered && approves(w.ev.Text):
		w.signOff("approved")
	case q == askQA:
		w.recordEscalation()
	case q == askApproval:
		w.recordApproval()
	default:
		w.cannot("%s of %s has no file", w.ev.Kind, quoteWord(w.ev.Question))
	}
}

// text gives what a file of the spec holds. One that cannot be read fails the
// event.
func (w *writer) text(name string) (data []byte, there bool) {
	f, there := w.l.find(name)
	if there && !f.OK() {
		w.Fail(fmt.Errorf("record in %s: the file cannot be read", f.Path))
		return nil, true
	}
	if !there {
		return nil, false
	}
	return f.Data, true
}

// rewrite gives a text file of the spec a whole new content.
func (w *writer) rewrite(name, content, why string) {
	at, _ := w.l.pathOf(name)
	w.Rewrite(at, []byte(content), why)
}

// recordEscalation puts down in QA_ESCALATION.md what QA asks and, behind it,
// what a person said and that it was used. Nothing is taken out of it.
func (w *writer) recordEscalation() {
	have, there := w.text(askQA)
	q := readEscalation(string(bytes.ToValidUTF8(have, nil)))
	text, add, why := ledger.Prose(w.ev.Text, 16<<10), "", ""
	switch w.ev.Kind {
	case reprise.QuestionAsked:
		if !there || q.Answered && q.Applied {
			add, why = "# "+orElse(text, "QA asks for a person"), "QA asks for a person"
		}
	case reprise.QuestionAnswered:
		if !there {
			w.cannot("QA asked nothing")
			return
		}
		if !q.Applied {
			add, why = headAnswer+"\n\n"+strings.ReplaceAll("\n"+text, "\n#", "\n #")[1:], "what a person said"
		}
	default:
		if q.Answered && !q.Applied {
			add, why = headApplied, "the answer was used"
		}
	}
	if add == "" {
		return
	}
	head := strings.TrimRight(string(have), "\r\n")
	if head != "" {
		head += "\n\n"
	}
	if now := readEscalation(head + add + "\n"); !reflect.DeepEqual(now, q) { // else it was said before
		w.rewrite(askQA, head+add+"\n", why)
	}
}

func approves(answer string) bool {
	words, _, _ := strings.Cut(answer, ":") // behind it a person says why
	switch doc.Fold(words) {
	case "approve", "approved", "yes":
		return true
	}
	return false
}

// instruct leaves a person's words for the next session, behind those that are
// waiting there already.
func (w *writer) instruct() {
	text := ledger.Prose(w.ev.Text, 64<<10)
	if text == "" {
		w.cannot("there is nothing to say")
		return
	}
	data, _ := w.text(askHuman)
	have := string(data)
	if strings.Contains(have, text) {
		return
	}
	if head := strings.TrimRight(have, "\r\n"); strings.TrimSpace(head) == "" {
		have = ""
	} else {
		have += "\n\n"[:max(1, 2-len(have)+len(head))]
	}
	w.rewrite(askHuman, have+text+"\n", "instructions for the next session")
}

// recordApproval keeps review_state.json.
func (w *writer) recordApproval() {
	answered := w.ev.Kind == reprise.QuestionAnswered
	if answered && !approves(w.ev.Text) {
		w.cannot("only an approval of the plan has a place")
		return
	}
	m := &w.l.marks
	if w.ev.Kind == reprise.AnswerApplied || m.reviewed && m.approved == answered {
		return
	}
	root := w.recordFile("review_state.json", "the plan's approval", splice.Object{
		{Key: "approved", Value: false}, {Key: "approved_by", Value: ""}, {Key: "approved_at", Value: ""},
		{Key: "feedback", Value: []any{}}, {Key: "spec_hash", Value: ""}, {Key: "review_count", Value: 0},
	})
	w.Set(root.In("approved"), answered)
	if !answered {
		return
	}
	w.Set(root.In("approved_by"), orElse(oneLine(ledger.Prose(w.ev.Actor, 80), 80), "user"))
	w.Set(root.In("spec_hash"), w.specHash())
	w.Stamp(root.In("approved_at"), w.ev.At, pythonTime)
}

// recordFile opens a JSON file of the spec, or makes it where there is none.
func (w *writer) recordFile(name, why string, made splice.Object) ledger.Value {
	at, there := w.l.pathOf(name)
	if !there {
		w.make(at, why, made)
	}
	f := w.Structured(at)
	f.Because("%s", why)
	if w.Err() == nil && !f.Root().Is(doc.Map) {
		w.Fail(fmt.Errorf("record in %s: the file contains no object", at))
	}
	return f.Root()
}

// specHash is the sum by which the program tells that an approved spec and its
// plan are still the same.
func (w *writer) specHash() string {
	sum := func(data []byte) string { return fmt.Sprintf("%x", md5.Sum(data)) }
	var parts []string
	for _, name := range []string{"spec.md", planFile} {
		part := ""
		if f := w.l.open(name); f.OK() {
			part = sum(bytes.ReplaceAll(f.Data, []byte("\r\n"), []byte("\n")))
		}
		parts = append(parts, part)
	}
	return sum([]byte(strings.Join(parts, ":")))
}
