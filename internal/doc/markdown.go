package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reprise"
)

// Markdown is a Markdown file cut into lines, with what stands in code fences
// and HTML comments marked, so that an example or a hidden note is never taken
// for state. It follows GitHub's reading of tables, fences and headings; a test
// holds it against a full Markdown parser.
type Markdown struct {
	// Front is the YAML front matter, nil if there is none. Where several
	// blocks stand behind each other the first is Front and the rest follow in
	// MoreFront.
	Front     *Node
	MoreFront []*Node
	// Lines are the body, front matter left out. Who reads state from it asks for Sections
	// or All, which report what of it is unknown.
	Lines []Line

	file    *File
	unended int // the line of a code fence or an HTML comment that never ends, or 0
}

// Line is one line of the body without its line end.
type Line struct {
	No     int // in the file, from 1
	Start  int // byte offset in the file
	Text   string
	Hidden bool // inside a code fence or an HTML comment, or a delimiter of one
}

// nulBytes is what a file is that a power cut left without its content.
const nulBytes = "NUL bytes in the file, as a power cut leaves them"

// Markdown reads the file as Markdown. Every text is Markdown: nothing of it is left
// out but lines and cells without end. What the file told is unknown where it is empty,
// holds NUL bytes or another format, or ends in the middle of a line. It returns nil if
// the file was not read.
func (f *File) Markdown() *Markdown {
	if !f.ok {
		return nil
	}
	if f.tooMany(bytes.Count(f.Data, []byte{'\n'})+bytes.Count(f.Data, []byte{'|'}), "lines and cells") {
		return &Markdown{}
	}
	f.readable()
	if why := f.cutMarkdown(); why != "" {
		f.unread(reprise.CodeUnreadable, 0, why, "the write may have been cut off; look for another copy or a backup")
	}
	m := &Markdown{file: f}
	data, offset, no := f.Data, 0, 1
	if bytes.HasPrefix(data, bom) {
		offset = len(bom)
	}
	for {
		block, rest, blank, lines := frontMatter(data[offset:])
		if lines == 0 {
			break
		}
		n := f.frontNode(block, no+blank)
		if m.Front == nil {
			m.Front = n
		} else if n != nil {
			m.MoreFront = append(m.MoreFront, n)
		}
		no += lines
		offset = len(data) - len(rest)
	}
	m.cut(data, offset, no)
	return m
}

// readable reports bytes that are no text. What is left of the file can be read where they
// are few.
func (f *File) readable() {
	const hint = "look for another copy or a backup"
	i := bytes.IndexByte(f.Data, 0)
	switch {
	case i >= 0 && !reprise.Garbled(f.Data):
		f.Report(reprise.Warning, reprise.CodeDamagedLine, lineAt(f.Data, i), nulBytes, hint)
	case i >= 0:
		f.Lost(reprise.CodeUnreadable, lineAt(f.Data, i), nulBytes, hint)
	case reprise.Garbled(f.Data):
		f.Lost(reprise.CodeUnreadable, 0, "the file holds no text", hint)
	}
}

// Blank reports whether a file that was read holds nothing: white space and a byte order mark
// are nothing.
func (f *File) Blank() bool { return f.ok && len(bytes.TrimSpace(bytes.TrimPrefix(f.Data, bom))) == 0 }

// cutMarkdown tells why a text cannot be all of a document, "" if it can. Who writes a
// line writes its end; one without is taken for cut off where it leaves something open.
func (f *File) cutMarkdown() string {
	text := bytes.TrimSpace(bytes.TrimPrefix(f.Data, bom))
	switch {
	case len(text) == 0:
		return "the file is empty"
	case json.Valid(text):
		return "the file holds JSON where Markdown belongs"
	case bytes.HasSuffix(f.Data, []byte("\n")):
		return ""
	}
	last := string(text[bytes.LastIndexByte(text, '\n')+1:])
	if strings.Trim(strings.TrimSpace(last), "`") == "" {
		return "" // the end of a code block, or a block that never ends, which is told there
	}
	open := strings.HasPrefix(last, "#") || strings.HasPrefix(last, "|") && !strings.HasSuffix(last, "|") ||
		strings.Count(last, "`")%2 != 0 || strings.Count(last, "**")%2 != 0 || strings.Count(last, "[") > strings.Count(last, "]")
	if !open {
		return ""
	}
	return fmt.Sprintf("the file ends in the middle of a line: %q", Clip(last, 40))
}

func (f *File) frontNode(block []byte, no int) *Node {
	if len(bytes.TrimSpace(block)) == 0 {
		return &Node{Kind: Map, Line: no, file: f}
	}
	return f.yamlAt(block, no)
}

