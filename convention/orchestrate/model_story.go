package orchestrate

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// headLines is how many lines of the body count as the head of a story. Below
// it "Status:" is mostly text about something else.
const headLines = 40

// closingLines is how far from the end a closing status line may stand.
const closingLines = 12

// field is one place in a story that gives its status.
type field struct {
	class   class
	word    string
	line    int
	head    bool // in the front matter or the head of the body
	heading bool // under or in a heading "Status"
	front   bool
	closing bool // among the last lines of the file
	fenced  bool // in a block of YAML in the head

	place ledger.Value // of a field in the front matter, or of a story in YAML
	boxes []doc.Check  // of a list of statuses
}

// storyDoc is a story file as it was read; nil stands for one that was not.
type storyDoc struct {
	path   string
	title  string
	fields []field
	ticked int // boxes outside the status list
	boxes  int
	// worked is how many boxes of its tasks and criteria are ticked, of work.
	// Boxes elsewhere (is it ready, is it done) may be ticked while
	// planning, or never.
	worked, work int
	unticked     []doc.Check // those that are not
	// unmet and review are what it says of criteria that are not met, and of reviews since one
	// passed
	unmet, review []say
	// criteria: the file has acceptance criteria or tasks of its own
	criteria bool
	// form: it has sections for criteria or tasks, and all of them are empty: the story
	// is not written yet
	form bool
	// waits names a dependency that the story itself calls pending and blocking
	waits     string
	waitsLine int
	epicLink  string // the epic's file as linked from the head, relative to the tree
	dates     []dated
	files     []string // what its file list names
	branch    string   // as named in its head
	file      *doc.File
}

// readStory reads a story file, in Markdown or in the older YAML form. It
// returns nil if the file was not read; that is reported.
func readStory(r *doc.Reader, name string) *storyDoc { return storyOfFile(r.Open(name)) }

func storyOfFile(f *doc.File) *storyDoc {
	if !f.OK() {
		return nil
	}
	s := &storyDoc{path: f.Path, file: f, dates: dates(f.Data)}
	if isYAML(f.Path) {
		n := f.YAML()
		s.readFront(ledger.Root(f, n))
		s.criteria = n.Has("acceptance_criteria") || n.Has("acceptanceCriteria") || n.Has("tasks")
	} else {
		m := f.Markdown()
		s.title = m.Title()
		s.readFront(ledger.Root(f, m.Front))
		s.readBody(m)
	}
	if s.title == "" && len(s.fields) == 0 && s.boxes == 0 && !s.criteria {
		f.Lost(reprise.CodeUnreadable, 0, "nothing of the story is left: no title, status or tasks", "restore the story from git or a backup; remove the file if there never was one")
	}
	return s
}

// innerStory is the key under which front matter and old YAML stories may hold
// the fields of the story.
const innerStory = "story"

func (s *storyDoc) readFront(n ledger.Value) {
	if !n.Is(doc.Map) {
		return
	}
	for i, f := range n.Entries(0) {
		if isStatusKey(f.Name) && !f.IsNull() {
			word := f.Str()
			s.fields = append(s.fields, field{class: classify(word), word: word, line: n.Keys[i].Line, head: true, front: true, place: f.Value})
		}
	}
	// Some keep the story's fields under a key of their own.
	s.readFront(n.In(innerStory))
	if s.title == "" || isStoryWord(s.title) {
		if title := n.Get("title").Str(); title != "" {
			s.title = title
		}
	}
	s.branch = cmp.Or(s.branch, ledger.Branch(n.Get("branch").Plain()))
}

// isForm reports whether a story is only the form of one. A title may mention tasks, too,
// but does not hold them.
func (s *storyDoc) isForm(m *doc.Markdown) bool {
	places := 0
	for _, sec := range m.Sections() {
		if sec.Level == 1 || !ledger.IsWork(sec.Title) {
			continue
		}
		if places++; strings.TrimSpace(sec.Text()) != "" {
			return false
		}
	}
	return places > 0 && s.boxes == 0
}

func (s *storyDoc) readBody(m *doc.Markdown) {
	boxLines := s.headings(m)
	s.labels(m)
	head := bodyHead(m)
	for i := range s.fields {
		f := &s.fields[i]
		f.head = f.head || f.line <= head
		f.closing = !f.head && f.line > lastLine(m)-closingLines
	}
	for _, c := range m.All().Checks() {
		if boxLines[c.Line] {
			continue
		}
		s.boxes++
		if c.Ticked {
			s.ticked++
		}
	}
	for _, l := range m.All().Lines() {
		s.notice(l)
	}
	s.form = s.isForm(m)
	s.noticeUnmet(m)
	for _, c := range ledger.Work(m, boxLines) {
		if s.work++; c.Ticked {
			s.worked++
		} else {
			s.unticked = append(s.unticked, c)
		}
	}
	for _, sec := range m.Sections() {
		if isDependencies(sec.Title) {
			s.dependency(sec)
		}
		if titled(sec.Title, fileLists...) {
			for _, name := range ledger.NamedFiles(sec.Lines(), projectOf(s.path)) {
				if len(s.files) < maxFiles && !slices.Contains(s.files, name) {
					s.files = append(s.files, name)
				}
			}
		}
	}
}

