package specloop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// contextFile is a state file of the second family.
type contextFile struct{ file, workflow string }

// contextFiles are all of them, older names first.
var contextFiles = []contextFile{
	{"scaffold.md", "specify"}, {"context.md", "specify"}, {"techspec-context.md", "techspec"},
	{"plan-context.md", "plan"}, {"tasks-context.md", "tasks"},
}

// contextPhases are the phases of the workflows of the second family. The plan
// has two sets; the front matter shows which by its keys.
func contextPhases(workflow string) [][]string {
	switch workflow {
	case "techspec":
		return [][]string{{"core", "supplementary"}}
	case "plan":
		return [][]string{{"research", "datamodel", "contracts"}, {"analysis", "design"}}
	}
	return [][]string{{"mapping", "tasks"}}
}

// specifySteps are the three turns of the specification.
var specifySteps = []phase{
	{"analyst", "write the specification", "analyst"},
	{"advocate", "review it for gaps", "advocate"},
	{"user", "answer the clarifications", "user"},
}

// turns are the roles that a status "awaiting-<role>" may name.
var turns = []string{"analyst", "advocate", "user", "architect", "planner", "techanalyst"}

// context is one context file.
type context struct {
	workflow  string
	file      *doc.File
	md        *doc.Markdown
	front     *doc.Node
	word      string // status
	phase     string
	iteration int
	updated   time.Time
	log       []logEntry
}

// logEntry is one round of the clarification log.
type logEntry struct {
	title     string
	phase     string
	iteration int
	questions []reprise.Question
	gaps      []reprise.Question // listed by the advocate, not answered here
}

// contexts reads every context file into a part.
func (l *loader) contexts(ix *index) []*part {
	var out []*part
	for _, cf := range contextFiles {
		c := l.openContext(cf)
		if !c.file.Exists() {
			continue
		}
		if c.front == nil {
			if p := l.frontless(c, cf.file, ix); p != nil {
				out = append(out, p)
			}
			continue
		}
		if p := l.contextPart(c, cf.file); p.state != reprise.NotStarted || c.workflow == "specify" {
			out = append(out, p) // a later workflow that was not begun is no part of the run
		}
	}
	if ix == nil && !slices.ContainsFunc(out, func(p *part) bool { return p.name == "specify" }) {
		out = append(out, l.oldSpecify()...)
	}
	return out
}

// frontless handles a context file without front matter: one of the first
// family has a metadata table instead and is read together with index.md;
// anything else does not say where its workflow stands.
func (l *loader) frontless(c *context, name string, ix *index) *part {
	old := l.oldContext(c.workflow)
	if old.line > 0 && ix != nil {
		return nil
	}
	if old.given() {
		parts := l.laterWorkflows(&index{file: c.file})
		for _, p := range parts {
			if p.name == c.workflow {
				p.ledger = name
				return p
			}
		}
		return nil // not started
	}
	p := &part{name: c.workflow, ledger: name, source: c.file.At(0), state: reprise.Unreadable, phase: reprise.Loop{At: c.workflow}}
	p.reason = name + " does not say where its workflow stands"
	if c.file.OK() {
		c.file.Report(reprise.Blocking, reprise.CodeUnreadable, 0, "no front matter with a status", "restore the file from version control")
	}
	return p
}

// oldSpecify reads specify-context.md where index.md is gone.
func (l *loader) oldSpecify() []*part {
	old := l.oldContext("specify")
	if old.line == 0 {
		return nil
	}
	f := l.r.Open(l.in("specify-context.md"))
	l.report(reprise.Warning, reprise.CodeMissingArtifact, "index.md", f.At(0), "index.md is missing; gaps, questions and iteration are lost", "restore it from version control")
	p := l.fromIndex(&index{file: f, status: old, specSection: true})[0]
	p.ledger = "specify-context.md"
	return []*part{p}
}

// openContext reads a context file; its front is nil where it has none.
func (l *loader) openContext(cf contextFile) *context {
	c := &context{workflow: cf.workflow, file: l.r.Open(l.in(cf.file))}
	if c.md = c.file.Markdown(); c.md == nil || c.md.Front == nil || c.md.Front.Kind != doc.Map {
		return c
	}
	c.front = c.md.Front
	c.word = strings.TrimSpace(c.get("status").Str())
	if c.unfilled(c.front.Get("status")) {
		c.word = "{{status}}"
	}
	c.phase = doc.Fold(c.get("phase").Str())
	c.iteration, _ = c.get("iteration").Int()
	c.updated = c.time("updated")
	if t := c.time("created"); t.After(c.updated) {
		c.updated = t
	}
	c.readLog()
	return c
}

// awaitsUser reports whether it is a person's turn.
func (c *context) awaitsUser() bool { return doc.Fold(c.word) == "awaiting user" }

