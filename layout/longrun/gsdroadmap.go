package longrun

import (
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// roadmap is what ROADMAP.md says: the boxes of plans and which phases it calls
// done.
type roadmap struct {
	exists bool
	boxes  map[planKey]box
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
	boxes  []int // the lines of its boxes
	row    int   // the line of its row in the progress table
}

func (r *roadmap) phase(p phaseNo, at reprise.Source) *roadmapPhase {
	if r.phases[p] == nil {
		r.phases[p] = &roadmapPhase{source: at}
	}
	return r.phases[p]
}

// done reports whether a phase is called done anywhere in the file.
func (r *roadmap) done(p phaseNo) bool { return r.phases[p] != nil && r.phases[p].done }

func (r *roadmap) sorted() []phaseNo {
	var out []phaseNo
	for p := range r.phases {
		out = append(out, p)
	}
	slices.SortFunc(out, phaseNo.compare)
	return out
}

func (g *gsd) readRoadmap() {
	f := g.r.Open(path.Join(g.dir, "ROADMAP.md"))
	r := &g.road
	r.exists, r.boxes, r.phases = f.Exists(), map[planKey]box{}, map[phaseNo]*roadmapPhase{}
	m := f.Markdown()
	if m == nil {
		return
	}
	var current, section phaseNo // the phase of the last heading, and while its section lasts
	level := 0
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
			r.row(text, f.At(l.No))
		default:
			r.item(text, current, f.At(l.No))
			if !section.none() && statusDone(text) {
				r.phase(section, f.At(l.No)).done = true
			}
		}
	}
}

// statusDone recognises `**Status:** Complete` below the heading of a phase.
func statusDone(text string) bool {
	text = strings.TrimLeft(text, "-*_ ")
	if len(text) < 7 || !strings.EqualFold(text[:6], "status") {
		return false
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(text[6:], "*_ "), ":")
	return ok && startsDone(value)
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
	ph := r.phase(p, at)
	ph.last = plainText(strings.TrimLeft(rest, ":—–- "))
	if ph.title == "" {
		ph.title = ph.last
	}
	if headingDone(rest) || marked(text) {
		ph.done = true
	}
	return p, true
}

