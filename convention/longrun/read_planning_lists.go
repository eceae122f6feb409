package longrun

import (
	"slices"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// cell is a cell of a table about phases with the heading of its column.
type cell struct {
	column string
	ledger.Text
}

// phaseRow is a row of a table that begins with a phase, as ROADMAP.md and
// STATE.md have them.
type phaseRow struct {
	phase  phaseNo
	cells  []cell
	status int  // the column of the status, -1 if there is none
	plan   int  // the column of the plan, likewise
	timed  bool // a column tells how long it took
	headed bool // the first column is headed as the phase, or "#"
}

// phaseRows reads the rows of all tables that begin with a phase, by their lines.
func phaseRows(f *doc.File, m *doc.Markdown) map[int]phaseRow {
	out := map[int]phaseRow{}
	for _, t := range m.All().Tables() {
		at := column(t.Header, slices.Concat(phaseNouns, []string{"phases", "etape", "faz"})...)
		table := phaseRow{
			status: column(t.Header, stateLabels["status"]...), plan: column(t.Header, "plan", "plano"),
			timed:  column(t.Header, "duration", "time", "dauer", "duracao", "duracion", "耗时", "시간") >= 0,
			headed: at == 0 || at > 0 && strings.TrimSpace(t.Header[0].Text) == "#",
		}
		for _, r := range t.Rows {
			row, ok := table, false
			if row.phase, ok = rowPhase(r[0].Text); !ok {
				continue
			}
			for i, c := range r {
				row.cells = append(row.cells, cell{t.Header[i].Text, ledger.Cell(f, t.Header[i].Text, c)})
			}
			out[r[0].Line] = row
		}
	}
	return out
}

// done reports whether a cell begins with a word for done. Outside the column of
// the status the word must stand alone: "Complete the checkout" is a goal.
func (r phaseRow) done() bool {
	for i, c := range r.cells[1:] {
		if startsDone(c.Value) && (r.status < 0 || r.status == i+1 || alone(c.Value)) {
			return true
		}
	}
	return false
}

// column finds the column of a table with one of the headings, -1 if none.
func column(header []doc.Cell, names ...string) int {
	return slices.IndexFunc(header, func(c doc.Cell) bool {
		return slices.ContainsFunc(names, func(name string) bool { return doc.Fold(name) == doc.Fold(c.Text) })
	})
}

// alone reports whether a cell holds one word, or one with numbers behind it.
func alone(cell string) bool {
	ws := strings.Fields(doc.Fold(cell))
	return !slices.ContainsFunc(ws[min(1, len(ws)):], func(w string) bool { return strings.Trim(w, "0123456789/.") != "" })
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

// marked reports whether a text begins with a mark for done.
func marked(text string) bool {
	return slices.ContainsFunc(doneMarks, func(m string) bool { return strings.HasPrefix(text, m) })
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

// checkbox reads `- [x] text` and `- ✅ text`. Any mark but a tick leaves it open.
func checkbox(text string) (ticked bool, rest string, ok bool) {
	c, ok := doc.TaskOf(doc.Line{Text: text})
	return c.Ticked, c.Text, ok && strings.IndexByte("-*+", text[0]) >= 0
}
