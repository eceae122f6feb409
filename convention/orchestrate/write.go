package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

var _ reprise.Recorder = (*Layout)(nil)

// Record tells what an event means in the files of a run. The story's status is
// moved along with the state that drives it, so that the two do not drift.
//
// A file that cannot be read whole is never edited: the error names it. Times
// come from the event alone and are spelled as the file spells its own.
func (*Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	changes := ledger.NewChanges(fsys)
	c := &recorder{Changes: changes, r: changes.Reader(), run: r, ev: ev, said: ev.Text, shape: shapeOf(r.Path)}
	c.ev.Text = ledger.Line(ev.Text, maxText)
	c.record()
	edits, err := c.Edits()
	if err != nil {
		return nil, fmt.Errorf("record %s of %s: %w", ev.Kind, r.ID, err)
	}
	for i := range edits {
		edits[i].Why = cmp.Or(edits[i].Why, string(ev.Kind))
	}
	return edits, nil
}

// maxText bounds how much of an event's text is written.
const maxText = 300

// recorder carries what is needed while one event is recorded.
type recorder struct {
	*ledger.Changes
	r     *doc.Reader
	run   *reprise.Run
	shape shape
	ev    reprise.Event
	said  string // the text of ev as it came, with its lines
}

func (c *recorder) record() {
	isSpec := c.run.Kind == reprise.KindSpecPipeline
	switch {
	case c.ev.Kind == reprise.RunStarted && !c.there():
		c.begin()
	case c.ev.Kind == reprise.RunStarted && isSpec: // its outputs are there
	case c.ev.Kind == reprise.RunStopped && c.run.State == reprise.Complete: // it has ended already
	case isSpec:
		c.recordSpec()
	case (c.shape == noShape || c.shape == epicShape) && c.continues():
	case c.shape == noShape:
		c.recordStory()
	default:
		c.recordState()
	}
}

// recordState records an event in a state file.
func (c *recorder) recordState() {
	f := c.Structured(c.run.Path)
	if f == nil {
		return
	}
	fm := formOf(c.shape)
	root := fm.root(f.Root())
	if c.shape == epicShape {
		root = epicRoot(root)
	}
	if !root.Is(doc.Map) {
		c.Fail(c.Damaged(c.run.Path))
		return
	}
	switch c.shape {
	case epicShape:
		c.epicEvent(readEpic(root))
	case loopShape:
		lp := readLoop(root)
		c.loopEvent(lp)
		fm.touch = []string{lp.updated}
	case bobShape:
		c.bobEvent(readBob(root))
	default:
		c.flowEvent(fm, root)
	}
	if last := root.In(fm.touch...); last.Node != nil && f.Changed() {
		c.Set(last, c.stamp(last))
	}
	if c.ev.Kind == reprise.RunResumed && c.Err() == nil {
		c.logResumed() // the state tells it too
	}
}

// continues reports whether an attempt was taken back only to be made again: what
// it began stays begun, and a story stays where its phases brought it.
func (c *recorder) continues() bool {
	switch c.ev.Outcome {
	case "cut-off", "question", "waiting", "stopped", "limited", "lost":
		return c.ev.Kind == reprise.StepReset
	}
	return false
}

// cannot refuses an event that the files have no place for.
func (c *recorder) cannot(format string, args ...any) {
	c.Fail(ledger.Cannot(format, args...))
}

func (c *recorder) noPlace() { c.cannot("%s has no place for it", path.Base(c.run.Path)) }

// because says what the change of a file is for; the first reason stays.
func (c *recorder) because(v ledger.Value, format string, args ...any) {
	c.Structured(v.File).Because(format, args...)
}

// stamp spells the time of the event as the file spells its times: like the value
// that is replaced, else like the most precise time of the file.
func (c *recorder) stamp(old ledger.Value) any {
	f := c.Structured(old.File)
	sample, usual := old.Plain(), time.RFC3339
	if _, ok := doc.ParseTime(sample); !ok {
		sample = anyTime(f.Root().Node)
	}
	if ledger.IsJSON(f.Bytes()) {
		usual = ""
	}
	return ledger.SpellTime(c.ev.At, sample, usual)
}

// setTime writes the time of the event in a place that the file has.
func (c *recorder) setTime(v ledger.Value) {
	if v.Node != nil {
		c.Set(v, c.stamp(v))
	}
}

// anyTime returns the most precise time of a file.
func anyTime(n *doc.Node) (best string) {
	scalars(n, 0, func(name string, v *doc.Node) {
		low, t := strings.ToLower(name), v.Plain()
		if strings.HasSuffix(low, "at") || strings.Contains(low, "updated") || low == "timestamp" || low == "date" {
			if _, ok := doc.ParseTime(t); ok && len(t) > len(best) {
				best = t
			}
		}
	})
	return best
}

// ownWords are the words of state files for the status of a step.
var ownWords = map[reprise.Status]string{
	reprise.InProgress: "in_progress", reprise.Done: "completed", reprise.Failed: "failed", reprise.Blocked: "blocked", reprise.Skipped: "skipped",
	reprise.Pending: "pending",
}

// wanted is what an event about a step makes of it: a step that finished without
// success failed. An event of another kind has no place.
func (c *recorder) wanted() (status reprise.Status, ok bool) {
	kind := c.ev.Kind
	if kind == reprise.StepFinished && c.rejected() {
		kind = reprise.StepFailed
	}
	if status, ok = ledger.Wanted(kind); !ok {
		c.noPlace()
	}
	return status, ok
}

