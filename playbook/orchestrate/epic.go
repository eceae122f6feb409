package orchestrate

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Epic is an epic: waves of stories, each story a run of its own, and gates
// between the waves.
type Epic struct{}

var _ reprise.Playbook = Epic{}

// Answers to a gate that did not let its wave pass, and about stories that are
// blocked.
const (
	gateAgain, tryAgain, skipThem = "review it again", "try again", "skip them"
)

// Pick implements reprise.Playbook: all stories of the wave that may run, or one
// gate or prerequisite alone.
func (Epic) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	var out []reprise.Unit
	for _, u := range d.Units {
		s := r.Step(u.ID)
		if s == nil || s.Phase == "prerequisites" {
			if len(out) == 0 && len(busy) == 0 {
				return []reprise.Unit{u}
			}
			return out
		}
		if len(out) > 0 && u.Phase != out[0].Phase {
			return out
		}
		if !isBlocked(s) && !slices.Contains(busy, s.ID) {
			out = append(out, u)
		}
	}
	return out
}

// Assign implements reprise.Playbook.
func (p Epic) Assign(fsys fs.FS, r *reprise.Run, u reprise.Unit) (reprise.Assignment, error) {
	s := r.Step(u.ID)
	if s != nil && s.Phase != "prerequisites" {
		return p.story(fsys, r, u, s)
	}
	role := u.Role
	if role == "" {
		role = "qa"
	}
	a := assignment(r, u, u.ID, role)
	a.Inputs = []string{r.Path}
	if s != nil {
		for _, art := range r.Artifacts {
			if art.MadeBy == u.ID && fs.ValidPath(art.Path) && art.Presence != reprise.Unchecked {
				a.Expect = append(a.Expect, reprise.Expected{Path: art.Path})
			}
		}
		if s.Title != "" {
			a.Data = append(a.Data, reprise.Data{Name: "task", Source: s.Source, Text: doc.Clip(s.Title, maxLine)})
		}
		return a, nil
	}
	wave := strings.TrimSuffix(u.Phase, " gate")
	a.Facts["gate"] = u.Phase
	for i := range r.Steps {
		if st := &r.Steps[i]; st.Path != "" && (st.Phase == wave || u.ID == "final-gate") {
			a.Inputs = append(a.Inputs, st.Path)
		}
	}
	return a, nil
}

// casting is who makes and who judges a story, where its epic names somebody else than
// the cycle does. A quality gate is somebody only with the sign of an agent: the field
// holds results, too.
func casting(fsys fs.FS, r *reprise.Run, s *reprise.Step) map[string]string {
	out := map[string]string{}
	if isName(s.Role) && s.Role != cycleRoles[implement] {
		out[cycleRoles[implement]] = s.Role
	}
	given, err := Epic{}.GivenOf(fsys, r)
	if err != nil {
		return out // the layout tells of it
	}
	gate, is := strings.CutPrefix(strings.TrimSpace(given["stories/"+s.ID+"/quality_gate"]), "@")
	if gate, _, _ = strings.Cut(gate, " "); is && isName(gate) && gate != cycleRoles[review] {
		out[cycleRoles[review]] = gate
	}
	return out
}

// story hands a story over to a run of its own: its open QA loop, else its cycle.
func (Epic) story(fsys fs.FS, r *reprise.Run, u reprise.Unit, s *reprise.Step) (reprise.Assignment, error) {
	a := assignment(r, u, s.ID, u.Role)
	name := s.Path
	if name == "" {
		for _, art := range r.Artifacts {
			if art.Name == "story "+s.ID {
				name = art.Path
			}
		}
		if !strings.Contains(name, "/") {
			if !isName(s.ID) {
				return a, fmt.Errorf("assign %s of %s: the id cannot be that of a file", s.ID, r.ID)
			}
			name = "docs/stories/" + s.ID + ".story.md"
		}
	}
	if !fs.ValidPath(name) {
		return a, fmt.Errorf("assign %s of %s: %q is no path inside the project", s.ID, r.ID, name)
	}
	a.Child = &reprise.Ref{Layout: layoutName, ID: storyID(name), Path: name, Kind: reprise.KindStory}
	for _, c := range s.Claims {
		if c.Won && c.Ledger == loopLedger {
			// Its review is on the way: that goes on, and closes the story.
			a.Child = &reprise.Ref{Layout: layoutName, ID: loopID(fsys, c.Source.File), Path: c.Source.File, Kind: reprise.KindQALoop}
		}
	}
	a.Cast = casting(fsys, r, s)
	a.Inputs = []string{name}
	a.Facts["story"] = name
	return a, nil
}

