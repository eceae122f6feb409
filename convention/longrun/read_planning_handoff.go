package longrun

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// handoffFile is a file with the phase of the folder it lies in.
type handoffFile struct {
	path  string
	phase phaseNo
}

// handoff is what HANDOFF.json or a .continue-here file says: written on
// purpose when someone pauses, and removed when the work is resumed.
type handoff struct {
	file      string
	at        time.Time
	phase     phaseNo
	key       planKey  // of the plan it names
	named     bool     // it names one
	plan      *plan    // that plan, nil if it names none that can be meant
	tasks     []string // what it says of those that are done
	task      string
	total     int
	completed int
	counted   bool
	commits   []string
	status    string
	next      string
	asks      []reprise.Question // what a person must do or answer
	places    []ledger.Value     // where each of them stands
	keys      []string           // the key of the text of each, in a map
	root      ledger.Value       // of HANDOFF.json
	nameless  int                // of them without an id
	source    reprise.Source
}

// open lists the matters that are not settled.
func (h *handoff) open() (out []reprise.Question) {
	for _, q := range h.asks {
		if !q.Answered {
			out = append(out, q)
		}
	}
	return out
}

// judgeHandoffs reads all hand-offs. The newest is looked at; it is stale if it
// is older than STATE.md, if its phase is finished or if its plan is done or was skipped.
func (g *gsd) judgeHandoffs() {
	if path.Base(g.dir) == planningDir {
		// The place of older versions: the top of the project.
		for _, name := range []string{".continue-here.md", ".continue-here"} {
			file := path.Join(path.Dir(g.dir), name)
			if g.r.Exists(file) {
				g.handoffs = append(g.handoffs, handoffFile{file, phaseNo{}})
			}
		}
	}
	var list []*handoff
	for _, f := range g.handoffs {
		if h := g.readHandoff(f); h != nil {
			if k := g.meant(h.key); h.named && (k.num != 0 || g.plans[k] != nil) { // else before the first one
				h.plan = g.look(k)
			}
			list = append(list, h)
			g.run.Active(h.at, h.source)
		}
	}
	slices.SortStableFunc(list, func(a, b *handoff) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.file, b.file))
	})
	for i, h := range list {
		why := g.staleHandoff(h)
		if i > 0 && why == "" {
			why = "a newer one is there"
		}
		if i > 0 || why != "" {
			report(g.r, reprise.Info, reprise.CodeSuperseded, path.Base(h.file), h.source, "this hand-off is out of date: "+why, "it can be removed")
			continue
		}
		g.hand = h
		g.useHandoff(h)
	}
}

func (g *gsd) staleHandoff(h *handoff) string {
	day := 24 * time.Hour
	finished := func(p phaseNo) bool {
		if len(within(g.live, p)) > 0 || slices.ContainsFunc(within(g.plans.sorted(), p), (*plan).unwritten) {
			return false
		}
		return g.started(p) || g.road.done(p)
	}
	switch {
	case h.plan != nil && h.plan.skipped():
		return "plan " + h.plan.id + " was skipped"
	case h.plan != nil && (h.plan.done || h.plan.recorded):
		return "plan " + h.plan.id + " is done"
	case !h.at.IsZero() && !g.state.date.IsZero() && h.at.Truncate(day).Before(g.state.date.Truncate(day)):
		return fmt.Sprintf("it is of %s, STATE.md of %s", h.at.Format(time.DateOnly), g.state.date.Format(time.DateOnly))
	case !h.phase.none() && finished(h.phase):
		return g.phaseName(h.phase) + " is finished"
	}
	return ""
}

// useHandoff puts the plan it names first, else the first of its phase.
func (g *gsd) useHandoff(h *handoff) {
	name := path.Base(h.file)
	switch {
	case h.plan != nil && slices.Contains(g.open, h.plan) && !h.plan.recorded:
		g.promote(h.plan, "named by "+name)
	case !h.phase.none() && h.phase != g.current && len(within(g.live, h.phase)) > 0:
		if l := g.lineUp(h.phase); len(l.now) > 0 {
			g.promote(l.now[0], "of the phase named by "+name)
		}
	}
	g.offered = g.offered[:min(len(g.offered), maxOffered)]
	g.run.Questions = append(g.run.Questions, h.asks...)
	for _, q := range h.open() {
		warn(g.r, reprise.CodePendingQuestion, name, q.Source, fmt.Sprintf("a person is needed: %s", strconv.Quote(doc.Clip(q.Text, 160))), "settle it before you continue")
	}
}

