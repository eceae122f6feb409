package longrun

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// roadmap is what ROADMAP.md says: the boxes of plans and which phases it calls
// done.
type roadmap struct {
	file   string
	exists bool
	boxes  map[planKey]*box
	phases map[phaseNo]*roadmapPhase
}

type box struct {
	ticked bool
	text   string
	source reprise.Source
	lines  []int // of all its boxes
}

type roadmapPhase struct {
	done   bool
	title  string
	last   string // the title it has where it is named last
	source reprise.Source
	boxes  []int  // the lines of its boxes
	row    []cell // of the progress table

	named  [2]string // its title in headings and in boxes
	reused bool      // the number was that of another phase before
	tasks  [2]int    // boxes below its heading that are no plans: open, ticked
	needs  []phaseNo // the phases it depends on; nil where it does not say, or not in numbers alone
}

// The places a phase is named in.
const (
	inHeading = iota
	inBox
)

// name notes the title of a phase. Where the same number has another title, it
// is another phase: what was said of the first is dropped, and with it its plans.
func (r *roadmap) name(p phaseNo, title string, where int, at reprise.Source) *roadmapPhase {
	ph := r.phase(p, at)
	if otherTitle(ph.named[where], title) {
		*ph = roadmapPhase{source: at, reused: true}
		maps.DeleteFunc(r.boxes, func(k planKey, _ *box) bool { return k.phase == p })
	}
	ph.named[where], ph.last, ph.title = title, title, cmp.Or(ph.title, title)
	return ph
}

func (r *roadmap) phase(p phaseNo, at reprise.Source) *roadmapPhase {
	if r.phases[p] == nil {
		r.phases[p] = &roadmapPhase{source: at}
	}
	return r.phases[p]
}

// otherTitle reports whether two titles have no word in common.
func otherTitle(a, b string) bool {
	return shared(a, a) > 0 && shared(b, b) > 0 && shared(a, b) == 0
}

// done reports whether a phase is called done anywhere in the file.
func (r *roadmap) done(p phaseNo) bool { return r.phases[p] != nil && r.phases[p].done }

// lists reports whether the file has boxes for plans of a phase.
func (r *roadmap) lists(p phaseNo) bool {
	for k := range r.boxes {
		if k.phase == p {
			return true
		}
	}
	return false
}

func (r *roadmap) sorted() []phaseNo {
	return slices.SortedFunc(maps.Keys(r.phases), phaseNo.compare)
}

func (g *gsd) readRoadmap() {
	f := g.r.Open(path.Join(g.dir, "ROADMAP.md"))
	r := &g.road
	r.file, r.exists, r.boxes, r.phases = f.Path, f.Exists(), map[planKey]*box{}, map[phaseNo]*roadmapPhase{}
	m := f.Markdown()
	if m == nil {
		return
	}
	var current, section phaseNo // the phase of the last heading, and while its section lasts
	level, rows := 0, phaseRows(f, m)
	for _, l := range m.All().Lines() {
		text := strings.TrimSpace(l.Text)
		switch {
		case strings.HasPrefix(text, "#"):
			deep := len(text) - len(strings.TrimLeft(text, "#"))
			if p, ok := r.heading(text, f.At(l.No)); ok {
				current, section, level = p, p, deep
			} else if deep <= level {
				section = phaseNo{}
			}
		case strings.HasPrefix(text, "|"):
			if row, ok := rows[l.No]; ok {
				r.row(row, f.At(l.No))
			}
		default:
			read := r.item(text, current, f.At(l.No))
			if section.none() {
				continue
			}
			ph := r.phase(section, f.At(l.No))
			if statusDone(text) {
				ph.done = true
			}
			if needs, ok := phaseNeeds(text); ok {
				ph.needs = needs
			}
			if ticked, _, ok := checkbox(text); ok && !read {
				ph.tasks[count(ticked)]++
			}
		}
	}
	r.finishTasks()
}

// finishTasks calls a phase done that lists tasks instead of plans, and all of
// them ticked.
func (r *roadmap) finishTasks() {
	planned := map[phaseNo]bool{}
	for k := range r.boxes {
		planned[k.phase] = true
	}
	for p, ph := range r.phases {
		ph.done = ph.done || !planned[p] && ph.tasks[0] == 0 && ph.tasks[1] > 0
	}
}

// statusDone recognises `**Status:** Complete` below the heading of a phase.
func statusDone(text string) bool {
	m := statusForm().FindStringSubmatch(text)
	return m != nil && startsDone(m[1])
}

var statusForm = doc.Pattern(`(?i)^[-*_ ]*status[*_ ]*:(.*)`)

