package autoclaude

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// startRun begins a spec. From nothing it makes what the desktop program makes
// when a task is created and started: the task in words, and a plan without
// phases that is in progress. What a person gave an earlier start of it is put back
// as it was. Of a spec that is there, only such a stub is
// moved: once there are items, the first of them says that the work began, and
// a plan that waits for approval must go on waiting.
func startRun(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	dir, err := specFolder(r)
	if err != nil {
		return nil, err
	}
	ref := r.Ref
	ref.Path = dir
	w := &writer{l: load(fsys, ref), ev: ev}
	l := w.l
	if err := l.brokenPlan(); err != nil && l.plan == nil {
		return nil, err
	}
	switch {
	case l.plan != nil && len(l.plan.items) == 0 && !l.plan.lossy && l.run.State.Open():
		err = w.setPlanStatus(l.plan, "in_progress", true)
	case l.plan == nil && !(isDir(fsys, dir) && isSpec(fsys, dir)):
		err = w.makeSpec(dir)
	}
	if err != nil {
		return nil, err
	}
	return w.edits(), nil
}

// makeSpec makes the files of a new spec.
func (w *writer) makeSpec(dir string) error {
	task := tidy(w.ev.Text, 64<<10)
	title := titleOf(nil, path.Base(dir))
	if first, _, _ := strings.Cut(task, "\n"); strings.TrimSpace(first) != "" {
		title = oneLine(first, 120)
	}
	if task == "" {
		task = title
	}
	times := ""
	if !w.ev.At.IsZero() {
		now := quoteJSON(respell("", w.ev.At))
		times = fmt.Sprintf("  \"created_at\": %s,\n  \"updated_at\": %s,\n", now, now)
	}
	for _, name := range []string{"requirements.json", "task_metadata.json", "spec.md"} {
		if text, ok := w.ev.Given[name]; ok {
			w.write(path.Join(dir, name), "what a person gave the task", nil, []byte(text))
		}
	}
	if _, ok := w.ev.Given["requirements.json"]; !ok {
		_, err := w.create(path.Join(dir, "requirements.json"), "the task in words",
			fmt.Sprintf("{\n  \"task_description\": %s,\n  \"workflow_type\": \"feature\"\n}\n", quoteJSON(task)))
		if err != nil {
			return err
		}
	}
	_, err := w.create(path.Join(dir, planFile), "a plan to be filled by the planner",
		fmt.Sprintf("{\n  \"feature\": %s,\n  \"description\": %s,\n%s  \"status\": \"in_progress\",\n  \"phases\": []\n}\n", quoteJSON(title), quoteJSON(task), times))
	return err
}

func quoteJSON(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // text always encodes
		return `""`
	}
	return string(raw)
}

