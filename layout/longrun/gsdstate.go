package longrun

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// gsdState is what STATE.md of `.planning/` says. `Plan: X` is not used: it
// names the last plan in most projects and the next one in others, and the
// files on disk say it better.
type gsdState struct {
	exists, ok bool
	phase      phaseNo
	phaseText  string
	status     gsdWord // the front matter's, else the body's
	front      gsdWord
	body       gsdWord
	word       string // the status as written
	source     reprise.Source
	date       time.Time
	milestone  string
	metric     map[planKey]reprise.Source
	said       map[planKey]reprise.Source
	file       *doc.File
}

// whole reports whether STATE.md calls the whole milestone done. "Complete" in
// the body means the phase; only the front matter or a word about the milestone
// means the whole.
func (s *gsdState) whole() bool {
	return s.front == gsdMilestone || s.body == gsdMilestone || s.front == gsdDone
}

func (g *gsd) readState() {
	f := g.r.Open(path.Join(g.dir, "STATE.md"))
	s := &g.state
	s.exists, s.source, s.file = f.Exists(), f.At(0), f
	s.metric, s.said = map[planKey]reprise.Source{}, map[planKey]reprise.Source{}
	m := f.Markdown()
	if m == nil {
		return
	}
	front := g.newestFront(f, m)
	fields := g.bodyFields(m)
	g.statePhase(front, fields)
	g.stateStatus(f, front, fields)
	g.stateTimes(f, front, fields)
	s.milestone = plainText(strings.TrimSpace(front.Get("milestone").Str() + " " + front.Get("milestone_name").Str()))
	if s.milestone == "" {
		s.milestone = plainText(fields["milestone"].Value)
	}
	g.stateRecords(f, m, front, fields)
	s.ok = !s.phase.none() || s.status != gsdNone || s.milestone != ""
	if !s.ok {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, 0, "STATE.md holds neither a phase nor a status that could be read", "the plan and summary files are used instead")
	}
	for _, l := range m.Lines {
		if strings.HasPrefix(l.Text, "<<<<<<< ") {
			f.Report(reprise.Warning, reprise.CodeIntegrity, l.No, "STATE.md holds the marks of a merge that was not resolved", "resolve the merge")
			break
		}
	}
}

// newestFront takes the front matter; of several stacked ones the one updated
// last.
func (g *gsd) newestFront(f *doc.File, m *doc.Markdown) *doc.Node {
	front, all := m.Front, m.MoreFront
	if lost := headlessFront(m); lost != nil {
		all = append(slices.Clone(all), lost)
	}
	for _, more := range all {
		if more.Get("last_updated").Str() > front.Get("last_updated").Str() {
			front = more
		}
	}
	if len(all) > 0 {
		f.Report(reprise.Warning, reprise.CodeIntegrity, 0, fmt.Sprintf("STATE.md has %d front matters; the newest counts", len(all)+1), "remove the old ones")
	}
	return front
}

// headlessFront reads a second front matter that lost its opening fence: keys
// right behind the first one, up to a line of dashes. Only its own scalars are
// taken, not what is nested below them.
func headlessFront(m *doc.Markdown) *doc.Node {
	if m.Front == nil {
		return nil
	}
	lost := &doc.Node{Kind: doc.Map}
	for _, l := range m.Lines {
		text := strings.TrimRight(l.Text, " \t")
		key, value, ok := strings.Cut(text, ":")
		switch {
		case text == "":
		case text == "---" && len(lost.Keys) > 1:
			return lost
		case text[0] == ' ' && len(lost.Keys) > 0:
		case !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "":
			return nil
		default:
			value = strings.Trim(strings.TrimSpace(value), "\"'")
			lost.Keys = append(lost.Keys, doc.Field{Name: key, Line: l.No, Value: &doc.Node{Kind: doc.String, Text: value, Line: l.No}})
		}
	}
	return nil
}

// stateLabels are the labels of the body by what they tell.
var stateLabels = map[string][]string{
	"phase":     {"Phase", "Current Phase", "Active Phase"},
	"plan":      {"Plan", "Current Plan"},
	"status":    {"Status", "Current Status", "Phase Status", "Project Status"},
	"activity":  {"Last activity", "Last_activity"},
	"stopped":   {"Stopped at"},
	"focus":     {"Current focus"},
	"session":   {"Last session", "Last updated"},
	"milestone": {"Milestone", "Current Milestone"},
}