// phaseNeeds reads `**Depends on**: Phase 2, Phase 3 (for the schema)` below the
// heading of a phase. Nothing else may stand there: what is not understood could be
// another thing that the phase waits for.
func phaseNeeds(text string) (needs []phaseNo, ok bool) {
	label, value, _ := strings.Cut(text, ":")
	if label = doc.Fold(label); label != "depends on" && label != "dependencies" {
		return nil, false
	}
	value, reason, _ := strings.Cut(value, "(")
	if _, more, _ := strings.Cut(reason, ")"); strings.Trim(more, " .") != "" {
		return nil, true
	}
	needs = []phaseNo{}
	for _, w := range strings.FieldsFunc(strings.ToLower(value), func(r rune) bool { return strings.ContainsRune(" ,;+&*_", r) }) {
		p, number := parsePhase(strings.TrimRight(w, "."))
		switch {
		case number:
			needs = append(needs, p)
		case !slices.Contains([]string{"phase", "phases", "and", "nothing", "none"}, w):
			return nil, true
		}
	}
	return needs, true
}

// heading reads `### Phase 4: Name ✓`. A range of phases ("Phases 1-4") is a
// milestone and no phase.
func (r *roadmap) heading(text string, at reprise.Source) (phaseNo, bool) {
	text = strings.TrimLeft(text, "# ")
	p, rest, ok := phaseHead(text)
	if !ok {
		return p, false
	}
	if after := strings.TrimLeft(rest, " "); len(after) > 1 && strings.ContainsAny(after[:1], "-–—") {
		if nums := strings.TrimLeft(strings.TrimLeft(after, "-–—"), " "); nums != "" && nums[0] >= '0' && nums[0] <= '9' {
			return phaseNo{}, false
		}
	}
	ph := r.name(p, plainText(strings.TrimLeft(rest, ":—–- ")), inHeading, at)
	if headingDone(rest) || marked(text) {
		ph.done = true
	}
	return p, true
}

// headingDone reports whether a heading ends with a word for done or bears a
// mark of it. A word in the middle may belong to the name: "Complete checkout".
func headingDone(rest string) bool {
	low := strings.ToLower(rest)
	if strings.Contains(low, "[x]") || strings.Contains(low, "(complete") || strings.Contains(low, "(shipped") {
		return true
	}
	if slices.ContainsFunc(doneMarks, func(m string) bool { return strings.Contains(rest, m) }) {
		return true
	}
	ws := strings.Fields(doc.Fold(rest))
	for len(ws) > 1 && strings.Trim(ws[len(ws)-1], "0123456789") == "" {
		ws = ws[:len(ws)-1] // a date behind it
	}
	if n := len(ws); n > 1 {
		return ws[n-1] == "complete" || ws[n-1] == "completed" || ws[n-1] == "shipped"
	}
	return false
}

// row takes in a row of the progress table, unless it is of the phase that had
// the number before.
func (r *roadmap) row(row phaseRow, at reprise.Source) {
	ph := r.phase(row.phase, at)
	if ph.reused && shared(row.cells[0].Value, ph.last) == 0 {
		return
	}
	ph.row, ph.done = row.cells, ph.done || row.done()
}

// item reads a box: of a plan (`- [x] 05-01-PLAN.md`), of a phase, or of "Plan
// 2" below a phase's heading, and reports whether it was one. A plan listed
// twice is ticked if both boxes are.
func (r *roadmap) item(text string, current phaseNo, at reprise.Source) (read bool) {
	ticked, rest, ok := checkbox(text)
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, "[*_`~ ")
	word, _, _ := strings.Cut(rest, " ")
	low := strings.ToLower(rest)
	if strings.HasPrefix(low, "plan ") {
		word, _, _ = strings.Cut(rest[len("plan "):], " ")
	}
	if k, ok := planIn(word); ok {
		r.tick(k, ticked, rest, at)
		return true
	}
	if _, ok := cutPhaseWord(rest); ok {
		if p, after, ok := phaseHead(rest); ok {
			title, _, _ := strings.Cut(strings.TrimLeft(after, ":—–- "), "**")
			title = plainText(title)
			if old := r.phases[p]; old != nil && ticked && !old.done && len(old.boxes) > 0 && otherTitle(old.named[inBox], title) {
				return true // of an earlier milestone, kept below the present one
			}
			ph := r.name(p, title, inBox, at)
			ph.done = ph.done || ticked
			ph.boxes = append(ph.boxes, at.Line)
		}
		return true
	}
	if strings.HasPrefix(low, "plan ") && !current.none() {
		if num, suffix, ok := planName(strings.Trim(word, "*:.,_")); ok {
			r.tick(planKey{current, num, suffix}, ticked, rest, at)
			return true
		}
	}
	return false
}

func (r *roadmap) tick(k planKey, ticked bool, text string, at reprise.Source) {
	if old, twice := r.boxes[k]; twice {
		old.ticked = old.ticked && ticked
		old.lines = append(old.lines, at.Line)
		return
	}
	if i := strings.IndexAny(text, " "); i >= 0 {
		text = text[i:]
	}
	r.boxes[k] = &box{ticked: ticked, text: plainText(strings.TrimLeft(text, " :—–-*`]")), source: at, lines: []int{at.Line}}
}
