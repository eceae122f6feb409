package orchestrate

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Begin implements reprise.Playbook: from the state of an epic, from its
// execution plan, or from a list of stories, where a semicolon ends a wave.
func (Epic) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	none := reprise.Ref{}
	base := path.Base(g.Path)
	if strings.HasSuffix(base, "-state.yaml") || strings.HasSuffix(base, "-state.yml") {
		if !exists(fsys, g.Path) {
			if !strings.Contains(g.Text, ";") {
				return none, nil, notFromNothing("epic", g.Path+" is not there")
			}
			// Begun afresh, with the stories it had.
			g.Path = ""
			return Epic{}.Begin(fsys, g)
		}
		id := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), "-state"), "epic-")
		return reprise.Ref{Layout: playLayoutName, ID: id, Path: g.Path, Kind: reprise.KindEpic}, nil, nil
	}
	id, steps, err := g.ID, []string(nil), error(nil)
	if g.Path != "" {
		var own string
		if own, steps, err = readPlan(fsys, g.Path); err != nil {
			return none, nil, err
		}
		if id == "" {
			id = own
		}
	} else {
		steps = listed(g.Text)
	}
	switch {
	case len(steps) == 0:
		return none, nil, notFromNothing("epic", "neither an execution plan with stories nor a list of stories is given")
	case !isName(id):
		return none, nil, notFromNothing("epic", "it has no name that can be that of a file")
	}
	ref := reprise.Ref{Layout: playLayoutName, ID: id, Path: home(fsys) + "/epic-" + id + "-state.yaml", Kind: reprise.KindEpic}
	for _, h := range playHomes {
		if name := h + "/epic-" + id + "-state.yaml"; exists(fsys, name) {
			ref.Path = name
		}
	}
	if exists(fsys, ref.Path) {
		return ref, nil, nil
	}
	return ref, []reprise.Event{{Kind: reprise.RunStarted, At: g.Now, Actor: "po", Text: g.Path, Options: steps, Given: g.Given, Outcome: g.Mode}}, nil
}

// GivenOf implements reprise.Giver: the plan, and for each wave and story what it is
// called and who does and judges it, named as in the state: "execution_plan",
// "waves/1/name", "stories/2.1/executor"; and what must be done beside the stories.
func (Epic) GivenOf(fsys fs.FS, r *reprise.Run) (map[string]string, error) {
	f := doc.NewReader(fsys).Open(r.Path)
	if !f.OK() {
		return nil, nil
	}
	root := f.YAML()
	if inner := root.Get("epic_state", "epicState"); inner != nil {
		root = inner
	}
	out := map[string]string{}
	take := func(under string, n *doc.Node, names ...string) {
		for _, name := range names {
			if text := n.Get(name).Str(); text != "" {
				out[under+name] = text
			}
		}
	}
	take("", root, "execution_plan", "title", "branch")
	if plan := root.Get("executionPlan").Str(); plan != "" && out["execution_plan"] == "" {
		out["execution_plan"] = plan
	}
	stories := func(n *doc.Node) {
		keep := func(id string, s *doc.Node) {
			if isName(id) && s != nil && s.Kind == doc.Map {
				take("stories/"+id+"/", s, storyGiven...)
			}
		}
		for _, f := range n.Get("stories").Fields() {
			keep(f.Name, f.Value)
		}
		for _, s := range n.Get("stories").List() {
			keep(s.Get("id", "story", "story_id", "storyId").Str(), s)
		}
	}
	for _, w := range root.Get("waves").Fields() {
		take("waves/"+w.Name+"/", w.Value, "name")
		stories(w.Value)
	}
	for _, w := range root.Get("waves").List() {
		take("waves/"+w.Get("wave", "number", "id").Str()+"/", w, "name")
		stories(w)
	}
	for _, key := range []string{"prerequisites", "merge_preconditions", "owner_pending"} {
		if items := conditions(root.Get(key), r); len(items) > 0 {
			text, err := json.Marshal(items)
			if err != nil {
				return nil, fmt.Errorf("keep %s of %s: %w", key, r.ID, err)
			}
			out[key] = string(text)
		}
	}
	return out, nil
}

