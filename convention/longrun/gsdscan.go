package longrun

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// gsdPlan is one PLAN file.
type gsdPlan struct {
	id         string
	path       string
	title      string
	wave       int // -1: not declared; some projects begin with 0
	needs      []planKey
	declared   bool // depends_on is there
	human      bool // autonomous: false
	superseded string
	files      []string // files_modified
	promised   []string // must_haves.artifacts
	size       int
	source     reprise.Source
}

// gsdSummary is one SUMMARY file.
type gsdSummary struct {
	id, path string
	status   reprise.Status
	word     string
	at       time.Time
	source   reprise.Source
}

// gsdDepth bounds how deep phase folders are searched. Real ones are two deep.
const gsdDepth = 6

// notPhases are folders of `.planning/` whose plans are archived or stand
// outside the sequence of phases.
var notPhases = []string{
	"milestones", "milestone", "archive", "archived", "archives", "quick", "todos",
	"spikes", "debug", "research", "codebase", "workstreams", ".git",
}

// scan reads the phase folders below dir. phase is the phase the folder belongs
// to, inside tells whether it lies below phases/.
func (g *gsd) scan(dir string, phase phaseNo, inside bool, depth int) {
	for _, e := range g.r.Dir(dir) {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if _, left := g.left[name]; left || depth >= gsdDepth || slices.Contains(notPhases, strings.ToLower(e.Name())) {
				continue
			}
			below, in := phase, inside
			switch low := strings.ToLower(e.Name()); {
			case low == "phases" && depth == 0:
				in = true
			case low == "plans" || low == "summaries":
			default:
				if p, ok := phaseOfFolder(e.Name(), !inside && depth == 0); ok && (inside || depth == 0 || !phase.none()) {
					below = p
				}
			}
			g.scan(name, below, in, depth+1)
			continue
		}
		g.scanFile(name, e, phase, inside, depth)
	}
}

func (g *gsd) scanFile(name string, e fs.DirEntry, phase phaseNo, inside bool, depth int) {
	base := e.Name()
	if isHandoff(base) {
		g.handoffs = append(g.handoffs, handoffFile{name, phase})
		return
	}
	reportTemporary(g.r, path.Dir(name), e)
	if phase.none() && !loose(name, inside && depth == 1, depth == 0) {
		return
	}
	if k, id, ok := fileKey(name, phase, "SUMMARY"); ok {
		if g.sums[k] == nil {
			g.sums[k] = g.readGSDSummary(name, id)
		} else {
			g.twice(id, g.sums[k].path, name)
		}
		return
	}
	if k, id, ok := fileKey(name, phase, "PLAN"); ok {
		if g.plans[k] == nil {
			g.plans[k] = g.readGSDPlan(name, k, id)
		} else {
			g.twice(id, g.plans[k].path, name)
		}
		return
	}
	upper := strings.ToUpper(base)
	if strings.HasSuffix(upper, "VERIFICATION.MD") || strings.HasSuffix(upper, "UAT.MD") {
		g.checks = append(g.checks, handoffFile{name, phase})
	}
}

// loose recognises a plan or a summary that lies outside the folder of a phase
// and names it: in phases/, or at the top with both numbers or the word phase.
// A date is no phase.
func loose(name string, inPhases, atTop bool) bool {
	for _, kind := range []string{"SUMMARY", "PLAN"} {
		if k, _, ok := fileKey(name, phaseNo{}, kind); ok && k.phase.n[0] <= 1900 {
			_, named := strings.CutPrefix(strings.ToLower(path.Base(name)), "phase")
			return inPhases || atTop && (named || k.num != solePlan)
		}
	}
	return false
}

func (g *gsd) twice(id, first, second string) {
	g.r.Report(reprise.Finding{
		Code: reprise.CodeDuplicateID, Severity: reprise.Warning, Subject: id, Source: reprise.Source{File: second},
		Message: fmt.Sprintf("plan %s has two files; %s counts, this one does not", id, path.Base(first)), Hint: "rename or remove one of them",
	})
}

// supersededWords mark a plan that was taken out without being done.
var supersededWords = []string{"supersed", "abandon", "cancel", "obsolete", "dropped", "deferred", "skipped", "wont"}