func (g *gsd) readHandoff(file handoffFile) *handoff {
	f := g.r.Open(file.path)
	h := &handoff{file: file.path, phase: file.phase, source: f.At(0)}
	if strings.HasSuffix(file.path, ".json") {
		n := f.JSON()
		if n == nil || n.Kind != doc.Map {
			if n != nil {
				f.Lost(reprise.CodeWrongType, n.Line, "a hand-off must be a map; it is ignored", "")
			}
			return nil
		}
		h.root = ledger.Root(f, n)
		h.fromNode(n, f)
		if h.at.IsZero() && !h.named && h.task == "" && h.status == "" && h.next == "" && len(h.asks) == 0 {
			f.Lost(reprise.CodeUnreadable, n.Line, "contains nothing of a hand-off", "look at the file by hand")
		}
		return h
	}
	m := f.Markdown()
	if m == nil {
		return nil
	}
	h.fromMarkdown(m, f)
	return h
}

func (h *handoff) fromNode(n *doc.Node, f *doc.File) {
	for _, key := range []string{"timestamp", "paused_at", "updated_at", "last_updated", "created_at", "date"} {
		if h.at = lenientTime(n.Get(key)); !h.at.IsZero() {
			break
		}
	}
	h.standing(n)
	if list := n.Get("completed_tasks"); !list.IsNull() && list.Kind == doc.List {
		h.counted = true
		h.countTasks(list.Items)
	}
	h.next = n.Get("next_action").Str()
	h.readAsks(n, f, "blockers", "description", "blocker", "text")
	h.readAsks(n, f, humanActions, "action", "description", "text")
	for _, list := range []string{"questions", "open_questions"} {
		if n.Has(list) {
			h.readAsks(n, f, list, "question", "text", "description")
			break
		}
	}
}

// countTasks counts what is done of the tasks. A task that is listed in several
// parts is one, and not done before all of them are.
func (h *handoff) countTasks(items []*doc.Node) {
	done := map[string]bool{}
	for i, item := range items {
		id, ok := strconv.Itoa(i)+" without id", true
		h.tasks = append(h.tasks, taskText(item))
		if item.Kind == doc.Map {
			if named := textOf(item.Get("id")); named != "" {
				id = named
			}
			if word := doc.Fold(item.Get("status").Str()); word == "in progress" || word == "partial" {
				ok = false
			} else if sha := item.Get("commit").Str(); sha != "" {
				h.commits = append(h.commits, sha)
			}
		}
		if before, known := done[id]; known {
			ok = ok && before
		}
		done[id] = ok
	}
	for _, ok := range done {
		h.completed += count(ok)
	}
}

// taskText is what a hand-off says of a task that is done.
func taskText(item *doc.Node) string {
	if item.Kind != doc.Map {
		return item.Str()
	}
	var words []string
	for _, key := range []string{"id", "name", "status", "commit"} {
		if n := item.Get(key); !n.IsNull() && n.Text != "" {
			words = append(words, key+" "+n.Text)
		}
	}
	return strings.Join(words, ", ")
}

// humanActions is the list of what a person has to do themselves.
const humanActions = "human_actions_pending"

// readAsks reads one of the lists of what a person must do. Items are texts or
// maps; one that is not blocking and not answered is left out, and so is a
// technical one with a way around it, which is the executor's.
func (h *handoff) readAsks(n *doc.Node, f *doc.File, list string, keys ...string) {
	for i, item := range n.Get(list).List() {
		q := reprise.Question{Subject: "hand-off", AskedAt: h.at, Source: f.At(item.Line)}
		if item.Kind == doc.Map {
			q.Text, q.Answer, q.ID = item.Get(keys...).Str(), textOf(item.Get("answer")), textOf(item.Get("id"))
			q.Note = textOf(item.Get("note"))
			if list == humanActions && !item.Has("options") {
				q.HumanAction()
			}
			if q.Postpones(q.Answer) {
				q.Note, q.Answer = cmp.Or(q.Note, q.Answer), ""
			}
			q.Applied = textOf(item.Get("applied")) == "true"
			q.Answered = q.Answer != "" || q.Applied
			if blocking, ok := item.Get("blocking").Bool(); ok && !blocking && !q.Answered {
				continue
			}
			if doc.Fold(textOf(item.Get("type"))) == "technical" && !placeholder(textOf(item.Get("workaround"))) && !q.Answered {
				continue
			}
		} else {
			q.Text = item.Str()
			if list == humanActions {
				q.HumanAction()
			}
		}
		if placeholder(q.Text) {
			continue
		}
		if q.ID == "" {
			h.nameless++
			q.ID = fmt.Sprintf("handoff-%d", h.nameless)
		}
		h.asks = append(h.asks, q)
		h.places = append(h.places, h.root.In(list).Item(i))
		h.keys = append(h.keys, keys[0])
	}
}

