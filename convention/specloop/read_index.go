package specloop

import (
	"fmt"
	"slices"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// indexName is the state file of the first family.
const indexName = "index.md"

const titleLoop = "Priority Loop State"

// index is what index.md says, in any of its column sets.
type index struct {
	file *doc.File

	id, description value
	created         value

	status, reason   value
	iteration, stale counter
	pendingNote      value // "2 (C1.1, C1.2)"
	mark             mark  // where in the status's phases the loop stands, if we wrote it last
	currentPhase     value // of the field table under ## Workflow Status
	specSection      bool  // the loop section is there
	damaged          bool  // a table of gaps, questions or history could not be read

	gaps      []gap
	questions []question
	history   []resolution
	workflows []workflowRow
	documents []document
	plan      phaseState
	tasks     phaseState

	activity []stamp
	loopAt   time.Time // the loop's own Last Activity
}

type stamp struct {
	at   time.Time
	line int
}

type gap struct {
	id, priority, word string
	question           string
	note               string // resolution and clarification cells: they name questions
	status             gapStatus
	line               int
}

type gapStatus uint8

const (
	gapPending gapStatus = iota + 1
	gapClarifying
	gapResolved
	gapDeferred
	gapKnown
	gapUnknown
)

// open reports whether the gap still has to be dealt with.
func (g gap) open() bool {
	return g.status == gapPending || g.status == gapClarifying || g.status == gapUnknown
}

// serious reports whether the gap stands in the way of completion. An unknown
// priority does not count as minor.
func (g gap) serious() bool { return doc.Fold(g.priority) != "minor" }

type question struct {
	id, text, word, workflow string
	gaps, options            []string
	answer                   string
	status                   questionStatus
	line                     int
	applied                  bool
}

type questionStatus uint8

const (
	asked questionStatus = iota + 1
	answered
	setAside
	used
)

type resolution struct {
	gap, details string
	iteration    int
}

type workflowRow struct {
	name string
	word value
}

type document struct {
	name, path, status string
	line               int
}

// phaseState is the state table of the plan or tasks workflow (v0.1).
type phaseState struct {
	phase, name, status value
	iteration           counter
	here                bool
}

// readIndex reads index.md. It returns nil if the file is not there; a file
// that could not be read gives an index without fields.
func (l *loader) readIndex() *index {
	f := l.r.Open(l.in(indexName))
	if !f.Exists() {
		return nil
	}
	ix := &index{file: f}
	md := f.Markdown()
	if md == nil {
		return ix
	}
	if s, ok := md.Section("Feature Metadata"); ok {
		ix.id = field(s, "ID", "Feature ID")
		ix.description = field(s, "Original Description", "Description", "Feature Name", "Name")
		ix.created = field(s, "Created")
		ix.stamp(field(s, "Last Updated"))
		ix.stamp(ix.created)
	}
	ix.readLoop(md)
	ix.readGaps(md)
	ix.readQuestions(md)
	ix.readHistory(md)
	ix.readAnswers(md)
	ix.readWorkflows(md)
	ix.plan = ix.readPhase(md, "Plan Phase State")
	ix.tasks = ix.readPhase(md, "Tasks Phase State")
	ix.readRest(md)
	ix.link()
	return ix
}

func (ix *index) stamp(v value) {
	if !v.given() {
		return
	}
	if t, ok := doc.FindTime(v.text); ok {
		ix.activity = append(ix.activity, stamp{t, v.line})
	}
}

func (ix *index) readLoop(md *doc.Markdown) {
	var loops []doc.Section
	for _, s := range md.Sections() {
		if doc.Fold(s.Title) == doc.Fold(titleLoop) {
			loops = append(loops, s)
		}
	}
	ix.specSection = len(loops) > 0
	if len(loops) == 0 {
		loops = append(loops, md.All()) // the heading may be lost, the row is not
	}
	// Closing writes the table again; a model that appends instead of editing
	// leaves two, of which the last was written last.
	s := loops[len(loops)-1]
	if len(loops) > 1 {
		ix.file.Report(reprise.Warning, reprise.CodeDuplicateKey, s.Line,
			fmt.Sprintf("the section %q occurs %d times; the last one counts", titleLoop, len(loops)), "keep the section that is current")
	}
	ix.status = field(s, "Loop Status")
	ix.reason = field(s, "Termination Reason")
	if !ix.specSection && !ix.status.given() {
		return
	}
	ix.iteration = count(field(s, "Current Iteration", "Iteration"))
	if final := field(s, "Final Iteration"); final.given() {
		ix.iteration = count(final)
	}
	ix.stale = count(field(s, "Stale Count"))
	ix.pendingNote = field(s, "Pending Clarifications")
	last := field(s, "Last Activity")
	ix.stamp(last)
	if t, ok := doc.FindTime(last.text); ok && last.given() {
		ix.loopAt = t
	}
	ix.mark = readMark(field(s, titleMark), last)
}

// tableOf reads the rows of the sections with one of the titles and reports a
// table that cannot be made out.
func (ix *index) tableOf(md *doc.Markdown, keys []string, titles ...string) []columns {
	var out []columns
	for _, s := range md.Sections() {
		for _, title := range titles {
			if doc.Fold(s.Title) != doc.Fold(title) {
				continue
			}
			got, ok := rows(s, keys...)
			if !ok {
				ix.damaged = true
				ix.file.Report(reprise.Warning, reprise.CodeDamagedLine, s.Line,
					fmt.Sprintf("the table under %q has no header with a column %q; its rows are not read", s.Title, keys[0]), "restore the header row of the table")
			}
			out = append(out, got...)
		}
	}
	return out
}

func (ix *index) readGaps(md *doc.Markdown) {
	seen := map[string]bool{}
	for _, c := range ix.tableOf(md, []string{"Gap ID", "ID", "Gap"}, "Gap Priority Queue") {
		g := gap{
			id: c.get("Gap ID", "ID", "Gap"), priority: c.get("Priority", "Severity"), word: c.get("Status"),
			question: c.get("Question"), line: c.line(),
			note: c.get("Resolution") + " " + c.get("Clarification", "Clarifications"),
		}
		switch doc.Fold(g.word) {
		case "pending", "open":
			g.status = gapPending
		case "clarifying":
			g.status = gapClarifying
		case "resolved":
			g.status = gapResolved
		case "deferred":
			g.status = gapDeferred
		case "known gap", "known issue":
			g.status = gapKnown
		default:
			g.status = gapUnknown
			ix.file.Report(reprise.Warning, reprise.CodeUnknownStatus, g.line,
				fmt.Sprintf("gap %q has the status %q, which is unknown here; it counts as open", doc.Clip(g.id, 40), doc.Clip(g.word, 40)),
				"use pending, clarifying, resolved, deferred or known_gap")
		}
		if seen[doc.Fold(g.id)] {
			ix.file.Report(reprise.Warning, reprise.CodeDuplicateID, g.line,
				fmt.Sprintf("gap %q occurs twice in the queue; both rows count", doc.Clip(g.id, 40)), "keep one row for each gap")
		}
		seen[doc.Fold(g.id)] = true
		ix.gaps = append(ix.gaps, g)
	}
}

func (ix *index) readQuestions(md *doc.Markdown) {
	seen := map[string]bool{}
	for _, c := range ix.tableOf(md, []string{"ID", "Question ID"}, "Unified Pending Questions", "Pending Questions") {
		q := question{
			id: c.get("ID", "Question ID"), text: c.get("Question", "Question Summary", "Summary"), word: c.get("Status"),
			gaps: ids(c.get("Gaps", "Gap IDs", "Gap ID", "Gap")), options: options(c.get("Options")),
			answer: c.get("Answer", "User Answer", "Response"), line: c.line(),
		}
		q.workflow = workflowOf(q.id, c.get("Workflow", "Source"))
		if len(q.gaps) == 0 {
			q.gaps = ix.gapsNamed(c.get("Location") + " " + c.get("Source"))
		}
		if seen[doc.Fold(q.id)] {
			continue // the seed's and the template's section may both be there
		}
		seen[doc.Fold(q.id)] = true
		q.status = ix.questionStatus(&q)
		ix.questions = append(ix.questions, q)
	}
}

func (ix *index) questionStatus(q *question) questionStatus {
	if !filled(q.answer) {
		q.answer = ""
	}
	switch doc.Fold(q.word) {
	case "answered":
		return answered
	case "deferred", "skipped":
		return setAside
	case "applied", "resolved", "closed":
		return used
	case "", "awaiting answer", "pending", "open", "asked", "awaiting":
	default:
		ix.file.Report(reprise.Warning, reprise.CodeUnknownStatus, q.line,
			fmt.Sprintf("question %q has the status %q, which is unknown here; it counts as not answered", doc.Clip(q.id, 40), doc.Clip(q.word, 40)),
			"use awaiting_answer, pending, answered or deferred")
	}
	// An answer that is written down was given, even if the status was not
	// changed before the crash: no one is asked twice.
	if q.answer != "" {
		return answered
	}
	return asked
}

// workflowOf tells which workflow asks: by its column, else by the id's prefix
// (Q-S and Q-C specify, Q-P plan, Q-T tasks, C2.1 the loop).
func workflowOf(id, column string) string {
	switch w := doc.Fold(column); w {
	case "plan", "tasks", "implement":
		return w
	}
	switch key := doc.Fold(id); {
	case len(key) > 3 && key[:3] == "q p":
		return "plan"
	case len(key) > 3 && key[:3] == "q t":
		return "tasks"
	}
	return "specify"
}

func (ix *index) gapsNamed(text string) []string {
	var out []string
	for _, g := range ix.gaps {
		if names(text, g.id) {
			out = append(out, g.id)
		}
	}
	return out
}

// readAnswers reads answers that stand in a section of their own, by question
// or by gap. An answer by gap does not answer a question that was asked because
// the gap was reported again.
func (ix *index) readAnswers(md *doc.Markdown) {
	for _, c := range ix.tableOf(md, []string{"ID", "Question ID", "Gap ID"}, "User Answers", "Answers") {
		key, answer := c.get("ID", "Question ID", "Gap ID"), c.get("Answer", "User Answer", "Response")
		if !filled(answer) {
			continue
		}
		for i := range ix.questions {
			q := &ix.questions[i]
			about := doc.Fold(q.id) == doc.Fold(key)
			for _, g := range q.gaps {
				about = about || doc.Fold(g) == doc.Fold(key) && (q.status != asked || !ix.reportedAgain(g))
			}
			if !about {
				continue
			}
			q.answer = answer
			if q.status == asked {
				q.status = answered
			}
		}
	}
}

// reportedAgain reports whether a gap is open that the history calls resolved.
func (ix *index) reportedAgain(id string) bool {
	g := ix.gap(id)
	return g != nil && g.open() && slices.ContainsFunc(ix.history, func(h resolution) bool { return doc.Fold(h.gap) == doc.Fold(id) })
}

func (ix *index) readHistory(md *doc.Markdown) {
	for _, c := range ix.tableOf(md, []string{"Gap ID", "ID", "Gap"}, "Gap Resolution History") {
		h := resolution{
			gap:     c.get("Gap ID", "ID", "Gap"),
			details: c.get("Details") + " " + c.get("Resolution") + " " + c.get("Resolved Via"),
		}
		if n := doc.Numbers(c.get("Iteration")); len(n) > 0 {
			h.iteration = n[0]
		}
		ix.history = append(ix.history, h)
		ix.stamp(value{c.get("Timestamp"), c.line()})
	}
}

func (ix *index) readWorkflows(md *doc.Markdown) {
	for _, title := range []string{"Workflow Status Table", "Workflow Status"} {
		s, ok := md.Section(title)
		if !ok {
			continue
		}
		got, _ := rows(s, "Workflow")
		for _, c := range got {
			row := workflowRow{name: doc.Fold(c.get("Workflow")), word: value{c.get("Status"), c.line()}}
			ix.stamp(value{c.get("Last Run"), c.line()})
			ix.workflows = append(ix.workflows, row)
		}
		if len(got) == 0 {
			ix.currentPhase = field(s, "Current Phase")
			ix.stamp(field(s, "Last Run"))
		}
	}
}

func (ix *index) readPhase(md *doc.Markdown, title string) phaseState {
	s, ok := md.Section(title)
	if !ok {
		return phaseState{}
	}
	p := phaseState{
		phase: field(s, "Phase", "Current Phase"), name: field(s, "Phase Name"), status: field(s, "Status", "Phase Status"),
		iteration: count(field(s, "Current Iteration", "Iteration")),
	}
	// The workflow enters phase 0 when it begins; a status that says otherwise
	// is more explicit than a number.
	p.here = p.phase.given() && !p.status.given() || p.status.given() && rowStatus(p.status.text) != reprise.Pending
	ix.stamp(field(s, "Last Activity"))
	return p
}

func (ix *index) readRest(md *doc.Markdown) {
	for _, c := range ix.tableOf(md, []string{"Document"}, "Document Availability Matrix") {
		ix.documents = append(ix.documents, document{
			name: c.get("Document"), path: c.get("Path"), status: doc.Fold(c.get("Status")), line: c.line(),
		})
	}
	for _, c := range ix.tableOf(md, []string{"Timestamp"}, "Unified Decisions Log") {
		ix.stamp(value{c.get("Timestamp"), c.line()})
	}
	ix.stamp(field(md.All(), "last_sync"))
}

// tellsStanding reports whether anything in the file says how far the loop came. Its
// title and its documents do not: the file was cut off behind them.
func (ix *index) tellsStanding() bool {
	return ix.specSection || ix.status.given() || ix.currentPhase.given() || len(ix.workflows)+len(ix.gaps)+len(ix.questions)+len(ix.history) > 0
}

// link joins questions and gaps in both directions and settles which answers
// were used.
func (ix *index) link() {
	for i := range ix.questions {
		q := &ix.questions[i]
		if len(q.gaps) == 0 {
			for _, g := range ix.gaps {
				if names(g.note, q.id) {
					q.gaps = append(q.gaps, g.id)
				}
			}
		}
		switch q.status {
		case used, setAside:
			q.applied = true
		case answered:
			q.applied = ix.wasApplied(q)
		}
	}
}

// wasApplied tells whether an answer was worked into the specification. Its
// gaps tell: applying moves them out of clarifying. Without gaps to go by the
// history may name the question; else the answer counts as unused for as long
// as the loop stands at the questions.
func (ix *index) wasApplied(q *question) bool {
	atQuestions := doc.Fold(ix.status.text) == "clarifying"
	known, open := 0, 0
	for _, g := range ix.gaps {
		if g.open() {
			open++
		}
		for _, id := range q.gaps {
			if doc.Fold(g.id) != doc.Fold(id) {
				continue
			}
			known++
			if g.status == gapClarifying || (atQuestions && g.open()) {
				return false
			}
		}
	}
	if known > 0 {
		return true
	}
	for _, h := range ix.history {
		if names(h.details, q.id) {
			return true
		}
	}
	return !atQuestions || (len(ix.gaps) > 0 && open == 0)
}
