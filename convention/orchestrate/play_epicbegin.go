package orchestrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
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
		return reprise.Ref{Layout: layoutName, ID: id, Path: g.Path, Kind: reprise.KindEpic}, nil, nil
	}
	id, steps := g.ID, []string(nil)
	if g.Path != "" {
		plan, err := planAt(fsys, g.Path)
		if err != nil {
			return none, nil, err
		}
		if steps, err = plan.steps(g.Path); err != nil {
			return none, nil, err
		}
		id = cmp.Or(id, plan.id)
	} else {
		steps = listed(g.Text)
	}
	switch {
	case len(steps) == 0:
		return none, nil, notFromNothing("epic", "neither an execution plan with stories nor a list of stories is given")
	case !isName(id):
		return none, nil, notFromNothing("epic", "it has no name that can be that of a file")
	}
	ref := reprise.Ref{Layout: layoutName, ID: id, Path: home(fsys) + "/epic-" + id + "-state.yaml", Kind: reprise.KindEpic}
	for _, h := range homes {
		if name := h + "/epic-" + id + "-state.yaml"; exists(fsys, name) {
			ref.Path = name
		}
	}
	return begun(fsys, ref, g, reprise.Event{Actor: "po", Text: g.Path, Options: steps, Given: g.Given})
}

// GivenOf implements reprise.Giver: the plan, and for each wave and story what it is
// called and who does and judges it, named as in the state: "execution_plan",
// "waves/1/name", "stories/2.1/executor"; and what must be done besides the stories.
func (Epic) GivenOf(fsys fs.FS, r *reprise.Run) (map[string]string, error) {
	e := readEpic(epicRoot(stateIn(fsys, r.Path)))
	out := map[string]string{}
	take := func(under string, at ledger.Value, names ...string) {
		for _, name := range names {
			if text := at.In(name).Plain(); text != "" {
				out[under+name] = text
			}
		}
	}
	take("", e.Value, "title", "branch")
	if plan := e.In("execution_plan", "executionPlan").Plain(); plan != "" {
		out["execution_plan"] = plan
	}
	for _, w := range e.waves {
		take("waves/"+w.name+"/", w.at, "name")
	}
	e.stories(func(_ *wave, s *waveStory) {
		if isName(s.id) {
			take("stories/"+s.id+"/", s.at, storyGiven...)
		}
	})
	for _, key := range []string{"prerequisites", "merge_preconditions", "owner_pending"} {
		if items := conditions(e.In(key), r); len(items) > 0 {
			text, err := json.Marshal(items)
			if err != nil {
				return nil, fmt.Errorf("keep %s of %s: %w", key, r.ID, err)
			}
			out[key] = string(text)
		}
	}
	return out, nil
}

// conditions are what must be done besides the stories, or by a person: prerequisites by
// name, or a list. Each is a list of fields, with its name or its bare text under "".
// Outcomes are left out, and so are questions that arose while the epic was worked on.
func conditions(list ledger.Value, r *reprise.Run) [][][2]string {
	var out [][][2]string
	for _, n := range list.Entries(1) {
		head := doc.Clip(n.Plain(), 2000)
		if list.Is(doc.Map) {
			head = n.Name
		}
		var item [][2]string
		if head != "" {
			item = append(item, [2]string{"", head})
		}
		for _, f := range n.Entries(1) {
			switch {
			case f.Name == "status":
				item = append(item, [2]string{f.Name, "pending"})
			case slices.Contains(cameOf, f.Name) || !fieldName(f.Name) || f.Plain() == "":
			default:
				item = append(item, [2]string{f.Name, doc.Clip(f.Plain(), 2000)})
			}
		}
		told := !list.Is(doc.Map) || n.Has("status")
		if told && len(item) > 0 && len(out) < 200 && !askedHere(r, n.In("id").Plain()) {
			out = append(out, item)
		}
	}
	return out
}

// cameOf are fields that tell what came of a condition.
var cameOf = []string{"answer", "answered_at", "resolved_at", "resolved_by", "started_at", "completed_at", "updated_at", "commit"}

func fieldName(s string) bool {
	return s != "" && len(s) < 60 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && strings.Trim(s, "0123456789-") != ""
}

// askedHere reports whether a question arose while the epic was worked on.
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
		if s.Phase == prerequisites.group || !isName(s.ID) {
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

// planAt reads the execution plan in a file.
func planAt(fsys fs.FS, name string) (*epicPlan, error) {
	f := doc.NewReader(fsys).Open(name)
	if !f.OK() {
		return nil, notFromNothing("epic", "the plan "+name+" cannot be read")
	}
	p := readPlan(f)
	if p == nil {
		return nil, notFromNothing("epic", "the plan "+name+" cannot be understood")
	}
	p.id = cmp.Or(p.id, strings.TrimSuffix(strings.TrimSuffix(path.Base(name), path.Ext(name)), "-EXECUTION"))
	return p, nil
}

// steps are the stories of a plan, each with its wave before it.
func (p *epicPlan) steps(name string) (out []string, err error) {
	for _, s := range p.stories {
		switch {
		case s.wave == "":
		case !isName(s.id) || !isName(s.wave):
			return nil, notFromNothing("epic", fmt.Sprintf("the plan %s names a story %q of wave %q", name, doc.Clip(s.id, 40), doc.Clip(s.wave, 40)))
		default:
			out = append(out, s.wave+": "+s.id)
		}
	}
	return out, nil
}