// Conclude implements reprise.Playbook. What the run of a story says of itself
// does not count, what the story says does.
func (Epic) Conclude(_ fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	s := r.Step(a.Step)
	switch {
	case r.State == reprise.Unreadable:
		return reprise.Conclusion{Problem: "the state of the epic cannot be read any more: " + r.Reason}
	case s != nil && s.Phase == "prerequisites":
		return finished(reply)
	case s != nil && !s.Status.Closed():
		return reprise.Conclusion{Problem: "the story is not done: " + s.Status.String()}
	case s != nil:
		return finished(reply)
	}
	c := judge(reply, reprise.NoRuling)
	if c.Outcome == rejected || c.Blocked {
		c = reprise.Conclusion{Outcome: rejected, Text: c.Text, Finished: true, Questions: []reprise.Asked{{
			ID: gateQuestion(r, a.Step), Subject: a.Step, Options: []string{gateAgain, acceptIt, stopIt}, Closed: true,
			Text: strings.TrimSpace(fmt.Sprintf("The gate %s was not passed. How should it go on? %s", a.Step, c.Text)),
		}}}
	}
	return c
}

// gateQuestion names the question about a gate; one that was asked and used
// before is another one.
func gateQuestion(r *reprise.Run, step string) string {
	id := "gate-" + step
	for n := 2; slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == id }); n++ {
		id = fmt.Sprintf("gate-%s.%d", step, n)
	}
	return id
}

// Settle implements reprise.Playbook.
func (p Epic) Settle(_ fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if out := p.answers(r); len(out) > 0 {
		return out, nil
	}
	if !r.State.Open() {
		return nil, nil
	}
	if out := elsewhere(r, "epic state"); len(out) > 0 {
		return out, nil
	}
	switch {
	case d.Action != reprise.Start || d.Point == nil:
	case d.Point.Phase == closing:
		if out, held := contested(r); held {
			return out, nil
		}
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed", Text: "all waves and gates are behind it"}}, nil
	case len(p.Pick(r, d, nil)) == 0:
		return p.stuck(r), nil
	}
	return nil, nil
}

// openReview is the question about an epic whose stories are done by their files
// while a QA loop of one of them was left open.
const openReview = "open-review"

// contested asks about such stories before the epic is closed; held tells that it
// is not to be closed yet.
func contested(r *reprise.Run) (ask []reprise.Event, held bool) {
	var ids []string
	for i := range r.Steps {
		if s := &r.Steps[i]; slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool {
			return c.Ledger == loopLedger && s.Status == reprise.Done && !c.Status.Closed()
		}) {
			ids = append(ids, s.ID)
		}
	}
	said := slices.ContainsFunc(r.Questions, func(q reprise.Question) bool {
		return q.ID == openReview && q.Applied && strings.HasPrefix(saidTo(q), "close")
	})
	switch {
	case len(ids) == 0 || said:
		return nil, false
	case pending(r, openReview):
		return nil, true
	}
	return []reprise.Event{{
		Kind: reprise.QuestionAsked, Question: openReview, Options: []string{"close it", "leave it open"}, Closed: true,
		Text: "The files of " + doc.Clip(strings.Join(ids, ", "), 150) + " say that they are done, while their QA loops are open. Close the epic all the same?",
	}}, true
}

