package checklist

import (
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// headLine matches a line that heads what follows: all bold, or a few words with a colon. The
// value behind a colon, if there is one, is all that follows.
var headLine = doc.Pattern(`^(?:(?:\*\*|__)([^*]+?)[:：]?(?:\*\*|__)[:：]?|[*_]*([^*:：|\x60]{1,40}?)[*_]*[:：][*_]*(?:\s+(.+))?)$`)

// headOf returns the title of a line that heads what follows, "" if it does not, the value behind
// that, and its level: what follows ends at the next one that has no higher level.
func headOf(line doc.Line) (level int, title, value string) {
	it := doc.ItemOf(line.Text)
	if strings.HasPrefix(it.Bullet, "#") {
		return len(strings.TrimSpace(it.Bullet)), it.Box + it.After, ""
	}
	if it.Box != "" || !colon(it.Text) && !strings.HasPrefix(it.Text, "**") && !strings.HasPrefix(it.Text, "__") {
		return 0, "", ""
	}
	m := headLine().FindStringSubmatch(it.Text)
	if m == nil {
		return 0, "", ""
	}
	return 7 + indent(line.Text) + min(1, len(it.Bullet)), m[1] + m[2], m[3]
}

var (
	// around matches the number, the signs and the brackets around what a title says.
	around = doc.Pattern(`^[^\pL]+|\s*[(（][^()（）]*[)）]|[^\pL]+$`)
	// remains matches titles of what is left to do, folded.
	remains = doc.Pattern(`^(?:remaining|outstanding|todos|(?:what (?:is|s) |whats )(?:still )?(?:left|remaining|open)(?: to .+)?|what remains(?: to .+)?|left to do|remaining to do|still (?:to do|to be done|open|missing|left)|(?:yet )?to be done|pendientes?|(?:tareas|tarefas) pend[ie]e?nt?es|pendencias|(?:reste )?a faire|(?:noch )?offen(?:e (?:aufgaben|punkte))?|剩余(?:任务|工作)?|待办事项|未完成任务|残り|残作業|残タスク)$`)
	// spare matches titles and items of what need not be done here.
	spare = doc.Pattern(`(?i)\b(?:optional|non-?blocking|nice[- ]to[- ]have|future|later|out of scope|post-?mvp)\b`)
	// nothing matches what is written where nothing is left.
	nothing = doc.Pattern(`^[^\pL\pN]*(?:$|(?i:there (?:is|are) )?(?i:0|n/?a|th(?:is|e|ese)(?: \pL+){1,2} (?:is|are) (?:now )?(?:done|complete|completed|finished)\s*(?:$|[^\pL\pN\s])|(?:none|nothing|nil|no)(?:,? (?:is|are|else|yet|so far|more|currently|remaining|remains|left|open|outstanding|pending|to do|known|for now|at this time))*\s*(?:$|[^\pL\pN\s])|no (?:\pL+ ){0,2}(?:remain|left|open|outstanding|pending|further|more)|no (?:remaining|open|outstanding|pending|further|more|tasks|items|work|blockers)\b|(?:all|everything)\b.*\b(?:done|complete|completed|finished|implemented|closed)\b)|(?:无|沒有|没有|なし)\s*(?:$|[^\pL\pN\s]))`)
	// counts matches a value that is only a number of something.
	counts = doc.Pattern(`^[*_~≈]*\d[\d.,/]*\s*(?:%|\pL+)?\s*(?:$|[(（—–-])`)
)

// nouns are what tasks are called in a title.
var nouns = []string{"task", "tasks", "item", "items", "work", "step", "steps", "todo", "todos"}

// saysOpen reports whether a title says that what it heads is open, and nothing else.
func saysOpen(title string) bool {
	if spare().MatchString(title) {
		return false
	}
	words := strings.Fields(doc.Fold(around().ReplaceAllString(strings.Trim(title, "*_ "), "")))
	n := len(words)
	if n > 1 && slices.Contains(nouns, words[n-1]) {
		words = words[:n-1]
	}
	word := strings.Join(words, " ")
	status, known := spoken()[word]
	return remains().MatchString(word) || word == "open" && n > 1 || known && !status.Closed() && !slices.Contains(later, word)
}

// readRemaining finds what is listed as open and has no box: items, rows of tables or, where there
// are none, text.
func (o *odd) readRemaining(md *doc.Markdown) {
	lines := md.All().Lines()
	for i, line := range lines {
		level, title, value := headOf(line)
		if title == "" || !saysOpen(title) || level == 1 && value == "" {
			continue
		}
		end := i + 1
		for ; value == "" && end < len(lines); end++ {
			if next, _, _ := headOf(lines[end]); next > 0 && next <= level || level > 7 && strings.TrimSpace(lines[end].Text) != "" && indent(lines[end].Text) <= indent(line.Text) {
				break
			}
		}
		if value != "" && !counts().MatchString(value) && (doc.ItemOf(line.Text).Bullet == "" || remains().MatchString(doc.Fold(title))) {
			o.remaining([]doc.Line{{No: line.No, Text: value}})
		}
		o.remaining(lines[i+1 : end])
	}
}

// remaining reads the lines of such a part.
func (o *odd) remaining(lines []doc.Line) {
	var listed, text []doc.Line
	row, begun, boxes := 0, false, false
	least := 1 << 10 // the indentation of the first item
	for _, line := range lines {
		it := doc.ItemOf(line.Text)
		row++
		switch cells := cellsOf(line.Text); {
		case strings.Trim(line.Text, " \t-*_=>") == "":
			row = 0
			continue
		case !begun && nothing().MatchString(it.Text):
			return
		case len(cells) > 1:
			if row > 2 {
				listed = append(listed, line)
			}
		case strings.HasPrefix(it.Bullet, "#"):
			row = 0
		case it.Bullet != "":
			if least = min(least, indent(line.Text)); indent(line.Text) <= least {
				listed = append(listed, line)
			}
		case !begun:
			text = append(text, line)
		}
		begun = true
		_, box := o.boxes[line.No]
		boxes = boxes || box
	}
	if len(listed) == 0 && !boxes {
		listed = text
	}
	for _, line := range listed {
		if it := doc.ItemOf(line.Text); o.undone(line, it) {
			o.found(loose{text: unstarred(it.Text), place: place{source: o.file.At(line.No)}})
		}
	}
}

// undone reports whether a line of such a part is work that the list has nowhere else.
func (o *odd) undone(line doc.Line, it doc.Item) bool {
	_, rest := says(it.Marked())
	id, _ := o.family.match(rest)
	named := o.find(id.id)
	_, box := o.boxes[line.No]
	_, known := slices.BinarySearch(o.others, line.No)
	return !box && !slices.ContainsFunc(cellsOf(line.Text), closed) && (named == nil || named.status().Closed()) && !nothing().MatchString(it.Text) && !spare().MatchString(it.Text) && !known
}

// cellsOf returns the cells of a row of a table, or the line itself.
func cellsOf(line string) []string {
	if strings.HasPrefix(strings.TrimLeft(line, " \t>"), "|") {
		return strings.Split(strings.Trim(line, " \t>|"), "|")
	}
	return []string{line}
}

// closed reports whether a cell says that it is about something that is closed.
func closed(cell string) bool {
	text := doc.ItemOf(cell).Marked()
	status, _ := says(text)
	labelled, _ := says(strings.TrimSpace(text[len(labels().FindString(text)):]))
	return status.Closed() || labelled.Closed() || strings.HasPrefix(text, "~~")
}

// saysOpen reports whether an item says that it is open, and does not name a task of the list. The
// legend of a mark, a label with a status as its value, a count and the word that there is none are
// not items. That something is put off counts only in words that the item begins with.
func (o *odd) saysOpen(at spot) bool {
	c, f := at.item, o.family
	text := c.Marked()
	s := saidFirst(text, 0)
	todo := s.status == reprise.Pending || s.status == reprise.InProgress
	if strings.HasPrefix(c.Bullet, "#") || c.Bullet == "" && !c.Doubtful() || s.mark == "" || s.status.Closed() || !todo && (s.from > 0 || doc.Fold(s.mark) == "") {
		return false
	}
	rest := strings.TrimSpace(text[:s.from] + text[s.to:])
	if it, ok := f.match(rest); ok && !o.fresh(it.id, at.within) || !todo && spare().MatchString(rest) {
		return false
	}
	rest = strings.Trim(rest, "*_~` ")
	word, _, _ := strings.Cut(strings.NewReplacer("：", ":", "—", ":", "–", ":", " - ", ":", " -- ", ":", "=", ":", "(", ":").Replace(rest), ":")
	return word != "" && !strings.HasSuffix(rest, ":") && !nothing().MatchString(rest) && !counts().MatchString(rest) && (f.meaning(f.Stages, word) == reprise.Unknown || word == strings.ToUpper(word))
}

// termsIn returns the lines of lists whose items all begin with the word for a status and a colon,
// one of them for what is closed: they explain the words, or count by them.
func termsIn(md *doc.Markdown) map[int]bool {
	out := map[int]bool{}
	var run []int
	over := false
	for _, line := range append(md.All().Lines(), doc.Line{}) {
		it := doc.ItemOf(line.Text)
		var said []saying
		if it.Bullet != "" && it.Box == "" && colon(it.Text) {
			said = sayings(it.Marked(), false)
		}
		if len(said) > 0 && said[0].label {
			run, over = append(run, line.No), over || said[0].status.Closed()
			continue
		}
		for _, no := range run {
			out[no] = over
		}
		run, over = nil, false
	}
	return out
}