func (l *loader) contextPart(c *context, name string) *part {
	status := c.front.Get("status")
	p := &part{name: c.workflow, ledger: name, word: c.word, source: c.file.At(0), at: c.updated}
	if !status.IsNull() {
		p.source = status.Source()
	}
	l.contextState(c, p)
	l.contextFilesTable(c, p)
	l.contextBody(c, p)
	if l.run.Title == "" && c.workflow == "specify" {
		l.run.Title = inputTitle(c.md)
	}
	return p
}

// get returns a value of the front matter, nil for an unfilled placeholder:
// that is an unfilled template, not damage.
func (c *context) get(key string) *doc.Node {
	if n := c.front.Get(key); !c.unfilled(n) {
		return n
	}
	return nil
}

// unfilled recognises {{placeholder}}, which YAML reads as a map in a map.
func (c *context) unfilled(n *doc.Node) bool {
	switch {
	case n.IsNull():
		return false
	case n.Kind == doc.String:
		return placeholder(n.Text)
	case n.Kind != doc.Map || n.Line < 1:
		return false
	}
	lines := strings.SplitN(string(c.file.Data), "\n", n.Line+1)
	return n.Line <= len(lines) && strings.Contains(lines[n.Line-1], "{{")
}

func (c *context) time(key string) time.Time { return c.get(key).Time() }

// inputTitle is the first line of what the user asked for.
func inputTitle(md *doc.Markdown) string {
	s, ok := md.Section("User Input")
	if !ok {
		return ""
	}
	for _, line := range s.Lines() {
		if text := strings.TrimSpace(line.Text); filled(text) && !strings.HasPrefix(text, "#") {
			return doc.Clip(text, 120)
		}
	}
	return ""
}

// contextState decides by the front matter.
func (l *loader) contextState(c *context, p *part) {
	word := doc.Fold(c.word)
	role, awaiting := strings.CutPrefix(word, "awaiting ")
	switch {
	case placeholder(c.word) && (!l.spec.exists || l.spec.unwritten):
		p.state, p.reason = reprise.Interrupted, p.ledger+" still has the template's placeholders: the scaffold was interrupted"
		l.turn(c, p, firstRole(c.workflow), p.reason)
	case !filled(c.word):
		p.state, p.reason = reprise.Unreadable, p.ledger+" has no status"
		c.file.Report(reprise.Blocking, reprise.CodeAmbiguous, p.source.Line, "the front matter has no status", "write the status, or restore the file from version control")
		l.contextSteps(c, p, "", reprise.Unknown)
	case word == "not started" || word == "pending":
		p.state, p.reason = reprise.NotStarted, c.workflow+" was not begun"
		l.contextSteps(c, p, firstRole(c.workflow), reprise.Pending)
		p.next = []reprise.Unit{{ID: p.steps[0].ID, Title: p.steps[0].Title, Role: firstRole(c.workflow), Phase: c.workflow, Path: c.file.Path, Reason: p.reason}}
	case word == "completed" || word == "complete":
		p.state, p.reason = reprise.Complete, fmt.Sprintf("%s is completed after %s", c.workflow, ledger.Plural(max(c.iteration, 1), "iteration"))
		l.contextSteps(c, p, "", reprise.Done)
	case awaiting && role == "user":
		l.awaitUser(c, p)
	case awaiting:
		if !slices.Contains(turns, role) {
			l.unknownWord(c, p)
		}
		p.state, p.reason = reprise.Interrupted, fmt.Sprintf("%s waits for the %s to do its turn", c.workflow, doc.Clip(role, 40))
		l.turn(c, p, role, p.reason)
	case word == "in progress":
		p.state, p.reason = reprise.Interrupted, c.workflow+" was begun but not finished"
		l.turn(c, p, firstRole(c.workflow), p.reason)
	case word == "terminated" || word == "aborted" || word == "halted":
		p.state, p.reason = reprise.Stopped, fmt.Sprintf("%s was ended as %q; its state is kept", c.workflow, c.word)
		l.contextSteps(c, p, firstRole(c.workflow), reprise.Blocked)
	default:
		l.unknownWord(c, p)
		p.state, p.reason = reprise.Unreadable, fmt.Sprintf("%s has the unknown status %q", c.workflow, doc.Clip(c.word, 40))
		l.contextSteps(c, p, "", reprise.Unknown)
	}
	p.phase = c.standing()
	l.contextQuestions(c, p)
}

func (l *loader) unknownWord(c *context, p *part) {
	l.report(reprise.Warning, reprise.CodeUnknownStatus, c.workflow, p.source,
		fmt.Sprintf("status %q is unknown in this format", doc.Clip(c.word, 60)), "use awaiting-analyst, awaiting-advocate, awaiting-architect, awaiting-user or completed")
}