// bodyHead returns the number of the last line of the head.
func bodyHead(m *doc.Markdown) int {
	if len(m.Lines) == 0 {
		return 0
	}
	return m.Lines[0].No + headLines - 1
}

// lastLine returns the number of the last line that is not blank.
func lastLine(m *doc.Markdown) int {
	for i := len(m.Lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(m.Lines[i].Text) != "" {
			return m.Lines[i].No
		}
	}
	return 0
}

// headings reads `## Status` with the line or the boxes below it, and
// `## Status: X`. It returns the lines of status boxes, which are no tasks.
func (s *storyDoc) headings(m *doc.Markdown) map[int]bool {
	boxes := map[int]bool{}
	for _, sec := range m.Sections() {
		title, value, _ := strings.Cut(colons(sec.Title), ":")
		if sec.Level > 4 || !isStatusKey(trimNumber(title)) {
			continue
		}
		if strings.TrimSpace(value) != "" {
			s.fields = append(s.fields, field{class: classify(value), word: strings.TrimSpace(value), line: sec.Line, heading: true})
			continue
		}
		if checks := leadingChecks(sec); len(checks) > 0 {
			f := lastTicked(checks)
			f.boxes = checks
			s.fields = append(s.fields, f)
			for _, c := range checks {
				boxes[c.Line] = true
			}
			continue
		}
		for _, l := range sec.Head().Lines() {
			text := strings.TrimSpace(l.Text)
			if text == "" || strings.Trim(text, "-*_ ") == "" {
				continue
			}
			if strings.HasPrefix(text, "|") {
				break // a table; its row is read as a label
			}
			if key, v, ok := strings.Cut(colons(text), ":"); ok && isStatusKey(trimBullet(key)) {
				text = v
			}
			text = trimBullet(text)
			s.fields = append(s.fields, field{class: classify(text), word: text, line: l.No, heading: true})
			break
		}
	}
	return boxes
}

// leadingChecks returns the task-list items with which a section begins.
func leadingChecks(sec doc.Section) []doc.Check {
	checks := sec.Head().Checks()
	if len(checks) == 0 {
		return nil
	}
	for _, l := range sec.Head().Lines() {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		if l.No != checks[0].Line {
			return nil
		}
		break
	}
	return checks
}

// lastTicked reads a list of statuses: the last ticked one holds. A list
// without a tick has not left its beginning.
func lastTicked(checks []doc.Check) field {
	f := field{class: draft, word: "no box ticked", line: checks[0].Line, heading: true}
	for _, c := range checks {
		if c.Ticked {
			f.class, f.word, f.line = boxClass(c.Text), c.Text, c.Line
		}
	}
	return f
}

// labels reads `**Status:** X`, `Status: X`, `| Status | X |` and the same in
// the middle of a line.
func (s *storyDoc) labels(m *doc.Markdown) {
	seen := map[int]bool{}
	for _, f := range s.fields {
		seen[f.line] = true
	}
	head := bodyHead(m)
	pairs := map[int]bool{} // rows of tables that pair a field with its value
	for _, t := range m.All().Tables() {
		for _, row := range t.Rows {
			if len(t.Header) == 2 && len(row) == 2 {
				pairs[row[0].Line] = true
			}
		}
	}
	for _, l := range m.All().Labels() {
		if l.Line <= head && s.epicLink == "" && doc.Fold(l.Key) == "epic" {
			s.epicLink = link(s.path, l.Value)
		}
		if l.Line <= head && s.branch == "" && doc.Fold(l.Key) == "branch" {
			s.branch = ledger.Branch(strings.Trim(l.Value, "`* "))
		}
		if seen[l.Line] || !isStatusKey(l.Key) || (l.Form == doc.InlineBold && l.Line > head) {
			continue
		}
		word := strings.TrimSpace(l.Value)
		if l.Form == doc.InlineBold {
			word, _, _ = strings.Cut(word, "·")
			word, _, _ = strings.Cut(word, "|")
		}
		c := classify(word)
		if word == "" || c == noClass || (c <= unknown && l.Form == doc.TableLabel && !(l.Line <= head && pairs[l.Line])) {
			continue // an empty field, or the header of a table with a column Status
		}
		seen[l.Line] = true
		s.fields = append(s.fields, field{class: c, word: strings.TrimSpace(word), line: l.Line})
	}
	for _, l := range m.All().Lines() {
		// The colon of Chinese text is a character of its own.
		if key, v, ok := strings.Cut(l.Text, "\uff1a"); ok && !seen[l.No] && isStatusKey(trimBullet(key)) && strings.TrimSpace(v) != "" {
			seen[l.No] = true
			s.fields = append(s.fields, field{class: classify(v), word: strings.TrimSpace(v), line: l.No})
		}
	}
	if !slices.ContainsFunc(s.fields, func(f field) bool { return f.head || f.line <= head }) {
		s.fencedStatus(m, head)
	}
}

