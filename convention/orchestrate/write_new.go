package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// there reports whether anything of the run is on disk. The folder of a
// specification alone does not count: its maker may have been killed before the first
// file was written.
func (c *recorder) there() bool {
	dir := c.run.Path
	if dir == "" || !c.r.Exists(dir) {
		return false
	}
	return c.run.Kind != reprise.KindSpecPipeline || slices.ContainsFunc(c.r.Dir(dir), func(e fs.DirEntry) bool {
		return isSpecArtifact(path.Join(dir, e.Name()))
	})
}

// begin makes the files of a run that is not there yet: a story, the state of a
// QA loop, or an epic or workflow state for the steps the run was given.
func (c *recorder) begin() {
	r := c.run
	if !isName(r.ID) && r.Path == "" {
		c.cannot("%q is not a valid file name", ledger.Line(r.ID, 60))
		return
	}
	switch r.Kind {
	case reprise.KindStory, "":
		c.beginStory()
	case reprise.KindQALoop:
		c.beginLoop()
	case reprise.KindEpic:
		c.beginEpic()
	case reprise.KindWorkflow:
		c.beginWorkflow()
	case reprise.KindSpecPipeline:
		c.beginSpec()
	default:
		c.cannot("a %s is not begun here", r.Kind)
	}
}

// given are the steps a run is begun with: those the event lists, each with its
// wave or role before a colon, else those of the run.
func (c *recorder) given() []reprise.Step {
	if len(c.ev.Options) == 0 {
		return c.run.Steps
	}
	var out []reprise.Step
	for _, o := range c.ev.Options {
		before, what, ok := strings.Cut(o, ": ")
		if !ok {
			before, what = "", o
		}
		out = append(out, reprise.Step{ID: what, Title: what, Phase: before, Role: before})
	}
	return out
}

// make creates a file that is not there yet.
func (c *recorder) make(name, text, why string) {
	switch {
	case !fsPath(name) || path.Clean(name) != name:
		c.cannot("%q is not a path inside the project", ledger.Line(name, 100))
	case c.r.Exists(name):
		c.Fail(fmt.Errorf("%s is there already", name))
	default:
		c.Create(name, []byte(text), why)
	}
}

// makeJSON creates a JSON file.
func (c *recorder) makeJSON(name string, value any, why string) {
	text, err := ledger.NewJSON(value)
	c.Fail(err)
	c.make(name, string(text), why)
}

func (c *recorder) beginStory() {
	name := cmp.Or(c.run.Path, storyPath(c.run.ID))
	if _, ok := storyName(name); !ok {
		c.cannot("%q is not the name of a story", ledger.Line(name, 100))
		return
	}
	id := storyKey(name).id
	title, who := cmp.Or(ledger.Line(c.run.Title, 120), "Story "+id), cmp.Or(agent(c.actor(), ""), "@sm")
	// Text that would be read as a status, a box or a file goes without.
	for _, words := range [][2]string{{plainNote(title), plainNote(c.ev.Text)}, {plainNote(title), ""}, {"Story " + id, ""}} {
		text := "# " + words[0] + "\n\n**Status:** Draft\n\n## Story\n\n" + strings.TrimLeft(words[1]+"\n\n", "\n") +
			"## Acceptance Criteria\n\n## Tasks\n\n## File List\n\n## Change Log\n\n| Date | Author | Description |\n|------|--------|-------------|\n| " +
			c.ev.At.UTC().Format(time.DateOnly) + " | " + who + " | created |\n"
		if s := storyIn(name, []byte(text)); s != nil && len(s.fields) == 1 && s.fields[0].class == draft && s.boxes == 0 && s.waits == "" {
			c.make(name, text, "begin story "+id)
			return
		}
	}
	c.cannot("%q cannot be begun", ledger.Line(name, 100))
}

// storyPath is where a story is made.
func storyPath(id string) string { return "docs/stories/" + id + ".story.md" }

// beginSpec makes the state of a specification, which holds what it is about
// until the first output does.
func (c *recorder) beginSpec() {
	name := specState(c.run.Path)
	switch at := ledger.SpellTime(c.ev.At, "", ""); {
	case c.ev.Text == "" || c.run.Path == "":
		c.cannot("a specification without a word about it is begun by its first output")
	case !isSpecArtifact(name):
		c.cannot("%q is not a place for a specification", ledger.Line(c.run.Path, 100))
	default:
		c.makeJSON(name, splice.Object{
			{Key: "storyId", Value: c.run.ID}, {Key: "goal", Value: c.ev.Text}, {Key: "startedAt", Value: at}, {Key: "updatedAt", Value: at},
		}, "begin specification "+ledger.Line(c.run.ID, 60))
	}
}

