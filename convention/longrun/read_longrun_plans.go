package longrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// numbered splits NN-KIND.ext, also with words between the number and the kind.
// Numbers are compared as numbers: "10" comes after "9" and "02" is "2".
func numbered(name, kind string) (num int, digits string, ok bool) {
	if len(name) <= len(kind) || !strings.EqualFold(name[len(name)-len(kind):], kind) {
		return 0, "", false
	}
	digits, _, ok = strings.Cut(name, "-")
	if !ok || !doc.Digits(digits) || len(digits) > 9 {
		return 0, "", false
	}
	num, err := strconv.Atoi(digits)
	return num, digits, err == nil
}

// readPlans reads plans/ and summaries/. Checkpoints are in the same
// folder.
func (l *longRun) readPlans() {
	l.byKey = planSet{}
	for _, kind := range []struct {
		dir, ending string
		file        func(p *plan) string // that counts already
		read        func(p *plan, name string)
	}{
		{"plans", "-PLAN.md", func(p *plan) string { return p.path }, l.readPlan},
		{"plans", "-CHECKPOINT.json", func(p *plan) string { return p.checkpoint.name() }, l.readCheckpoint},
		{"summaries", "-SUMMARY.md", func(p *plan) string { return p.summary.name() }, l.readSummary},
	} {
		dir := path.Join(l.dir, kind.dir)
		for _, e := range l.r.Dir(dir) {
			num, digits, ok := numbered(e.Name(), kind.ending)
			if !ok {
				continue
			}
			p, name := l.byKey.at(planKey{num: num}, digits), path.Join(dir, e.Name())
			if first := kind.file(p); first != "" {
				warn(l.r, reprise.CodeDuplicateID, p.id, reprise.Source{File: name},
					fmt.Sprintf("plan %d is numbered twice; %s counts, this one does not", p.num, path.Base(first)), "rename or remove one of the two files")
				continue
			}
			kind.read(p, name)
		}
		_, err := fs.ReadDir(l.r.FS(), dir)
		l.blind = l.blind || err != nil && !errors.Is(err, fs.ErrNotExist)
	}
	l.readStrayCheckpoint()
	l.plans = l.byKey.sorted()
}

func (l *longRun) readPlan(p *plan, name string) {
	f := l.r.Open(name)
	p.path, p.source = name, f.At(0)
	m := f.Markdown()
	if m == nil {
		return
	}
	p.read = true
	p.group = plainText(m.Front.Get("task_group").Str())
	for _, need := range m.Front.Get("depends_on").Strs() {
		if n := doc.Numbers(need); len(n) > 0 {
			p.needs = append(p.needs, planKey{num: n[0]})
		} else {
			f.Report(reprise.Warning, reprise.CodeUnknownDependency, m.Front.Get("depends_on").Line,
				fmt.Sprintf("plan %s depends on %s, which names no plan", p.id, quoted(need)), "name the plan by its number")
		}
	}
	p.tasks = readTasks(m.All().Lines())
	p.files = append(texts(child(m.Front, "files_modified")), namedFiles(m.All().Lines())...)
	p.title = cmp.Or(p.group, plainText(m.Title()))
}

// readTasks reads the tasks of a plan: what stands behind <name>, with the block
// around it.
func readTasks(lines []doc.Line) (out []task) {
	var block []doc.Line
	open := false // the block has a name
	end := func() {
		if !open {
			return
		}
		t := &out[len(out)-1]
		t.text, t.files = doc.Clip(textOfLines(block), 8000), namedFiles(block)
	}
	for _, l := range lines {
		if strings.Contains(l.Text, "<task") {
			end()
			block, open = nil, false
		}
		if _, rest, ok := strings.Cut(l.Text, "<name>"); ok {
			end()
			name, _, _ := strings.Cut(rest, "</name>")
			out, open = append(out, task{name: plainText(strings.TrimSpace(name)), line: l.No}), true
		}
		block = append(block, l)
		if strings.Contains(l.Text, "</task>") {
			end()
			block, open = nil, false
		}
	}
	end()
	return out
}

// namedFiles reads `<files>a.go, b.go</files>` of a plan's tasks, on one line
// or over several.
func namedFiles(lines []doc.Line) (out []string) {
	for _, m := range filesForm().FindAllStringSubmatch(textOfLines(lines), -1) {
		for _, name := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == '\n' }) {
			if name = strings.TrimLeft(strings.TrimSpace(name), "-* "); name != "" && len(out) < 2*maxFiles {
				out = append(out, name)
			}
		}
	}
	return out
}