// setPlanStatus moves plan.status, and planStatus beside it where there is one.
// Other fields that tell the same (xstateState, executionPhase, reviewReason)
// are the desktop program's own and stay.
func (w *writer) setPlanStatus(p *plan, word string, add bool) error {
	t, err := w.open(p.file.Path, "the plan is "+word)
	if err != nil {
		return err
	}
	n := t.at(nil, "status")
	switch {
	case n == nil && !add, n != nil && samePlanStatus(n.Str(), word):
		return nil
	}
	var manner []string
	if n != nil && plainWord(n.Str()) && strings.ContainsAny(n.Str(), "- ") {
		manner = []string{n.Str()}
	}
	if err := t.put(inManner(word, manner), nil, "status"); err != nil {
		return err
	}
	second := map[string]string{"in_progress": "in_progress", "human_review": "review", "done": "completed"}[word]
	if n := t.at(nil, "planStatus"); n != nil && n.Kind == doc.String && doc.Fold(n.Text) != doc.Fold(second) {
		if err := t.put(second, nil, "planStatus"); err != nil {
			return err
		}
	}
	return w.planTimes(p, t)
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
func (w *writer) reopen() error {
	for _, p := range w.l.closable() {
		if closing(p.status) {
			if err := w.setPlanStatus(p, "in_progress", false); err != nil {
				return err
			}
		}
	}
	return nil
}

// resumeRun lifts what holds the run: a closed plan is opened again, and a file
// RESUME ends a pause for a limit or a sign-in. PAUSE would have to be removed.
func (w *writer) resumeRun() error {
	if at, held := w.l.pathOf("PAUSE"); held {
		return cannot("%s holds it until the file is removed", at)
	}
	if err := w.reopen(); err != nil {
		return err
	}
	_, lifted := w.l.pathOf("RESUME")
	for _, name := range []string{"RATE_LIMIT_PAUSE", "AUTH_PAUSE"} {
		if at, held := w.l.pathOf(name); held && !lifted {
			w.write(path.Join(path.Dir(at), "RESUME"), "the pause is over", nil, []byte("resume\n"))
			break
		}
	}
	return nil
}

// stopRun leaves the file by which people pause the program.
func (w *writer) stopRun() error {
	if !w.l.run.State.Open() {
		return nil
	}
	at, held := w.l.pathOf("PAUSE")
	if held {
		return nil
	}
	text := tidy(w.ev.Text, 4000)
	if text == "" {
		text = "stopped on purpose"
	}
	w.write(at, "the run is paused", nil, []byte(text+"\n"))
	return nil
}

// endRun closes the spec. With open items that is a person's decision, which
// only an abort is.
func (w *writer) endRun() error {
	if !w.l.run.State.Open() {
		return nil
	}
	if err := w.l.brokenPlan(); err != nil && w.l.plan == nil {
		return err
	}
	plans := w.l.closable()
	if len(plans) == 0 {
		return cannot("there is no plan that could be closed")
	}
	whole := w.l.plan != nil && len(w.l.plan.items) > 0 && w.l.plan.done() == len(w.l.plan.items) && !w.l.plan.lossy
	switch doc.Fold(w.ev.Outcome) {
	case "", "completed", "approved":
		if !whole {
			return cannot("it cannot be called done: items are open")
		}
	case "aborted":
	default:
		return cannot("a plan has no word for an end as %s", quoteWord(w.ev.Outcome))
	}
	for _, p := range plans {
		if err := w.setPlanStatus(p, "done", true); err != nil {
			return err
		}
	}
	return nil
}

// The questions that have a place.
const (
	askHuman    = "HUMAN_INPUT.md"
	askQA       = "QA_ESCALATION.md"
	askApproval = "plan-approval"
)

// recordQuestion records what has a file: QA asking for a person, the approval
// of the plan, and instructions for the next session.
func (w *writer) recordQuestion() error {
	switch q := w.ev.Question; {
	case q == askHuman && w.ev.Kind == reprise.QuestionAnswered:
		return w.instruct()
	case q == askHuman && w.ev.Kind == reprise.AnswerApplied:
		// The program removes the file once it was read; one without text
		// says the same to it.
		if f, ok := w.l.find(askHuman); ok && !f.OK() {
			return unreadable(f.Path, w.l.rd)
		} else if ok && len(bytes.TrimSpace(f.Data)) > 0 {
			w.write(f.Path, "the instructions were used", f.Data, []byte{})
		}
		return nil
	case q == askQA && w.ev.Kind == reprise.AnswerApplied && w.l.plan != nil && w.l.plan.qa == qaApproved:
		return nil
	case q == askQA && w.ev.Kind == reprise.QuestionAnswered && approves(w.ev.Text):
		return w.signOff("approved")
	case q == askQA:
		return w.recordEscalation()
	case q == askApproval:
		return w.recordApproval()
	}
	return cannot("%s of %s has no file", w.ev.Kind, quoteWord(w.ev.Question))
}

// recordEscalation puts down in QA_ESCALATION.md what QA asks and, behind it,
// what a person said and that it was used. Nothing is taken out of it.
func (w *writer) recordEscalation() error {
	at, present := w.l.pathOf(askQA)
	var have []byte
	if present {
		f := w.l.rd.Open(at)
		if !f.OK() {
			return unreadable(at, w.l.rd)
		}
		have = notNil(f.Data)
	}
	q := readEscalation(string(bytes.ToValidUTF8(have, nil)))
	text, add, why := tidy(w.ev.Text, 16<<10), "", ""
	switch w.ev.Kind {
	case reprise.QuestionAsked:
		if text == "" {
			text = "QA asks for a person"
		}
		if !present || q.Answered && q.Applied {
			add, why = "# "+text, "QA asks for a person"
		}
	case reprise.QuestionAnswered:
		if !present {
			return cannot("QA asked nothing")
		}
		if !q.Answered {
			add, why = headAnswer+"\n\n"+strings.ReplaceAll("\n"+text, "\n#", "\n #")[1:], "what a person said"
		}
	default:
		if q.Answered && !q.Applied {
			add, why = headApplied, "the answer was used"
		}
	}
	if add == "" {
		return nil
	}
	head := bytes.TrimRight(have, "\r\n")
	if len(head) > 0 {
		add = "\n\n" + add
	}
	w.write(at, why, have, append(bytes.Clone(head), add+"\n"...))
	return nil
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
func (w *writer) instruct() error {
	text := tidy(w.ev.Text, 64<<10)
	if text == "" {
		return cannot("there is nothing to say")
	}
	at, present := w.l.pathOf(askHuman)
	if !present {
		w.write(at, "instructions for the next session", nil, []byte(text+"\n"))
		return nil
	}
	f := w.l.rd.Open(at)
	if !f.OK() {
		return unreadable(at, w.l.rd)
	}
	have := bytes.TrimRight(f.Data, "\r\n")
	switch {
	case bytes.Contains(f.Data, []byte(text)):
	case len(bytes.TrimSpace(have)) == 0:
		w.write(at, "instructions for the next session", notNil(f.Data), []byte(text+"\n"))
	default:
		w.write(at, "instructions for the next session", f.Data, append(bytes.Clone(f.Data), "\n\n"[:max(1, 2-len(f.Data)+len(have))]+text+"\n"...))
	}
	return nil
}

// notNil tells an empty file from one that is not there.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// recordApproval keeps review_state.json.
func (w *writer) recordApproval() error {
	if w.ev.Kind == reprise.QuestionAnswered && !approves(w.ev.Text) {
		return cannot("only an approval of the plan has a place")
	}
	m := &w.l.marks
	if w.ev.Kind == reprise.AnswerApplied || m.reviewed && m.approved == (w.ev.Kind == reprise.QuestionAnswered) {
		return nil
	}
	at, present := w.l.pathOf("review_state.json")
	var t *target
	var err error
	if present {
		t, err = w.open(at, "the plan's approval")
	} else {
		t, err = w.create(at, "the plan's approval", "{\n  \"approved\": false,\n  \"approved_by\": \"\",\n  \"approved_at\": \"\",\n  \"feedback\": [],\n  \"spec_hash\": \"\",\n  \"review_count\": 0\n}\n")
	}
	if err != nil {
		return err
	}
	if w.ev.Kind == reprise.QuestionAsked {
		return t.put(false, nil, "approved")
	}
	by := oneLine(tidy(w.ev.Actor, 80), 80)
	if by == "" {
		by = "user"
	}
	fields := splice.Object{{Key: "approved", Value: true}, {Key: "approved_by", Value: by}, {Key: "spec_hash", Value: w.specHash()}}
	for _, f := range fields {
		if err := t.put(f.Value, nil, f.Key); err != nil {
			return err
		}
	}
	return w.touch(t, pythonTime, nil, "approved_at")
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