func (c *recorder) beginLoop() {
	id := strings.TrimPrefix(c.run.ID, "qa-loop-")
	for _, a := range c.run.Also {
		if a.Kind == reprise.KindStory {
			id = a.ID
		}
	}
	name := cmp.Or(c.run.Path, "qa/"+id+"/loop-status.json")
	switch {
	case !isName(id):
		c.cannot("%q is no story", ledger.Line(id, 60))
		return
	case shapeOf(name) != loopShape || !strings.HasSuffix(name, ".json"):
		c.cannot("%q is not a place for a loop", ledger.Line(name, 100))
		return
	}
	most := defaultIterations
	if n, err := strconv.Atoi(c.ev.Given["maxIterations"]); err == nil && n > 0 {
		most = n
	}
	at := ledger.SpellTime(c.ev.At, "", "")
	c.makeJSON(name, newLoop(dialectOf(ledger.Value{}), id, 0, most, "", splice.Member{Key: "startedAt", Value: at}, splice.Member{Key: "updatedAt", Value: at}),
		"begin the QA loop of story "+id)
}

// newLoop is the file of a QA loop of which no verdict is on record. Its status is
// that of a running one where word is "".
func newLoop(d dialect, id string, iteration, most int, word string, times ...splice.Member) splice.Object {
	out := splice.Object{{Key: "storyId", Value: id}, {Key: d.counter, Value: iteration}, {Key: "maxIterations", Value: most}, {Key: "status", Value: cmp.Or(word, d.running)}}
	out = append(out, times...)
	if d.lastVerdict != "" {
		return append(out, splice.Member{Key: d.lastVerdict, Value: nil})
	}
	return append(out, splice.Member{Key: "history", Value: []any{}})
}

// quoted writes text so that every reader of YAML takes it for text.
func quoted(s string) string { return strconv.QuoteToGraphic(ledger.Line(s, 200)) }

// newEpic is the file of an epic: the fields of its head, its waves, and what
// follows them. The values of fields are YAML.
type newEpic struct {
	id    string
	head  yamlLines
	waves []newWave
	tail  yamlLines
}

type newWave struct {
	name, status string
	stories      []newStory
}

// newStory is a story of a new epic; timed has places for when it was begun and ended.
type newStory struct {
	id, status string
	timed      bool
}

// yamlLines are lines of a YAML map.
type yamlLines struct{ strings.Builder }

// field adds a field unless its value is empty.
func (b *yamlLines) field(indent, key, value string) {
	if value != "" {
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, value)
	}
}

// text adds a field with a text unless that is empty.
func (b *yamlLines) text(indent, key, value string) {
	if value != "" {
		b.field(indent, key, quoted(value))
	}
}

func (e *newEpic) String() string {
	var b yamlLines
	fmt.Fprintf(&b, "epic_state:\n  epicId: %s\n%s  waves:\n", quoted(e.id), e.head.String())
	for _, w := range e.waves {
		fmt.Fprintf(&b, "    %s:\n", w.name)
		fmt.Fprintf(&b, "      status: %s\n      stories:\n", w.status)
		for _, s := range w.stories {
			fmt.Fprintf(&b, "        %s:\n", quoted(s.id))
			b.field("          ", "status", s.status)
			if s.timed {
				b.field("          ", "started_at", "null")
				b.field("          ", "completed_at", "null")
			}
		}
	}
	return b.String() + e.tail.String()
}

func (c *recorder) beginEpic() {
	name := cmp.Or(c.run.Path, home(c.r.FS())+"/epic-"+c.run.ID+"-state.yaml")
	if shapeOf(name) != epicShape {
		c.cannot("%q is not a place for an epic", ledger.Line(name, 100))
		return
	}
	if text := c.ev.Given[givenState]; text != "" {
		c.afresh(name, text)
		return
	}
	e, at := newEpic{id: c.run.ID}, strconv.Quote(c.ev.At.UTC().Format(time.RFC3339))
	for _, s := range c.given() {
		wave := waveName(s.Phase)
		if wave == "" || s.ID == "" || s.ID != ledger.Line(s.ID, 60) || !isName(wave) {
			c.cannot("step %q names no wave", ledger.Line(s.ID, 60))
			return
		}
		if n := len(e.waves); n == 0 || e.waves[n-1].name != wave {
			e.waves = append(e.waves, newWave{name: wave, status: "pending"})
		}
		last := &e.waves[len(e.waves)-1]
		last.stories = append(last.stories, newStory{s.ID, "pending", true})
	}
	id := ledger.Line(cutWord(c.run.ID, "epic"), 40)
	if len(e.waves) == 0 {
		c.cannot("epic %s has no stories", id)
		return
	}
	e.head.text("  ", "execution_plan", c.ev.Text)
	for _, f := range [][2]string{
		{"mode", modeWord(c.ev.Outcome)}, {"started_at", at}, {"updated_at", at}, {"status", "active"},
		{"current_wave", e.waves[0].name}, {"total_waves", strconv.Itoa(len(e.waves))},
	} {
		e.head.field("  ", f[0], f[1])
	}
	e.tail.field("  ", "gate_verdicts", "{}")
	c.make(name, e.String(), "begin epic "+id)
}

