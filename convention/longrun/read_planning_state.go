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

// gsdState is what STATE.md of `.planning/` says. `Plan: X` is used only where it
// says that the plan is done: it names the last plan in most projects and the
// next one in others, and the files on disk say it better.
type gsdState struct {
	exists, ok bool
	phase      phaseNo
	phaseText  string
	status     gsdWord // the front matter's, else the body's
	front      gsdWord
	body       gsdWord
	word       string // the status as written
	source     reprise.Source
	counted    bool // its own counts say that phases are left, or it mentions a phase
	bodyWord   string
	date       time.Time
	milestone  string
	metric     map[planKey]reprise.Source
	said       map[planKey]reprise.Source
	phases     map[phaseNo]reprise.Source // that its own list of phases calls done
	open       phaseNo                    // the first that its list does not call done
	next       []planKey                  // that it names to continue with
	file       *doc.File
	md         *doc.Markdown
	stacked    bool                   // of several front matters the first is not the newest
	fields     map[string]ledger.Text // the labels of the body, by what they tell
}

// at is a value of the front matter with its place.
func (s *gsdState) at(keys ...string) ledger.Text { return ledger.Front(s.file, s.md, keys...) }

// whole reports whether STATE.md calls the whole milestone done. "Complete" in
// the body means the phase; only the front matter or a word about the milestone
// means the whole. GSD also copies the word for the phase into the front matter:
// there it means the whole unless the counts beside it say otherwise.
func (s *gsdState) whole() bool {
	return s.front == gsdMilestone || s.body == gsdMilestone || s.frontDone()
}

func (s *gsdState) frontDone() bool { return s.front == gsdDone && !s.counted }

// wholeWord is the word that calls the whole done.
func (s *gsdState) wholeWord() string {
	if s.body == gsdMilestone && s.front != gsdMilestone && !s.frontDone() {
		return s.bodyWord
	}
	return s.word
}

func (g *gsd) readState() {
	f := g.r.Open(path.Join(g.dir, "STATE.md"))
	s := &g.state
	s.exists, s.source, s.file = f.Exists(), f.At(0), f
	s.metric, s.said, s.phases = map[planKey]reprise.Source{}, map[planKey]reprise.Source{}, map[phaseNo]reprise.Source{}
	m := f.Markdown()
	if m == nil {
		return
	}
	front, fields := newestFront(f, m), readFields(f, m)
	s.md, s.fields, s.stacked = m, fields, front != m.Front
	g.statePhase(front, fields)
	g.stateStatus(f, front, fields)
	g.stateTimes(f, front, fields)
	s.milestone = cmp.Or(plainText(strings.TrimSpace(front.Get("milestone").Str()+" "+front.Get("milestone_name").Str())), plainText(fields["milestone"].Value))
	g.stateRecords(f, m, front, fields)
	if s.phase.none() && s.phaseText == "" && !s.whole() {
		s.phase = s.open
	}
	s.ok = !s.phase.none() || s.status != gsdNone || s.milestone != ""
	if !s.ok {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, 0, "STATE.md has neither a readable phase nor a readable status", "the plan and summary files are used instead")
	}
	for _, l := range m.Lines {
		if strings.HasPrefix(l.Text, "<<<<<<< ") {
			f.Report(reprise.Warning, reprise.CodeIntegrity, l.No, "STATE.md has unresolved merge conflict markers", "resolve the merge")
			break
		}
	}
}