func (g *gsd) readGSDPlan(name string, k planKey, id string) *gsdPlan {
	f := g.r.Open(name)
	p := &gsdPlan{id: id, path: name, wave: -1, size: len(f.Data), source: f.At(0)}
	m := f.Markdown()
	if m == nil {
		return p
	}
	front := m.Front
	if w := strings.TrimSpace(front.Get("wave").Str()); doc.Digits(w) && len(w) < 6 {
		p.wave, _ = strconv.Atoi(w)
	}
	if auto, ok := front.Get("autonomous").Bool(); ok {
		p.human = !auto
	}
	if front.Has("depends_on") {
		p.declared = true
		for _, item := range front.Get("depends_on").Strs() {
			for _, word := range strings.FieldsFunc(item, func(r rune) bool { return r == ',' || r == ' ' }) {
				if need, ok := dependency(word, k.phase); ok {
					p.needs = append(p.needs, need)
				}
			}
		}
	}
	p.files = texts(child(front, "files_modified"))
	p.promised = promised(front)
	word := doc.Fold(front.Get("status").Str())
	for _, gone := range supersededWords {
		if strings.HasPrefix(word, gone) {
			p.superseded = word
		}
	}
	if by := front.Get("superseded_by").Str(); by != "" {
		p.superseded = "superseded by " + doc.Clip(by, 40)
	}
	p.title = planTitle(m)
	return p
}

// planTitle takes the title, or the first line of the objective.
func planTitle(m *doc.Markdown) string {
	if t := m.Front.Get("title").Str(); t != "" {
		return plainText(t)
	}
	lines := m.All().Lines()
	for i, l := range lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l.Text), "<objective>")
		if !ok {
			continue
		}
		for _, next := range append([]doc.Line{{Text: rest}}, lines[i+1:min(i+4, len(lines))]...) {
			if text := strings.TrimSpace(strings.ReplaceAll(next.Text, "</objective>", "")); text != "" {
				return plainText(text)
			}
		}
	}
	return plainText(m.Title())
}

// dependency reads 05-01, 05-PLAN-01, 05-01-PLAN; a bare number is a plan of
// the same phase.
func dependency(word string, phase phaseNo) (planKey, bool) {
	word = strings.Trim(word, "\"'[]` ")
	word = strings.TrimSuffix(word, ".md")
	var ws []string
	for _, w := range words(word) {
		if !strings.EqualFold(w, "plan") && !strings.EqualFold(w, "summary") {
			ws = append(ws, w)
		}
	}
	if k, _, ok := pairIn(ws, phase); ok {
		return k, true
	}
	if len(ws) == 1 && doc.Digits(ws[0]) {
		num, suffix, ok := parsePlanNo(ws[0])
		return planKey{phase, num, suffix}, ok
	}
	return planKey{}, false
}

// readGSDSummary reads the status a summary states. Most state none: there the
// file's existence is the statement, provided that something stands in it.
func (g *gsd) readGSDSummary(name, id string) *gsdSummary {
	f := g.r.Open(name)
	s := &gsdSummary{id: id, path: name, status: reprise.Unknown, source: f.At(0)}
	m := f.Markdown()
	if m == nil {
		s.word = "unreadable"
		return s
	}
	if strings.Trim(string(f.Data), " \t\r\n\x00\ufeff") == "" {
		s.word = "empty"
		f.Report(reprise.Warning, reprise.CodeUnreadable, 0, fmt.Sprintf("the summary of %s is empty; the plan is not counted as done", id), "the write may have been cut off")
		return s
	}
	for _, key := range []string{"completed", "completed_at", "completed_date"} {
		if at := m.Front.Get(key); !at.IsNull() && at.Kind == doc.String {
			if t := anyTime(at.Text); !t.IsZero() {
				s.at = t
				g.run.Active(t, at.Source())
				break
			}
		}
	}
	status := m.Front.Get("status")
	if status.IsNull() || strings.TrimSpace(status.Str()) == "" {
		s.status, s.word = reprise.Done, "summary"
		return s
	}
	s.word, s.source = status.Str(), status.Source()
	s.status = gsdSummaryStatus(s.word)
	if s.status == reprise.Unknown {
		f.Report(reprise.Warning, reprise.CodeUnknownStatus, s.source.Line,
			fmt.Sprintf("the summary of %s has the status %s, which has no meaning here; the plan is not counted as done", id, strconv.Quote(doc.Clip(s.word, 40))), "")
	} else if !s.status.Closed() {
		f.Report(reprise.Warning, reprise.CodeStatusDrift, s.source.Line,
			fmt.Sprintf("%s has a summary that says %s; it is not counted as done", id, strconv.Quote(doc.Clip(s.word, 40))), "finish the plan, or correct the summary")
	}
	return s
}

