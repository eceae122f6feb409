package longrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// plan is one numbered plan of a `.long-run/` folder with what the ledgers say
// about it. It exists as soon as one file speaks of its number.
type plan struct {
	num    int
	id     string // as the file name spells it
	path   string // the PLAN file, "" if there is none
	read   bool   // what it says is known
	title  string
	group  string
	needs  []int
	tasks  []string
	files  []string // as its tasks name them
	source reprise.Source

	summary    *summary
	checkpoint *checkpoint
	agents     []*agentEntry
	claims     []reprise.Claim
	status     reprise.Status
}

// summary is what NN-SUMMARY.md states.
type summary struct {
	status reprise.Status
	word   string
	reason string
	at     time.Time
	stamp  string // the time as written
	source reprise.Source
}

// numbered splits NN-KIND.ext, also with words between the number and the kind.
// Numbers are compared as numbers: "10" comes after "9" and "02" is "2".
func numbered(name, kind string) (num int, digits string, ok bool) {
	if len(name) <= len(kind) || !strings.EqualFold(name[len(name)-len(kind):], kind) {
		return 0, "", false
	}
	i := 0
	for i < len(name) && name[i] >= '0' && name[i] <= '9' {
		i++
	}
	if i == 0 || i > 9 || i >= len(name) || name[i] != '-' {
		return 0, "", false
	}
	num, err := strconv.Atoi(name[:i])
	return num, name[:i], err == nil
}

// planSet collects plans by number.
type planSet map[int]*plan

func (s planSet) at(num int, digits string) *plan {
	p := s[num]
	if p == nil {
		p = &plan{num: num, id: digits}
		s[num] = p
	}
	return p
}

func (s planSet) sorted() []*plan {
	out := make([]*plan, 0, len(s))
	for _, p := range s {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].num < out[j].num })
	return out
}

// readPlans reads plans/ and summaries/. Total plans are PLAN files: the
// checkpoints that lie beside them are not plans.
func (l *longRun) readPlans() {
	set := planSet{}
	dir := path.Join(l.dir, "plans")
	for _, e := range l.r.Dir(dir) {
		name := path.Join(dir, e.Name())
		if num, digits, ok := numbered(e.Name(), "-PLAN.md"); ok {
			p := set.at(num, digits)
			if p.path != "" {
				l.duplicate(p, p.path, name)
				continue
			}
			p.id, p.path = digits, name
			l.readPlan(p)
		}
	}
	for _, e := range l.r.Dir(dir) {
		if num, digits, ok := numbered(e.Name(), "-CHECKPOINT.json"); ok {
			p := set.at(num, digits)
			name := path.Join(dir, e.Name())
			if p.checkpoint != nil {
				l.duplicate(p, p.checkpoint.source.File, name)
				continue
			}
			p.checkpoint = l.readCheckpoint(name, p)
		}
	}
	dir = path.Join(l.dir, "summaries")
	for _, e := range l.r.Dir(dir) {
		if num, digits, ok := numbered(e.Name(), "-SUMMARY.md"); ok {
			p := set.at(num, digits)
			name := path.Join(dir, e.Name())
			if p.summary != nil {
				l.duplicate(p, p.summary.source.File, name)
				continue
			}
			p.summary = l.readSummary(name, p)
		}
	}
	l.readStrayCheckpoint(set)
	l.plans, l.byNum = set.sorted(), set
	for _, name := range []string{"plans", "summaries"} {
		_, err := fs.ReadDir(l.r.FS(), path.Join(l.dir, name))
		l.blind = l.blind || err != nil && !errors.Is(err, fs.ErrNotExist)
	}
}

func (l *longRun) duplicate(p *plan, first, second string) {
	l.r.Report(reprise.Finding{
		Code: reprise.CodeDuplicateID, Severity: reprise.Warning, Subject: p.id,
		Message: fmt.Sprintf("plan %d is numbered twice; %s counts, this one does not", p.num, path.Base(first)),
		Source:  reprise.Source{File: second}, Hint: "rename or remove one of the two files",
	})
}