// rejected reports whether what the event ends was not accepted.
func (c *recorder) rejected() bool { return c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" }

// spell gives the word for a status of a state file: the first that other entries
// of its kind use, else the usual one in their manner.
func spell(status reprise.Status, others ...string) string {
	return ledger.SpellWord(ownWords[status], func(w string) bool { return stateWord(w) == status }, others...)
}

// Words that mean the same of a run as a whole.
var (
	atWork   = []string{"active", "in progress", "inprogress", "running"}
	complete = []string{"completed", "complete", "done"}
	aborted  = []string{"aborted", "abort", "cancelled", "canceled"}
)

// runStatus gives the run as a whole a status, unless a word of the same meaning
// stands there. It reports whether it wrote.
func (c *recorder) runStatus(at ledger.Value, word string, same ...string) bool {
	now := at.Plain()
	if slices.Contains(same, doc.Fold(splitCamel(now))) {
		return false
	}
	if now != "" && now == strings.ToUpper(now) {
		word = strings.ToUpper(word)
	}
	called := c.run.ID
	switch c.shape {
	case epicShape:
		called = "epic " + called
	case loopShape:
		called = "the QA loop"
	}
	c.because(at, "%s is %s", called, word)
	c.Set(at, word)
	return true
}

// actor returns who did it: the event's actor, else the role of the step.
func (c *recorder) actor() string {
	if c.ev.Actor != "" {
		return c.ev.Actor
	}
	for _, id := range []string{c.ev.Step, c.ev.Phase} {
		if s := c.run.Step(id); s != nil && id != "" {
			return s.Role
		}
	}
	return ""
}

// agent writes a role like its neighbour: with the @ or without.
func agent(role, beside string) string {
	role = strings.TrimPrefix(ledger.Line(role, 40), "@")
	if role == "" || beside != "" && !strings.HasPrefix(beside, "@") {
		return role
	}
	return "@" + role
}

// LogPrefix is how the name of an orchestration log begins.
const LogPrefix = "orchestration-log-"

// logResumed adds the resumption to the orchestration log: the latest of the
// project, or a new one in its state folder. Without a state folder there is no
// place for one, and false is returned.
func (c *recorder) logResumed() bool {
	project := projectOf(c.run.Path)
	if c.shape != noShape {
		project = projectAt(c.run.Path)
	}
	dirs, home := []string{project, path.Join(project, "docs")}, ""
	for _, h := range homes {
		d := path.Join(project, h)
		if !c.r.Exists(d) {
			continue
		}
		// The run's own folder, else the latest.
		if !strings.HasPrefix(c.run.Path, home+"/") || home == "" {
			home = d
		}
		dirs = append(dirs, d, path.Join(d, "logs"))
	}
	var logs []string
	for _, d := range dirs {
		for _, e := range c.r.Dir(d) {
			if !e.IsDir() && strings.HasPrefix(e.Name(), LogPrefix) && strings.HasSuffix(e.Name(), ".md") {
				logs = append(logs, path.Join(d, e.Name()))
			}
		}
	}
	slices.SortStableFunc(logs, func(a, b string) int { return strings.Compare(path.Base(a)+"\x00"+a, path.Base(b)+"\x00"+b) })
	entry, head := c.logEntry()
	why := "log the resumption of " + ledger.Line(c.run.ID, 60)
	for _, name := range logs {
		if f := c.r.Open(name); f.OK() && strings.Contains(strings.ReplaceAll(string(f.Data), "\r\n", "\n"), head) {
			return true
		}
	}
	if n := len(logs); n > 0 {
		f := c.r.Open(logs[n-1])
		if !f.OK() {
			return false
		}
		text := "\n" + entry
		if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
			text = "\n" + text
		}
		if strings.Contains(string(f.Data), "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		c.Append(f.Path, text, why)
		return true
	}
	if home != "" {
		c.Create(path.Join(home, LogPrefix+c.ev.At.UTC().Format("20060102T150405Z")+".md"), []byte("# Orchestration log\n\n"+entry), why)
	}
	return home != ""
}

// What of the reasons for a resumption is logged.
const (
	maxLogLines = 14
	maxLogLine  = 1000
)

// logEntry is the entry of a resumption; head, its first two lines, is what it
// is known by.
func (c *recorder) logEntry() (entry, head string) {
	r := c.run
	head = fmt.Sprintf("[%s] Workflow resumed: %s\nState source: %s\n", c.ev.At.UTC().Format("2006-01-02T15:04:05Z"), r.Kind, ledger.Line(r.Path, 200))
	point, role := r.Phase, ""
	if len(r.Next) > 0 {
		point, role = r.Next[0].Phase, agent(r.Next[0].Role, "")
	}
	point = cmp.Or(ledger.Line(cmp.Or(c.ev.Phase, point), 100), "not on record")
	if role != "" {
		point += " -- " + role
	}
	gone := "not on record"
	if !r.LastActivity.IsZero() && c.ev.At.After(r.LastActivity) {
		gone = c.ev.At.Sub(r.LastActivity).Round(time.Second).String()
	}
	check := "clean"
	switch r.Worst() {
	case reprise.Blocking:
		check = "conflicts"
	case reprise.Warning:
		check = "warnings"
	}
	more := ""
	if _, looked, ok := strings.Cut(c.said, "Validation: "); ok {
		// Whoever resumed it has looked further than its files, and may say why.
		lines := strings.Split(looked, "\n")
		check = ledger.Line(lines[0], 100)
		for _, line := range lines[1:min(len(lines), maxLogLines)] {
			if line = ledger.Line(line, maxLogLine); line != "" {
				more += line + "\n"
			}
		}
	} else if c.ev.Text != "" {
		check += " (" + c.ev.Text + ")"
	}
	return head + fmt.Sprintf("Resume point: %s\nInterruption duration: %s\nValidation: %s\n", point, gone, check) + more, head
}