// newestFront takes the front matter; of several stacked ones the one updated
// last.
func newestFront(f *doc.File, m *doc.Markdown) *doc.Node {
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

func (g *gsd) statePhase(front *doc.Node, fields map[string]ledger.Text) {
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
		if slices.Contains(phaseNouns, low) && i+1 < len(ws) {
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

// withoutCode drops text in back ticks and GSD commands with their number: they are
// advice about what to do, not a statement.
func withoutCode(s string) string {
	ws := strings.Fields(codeForm().ReplaceAllString(s, " "))
	isCommand := func(i int) bool { return i >= 0 && strings.HasPrefix(ws[i], "/gsd") }
	var out []string
	for i, w := range ws {
		if !isCommand(i) && !(isCommand(i-1) && doc.Digits(strings.Trim(w, ".,)"))) {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

var codeForm = doc.Pattern("(?s)`[^`]*(?:`|$)")

func (g *gsd) stateStatus(f *doc.File, front *doc.Node, fields map[string]ledger.Text) {
	s := &g.state
	node := front.Get("status")
	s.front = s.ofPhase(readGSDWord(node.Str()), node.Str())
	body := fields["status"]
	s.body = s.ofPhase(readGSDWord(body.Value), body.Value)
	s.bodyWord = body.Value
	for _, key := range []string{"phase", "plan", "milestone"} {
		if (s.body == gsdNone || s.body == gsdOther && key == "phase") && holdsDone(fields[key].Value) {
			s.body, s.bodyWord = gsdDone, fields[key].Value
		}
	}
	if text := fields["phase"].Value; s.body == gsdDone && readGSDWord(text) == gsdMilestone {
		s.body, s.bodyWord = gsdMilestone, text
	}
	if s.body == gsdNone && s.phase.none() && readGSDWord(s.phaseText) == gsdPlanning {
		s.body, s.bodyWord = gsdPlanning, s.phaseText // "None (not started)"
	}
	done, ok1 := number(textOf(child(front.Get("progress"), "completed_phases")))
	total, ok2 := number(textOf(child(front.Get("progress"), "total_phases")))
	s.counted = ok1 && ok2 && 0 < done && done < total && !lastPhase(fields["phase"].Value) || anyWord(doc.Fold(node.Str()), "phase")
	about := doc.Fold(fields["phase"].Value + " " + fields["milestone"].Value)
	if anyWord(about, "shipped") || aboutMilestone(about) {
		switch s.body {
		case gsdNone, gsdPlanning, gsdDone, gsdOther:
			s.body = gsdMilestone
		}
	}
	s.status, s.word, s.source = s.front, node.Str(), cmp.Or(node.Source(), f.At(0))
	// GSD's own word above says that work is in progress; what it waits for is below.
	waits := s.body == gsdWaiting && (s.front == gsdExecuting || s.front == gsdPaused || s.front == gsdReady)
	if s.front == gsdNone || s.front == gsdOther && s.body != gsdNone || waits {
		s.status, s.word, s.source = s.body, s.bodyWord, f.At(body.Line)
	}
	if s.front != gsdNone && s.front != gsdOther && s.body != gsdNone && s.front != s.body && !waits && !sameSense(s.front, s.body) {
		f.Report(reprise.Info, reprise.CodeStatusDrift, body.Line,
			fmt.Sprintf("STATE.md contradicts itself: %q in the front matter, %q in the body; the front matter counts", doc.Clip(node.Str(), 40), doc.Clip(body.Value, 60)), "")
	}
	p, named := phaseIn(body.Value, false)
	passed := p.compare(s.phase) < 0 && holdsDone(body.Value) // "In progress (phase 2 complete)"
	if named && !s.phase.none() && p != s.phase && s.body == gsdExecuting && !passed {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, body.Line,
			fmt.Sprintf("STATE.md is at phase %s but its status mentions phase %s", s.phase, p), "the files of the phases decide")
	}
}

// ofPhase reads a status that names another phase than the one STATE.md stands
// at: what is done is the phase before ("Phase 2 complete" at phase 3), and ready
// for a later one means that this one is done.
func (s *gsdState) ofPhase(word gsdWord, text string) gsdWord {
	p, named := phaseIn(text, false)
	if !named || s.phase.none() {
		return word
	}
	switch c := p.compare(s.phase); {
	case word == gsdDone && c < 0:
		return gsdPlanning
	case word == gsdOther && c > 0 && anyWord(doc.Fold(text), "ready for", "ready to start", "ready to begin", "proceeding to", "moving to", "moving on to"):
		return gsdDone
	}
	return word
}

// lastPhase recognises "4 of 4".
func lastPhase(text string) bool {
	nums := doc.Numbers(text)
	_, of, ok := strings.Cut(text, " of ")
	return ok && len(nums) > 1 && nums[0] == nums[1] && strings.HasPrefix(strings.TrimSpace(of), strconv.Itoa(nums[1]))
}

// sameSense: a phase can be done or executing while the milestone is either; the
// next milestone is planned when one is done, and the last phase of a milestone
// that is done may still stand as it was before.
func sameSense(a, b gsdWord) bool {
	if a > b {
		a, b = b, a
	}
	return (a == gsdDone || a == gsdPlanning) && b == gsdMilestone || a == gsdMilestone && b == gsdVerifying || a == gsdReady && b == gsdExecuting || a == gsdExecuting && b == gsdDone
}

func (g *gsd) stateTimes(f *doc.File, front *doc.Node, fields map[string]ledger.Text) {
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