// bodyFields looks for each label in the section about the position first and
// in the whole body after that.
func (g *gsd) bodyFields(m *doc.Markdown) map[string]doc.Label {
	var scopes []doc.Section
	for _, sec := range m.Sections() {
		title := doc.Fold(sec.Title)
		if strings.HasPrefix(title, "current position") || strings.HasPrefix(title, "current state") || strings.HasPrefix(title, "current status") {
			scopes = append(scopes, sec)
			break
		}
	}
	scopes = append(scopes, m.All())
	out := map[string]doc.Label{}
	for _, scope := range scopes {
		labels := statements(scope)
		for key, names := range stateLabels {
			if _, found := out[key]; found {
				continue
			}
			if l, ok := pick(labels, names...); ok {
				out[key] = l
			}
		}
	}
	return out
}

func (g *gsd) statePhase(front *doc.Node, fields map[string]doc.Label) {
	s := &g.state
	text := front.Get("current_phase", "active_phase").Str()
	if text == "" {
		text = fields["phase"].Value
	}
	if text == "" {
		text = front.Get("phase").Str()
	}
	s.phaseText = text
	s.phase, _ = phaseIn(text, true)
	if text != "" {
		return
	}
	for _, key := range []string{"focus", "stopped", "activity", "status"} {
		if p, ok := phaseIn(fields[key].Value, false); ok {
			s.phase = p
			return
		}
	}
}

// phaseIn finds the phase a text names: at its beginning, if leading allows it,
// or behind the word phase. Commands, versions and dates are no phases.
func phaseIn(text string, leading bool) (phaseNo, bool) {
	ws := strings.Fields(withoutCode(text))
	number := func(w string) (phaseNo, bool) {
		w, _, _ = strings.Cut(w, "/") // 3/5
		w = strings.TrimFunc(w, func(r rune) bool { return !strings.ContainsRune("0123456789.-", r) && !(r < 128 && isLetter(byte(r))) })
		w = strings.Trim(w, ".-")
		for i, part := range words(w) {
			if p, ok := parsePhase(part); ok {
				if len(part) == 4 && strings.Count(w, "-") == 2 {
					return phaseNo{}, false // a date
				}
				return p, true
			}
			if i > 0 {
				break
			}
		}
		return phaseNo{}, false
	}
	first := slices.IndexFunc(ws, func(w string) bool { return doc.Fold(w) != "" }) // not an emoji
	for i, w := range ws {
		low := strings.ToLower(strings.Trim(w, "*_:(),.—–-[]"))
		if low == "phase" && i+1 < len(ws) {
			if p, ok := number(ws[i+1]); ok {
				return p, true
			}
		}
		if i == first && leading {
			if p, ok := number(w); ok {
				return p, true
			}
		}
	}
	return phaseNo{}, false
}