// awaitUser is a turn of a person, unless the answers of this round are in the
// log already: then they are given to the writer and not asked for again.
func (l *loader) awaitUser(c *context, p *part) {
	if e := c.round(); e != nil && len(e.questions) > 0 && len(e.unanswered()) == 0 {
		p.state = reprise.Interrupted
		p.reason = fmt.Sprintf("%s of iteration %d on record and not applied yet: there is no need to ask again", ledger.Plural(len(e.questions), "answer"), e.iteration)
		l.turn(c, p, firstRole(c.workflow), p.reason)
		return
	}
	p.state, p.reason = reprise.Waiting, c.workflow+" waits for answers of a person"
	l.turn(c, p, "user", p.reason)
}

func firstRole(workflow string) string {
	switch workflow {
	case "plan", "tasks":
		return "architect"
	}
	return "analyst"
}

// turn puts the steps at one role's turn and offers it.
func (l *loader) turn(c *context, p *part, role, reason string) {
	i := l.contextSteps(c, p, role, reprise.InProgress)
	s := p.steps[i]
	p.next = []reprise.Unit{{ID: s.ID, Title: s.Title, Role: doc.Clip(role, 40), Phase: c.workflow, Path: c.file.Path, Reason: reason}}
}

// standing tells where the workflow stands.
func (c *context) standing() reprise.Loop {
	text := c.workflow
	if filled(c.phase) && c.phase != "completed" {
		text += " " + doc.Clip(c.phase, 40)
	}
	word := "no status"
	if filled(c.word) {
		word = doc.Clip(c.word, 40)
	}
	at := reprise.Loop{At: text + ": " + word}
	if c.iteration > 0 {
		at.Iteration = strconv.Itoa(c.iteration)
	}
	return at
}

// phases lists the steps of this workflow.
func (c *context) phases() []phase {
	if c.workflow == "specify" {
		return specifySteps
	}
	sets := contextPhases(c.workflow)
	set := sets[0]
	for _, other := range sets {
		if slices.Contains(other, c.phase) || c.front.Has(other[0]+"_status") {
			set = other
		}
	}
	out := make([]phase, len(set))
	for i, name := range set {
		out[i] = phase{name, name, firstRole(c.workflow)}
	}
	return out
}

// contextSteps fills the steps and returns the index of the one at work. With
// here Done or Unknown every step has that status.
func (l *loader) contextSteps(c *context, p *part, role string, here reprise.Status) int {
	phases := c.phases()
	at := 0
	for i, ph := range phases {
		if (c.workflow == "specify" && ph.role == role) || (c.workflow != "specify" && ph.id == c.phase) {
			at = i
		}
	}
	if c.workflow != "specify" && c.phase != "" && filled(c.phase) && phases[at].id != c.phase && here != reprise.Done {
		l.report(reprise.Warning, reprise.CodeUnknownStatus, c.workflow, c.front.Get("phase").Source(),
			fmt.Sprintf("phase %q is unknown here while the status is %q; the first phase is taken", doc.Clip(c.phase, 40), doc.Clip(c.word, 40)), "")
	}
	for i, ph := range phases {
		s := reprise.Step{ID: c.workflow + "." + ph.id, Title: ph.title, Role: ph.role, Phase: c.workflow, Source: p.source, Status: here}
		switch {
		case here == reprise.Done || here == reprise.Unknown:
		case i < at:
			s.Status = reprise.Done
		case i > at:
			s.Status = reprise.Pending
		}
		if i > 0 {
			s.Needs = []string{p.steps[i-1].ID}
		}
		s.Claims = []reprise.Claim{{Ledger: p.ledger, Status: s.Status, Word: c.word, Source: p.source, At: c.updated, Won: true}}
		l.phaseClaim(c, ph, &s)
		p.steps = append(p.steps, s)
	}
	return at
}

// phaseClaim adds what `<phase>_status` says of a phase. It loses against phase
// and status, which are written with every turn.
func (l *loader) phaseClaim(c *context, ph phase, s *reprise.Step) {
	n := c.get(ph.id + "_status")
	if n.IsNull() || !filled(n.Str()) {
		return
	}
	st := rowStatus(n.Str())
	s.Claims = append(s.Claims, reprise.Claim{Ledger: ph.id + "_status", Status: st, Word: n.Str(), Source: n.Source()})
	if (st == reprise.Done) != (s.Status == reprise.Done) && s.Status != reprise.Unknown {
		l.report(reprise.Warning, reprise.CodeStatusDrift, s.ID, n.Source(),
			fmt.Sprintf("%s_status is %q, but status %q and phase %q make it %s; status and phase count", ph.id, doc.Clip(n.Str(), 40), doc.Clip(c.word, 40), doc.Clip(c.phase, 40), s.Status), "make the fields of the front matter agree")
	}
}