// conditions are what must be done beside the stories, or by a person: prerequisites
// by their names, or a list. Each is its fields, with its name or its bare text under
// "". What came of it is left out, and what was asked by whoever carried the epic on.
func conditions(n *doc.Node, r *reprise.Run) [][][2]string {
	var out [][][2]string
	add := func(head string, n *doc.Node) {
		var item [][2]string
		if head != "" {
			item = append(item, [2]string{"", head})
		}
		for _, f := range n.Fields() {
			switch {
			case f.Name == "status":
				item = append(item, [2]string{f.Name, "pending"})
			case slices.Contains(cameOf, f.Name) || !fieldName(f.Name) || f.Value.Str() == "":
			default:
				item = append(item, [2]string{f.Name, doc.Clip(f.Value.Str(), 2000)})
			}
		}
		if len(item) > 0 && len(out) < 200 && !askedHere(r, n.Get("id").Str()) {
			out = append(out, item)
		}
	}
	for _, f := range n.Fields() {
		if f.Value != nil && f.Value.Kind == doc.Map && f.Value.Has("status") {
			add(f.Name, f.Value)
		}
	}
	for _, item := range n.List() {
		add(doc.Clip(item.Str(), 2000), item)
	}
	return out
}

// cameOf are fields that tell what came of a condition.
var cameOf = []string{"answer", "answered_at", "resolved_at", "resolved_by", "started_at", "completed_at", "updated_at", "commit"}

func fieldName(s string) bool {
	return s != "" && len(s) < 60 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && strings.Trim(s, "0123456789-") != ""
}

// askedHere reports whether a question was put by whoever carries the epic on.
func askedHere(r *reprise.Run, id string) bool {
	if id == openReview || id == closeState || strings.HasPrefix(id, "gate-") || strings.HasPrefix(id, "blocked-") || strings.HasPrefix(id, "escalation-") {
		return true
	}
	return id != "" && slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == id && !q.AskedAt.IsZero() })
}

// storyGiven are the fields of a story in an epic state that are no progress.
var storyGiven = []string{"title", "executor", "quality_gate", "branch"}

// GoalOf implements reprise.Goaler: the stories of the epic, wave by wave, each
// ended by a semicolon.
func (Epic) GoalOf(_ fs.FS, r *reprise.Run) string {
	var text strings.Builder
	wave := ""
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase == "prerequisites" || !isName(s.ID) {
			continue
		}
		if s.Phase != wave && text.Len() > 0 {
			text.WriteString("; ")
		}
		wave = s.Phase
		text.WriteString(s.ID + " ")
	}
	if text.Len() == 0 {
		return ""
	}
	return text.String() + ";"
}

// listed reads stories from words: 1.1 1.2; 1.3.
func listed(text string) []string {
	var out []string
	for i, wave := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		for _, id := range strings.FieldsFunc(wave, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			if !isName(id) {
				return nil
			}
			out = append(out, fmt.Sprintf("%d: %s", i+1, id))
		}
	}
	return out
}

// readPlan reads the id and the stories, wave by wave, of an execution plan.
func readPlan(fsys fs.FS, name string) (id string, steps []string, err error) {
	r := doc.NewReader(fsys)
	f := r.Open(name)
	if !f.OK() {
		return "", nil, notFromNothing("epic", "the plan "+name+" cannot be read")
	}
	n := f.YAML()
	if n == nil || n.Kind != doc.Map {
		return "", nil, notFromNothing("epic", "the plan "+name+" cannot be understood")
	}
	if inner := n.Get("execution"); inner != nil && inner.Kind == doc.Map {
		n = inner
	}
	if id = n.Get("epicId", "epic_id", "id").Str(); id == "" {
		id = strings.TrimSuffix(strings.TrimSuffix(path.Base(name), path.Ext(name)), "-EXECUTION")
	}
	add := func(wave string, stories *doc.Node) error {
		for _, s := range planIDs(stories) {
			if !isName(s) || !isName(wave) {
				return notFromNothing("epic", fmt.Sprintf("the plan %s names a story %q of wave %q", name, doc.Clip(s, 40), doc.Clip(wave, 40)))
			}
			steps = append(steps, wave+": "+s)
		}
		return nil
	}
	waves := n.Get("waves")
	switch {
	case waves == nil:
		err = add("1", n.Get("stories"))
	case waves.Kind == doc.List:
		for i, w := range waves.Items {
			number := w.Get("wave", "number", "id").Str()
			if number == "" {
				number = fmt.Sprint(i + 1)
			}
			if err = add(number, w.Get("stories")); err != nil {
				return "", nil, err
			}
		}
	default:
		for _, w := range waves.Fields() {
			if err = add(w.Name, w.Value.Get("stories")); err != nil {
				return "", nil, err
			}
		}
	}
	return id, steps, err
}

// planIDs are the stories of a map or a list.
func planIDs(n *doc.Node) []string {
	var out []string
	for _, f := range n.Fields() {
		out = append(out, f.Name)
	}
	for _, item := range n.List() {
		if item.Kind == doc.Map {
			out = append(out, item.Get("id", "story", "story_id", "storyId").Str())
			continue
		}
		out = append(out, item.Str())
	}
	return out
}