// withoutCode drops text in back ticks and GSD commands: they are advice about
// what to do, not a statement.
func withoutCode(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(s, "`") {
		if i%2 == 0 {
			b.WriteString(part)
			b.WriteByte(' ')
		}
	}
	ws := strings.Fields(b.String())
	out := ws[:0]
	skipNumber := false
	for _, w := range ws {
		if strings.HasPrefix(w, "/gsd") {
			skipNumber = true
			continue
		}
		if skipNumber && allDigits(strings.Trim(w, ".,)")) {
			skipNumber = false
			continue
		}
		skipNumber = false
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func (g *gsd) stateStatus(f *doc.File, front *doc.Node, fields map[string]doc.Label) {
	s := &g.state
	node := front.Get("status")
	s.front = readGSDWord(node.Str())
	body := fields["status"]
	s.body = readGSDWord(body.Value)
	for _, key := range []string{"phase", "plan", "milestone"} {
		if s.body == gsdNone && holdsDone(fields[key].Value) {
			s.body = gsdDone
		}
	}
	about := strings.ToLower(fields["phase"].Value + " " + fields["milestone"].Value)
	if strings.Contains(about, "shipped") || strings.Contains(about, "between milestones") || strings.Contains(about, "none (") {
		switch s.body {
		case gsdNone, gsdPlanning, gsdDone, gsdOther:
			s.body = gsdMilestone
		}
	}
	s.status, s.word, s.source = s.front, node.Str(), orSource(node.Source(), f.At(0))
	if s.front == gsdNone {
		s.status, s.word, s.source = s.body, body.Value, f.At(body.Line)
	}
	if s.front != gsdNone && s.body != gsdNone && s.front != s.body && !sameSense(s.front, s.body) {
		f.Report(reprise.Info, reprise.CodeStatusDrift, body.Line,
			fmt.Sprintf("STATE.md disagrees with itself: %q above, %q below; the front matter counts", doc.Clip(node.Str(), 40), doc.Clip(body.Value, 60)), "")
	}
	if p, ok := phaseIn(body.Value, false); ok && !s.phase.none() && p != s.phase && s.body == gsdExecuting {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, body.Line,
			fmt.Sprintf("STATE.md stands at phase %s and its status speaks of phase %s", s.phase, p), "the files of the phases decide")
	}
}

// sameSense: a phase can be done or executing while the milestone is either.
func sameSense(a, b gsdWord) bool {
	if a > b {
		a, b = b, a
	}
	return a == gsdDone && b == gsdMilestone || a == gsdReady && b == gsdExecuting || a == gsdExecuting && b == gsdDone
}

func (g *gsd) stateTimes(f *doc.File, front *doc.Node, fields map[string]doc.Label) {
	note := func(t time.Time, at reprise.Source) {
		if t.After(g.state.date) {
			g.state.date = t
		}
		g.run.Active(t, at)
	}
	for _, key := range []string{"last_updated", "last_activity"} {
		if n := front.Get(key); !n.IsNull() && n.Kind != doc.Map && n.Kind != doc.List {
			note(anyTime(n.Text), n.Source())
		}
	}
	for _, key := range []string{"activity", "session"} {
		note(anyTime(fields[key].Value), f.At(fields[key].Line))
	}
}

// stateRecords collects the plans STATE.md records as finished: rows of its
// metrics (`| Phase 05-x P01 | 2min |`) and "Completed 05-01" in its prose.
func (g *gsd) stateRecords(f *doc.File, m *doc.Markdown, front *doc.Node, fields map[string]doc.Label) {
	s := &g.state
	for _, l := range m.All().Lines() {
		cell, ok := strings.CutPrefix(strings.TrimSpace(l.Text), "|")
		if !ok {
			continue
		}
		cell, _, _ = strings.Cut(cell, "|")
		ws := strings.Fields(strings.Trim(cell, " *"))
		if len(ws) < 2 {
			continue
		}
		last := ws[len(ws)-1]
		if last[0] != 'P' && last[0] != 'p' {
			continue
		}
		num, suffix, ok := parsePlanNo(last[1:])
		if phase, found := phaseIn(cell, true); ok && found {
			s.metric[planKey{phase, num, suffix}] = f.At(l.No)
		}
	}
	note := func(text string, line int) {
		for _, k := range completedIn(text) {
			s.said[k] = f.At(line)
		}
	}
	for _, key := range []string{"activity", "stopped", "plan"} {
		note(fields[key].Value, fields[key].Line)
	}
	for _, key := range []string{"stopped_at", "last_activity"} {
		if n := front.Get(key); !n.IsNull() && n.Kind == doc.String {
			note(n.Text, n.Line)
		}
	}
}

// completedIn finds "Completed 05-01-PLAN.md": a plan right behind a word for
// done. "05-01 complete" is left to the ledgers that are written for it.
func completedIn(text string) []planKey {
	var out []planKey
	ws := strings.Fields(text)
	for i, w := range ws {
		switch doc.Fold(w) {
		case "complete", "completed", "finished", "완료":
		default:
			continue
		}
		for j := i + 1; j < min(i+3, len(ws)); j++ {
			if k, ok := planIn(ws[j]); ok {
				out = append(out, k)
				break
			}
		}
	}
	return out
}

// planIn reads a word such as 05-01, 05-01-PLAN.md or 05-slug-05-02.
func planIn(word string) (planKey, bool) {
	word = strings.Trim(word, "*_`\"'():;,.[]")
	word = strings.TrimSuffix(word, ".md")
	var ws []string
	for _, w := range words(word) {
		if !strings.EqualFold(w, "plan") && !strings.EqualFold(w, "summary") {
			ws = append(ws, w)
		}
	}
	k, _, ok := pairIn(ws, phaseNo{})
	if ok && k.phase.depth == 1 && k.phase.n[0] > 1900 {
		return planKey{}, false // a date
	}
	return k, ok
}