func gsdSummaryStatus(word string) reprise.Status {
	folded := doc.Fold(word)
	starts := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(folded, w) })
	}
	switch {
	case starts("fail", "timeout", "timed out", "abort", "error"):
		return reprise.Failed
	case starts("partial", "in progress", "paused", "incomplete", "wip"):
		return reprise.InProgress
	case starts("block", "awaiting", "waiting", "checkpoint"):
		return reprise.Blocked
	case starts("skip", "cancel", "superseded", "abandon", "deferred"):
		return reprise.Skipped
	case starts("complete", "done", "success", "finished", "shipped", "passed", "verified", "implemented", "executed"), strings.Contains(word, "✅"), strings.Contains(folded, "완료"):
		return reprise.Done
	}
	return reprise.Unknown
}

// tidyKeys settles what single-number file names mean once all are known: in a
// folder with several of them they are plan numbers. An unnumbered PLAN beside
// numbered ones is an outline, and lettered ones without a summary are drafts.
func (g *gsd) tidyKeys() {
	counted := map[phaseNo]bool{}
	for _, k := range g.allKeys() {
		if k.num != solePlan && singleNumber(g.pathOf(k)) {
			counted[k.phase] = true
		}
	}
	for _, k := range g.allKeys() {
		if k.num != solePlan || !counted[k.phase] || !singleNumber(g.pathOf(k)) {
			continue
		}
		num, suffix, _ := parsePlanNo(words(path.Base(g.pathOf(k)))[0])
		to := planKey{k.phase, num, suffix}
		if p := g.plans[k]; p != nil && g.plans[to] == nil {
			delete(g.plans, k)
			p.id = to.String()
			g.plans[to] = p
		}
		if s := g.sums[k]; s != nil && g.sums[to] == nil {
			delete(g.sums, k)
			s.id = to.String()
			g.sums[to] = s
		}
	}
	numbered, listed := map[phaseNo]bool{}, map[phaseNo]bool{}
	for _, k := range g.allKeys() {
		numbered[k.phase] = numbered[k.phase] || k.num != solePlan
		listed[k.phase] = listed[k.phase] || k.num >= 0
	}
	for _, k := range g.allKeys() {
		if k.num == solePlan && numbered[k.phase] || k.num == lettered && listed[k.phase] && g.sums[k] == nil {
			delete(g.plans, k)
		}
	}
}

// meant gives the plan that a record speaks of. Where the only plan of a phase
// has no number, its first one is that plan.
func (g *gsd) meant(k planKey) planKey {
	sole := planKey{phase: k.phase, num: solePlan}
	if k.num != 0 && k.num != 1 || k.suffix != "" || g.plans[sole] == nil && g.sums[sole] == nil || g.plans[k] != nil || g.sums[k] != nil {
		return k
	}
	return sole
}

// tidyRecords brings the records of ROADMAP.md and STATE.md to the plans they
// mean. Several boxes of one phase are its parts, and none of them the whole.
func (g *gsd) tidyRecords() {
	boxes := map[phaseNo]int{}
	for k := range g.road.boxes {
		boxes[k.phase]++
	}
	for _, k := range slices.Collect(maps.Keys(g.road.boxes)) {
		if to := g.meant(k); to != k && boxes[k.phase] == 1 {
			g.road.boxes[to] = g.road.boxes[k]
			delete(g.road.boxes, k)
		}
	}
	for _, record := range []map[planKey]reprise.Source{g.state.metric, g.state.said} {
		for _, k := range slices.Collect(maps.Keys(record)) {
			if to := g.meant(k); to != k {
				record[to] = record[k]
				delete(record, k)
			}
		}
	}
}

// singleNumber recognises NN-PLAN.md and NN-SUMMARY.md.
func singleNumber(name string) bool {
	ws := words(strings.TrimSuffix(strings.ToUpper(path.Base(name)), ".MD"))
	return len(ws) == 2 && doc.Digits(ws[0]) && (ws[1] == "PLAN" || ws[1] == "SUMMARY")
}

func (g *gsd) pathOf(k planKey) string {
	if p := g.plans[k]; p != nil {
		return p.path
	}
	if s := g.sums[k]; s != nil {
		return s.path
	}
	return ""
}

// allKeys lists the plans that have a PLAN or a SUMMARY, in order.
func (g *gsd) allKeys() []planKey {
	var out []planKey
	for k := range g.plans {
		out = append(out, k)
	}
	for k := range g.sums {
		if g.plans[k] == nil {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, planKey.compare)
	return out
}
