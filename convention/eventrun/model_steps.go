package eventrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// step combines what the graph and the events say about one task.
type step struct {
	reprise.Step
	node   *node
	events *task
	needs  []*step // the steps named in Needs; nil for what is not a task
	color  uint8   // its state in the search for cycles
	placed bool    // its position in the order is fixed

	// Set if the run is tracked.
	place      int
	dependents []*step
}

// ready reports whether everything a step needs is closed.
func (s *step) ready() bool {
	return !slices.ContainsFunc(s.needs, func(n *step) bool { return n == nil || !n.Status.Closed() })
}

// stepIndex finds steps by id. Models do not keep to one spelling: task-003 is TASK-003,
// if only one task has that name.
type stepIndex struct {
	exact  map[string]*step
	all    []*step
	folded map[string]*step // nil if several tasks share the name; built on demand
}

func (x *stepIndex) add(s *step) {
	x.exact[s.ID] = s
	x.all = append(x.all, s)
	if x.folded != nil {
		x.fold(s)
	}
}

func (x *stepIndex) fold(s *step) {
	f := doc.Fold(s.ID)
	if _, taken := x.folded[f]; taken {
		s = nil
	}
	x.folded[f] = s
}

func (x *stepIndex) find(id string) *step {
	if s := x.exact[id]; s != nil {
		return s
	}
	if x.folded == nil {
		x.folded = make(map[string]*step, len(x.all))
		for _, s := range x.all {
			x.fold(s)
		}
	}
	return x.folded[doc.Fold(id)]
}

// makeSteps combines graph, events and contracts into steps, in the order in which they
// would be done.
func (m *model) makeSteps() {
	index := &stepIndex{exact: make(map[string]*step, len(m.graph.nodes))}
	m.steps = make([]*step, 0, len(m.graph.nodes))
	made := make([]step, 0, len(m.graph.nodes)) // allocated at once: a graph may be large
	add := func(s *step) {
		index.add(s)
		m.steps = append(m.steps, s)
	}
	for _, n := range m.graph.nodes {
		if index.exact[n.id] != nil {
			m.r.Report(reprise.Finding{
				Code: reprise.CodeDuplicateID, Severity: reprise.Warning, Subject: n.id, Source: n.source,
				Message: fmt.Sprintf("task %q occurs twice in the graph; the first one counts", doc.Clip(n.id, 60)),
				Hint:    "give one of them another id",
			})
			continue
		}
		made = append(made, step{Step: reprise.Step{ID: n.id, Title: n.title, Phase: n.phase, Needs: n.needs, Source: n.source}, node: n})
		add(&made[len(made)-1])
	}
	left := len(m.log.tasks)
	for _, s := range m.steps {
		if t := m.log.tasks[s.ID]; t != nil {
			left--
			if t.word != nil {
				s.events = t
			}
		}
	}
	for _, id := range m.unnamed(index, left) {
		t := m.log.tasks[id]
		if t.word == nil {
			continue // mentioned in passing, without a status
		}
		s := index.find(id)
		if s == nil {
			s = &step{Step: reprise.Step{ID: id, Source: m.sourceOf(t.last)}}
			add(s)
			m.strangers = append(m.strangers, id)
		}
		if s.events == nil {
			s.events = t
		} else {
			s.events.merge(t)
		}
	}
	if m.small() {
		for _, id := range sortedKeys(m.contracts) {
			if index.exact[id] == nil {
				add(&step{Step: reprise.Step{ID: id, Source: reprise.Source{File: m.contracts[id]}}})
			}
		}
	}
	m.byID = index.exact
	for _, s := range m.steps {
		m.judge(s)
		if len(s.Needs) > 0 {
			s.needs = make([]*step, len(s.Needs))
			for i, id := range s.Needs {
				s.needs[i] = index.exact[id]
			}
		}
	}
	m.reportStrangers()
	m.checkNeeds()
	m.sortSteps()
}