func (h *handoff) fromMarkdown(m *doc.Markdown, f *doc.File) {
	front := m.Front
	h.at = lenientTime(front.Get("last_updated"))
	if h.at.IsZero() {
		h.at, _ = doc.FindTime(m.All().Text())
	}
	h.standing(front)
	_, rest, ok := strings.Cut(m.All().Text(), "<next_action>")
	if ok {
		h.next, _, _ = strings.Cut(rest, "</next_action>")
	} else if s, found := m.Section("Next Action", "Next Actions", "Next Step", "Next Steps", "Next", "What's next", "Próximo passo", "Próximos passos", "Siguiente paso", "Nächster Schritt", "下一步"); found {
		h.next = s.Text()
	}
	h.next = strings.TrimSpace(h.next)
	if front == nil && strings.HasPrefix(string(f.Data), "---") {
		f.Report(reprise.Warning, reprise.CodeUnreadable, 1, "the front matter of this hand-off has no end", "the write may have been cut off")
	}
}

// standing reads where the work stood, from HANDOFF.json or a front matter.
func (h *handoff) standing(n *doc.Node) {
	h.place(n.Get("phase").Str(), n.Get("plan").Str())
	h.task, h.status = n.Get("task").Str(), n.Get("status").Str()
	if t := n.Get("total_tasks"); !t.IsNull() && doc.Digits(t.Text) {
		h.total, _ = t.Int()
	}
}

// place reads phase and plan. The phase may be a number, a name that begins
// with one, or a word without any (work before the first phase); plan may be
// missing.
func (h *handoff) place(phase, plan string) {
	if p, ok := phaseOfFolder(strings.TrimSpace(phase), false); ok && phase != "" {
		h.phase = p
	}
	if k, ok := planIn(plan); ok {
		h.key, h.named, h.phase = k, true, k.phase
		return
	}
	if nums := doc.Numbers(plan); len(nums) > 0 && !h.phase.none() {
		h.key, h.named = planKey{phase: h.phase, num: nums[len(nums)-1]}, true
	}
}

// judgeAgent decides whether current-agent-id.txt can be believed: it needs an
// entry in the history that is not closed and whose plan is open. In every other
// case it is a leftover; most are, for weeks after the work was done.
func (g *gsd) judgeAgent() {
	a := g.agent
	if !a.marker {
		return
	}
	g.run.Owner = a.owner()
	stale := func(why string) { g.r.Report(a.markerFinding(true, why)) }
	if a.entry == nil {
		if len(g.filed) == 0 && !g.state.exists {
			if k, ok := planInMarker(a.id); ok {
				// Nothing else names it, and the id contains its plan.
				g.add(g.look(k), "named only by the id of the agent that was working")
				g.r.Report(a.markerFinding(false, a.why+"; its id names plan "+k.String()))
				return
			}
		}
		stale(a.why)
		return
	}
	e := a.entry
	k, ok := g.entryPlan(e)
	switch p := g.look(k); {
	case e.status != reprise.InProgress:
		f := a.markerFinding(true, fmt.Sprintf("its entry says %q", doc.Clip(e.word, 40)))
		f.Severity = reprise.Info // the agent's own entry agrees
		g.r.Report(f)
	case !ok:
		stale("its entry names no plan")
	case p.done:
		stale("plan " + p.id + " has a summary")
	case p.recorded || p.ticked():
		stale("plan " + p.id + " is ticked off in ROADMAP.md")
	case p.path == "" && slices.ContainsFunc(g.filed, func(p *plan) bool { return p.path != "" }):
		stale("there is no plan " + k.String())
	default:
		g.agentPlan = p
		at := doc.Clip(e.word, 40)
		if e.segment != "" {
			at += ", segment " + doc.Clip(e.segment, 20)
		}
		g.promote(p, fmt.Sprintf("agent %s worked on it (%s)", doc.Clip(a.id, 40), at))
		g.r.Report(a.markerFinding(false, fmt.Sprintf("its entry for plan %s says %q and there is no summary", k, doc.Clip(e.word, 40))))
	}
}

// entryPlan reads phase and plan of an entry: phase "03", "15.4", "03-name" or
// "idi-02".
func (g *gsd) entryPlan(e *agentEntry) (planKey, bool) {
	phase, ok := phaseOfFolder(e.phase, false)
	if k, whole := planIn(e.plan); whole {
		return g.meant(k), true
	}
	num, suffix, numOK := planName(strings.TrimSpace(e.plan))
	if !numOK {
		if nums := doc.Numbers(e.plan); len(nums) > 0 {
			num, numOK = nums[0], true
		}
	}
	return g.meant(planKey{phase, num, suffix}), ok && numOK
}

// planInMarker reads ids such as phase7-plan02-1780361661 and 23-01-1772315649.
func planInMarker(id string) (planKey, bool) {
	ws := words(strings.ToLower(id))
	for i := range ws {
		ws[i] = strings.TrimPrefix(strings.TrimPrefix(ws[i], "phase"), "plan")
	}
	ws = slices.DeleteFunc(ws, func(w string) bool { return w == "" })
	if len(ws) < 2 {
		return planKey{}, false
	}
	phase, ok1 := parsePhase(ws[0])
	num, suffix, ok2 := parsePlanNo(ws[1])
	return planKey{phase, num, suffix}, ok1 && ok2 && num < 1000
}