// afresh makes of the state of an epic what it was before it was begun: what there is to
// do stays, word by word, and what came of it goes.
func (c *recorder) afresh(name, text string) {
	before := ledger.NewChanges(c.r.FS())
	before.Create(name, []byte(text), "")
	w := ledger.NewChanges(before.FS())
	f := w.Structured(name)
	if f == nil {
		c.Fail(w.Damaged(name))
		return
	}
	e, now := readEpic(epicRoot(f.Root())), c.ev.At.UTC().Format(time.RFC3339)
	reset := func(at ledger.Value, status any) {
		for _, field := range at.Entries(0) {
			switch {
			case field.Name == "status":
				w.Set(field.Value, status)
			case slices.Contains(cameOf, field.Name) && !field.IsNull():
				w.Set(field.Value, nil)
			}
		}
	}
	reset(e.Value, "active")
	for _, key := range []string{"started_at", "updated_at"} {
		if at := e.In(key); at.Node != nil {
			w.Set(at, now)
		}
	}
	if at, mode := e.In("mode"), modeWord(c.ev.Outcome); at.Node != nil && mode != "" {
		w.Set(at, mode)
	}
	for _, wave := range e.waves {
		reset(wave.at, "pending")
	}
	e.stories(func(_ *wave, s *waveStory) {
		if reset(s.at, "pending"); !s.at.Is(doc.Map) && !s.bare {
			w.Set(s.status, "pending")
		}
	})
	for _, key := range []string{"prerequisites", "merge_preconditions", "owner_pending"} {
		for _, item := range e.In(key).Entries(1) {
			status := "pending"
			if askedHere(item.In("id").Plain()) {
				status = "skipped"
			}
			if reset(item.Value, status); e.In(key).Is(doc.Map) && !item.Is(doc.Map) {
				w.Set(item.Value, status)
			}
		}
	}
	for _, gate := range e.verdicts.Entries(1) {
		if reset(gate.Value, nil); !gate.Is(doc.Map) {
			w.Set(gate.Value, nil)
		}
	}
	if at := e.In("current_wave", "currentWave"); at.Node != nil && len(e.waves) > 0 {
		w.Set(at, likeBefore(at, e.waves[0].name))
	}
	c.Fail(w.Err())
	c.make(name, string(f.Bytes()), "begin epic "+ledger.Line(c.run.ID, 40)+" again")
}

// cameOf are the fields of an epic state that tell what came of the work.
var cameOf = []string{"answer", "answered_at", "resolved_at", "resolved_by", "started_at", "completed_at", "updated_at", "commit"}

func (c *recorder) beginWorkflow() {
	name := cmp.Or(c.run.Path, home(c.r.FS())+"/"+c.run.ID+"-state.yaml")
	steps := c.given()
	switch {
	case shapeOf(name) != workflowShape:
		c.cannot("%q is not a place for a workflow", ledger.Line(name, 100))
		return
	case len(steps) == 0:
		c.cannot("workflow %s has no steps", ledger.Line(c.run.ID, 40))
		return
	}
	at, title := c.ev.At.UTC().Format(time.RFC3339), cmp.Or(c.run.Title, c.run.ID)
	var b strings.Builder
	fmt.Fprintf(&b, "workflow_id: %s\nworkflow_name: %s\nstarted_at: %q\nupdated_at: %q\nstatus: active\ncurrent_step_index: 0\nsteps:\n", quoted(c.run.ID), quoted(title), at, at)
	for i, s := range steps {
		fmt.Fprintf(&b, "  - step_index: %d\n    phase: %s\n    agent: %s\n    action: %s\n    status: pending\n",
			i, quoted(s.Phase), quoted(s.Role), quoted(doc.Clip(cmp.Or(s.Title, s.ID), 120)))
	}
	b.WriteString("artifacts: []\ndecisions: []\n")
	c.make(name, b.String(), "begin workflow "+ledger.Line(c.run.ID, 60))
}