// frontMatter splits a block fenced by lines of three dashes off the beginning.
// blank is the number of blank lines before it, lines how many it takes in all;
// 0 if there is none. A fence without its end is no front matter.
func frontMatter(data []byte) (block, rest []byte, blank, lines int) {
	for { // blank lines between stacked blocks
		line, after := cutLine(data)
		if len(bytes.TrimSpace(line)) > 0 || len(after) == len(data) || len(after) == 0 {
			break
		}
		data, blank = after, blank+1
	}
	line, after := cutLine(data)
	if string(bytes.TrimRight(line, " \t\r")) != "---" || len(after) == 0 {
		return nil, nil, 0, 0
	}
	start, n := after, 1
	keyed := false
	for len(after) > 0 {
		line, next := cutLine(after)
		n++
		text := string(bytes.TrimRight(line, " \t\r"))
		if text == "---" || text == "..." {
			if !keyed && n > 2 {
				return nil, nil, 0, 0 // two thematic breaks with prose between them
			}
			return start[:len(start)-len(after)], next, blank, n + blank
		}
		if _, _, ok := splitKey(strings.TrimSpace(text)); ok {
			keyed = true
		}
		after = next
	}
	return nil, nil, 0, 0
}

func cutLine(data []byte) (line, rest []byte) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return data[:i], data[i+1:]
	}
	return data, nil
}

func (m *Markdown) cut(data []byte, offset, no int) {
	var fence string // the fence that is open
	comment := false
	begun := 0
	for offset < len(data) {
		if fence == "" && !comment {
			begun = no
		}
		line, rest := cutLine(data[offset:])
		l := Line{No: no, Start: offset, Text: strings.TrimRight(string(line), "\r")}
		trimmed := strings.TrimLeft(l.Text, " ")
		indent := len(l.Text) - len(trimmed)
		switch {
		case comment:
			l.Hidden = true
			comment = !strings.Contains(l.Text, "-->")
		case fence != "":
			l.Hidden = true
			if mark := fenceMark(trimmed); indent < 4 && mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(trimmed[len(mark):]) == "" {
				fence = ""
			}
		case indent < 4 && fenceMark(trimmed) != "":
			mark := fenceMark(trimmed)
			// A backtick fence cannot carry a backtick in its info string.
			if mark[0] == '~' || !strings.Contains(trimmed[len(mark):], "`") {
				fence, l.Hidden = mark, true
			}
		case strings.HasPrefix(trimmed, "<!--"):
			l.Hidden = true
			comment = !strings.Contains(l.Text, "-->")
		}
		m.Lines = append(m.Lines, l)
		no++
		offset = len(data) - len(rest)
		if rest == nil {
			break
		}
	}
	if fence != "" || comment {
		m.unended = begun
	}
}

// body gives the lines to whoever reads state from them. Where a fence or a comment never
// ends, all that the body hides may be what it says, as any of its fences may be the one
// without an end: that is reported as unknown. Front matter and title are not concerned.
func (m *Markdown) body() []Line {
	if m == nil {
		return nil
	}
	if m.unended > 0 && slices.ContainsFunc(m.Lines, func(l Line) bool { return l.Hidden && l.No != m.unended && tells(l.Text) }) {
		m.file.Lost(reprise.CodeUnreadable, m.unended, fmt.Sprintf("a code block or a comment begins in line %d and never ends: close it; until then what the file says is not all known", m.unended),
			fmt.Sprintf("close it where it should end, or remove line %d if it opens nothing", m.unended))
	}
	return m.Lines
}

// tells reports whether a line can be a heading, an item, a row of a table or a label.
func tells(text string) bool {
	text = strings.TrimSpace(text)
	_, item := bullet(text)
	return item || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") || strings.Contains(text, ":")
}

func fenceMark(s string) string {
	if s == "" || (s[0] != '`' && s[0] != '~') {
		return ""
	}
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return s[:n]
}

// Section is a heading and what follows it up to the next heading of the same
// or a higher level. The section of level 0 is the whole body.
type Section struct {
	Title string
	Level int
	Line  int
	lines []Line
}

// All is the whole body as one section.
func (m *Markdown) All() Section { return Section{lines: m.body()} }

// After returns the lines of the body after the one with a number in the file.
func (m *Markdown) After(no int) []Line {
	i, _ := slices.BinarySearchFunc(m.Lines, no+1, func(l Line, no int) int { return l.No - no })
	return m.Lines[i:]
}

// Sections returns every heading of the body with its section, in file order.
func (m *Markdown) Sections() []Section {
	var out []Section
	lines := m.body()
	for i, l := range lines {
		if level, title := l.Heading(); level > 0 {
			out = append(out, Section{Title: title, Level: level, Line: l.No, lines: lines[i+1:]})
		}
	}
	var ends [7]int // where the section of a level ends that begins before
	for i := range ends {
		ends[i] = len(lines)
	}
	for i := len(out) - 1; i >= 0; i-- {
		s := &out[i]
		at := len(lines) - len(s.lines)
		s.lines = lines[at:ends[s.Level]]
		for level := s.Level; level < len(ends); level++ {
			ends[level] = at - 1
		}
	}
	return out
}