func (l *longRun) readPlan(p *plan) {
	f := l.r.Open(p.path)
	p.source = f.At(0)
	m := f.Markdown()
	if m == nil {
		return
	}
	p.read = true
	p.group = plainText(m.Front.Get("task_group").Str())
	for _, need := range m.Front.Get("depends_on").Strs() {
		if n := doc.Numbers(need); len(n) > 0 {
			p.needs = append(p.needs, n[0])
		} else {
			f.Report(reprise.Warning, reprise.CodeUnknownDependency, m.Front.Get("depends_on").Line,
				fmt.Sprintf("plan %s depends on %s, which names no plan", p.id, strconv.Quote(doc.Clip(need, 40))), "name the plan by its number")
		}
	}
	for _, line := range m.All().Lines() {
		if name, ok := between(line.Text, "<name>", "</name>"); ok {
			p.tasks = append(p.tasks, plainText(name))
		}
	}
	p.files = append(texts(child(m.Front, "files_modified")), namedFiles(m.All().Lines())...)
	p.title = p.group
	if p.title == "" {
		p.title = plainText(m.Title())
	}
}

// summaryWords are the statuses a summary can state. Only a completed plan is
// done; the words for work that ended otherwise leave it open, except skipped.
var summaryWords = map[string]reprise.Status{
	"completed": reprise.Done, "complete": reprise.Done, "done": reprise.Done,
	"failed": reprise.Failed, "timeout": reprise.Failed, "timed out": reprise.Failed,
	"partial": reprise.InProgress, "in progress": reprise.InProgress,
	"skipped": reprise.Skipped, "blocked": reprise.Blocked,
}

func (l *longRun) readSummary(name string, p *plan) *summary {
	f := l.r.Open(name)
	s := &summary{status: reprise.Unknown, source: f.At(0)}
	m := f.Markdown()
	if m == nil {
		return s
	}
	word := m.Front.Get("status")
	s.word, s.source = word.Str(), orSource(word.Source(), s.source)
	if s.word == "" {
		if label, ok := m.All().Label("Status"); ok {
			s.word, s.source = label.Value, f.At(label.Line)
		}
	}
	s.reason = m.Front.Get("reason").Str()
	at := m.Front.Get("completed_at")
	s.at, s.stamp = lenientTime(at), textOf(at)
	l.run.Active(s.at, at.Source())
	if n := doc.Numbers(m.Front.Get("plan").Str()); len(n) > 0 && n[0] != p.num {
		f.Report(reprise.Warning, reprise.CodeIntegrity, m.Front.Get("plan").Line,
			fmt.Sprintf("the summary of plan %s says it is about plan %d; the file name counts", p.id, n[0]), "")
	}
	if known, ok := summaryWords[doc.Fold(s.word)]; ok {
		s.status = known
		return s
	}
	if s.word == "" && m.Title() != "" && m.Front == nil && !strings.HasPrefix(string(f.Data), "---") {
		// The convention writes a summary only when a plan ended; prose
		// without a status word is what a model writes after success.
		s.status, s.word = reprise.Done, "summary without a status"
		f.Report(reprise.Info, reprise.CodeUnknownStatus, 0,
			fmt.Sprintf("the summary of plan %s states no status; its existence is taken for completed", p.id), "add `status: completed` to its front matter")
		return s
	}
	f.Report(reprise.Warning, reprise.CodeUnknownStatus, s.source.Line,
		fmt.Sprintf("the summary of plan %s has the status %s, which has no meaning here; the plan is not counted as done", p.id, strconv.Quote(doc.Clip(s.word, 40))),
		"one of completed, failed, partial, skipped, timeout is expected")
	return s
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
	finding := reprise.Finding{
		Code: reprise.CodeLeftover, Severity: reprise.Info, Subject: target,
		Message: fmt.Sprintf("an interrupted write of %s left this file; the file itself is whole", target),
		Source:  reprise.Source{File: path.Join(dir, e.Name())}, Hint: "it can be removed once its content is of no interest",
	}
	if !r.Exists(path.Join(dir, target)) {
		finding.Severity = reprise.Warning
		finding.Message = fmt.Sprintf("%s was being written for the first time and never got its name", target)
		finding.Hint = "look into the file: it may hold what was to be recorded"
	}
	r.Report(finding)
}