// marked reports whether a text begins with a mark for done.
func marked(text string) bool {
	return slices.ContainsFunc(doneMarks, func(m string) bool { return strings.HasPrefix(text, m) })
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

// phaseHead finds the word phase with its number and returns what follows.
func phaseHead(text string) (p phaseNo, rest string, ok bool) {
	for i := range text {
		if i > 0 && isLetter(text[i-1]) {
			continue
		}
		tail, ok := cutPhaseWord(text[i:])
		if !ok {
			continue
		}
		tail = strings.TrimLeft(tail, " *")
		end := 0
		for end < len(tail) && (tail[end] >= '0' && tail[end] <= '9' || tail[end] == '.' || isLetter(tail[end]) || tail[end] == '-' && end > 0 && isLetter(tail[end-1])) {
			end++
		}
		word := strings.TrimRight(tail[:end], ".")
		if j := strings.LastIndexByte(word, '-'); j >= 0 {
			word = word[j+1:] // a project's prefix
		}
		if p, ok := parsePhase(word); ok {
			return p, tail[end:], true
		}
	}
	return phaseNo{}, "", false
}

// row reads a row of the progress table: a phase in the first cell and a word
// for done at the beginning of another one.
func (r *roadmap) row(text string, at reprise.Source) {
	cells := strings.Split(strings.Trim(text, "|"), "|")
	if len(cells) < 3 {
		return
	}
	p, ok := rowPhase(cells[0])
	if !ok {
		return
	}
	ph := r.phase(p, at)
	ph.row = at.Line
	for _, c := range cells[1:] {
		if startsDone(c) {
			ph.done = true
		}
	}
}

// rowPhase reads the phase in the first cell of a row: "3", "3. Mail", "Phase 3:
// Mail", "03-mail".
func rowPhase(cell string) (phaseNo, bool) {
	text := strings.ToLower(strings.Trim(cell, " *`"))
	if rest, ok := cutPhaseWord(text); ok {
		text = strings.TrimLeft(rest, " ")
	}
	if i := strings.IndexAny(text, " :)"); i >= 0 {
		text = text[:i]
	}
	if p, ok := parsePhase(strings.TrimRight(text, ".")); ok {
		return p, true
	}
	number, slug, _ := strings.Cut(text, "-")
	if slug == "" || slug[0] >= '0' && slug[0] <= '9' {
		return phaseNo{}, false // a range, a date
	}
	return parsePhase(number)
}

// startsDone reports whether a cell begins with a word or a mark for done.
func startsDone(cell string) bool {
	cell = strings.Trim(cell, " *")
	ws := strings.Fields(doc.Fold(cell))
	return len(ws) > 0 && slices.Contains(doneWords, ws[0]) || marked(cell)
}

// item reads a box: of a plan (`- [x] 05-01-PLAN.md`), of a phase, or of "Plan
// 2" below a phase's heading. A plan listed twice is ticked if both boxes are.
func (r *roadmap) item(text string, current phaseNo, at reprise.Source) {
	ticked, rest, ok := checkbox(text)
	if !ok {
		return
	}
	rest = strings.TrimLeft(rest, "[*_`~ ")
	word, _, _ := strings.Cut(rest, " ")
	low := strings.ToLower(rest)
	if strings.HasPrefix(low, "plan ") {
		word, _, _ = strings.Cut(rest[len("plan "):], " ")
	}
	if k, ok := planIn(word); ok {
		r.tick(k, ticked, rest, at)
		return
	}
	if _, ok := cutPhaseWord(rest); ok {
		if p, after, ok := phaseHead(rest); ok {
			ph := r.phase(p, at)
			ph.done = ph.done || ticked
			ph.boxes = append(ph.boxes, at.Line)
			title, _, _ := strings.Cut(strings.TrimLeft(after, ":—–- "), "**")
			ph.last = plainText(title)
			if ph.title == "" {
				ph.title = ph.last
			}
		}
		return
	}
	if strings.HasPrefix(low, "plan ") && !current.none() {
		if num, suffix, ok := planName(strings.Trim(word, "*:.,_")); ok {
			r.tick(planKey{current, num, suffix}, ticked, rest, at)
		}
	}
}

func (r *roadmap) tick(k planKey, ticked bool, text string, at reprise.Source) {
	if old, twice := r.boxes[k]; twice {
		old.ticked = old.ticked && ticked
		old.lines = append(old.lines, at.Line)
		r.boxes[k] = old
		return
	}
	if i := strings.IndexAny(text, " "); i >= 0 {
		text = text[i:]
	}
	r.boxes[k] = box{ticked: ticked, text: plainText(strings.TrimLeft(text, " :—–-*`]")), source: at, lines: []int{at.Line}}
}

// checkbox reads `- [x] text` and `- ✅ text`. Any mark but a tick leaves it open.
func checkbox(text string) (ticked bool, rest string, ok bool) {
	if len(text) < 5 || strings.IndexByte("-*+", text[0]) < 0 {
		return false, "", false
	}
	text = strings.TrimLeft(text[1:], " ")
	for _, sign := range []string{"✅", "☑", "✓", "✔", "☐", "⬜"} {
		if rest, ok := strings.CutPrefix(text, sign); ok {
			return sign != "☐" && sign != "⬜", strings.TrimLeft(rest, "\ufe0f "), true
		}
	}
	rest, ok = strings.CutPrefix(text, "[")
	if !ok {
		return false, "", false
	}
	mark, rest, ok := strings.Cut(rest, "]")
	if !ok || len([]rune(mark)) != 1 {
		return false, "", false
	}
	return strings.Contains("xX✓✔✅", mark), strings.TrimSpace(rest), true
}