// Section returns the first section with one of the titles, compared by Fold.
// ok is false if there is none.
func (m *Markdown) Section(titles ...string) (s Section, ok bool) {
	sections := m.Sections()
	for _, want := range titles {
		want = Fold(want)
		for _, s := range sections {
			if Fold(s.Title) == want {
				return s, true
			}
		}
	}
	return Section{}, false
}

// Head is what stands before the first subordinate heading of a section.
func (s Section) Head() Section {
	for i, l := range s.lines {
		if level, _ := l.Heading(); level > 0 {
			s.lines = s.lines[:i]
			break
		}
	}
	return s
}

// Lines returns the lines of the section that are not hidden.
func (s Section) Lines() []Line {
	var out []Line
	for _, l := range s.lines {
		if !l.Hidden {
			out = append(out, l)
		}
	}
	return out
}

// Length returns the number of lines below the heading.
func (s Section) Length() int { return len(s.lines) }

// Text returns the visible lines as one text.
func (s Section) Text() string {
	var b strings.Builder
	for _, l := range s.Lines() {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Heading returns the level and title of an ATX heading, 0 for other lines.
func (l Line) Heading() (level int, title string) {
	if l.Hidden {
		return 0, ""
	}
	text := strings.TrimLeft(l.Text, " ")
	if len(l.Text)-len(text) > 3 {
		return 0, ""
	}
	for level < len(text) && text[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || (level < len(text) && text[level] != ' ' && text[level] != '\t') {
		return 0, ""
	}
	title = strings.TrimSpace(text[level:])
	if t := strings.TrimRight(title, "#"); t == "" || strings.HasSuffix(t, " ") {
		title = strings.TrimSpace(t)
	}
	return level, title
}

// Title returns the text of the first heading of level 1, or "".
func (m *Markdown) Title() string {
	if m == nil {
		return ""
	}
	for _, l := range m.Lines {
		if level, title := l.Heading(); level == 1 {
			return title
		}
	}
	return ""
}

// Check is one item of a task list.
type Check struct {
	Mark   string // what stands in the box
	Ticked bool   // the mark is an x
	Text   string
	Line   int
	Indent int // bytes before the list marker; of a heading below 0, the higher the less
}

// Checks returns the items of task lists that are open or ticked, in file order.
func (s Section) Checks() []Check {
	return slices.DeleteFunc(s.Boxes(), func(c Check) bool { return !c.Ticked && c.Mark != " " })
}

// Boxes returns the items of task lists, and the headings that begin with a box, whatever
// one character their boxes hold, in file order. Formatters escape brackets. Behind a mark
// that is not usual a blank or a star must follow: a link and a footnote begin with
// brackets, too.
func (s Section) Boxes() []Check { return s.bracketed(isBox) }

func isBox(mark, after string) bool {
	usual := mark == " " || mark == "x" || mark == "X"
	return utf8.RuneCountInString(strings.TrimSuffix(mark, "\ufe0f")) == 1 && (usual || strings.HasPrefix(after, " ") || strings.HasPrefix(after, "*"))
}

// Worded returns the items and headings that begin with a word or a few in brackets, in
// file order: [in progress] and what follows. None of them is among Boxes.
func (s Section) Worded() []Check {
	return s.bracketed(func(mark, after string) bool {
		return utf8.RuneCountInString(mark) > 1 && Fold(mark) != "" && strings.HasPrefix(after, " ")
	})
}

// bracketed returns the items and headings that begin with brackets whose content, and what
// is behind them, fits.
func (s Section) bracketed(fits func(mark, after string) bool) (out []Check) {
	for _, l := range s.Lines() {
		if c, ok := brackets(l, fits); ok {
			out = append(out, c)
		}
	}
	return out
}

// brackets reads what a line begins with.
func brackets(l Line, fits func(mark, after string) bool) (c Check, ok bool) {
	text := strings.TrimLeft(l.Text, " \t")
	indent := len(l.Text) - len(text)
	rest, ok := bullet(text)
	if level, title := l.Heading(); level > 0 {
		rest, ok, indent = title, true, level-7
	}
	rest = strings.TrimPrefix(rest, "\\")
	if !ok || !strings.HasPrefix(rest, "[") {
		return Check{}, false
	}
	mark, after, ok := strings.Cut(rest[1:], "]")
	mark = strings.TrimSuffix(mark, "\\")
	if !ok || !fits(mark, after) {
		return Check{}, false
	}
	return Check{
		Mark: mark, Ticked: mark == "x" || mark == "X", Text: strings.TrimSpace(after),
		Line: l.No, Indent: indent,
	}, true
}

// bullet strips a list marker.
func bullet(text string) (rest string, ok bool) {
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && (text[1] == ' ' || text[1] == '\t') {
		return strings.TrimLeft(text[2:], " \t"), true
	}
	i := 0
	for i < len(text) && i < 9 && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i > 0 && i+1 < len(text) && (text[i] == '.' || text[i] == ')') && (text[i+1] == ' ' || text[i+1] == '\t') {
		return strings.TrimLeft(text[i+2:], " \t"), true
	}
	return text, false
}