// unnamed lists the n tasks from the events that match no step, in an order of their own.
func (m *model) unnamed(index *stepIndex, n int) []string {
	if n == 0 {
		return nil
	}
	out := make([]string, 0, n)
	for id := range m.log.tasks {
		if index.exact[id] == nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// eventLedger is the name of the log in claims.
const eventLedger = "events"

// judge collects the claims about a step and lets the latest event win.
func (m *model) judge(s *step) {
	s.Path = m.contracts[s.ID]
	if s.Path != "" && s.node == nil {
		s.Title = m.contractTitle(s.ID)
	}
	if m.graph.origin.File == "" { // there the file says who does it, if anyone
		s.Role = "executor"
	}
	was := s.Status
	s.Status = reprise.Pending
	defer func() {
		m.closed += count(s.Status.Closed()) - count(was.Closed())
		m.skipped += count(s.Status == reprise.Skipped) - count(was == reprise.Skipped)
	}()
	m.leave(s)
	if s.events != nil && s.events.word != nil {
		t := s.events
		s.Status, s.Attempts = t.kind.status(), t.attempts()
		s.Claims = append(s.Claims, reprise.Claim{
			Ledger: eventLedger, Status: s.Status, Word: t.word.text, Source: m.sourceOf(t.last), At: t.last.at.time(), Won: true,
		})
		switch t.kind {
		case taskImplemented:
			s.Role = "verifier"
		case taskUnknown:
			what := "is unknown here"
			if t.word.damaged {
				what = "is in a damaged place"
			}
			m.unknownWord(s.ID, t.word.text, what, m.sourceOf(t.last))
		}
	}
	if s.node == nil || s.node.status == "" {
		return
	}
	kd := taskKind(foldWord(s.node.status))
	c := reprise.Claim{Ledger: path.Base(m.graph.file), Status: kd.status(), Word: s.node.status, Source: s.node.statusAt}
	if kd == kindOther {
		c.Status = reprise.Unknown
	}
	if len(s.Claims) == 0 {
		c.Won, s.Status = true, c.Status
		if kd == taskImplemented {
			s.Role = "verifier"
		}
		if c.Status == reprise.Unknown {
			m.unknownWord(s.ID, s.node.status, "is unknown here", c.Source)
		}
	} else if drifts(s.Status, c.Status) {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: s.ID, Source: c.Source,
			Message: fmt.Sprintf("the task graph calls %s %q, its latest event is %q (%s); the event counts", s.ID, doc.Clip(c.Word, 40), s.Claims[0].Word, s.Claims[0].Source),
			Hint:    "look at the work itself if in doubt",
		})
	}
	s.Claims = append(s.Claims, c)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// drifts reports whether a graph's word contradicts the events. The graph is written
// before the work, so a word behind the events is no contradiction.
func drifts(events, graph reprise.Status) bool {
	if events == graph {
		return false
	}
	return graph != reprise.Pending && (graph != reprise.InProgress || events == reprise.Pending)
}

func (m *model) unknownWord(id, word, what string, at reprise.Source) {
	m.r.Report(reprise.Finding{
		Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: id, Source: at,
		Message: fmt.Sprintf("%q says something about task %s that %s; the task's state is unknown", doc.Clip(word, 60), doc.Clip(id, 60), what),
		Hint:    "look at the task's work and record its state",
	})
}

// reportStrangers reports tasks that only the events know. Quality tasks are added along
// the way, so this is normal if the graph was not rewritten.
func (m *model) reportStrangers() {
	if len(m.strangers) == 0 || !m.graph.exists || m.graph.damaged {
		return
	}
	id := m.strangers[0]
	m.r.Report(reprise.Finding{
		Code: reprise.CodeIntegrity, Severity: reprise.Info, Subject: id, Source: m.sourceOf(m.log.tasks[id].last),
		Message: fmt.Sprintf("the events name %s, not in the task graph: %s", counted(len(m.strangers), "task"), shortList(m.strangers)),
		Hint:    "they count as tasks of the run without dependencies",
	})
}

// checkNeeds reports dependencies that lead nowhere or form a cycle.
func (m *model) checkNeeds() {
	for _, s := range m.steps {
		for i, need := range s.Needs {
			if s.needs[i] == nil && !s.Status.Closed() {
				m.r.Report(reprise.Finding{
					Code: reprise.CodeUnknownDependency, Severity: reprise.Warning, Subject: s.ID, Source: s.Source,
					Message: fmt.Sprintf("%s waits for %q, which is not a task of this run", s.ID, doc.Clip(need, 60)),
					Hint:    "correct the dependency in the task graph",
				})
			}
		}
	}
	const (
		white = iota
		grey
		black
	)
	var trail []string
	var visit func(s *step)
	visit = func(s *step) {
		s.color = grey
		trail = append(trail, s.ID)
		for i, n := range s.needs {
			switch {
			case n == nil:
			case n.color == white:
				visit(n)
			case n.color == grey && m.cycles < 10:
				need := s.Needs[i]
				m.cycle(append(slices.Clone(trail[slices.Index(trail, need):]), need), s)
			}
		}
		trail = trail[:len(trail)-1]
		s.color = black
	}
	for _, s := range m.steps {
		if s.color == white {
			visit(s)
		}
	}
}

func (m *model) cycle(ids []string, s *step) {
	m.cycles++
	shown := ids
	if len(shown) > 12 {
		shown = append(append(slices.Clone(ids[:10]), "…"), ids[len(ids)-1])
	}
	m.r.Report(reprise.Finding{
		Code: reprise.CodeCycle, Severity: reprise.Warning, Subject: s.ID, Source: s.Source,
		Message: "tasks wait for each other: " + strings.Join(shown, " → "),
		Hint:    "remove one of these dependencies from the task graph",
	})
}

// sortSteps puts bootstrap tasks first, then follows the graph's own order as far as
// dependencies allow.
func (m *model) sortSteps() {
	rank := map[string]int{}
	for i, id := range m.graph.order {
		if _, twice := rank[id]; !twice {
			rank[id] = i + 1
		}
	}
	place := func(s *step) int {
		if len(rank) == 0 {
			return 1
		}
		if n := rank[s.ID]; n > 0 {
			return n
		}
		return len(m.graph.order) + 1
	}
	base := slices.Clone(m.steps)
	slices.SortStableFunc(base, func(a, b *step) int {
		if x, y := isBootstrap(a.ID), isBootstrap(b.ID); x != y {
			if x {
				return -1
			}
			return 1
		}
		return place(a) - place(b)
	})
	m.steps = m.steps[:0]
	var put func(s *step)
	put = func(s *step) {
		if s.placed {
			return
		}
		s.placed = true
		for _, n := range s.needs {
			if n != nil {
				put(n)
			}
		}
		m.steps = append(m.steps, s)
	}
	for _, s := range base {
		put(s)
	}
}

func (m *model) sourceOf(k key) reprise.Source {
	if int(k.file) >= len(m.files) {
		return reprise.Source{}
	}
	return reprise.Source{File: m.files[k.file], Line: int(k.line)}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// times says how often something happened.
func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func shortList(ids []string) string {
	shown := make([]string, 0, 9)
	for i, id := range ids {
		if i == 8 {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, doc.Clip(id, 60))
	}
	return strings.Join(shown, ", ")
}
