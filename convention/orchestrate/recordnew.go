package orchestrate

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// there reports whether anything of the run is on disk. The folder of a
// specification alone is not: whoever made it may have been killed before its first
// file was in place.
func (c *scribe) there() bool {
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
func (c *scribe) begin() error {
	r := c.run
	if !safeName(r.ID) && r.Path == "" {
		return c.cannot("%q is no name for a file", oneLine(r.ID, 60))
	}
	switch r.Kind {
	case reprise.KindStory, "":
		return c.beginStory()
	case reprise.KindQALoop:
		return c.beginLoop()
	case reprise.KindEpic:
		return c.beginEpic()
	case reprise.KindWorkflow:
		return c.beginWorkflow()
	case reprise.KindSpecPipeline:
		return c.beginSpec()
	}
	return c.cannot("a %s is not begun here", r.Kind)
}

// given are the steps a run is begun with: those the event lists, each with its
// wave or role before a colon, else those of the run.
func (c *scribe) given() []reprise.Step {
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

// beginSpec makes the state of a specification, which holds what it is about
// until the first output does.
func (c *scribe) beginSpec() error {
	if c.ev.Text == "" || c.run.Path == "" {
		return c.cannot("a specification without a word about it is begun by its first output")
	}
	name := path.Join(c.run.Path, ".pipeline-state.json")
	if !isSpecArtifact(name) {
		return c.cannot("%q is no place for a specification", oneLine(c.run.Path, 100))
	}
	text, err := json.MarshalIndent(struct {
		ID      string `json:"storyId"`
		Goal    string `json:"goal"`
		Started string `json:"startedAt"`
		Updated string `json:"updatedAt"`
	}{c.run.ID, c.ev.Text, c.ev.At.UTC().Format("2006-01-02T15:04:05.000Z"), c.ev.At.UTC().Format("2006-01-02T15:04:05.000Z")}, "", "  ")
	if err != nil {
		return err
	}
	return c.make(name, string(text)+"\n", "begin specification "+oneLine(c.run.ID, 60))
}

func (c *scribe) make(name, text, why string) error {
	if !fsPath(name) || path.Clean(name) != name {
		return c.cannot("%q is no path inside the project", oneLine(name, 100))
	}
	if c.r.Exists(name) {
		return fmt.Errorf("%s is there already", name)
	}
	c.keep(&paper{path: name, next: []byte(text), made: true, why: why})
	return nil
}

// home is the state folder of the project: the latest that is there, else that
// of the current generation of the tool.
func (c *scribe) home() string {
	out := ".aiox"
	for _, h := range homes {
		if c.r.Exists(h) {
			out = h
		}
	}
	return out
}

func (c *scribe) beginStory() error {
	r := c.run
	name := r.Path
	if name == "" {
		name = "docs/stories/" + r.ID + ".story.md"
	}
	if _, ok := storyName(name); !ok {
		return c.cannot("%q is no name of a story", oneLine(name, 100))
	}
	title := oneLine(r.Title, 120)
	if title == "" {
		title = "Story " + storyKey(name).id
	}
	who := agent(c.actor())
	if who == "" {
		who = "@sm"
	}
	id := storyKey(name).id
	// Text that would be read as a status, a box or a file goes without.
	for _, words := range [][2]string{{plainNote(title), plainNote(c.ev.Text)}, {plainNote(title), ""}, {"Story " + id, ""}} {
		text := "# " + words[0] + "\n\n**Status:** Draft\n\n## Story\n\n" + strings.TrimLeft(words[1]+"\n\n", "\n") +
			"## Acceptance Criteria\n\n## Tasks\n\n## File List\n\n## Change Log\n\n| Date | Author | Description |\n|------|--------|-------------|\n| " +
			c.ev.At.UTC().Format(time.DateOnly) + " | " + who + " | created |\n"
		if s := sheetOf(name, []byte(text)); s != nil && len(s.fields) == 1 && s.fields[0].class == draft && s.boxes == 0 && s.waits == "" {
			return c.make(name, text, "begin story "+id)
		}
	}
	return c.cannot("%q cannot be begun", oneLine(name, 100))
}

func (c *scribe) beginLoop() error {
	id := strings.TrimPrefix(c.run.ID, "qa-loop-")
	for _, a := range c.run.Also {
		if a.Kind == reprise.KindStory {
			id = a.ID
		}
	}
	if !safeName(id) {
		return c.cannot("%q is no story", oneLine(id, 60))
	}
	name := c.run.Path
	if name == "" {
		name = "qa/" + id + "/loop-status.json"
	}
	if shapeOf(name) != loopShape || !strings.HasSuffix(name, ".json") {
		return c.cannot("%q is no place for a loop", oneLine(name, 100))
	}
	most := defaultIterations
	if n, err := strconv.Atoi(c.ev.Given["maxIterations"]); err == nil && n > 0 {
		most = n
	}
	at := c.ev.At.UTC().Format("2006-01-02T15:04:05.000Z")
	return c.make(name, fmt.Sprintf(`{
  "storyId": %s,
  "currentIteration": 0,
  "maxIterations": %d,
  "status": "in_progress",
  "startedAt": "%s",
  "updatedAt": "%s",
  "history": []
}
`, strconv.Quote(id), most, at, at), "begin the QA loop of story "+id)
}

// yamlText writes text so that every reader of YAML takes it for text.
func yamlText(s string) string { return strconv.QuoteToGraphic(oneLine(s, 200)) }

func (c *scribe) beginEpic() error {
	id := cutWord(c.run.ID, "epic")
	name := c.run.Path
	if name == "" {
		name = c.home() + "/epic-" + c.run.ID + "-state.yaml"
	}
	if shapeOf(name) != epicShape {
		return c.cannot("%q is no place for an epic", oneLine(name, 100))
	}
	type group struct {
		name string
		ids  []string
	}
	var waves []group
	for _, s := range c.given() {
		wave := waveName(s.Phase)
		if wave == "" || s.ID == "" || s.ID != oneLine(s.ID, 60) || !safeName(wave) {
			return c.cannot("step %q names no wave", oneLine(s.ID, 60))
		}
		if n := len(waves); n == 0 || waves[n-1].name != wave {
			waves = append(waves, group{name: wave})
		}
		waves[len(waves)-1].ids = append(waves[len(waves)-1].ids, s.ID)
	}
	if len(waves) == 0 {
		return c.cannot("epic %s has no stories", oneLine(id, 40))
	}
	at := c.ev.At.UTC().Format(time.RFC3339)
	var b strings.Builder
	// given writes what the epic was given under its name, as far as it was.
	given := func(indent, under string, names ...string) {
		for _, name := range names {
			if text := c.ev.Given[under+name]; text != "" {
				fmt.Fprintf(&b, "%s%s: %s\n", indent, name, yamlText(text))
			}
		}
	}
	fmt.Fprintf(&b, "epic_state:\n  epicId: %s\n", yamlText(c.run.ID))
	given("  ", "", "title", "branch")
	if c.ev.Text != "" {
		fmt.Fprintf(&b, "  execution_plan: %s\n", yamlText(c.ev.Text))
	} else {
		given("  ", "", "execution_plan")
	}
	fmt.Fprintf(&b, "  mode: %s\n  started_at: %q\n  updated_at: %q\n  status: active\n  current_wave: %s\n  total_waves: %d\n",
		modeWord(c.ev.Outcome), at, at, waves[0].name, len(waves))
	if err := c.conditions(&b, "prerequisites"); err != nil {
		return err
	}
	b.WriteString("  waves:\n")
	for _, w := range waves {
		fmt.Fprintf(&b, "    %s:\n", w.name)
		given("      ", "waves/"+w.name+"/", "name")
		b.WriteString("      status: pending\n      stories:\n")
		for _, s := range w.ids {
			fmt.Fprintf(&b, "        %s:\n", yamlText(s))
			given("          ", "stories/"+s+"/", "title")
			b.WriteString("          status: pending\n")
			given("          ", "stories/"+s+"/", "executor", "quality_gate", "branch")
			b.WriteString("          started_at: null\n          completed_at: null\n")
		}
	}
	b.WriteString("  gate_verdicts: {}\n")
	for _, key := range []string{"merge_preconditions", "owner_pending"} {
		if err := c.conditions(&b, key); err != nil {
			return err
		}
	}
	return c.make(name, b.String(), "begin epic "+oneLine(id, 40))
}

// conditions writes what the epic was given to be done beside its stories, under its
// name: a list of items, each a list of fields, with the item's name or its bare text
// under "".
func (c *scribe) conditions(b *strings.Builder, key string) error {
	text := c.ev.Given[key]
	if text == "" {
		return nil
	}
	var items [][][2]string
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return fmt.Errorf("begin %s with its %s: %w", oneLine(c.run.ID, 60), key, err)
	}
	value := func(s string) string {
		if s == "true" || s == "false" {
			return s
		}
		return strconv.QuoteToGraphic(s)
	}
	fmt.Fprintf(b, "  %s:\n", key)
	for _, item := range items {
		lead := "    - "
		for i, f := range item {
			switch {
			case f[0] == "" && key == "prerequisites":
				fmt.Fprintf(b, "    %s:\n", strconv.QuoteToGraphic(f[1]))
				lead = "      "
			case f[0] == "":
				fmt.Fprintf(b, "    - %s\n", strconv.QuoteToGraphic(f[1]))
			default:
				fmt.Fprintf(b, "%s%s: %s\n", lead, f[0], value(f[1]))
			}
			if i == 0 && lead == "    - " {
				lead = "      "
			}
		}
	}
	return nil
}

func (c *scribe) beginWorkflow() error {
	name := c.run.Path
	if name == "" {
		name = c.home() + "/" + c.run.ID + "-state.yaml"
	}
	if shapeOf(name) != workflowShape {
		return c.cannot("%q is no place for a workflow", oneLine(name, 100))
	}
	steps := c.given()
	if len(steps) == 0 {
		return c.cannot("workflow %s has no steps", oneLine(c.run.ID, 40))
	}
	at := c.ev.At.UTC().Format(time.RFC3339)
	title := c.run.Title
	if title == "" {
		title = c.run.ID
	}
	var b strings.Builder
	fmt.Fprintf(&b, "workflow_id: %s\nworkflow_name: %s\nstarted_at: %q\nupdated_at: %q\nstatus: active\ncurrent_step_index: 0\nsteps:\n", yamlText(c.run.ID), yamlText(title), at, at)
	for i, s := range steps {
		action := s.Title
		if action == "" {
			action = s.ID
		}
		fmt.Fprintf(&b, "  - step_index: %d\n    phase: %s\n    agent: %s\n    action: %s\n    status: pending\n", i, yamlText(s.Phase), yamlText(s.Role), yamlText(doc.Clip(action, 120)))
	}
	b.WriteString("artifacts: []\ndecisions: []\n")
	return c.make(name, b.String(), "begin workflow "+oneLine(c.run.ID, 60))
}