// fencedStatus reads the status from a block of YAML in the head, which some
// stories have in place of front matter. Elsewhere such a block is an example.
func (s *storyDoc) fencedStatus(m *doc.Markdown, head int) {
	in := false
	for _, l := range m.Lines {
		switch mark := strings.TrimSpace(l.Text); {
		case !l.Hidden || l.No > head:
			in = false
		case !in:
			in = mark == "```yaml" || mark == "```yml"
		case strings.HasPrefix(mark, "```"):
			in = false
		default:
			key, v, _ := strings.Cut(l.Text, ":")
			v, _, _ = strings.Cut(v, " #")
			if v = strings.Trim(v, " \t\"'"); v != "" && isStatusKey(key) {
				s.fields = append(s.fields, field{class: classify(v), word: v, line: l.No, fenced: true})
				return
			}
		}
	}
}

// notice looks for the marks of a story: criteria or tasks of its own.
func (s *storyDoc) notice(l doc.Line) {
	text := strings.TrimSpace(l.Text)
	if !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "**") {
		return
	}
	s.criteria = s.criteria || ledger.IsWork(text) || ledger.Marked(text, "definition of done")
}

func isDependencies(title string) bool {
	fold := doc.Fold(title)
	return strings.HasPrefix(fold, "depend") || strings.Contains(fold, "prerequisit") || strings.Contains(fold, "pre requisit")
}

// dependency looks for a dependency that the story itself calls both pending
// and blocking.
func (s *storyDoc) dependency(sec doc.Section) {
	for _, l := range sec.Lines() {
		fold := doc.Fold(l.Text)
		pending := strings.Contains(fold, "pendente") || strings.Contains(fold, "pending")
		if s.waits == "" && pending && (strings.Contains(fold, "bloque") || strings.Contains(fold, "block")) {
			s.waits, s.waitsLine = trimBullet(l.Text), l.No
		}
	}
}

// isStatusKey reports whether a label names the status of the story.
func isStatusKey(key string) bool {
	switch doc.Fold(key) {
	case "status", "story status", "current status", "status atual", "status da story", "estado", "estado actual", "situacao",
		"statut", "stato", "статус", "状态", "状態", "ステータス", "상태":
		return true
	}
	return false
}

// trimNumber strips the number of a heading: "2. Status".
func trimNumber(title string) string { return headingNumber().ReplaceAllString(title, "") }

var headingNumber = doc.Pattern(`^\d+[.) ]*`)

func trimBullet(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text), "> ")
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && text[1] == ' ' {
		text = text[2:]
	}
	return strings.TrimSpace(text)
}

// colons writes the colon of Chinese text as the usual one.
func colons(s string) string { return strings.ReplaceAll(s, "\uff1a", ":") }

// link resolves the first Markdown link to a .md file in a value.
func link(from, value string) string {
	i := strings.Index(value, "](")
	if i < 0 {
		return ""
	}
	target, _, ok := strings.Cut(value[i+2:], ")")
	target, _, _ = strings.Cut(target, "#")
	if !ok || !strings.HasSuffix(strings.ToLower(target), ".md") || strings.Contains(target, "://") || strings.HasPrefix(target, "/") {
		return ""
	}
	p := path.Join(path.Dir(from), target)
	if p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	return p
}

// winner returns the index of the field that decides, -1 if there is none.
// Of the head the furthest field wins; without one the first Status heading,
// then the first label anywhere. What the rest of a story says does not close one
// whose head says something else.
func (s *storyDoc) winner() int {
	best := -1
	for i, f := range s.fields {
		if f.head && (f.class > unknown || f.class == doubtful) && (best < 0 || rankOf(f.class) > rankOf(s.fields[best].class)) {
			best = i
		}
	}
	if best >= 0 {
		return best
	}
	vague := slices.ContainsFunc(s.fields, func(f field) bool { return f.head && f.class == unknown })
	counts := func(f field) bool { return f.class > unknown && !(vague && rankOf(f.class) == 4) }
	for _, want := range []func(field) bool{
		func(f field) bool { return f.heading && counts(f) },
		counts,
		func(f field) bool { return f.head && f.class == unknown },
		func(f field) bool { return f.heading && f.class != noClass },
	} {
		for i, f := range s.fields {
			if want(f) {
				return i
			}
		}
	}
	return -1
}

// won is the field that decides, empty if there is none.
func (s *storyDoc) won() field {
	if s == nil || s.winner() < 0 {
		return field{}
	}
	return s.fields[s.winner()]
}

// class is what the field that decides means, word what it says.
func (s *storyDoc) class() class { return s.won().class }
func (s *storyDoc) word() string { return s.won().word }

// newest is the latest day the story records, by when its file was changed.
func (s *storyDoc) newest() dated { return newest(s.dates, s.file.MTime) }

// rankOf is how far a class is. A story that is blocked has been begun; one that may be
// done is as far as one in review.
func rankOf(c class) int {
	return [...]int{ready: 1, inProgress: 2, blocked: 2, inReview: 3, doubtful: 3, done: 4, dropped: 4}[c]
}

func (s *storyDoc) source(line int) reprise.Source { return reprise.Source{File: s.path, Line: line} }
