package orchestrate

import (
	"cmp"
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

// givenState is the name under which a fresh start gets the state as it was.
const givenState = "state"

// GivenOf implements reprise.Giver: the state itself, of which a fresh start keeps what
// there is to do.
func (Epic) GivenOf(fsys fs.FS, r *reprise.Run) (map[string]string, error) {
	if f := doc.NewReader(fsys).Open(r.Path); f.OK() && !ledger.Found(r.Findings, r.Path, reprise.CodeSalvaged, reprise.CodeUnreadable) {
		return map[string]string{givenState: string(f.Data)}, nil
	}
	return nil, nil
}

// askedHere reports whether a question arose while the epic was worked on.
func askedHere(id string) bool {
	return slices.Contains([]string{openReview, closeState}, id) || slices.ContainsFunc([]string{"gate-", "blocked-", "escalation-"}, func(head string) bool { return strings.HasPrefix(id, head) })
}

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