var filesForm = doc.Pattern(`(?s)<files>(.*?)(?:</files>[^\n]*|$)`)

func textOfLines(lines []doc.Line) string {
	var text []string
	for _, l := range lines {
		text = append(text, l.Text)
	}
	return strings.Join(text, "\n")
}

// summaryWords are the statuses a summary can state. Only a completed plan is
// done; the words for work that ended otherwise leave it open, except skipped.
var summaryWords = map[string]reprise.Status{
	"completed": reprise.Done, "complete": reprise.Done, "done": reprise.Done,
	"failed": reprise.Failed, "timeout": reprise.Failed, "timed out": reprise.Failed,
	"partial": reprise.InProgress, "in progress": reprise.InProgress,
	"skipped": reprise.Skipped, "blocked": reprise.Blocked,
}

func (l *longRun) readSummary(p *plan, name string) {
	f := l.r.Open(name)
	s := &summary{file: name, status: reprise.Unknown, source: f.At(0)}
	p.summary = s
	m := f.Markdown()
	if m == nil {
		return
	}
	defer func() { selfCheck(f, m, s, "plan "+p.id) }()
	word := m.Front.Get("status")
	s.word, s.source = word.Str(), cmp.Or(word.Source(), s.source)
	if s.statusAt = ledger.Front(f, m, "status"); s.word == "" {
		if label, ok := m.All().Label("Status"); ok {
			s.word, s.source = label.Value, f.At(label.Line)
			if m.Front == nil {
				s.statusAt = ledger.Label(f, label)
			}
		}
	}
	s.reason, s.reasonAt, s.endedAt = m.Front.Get("reason").Str(), ledger.Front(f, m, "reason"), ledger.Front(f, m, "completed_at")
	at := m.Front.Get("completed_at")
	s.at = lenientTime(at)
	l.run.Active(s.at, at.Source())
	if n := doc.Numbers(m.Front.Get("plan").Str()); len(n) > 0 && n[0] != p.num {
		f.Report(reprise.Warning, reprise.CodeIntegrity, m.Front.Get("plan").Line,
			fmt.Sprintf("the summary of plan %s says it is about plan %d; the file name counts", p.id, n[0]), "")
	}
	if known, ok := summaryWords[doc.Fold(s.word)]; ok {
		s.status = known
		return
	}
	if s.word == "" && m.Title() != "" && m.Front == nil && !strings.HasPrefix(string(f.Data), "---") {
		// The convention writes a summary only when a plan ended; prose
		// without a status word is what a model writes after success.
		s.status, s.word = reprise.Done, "summary without a status"
		f.Report(reprise.Info, reprise.CodeUnknownStatus, 0,
			fmt.Sprintf("the summary of plan %s has no status; it counts as completed", p.id), "add `status: completed` to its front matter")
		return
	}
	f.Report(reprise.Warning, reprise.CodeUnknownStatus, s.source.Line,
		fmt.Sprintf("the summary of plan %s has the status %s, which is unknown here; the plan is not counted as done", p.id, quoted(s.word)),
		"one of completed, failed, partial, skipped, timeout is expected")
}

// selfCheck reports a plan that its summary calls done although the check of its own work
// failed.
func selfCheck(f *doc.File, m *doc.Markdown, s *summary, id string) {
	review, _ := ledger.Objections(m, "self check")
	if s.status == reprise.Done && len(review) > 0 {
		f.Report(reprise.Warning, reprise.CodeFalseCompletion, review[0].Line,
			fmt.Sprintf("%s is marked done, but its self-check says %s", id, ledger.Against(review)), "do what is missing, then correct the summary")
	}
}

// leftovers reports the temporary files of interrupted writes.
func (l *longRun) leftovers() {
	for _, dir := range []string{l.dir, path.Join(l.dir, "plans"), path.Join(l.dir, "summaries")} {
		for _, e := range l.r.Dir(dir) {
			reportTemporary(l.r, dir, e)
		}
	}
}

func reportTemporary(r *doc.Reader, dir string, e fs.DirEntry) {
	target, ok := temporary(e.Name())
	if !ok || e.IsDir() {
		return
	}
	severity, message, hint := reprise.Info, fmt.Sprintf("an interrupted write of %s left this file; the file itself is intact", target), "remove it once you do not need its content"
	if !r.Exists(path.Join(dir, target)) {
		severity, message = reprise.Warning, fmt.Sprintf("%s was being written for the first time and was never renamed into place", target)
		hint = "look into the file: it may contain what was to be recorded"
	}
	report(r, severity, reprise.CodeLeftover, target, reprise.Source{File: path.Join(dir, e.Name())}, message, hint)
}