// elsewhere brings a state up to stories that were closed outside of it.
func elsewhere(r *reprise.Run, ledger string) []reprise.Event {
	var out []reprise.Event
	for i := range r.Steps {
		s := &r.Steps[i]
		lags := slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Ledger == ledger && !c.Status.Closed() })
		if !s.Status.Closed() || !lags || s.Phase == "prerequisites" {
			continue
		}
		ev := reprise.Event{Kind: reprise.StepFinished, Step: s.ID, Phase: s.Phase, Actor: s.Role, Text: "completed outside this workflow"}
		if s.Status == reprise.Skipped {
			ev.Kind, ev.Text = reprise.StepSkipped, "given up outside this workflow"
		}
		out = append(out, ev)
	}
	return out
}

// stuck asks about stories that hold their wave up.
func (Epic) stuck(r *reprise.Run) []reprise.Event {
	held := blockedStories(r)
	if len(held) == 0 {
		return nil
	}
	id := "blocked-" + strings.ReplaceAll(held[0].Phase, " ", "-")
	if pending(r, id) {
		return nil
	}
	var ids []string
	for _, s := range held {
		ids = append(ids, s.ID)
	}
	return []reprise.Event{{
		Kind: reprise.QuestionAsked, Question: id, Phase: held[0].Phase, Options: []string{tryAgain, skipThem, stopIt}, Closed: true,
		Text: "Nothing of " + held[0].Phase + " can be started: blocked are " + doc.Clip(strings.Join(ids, ", "), 150) + ". How should it go on?",
	}}
}

// isBlocked reports whether the state or the story itself calls an open story
// blocked. Either is enough: only a person takes it back.
func isBlocked(s *reprise.Step) bool {
	return !s.Status.Closed() && (s.Status == reprise.Blocked ||
		slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Status == reprise.Blocked }))
}

// blockedStories are those of the first wave that has any.
func blockedStories(r *reprise.Run) []*reprise.Step {
	var out []*reprise.Step
	for i := range r.Steps {
		s := &r.Steps[i]
		if isBlocked(s) && s.Phase != "prerequisites" && (len(out) == 0 || out[0].Phase == s.Phase) {
			out = append(out, s)
		}
	}
	return out
}

// answers acts on what a person said about a gate or about blocked stories.
func (Epic) answers(r *reprise.Run) []reprise.Event {
	if out := unheard(r); len(out) > 0 {
		return out
	}
	for _, q := range unused(r) {
		gate, isGate := strings.CutPrefix(q.ID, "gate-")
		answer := saidTo(q)
		var out []reprise.Event
		switch {
		case q.ID == openReview:
		case !isGate && !strings.HasPrefix(q.ID, "blocked-"):
			continue
		case answer == stopIt:
			if r.State.Open() {
				out = ended("")
			}
		case isGate && strings.HasPrefix(answer, "accept"):
			wave, _, _ := strings.Cut(gate, "-gate")
			out = append(out, reprise.Event{Kind: reprise.PhaseEnded, Phase: strings.ReplaceAll(wave, "wave-", "wave "), Outcome: approved, Actor: "person", Text: "accepted as it is by a person"})
		case !isGate:
			for _, s := range blockedStories(r) {
				ev := reprise.Event{Kind: reprise.StepReset, Step: s.ID, Phase: s.Phase, Actor: "person"}
				if answer == skipThem {
					ev.Kind, ev.Text = reprise.StepSkipped, "skipped by a person"
				}
				out = append(out, ev)
			}
		}
		return append(out, applied(q))
	}
	return answers(r, ended)
}

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
	ref := reprise.Ref{Layout: layoutName, ID: id, Path: home(fsys) + "/epic-" + id + "-state.yaml", Kind: reprise.KindEpic}
	for _, h := range homes {
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
// "waves/1/name", "stories/2.1/executor".
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
	return out, nil
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
