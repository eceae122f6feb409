package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"reprise"
)

// page prints for a person: plain text in a fixed order, no line wider than the columns
// but that of a command, everything from a file escaped. Colour only repeats what symbols
// and words already say. The same arguments give the same lines.
type page struct {
	w       io.Writer
	columns int
	colour  bool
	now     time.Time
	site    site
	// all also lists closed runs, a long backlog and every finding.
	all bool
	// every is the command that does so, "" for `reprise status --all`.
	every string
	// why explains the positions of the first runs of a list.
	why bool
	// apart is set if the list has runs of several projects, seen from a folder.
	apart bool
	from  string
	// asking is set if a person is prompted and the work starts on a yes; otherwise the
	// same text is part of a report that starts nothing.
	asking bool
	// asksFirst is set if resuming a run asks something before it starts anything.
	asksFirst bool
	// ahead returns what resuming a run starts, nil if not requested.
	ahead func(judged) ahead
	// verdicts adds to each session whether it is safe to continue it.
	verdicts bool
	// full shows everything: every file, every step, the whole plan.
	full bool
}

// page returns a page on one of our outputs.
func (a *app) page(w io.Writer) *page {
	columns, colour := a.terminal(w)
	return &page{w: w, columns: columns, colour: colour && a.colours(), now: a.now(), site: a.site, every: a.listsAll()}
}

// How many lines a text from a file may take before it is truncated.
const (
	linesTitle   = 2
	linesSource  = 3
	linesMessage = 6
	linesAll     = 100 // a sentence of our own
)

// The colours of a terminal, as its escape sequences number them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p *page) paint(code, s string) string {
	if !p.colour || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *page) gap() { p.line("") }

// holdsCommand finds a command to paste.
var holdsCommand = regexp.MustCompile("`[a-z]+ [^`]*`")

// para prints text after a lead, wrapped and indented, truncated after most lines.
func (p *page) para(lead, text string, most int) { p.marked(lead, "", "", text, most) }

// say prints a sentence of our own, wrapped.
func (p *page) say(text string) { p.para("", text, linesAll) }

// marked is para with a painted mark between the lead and the text.
func (p *page) marked(indent, mark, colour, text string, most int) {
	text = p.site.fill(text)
	lead := indent
	if mark != "" {
		lead += mark + " "
	}
	if most > 1 && most < linesCommand && holdsCommand.MatchString(text) {
		most = linesCommand // a command that is cut is none
	}
	room := p.columns - width(lead)
	lines := wrap(fit(plain(text), room*(most+1)), room)
	if most == 1 && len(lines) > 1 {
		lines = []string{fit(plain(text), room)} // a long word would leave the line half empty
	}
	if len(lines) > most {
		lines = lines[:most]
		last := fit(lines[most-1], room-2)
		if !strings.HasSuffix(last, "…") {
			last += " …"
		}
		lines[most-1] = last
	}
	for i, l := range lines {
		if i == 0 && mark != "" {
			p.line("%s%s %s", indent, p.paint(colour, mark), l)
		} else {
			p.line("%s%s", lead, l)
		}
		lead = strings.Repeat(" ", width(lead))
	}
}

// items prints texts one below the other. If there are more than most (0 means no limit)
// the rest is counted, except in full.
func (p *page) items(lead string, texts []string, most, lines int) {
	for i, text := range texts {
		if i == most && most > 0 && !p.full {
			p.line("%sand %d more", lead, len(texts)-i)
			return
		}
		p.para(lead, text, lines)
	}
}

// numbered prints texts one below the other, numbered from 1.
func (p *page) numbered(indent string, texts []string, lines int) {
	for i, text := range texts {
		p.para(fmt.Sprintf("%s%d. ", indent, i+1), text, lines)
	}
}

// section prints a heading with items below it, or nothing if there are none.
func (p *page) section(title string, texts []string, most, lines int) {
	if len(texts) > 0 {
		p.heading(title)
		p.items("  - ", texts, most, lines)
	}
}

// noticed prints the warnings among findings; of what is not committed or not pushed, the command
// that does it.
func (p *page) noticed(findings []reprise.Finding) {
	p.section("Noticed:", findingTexts(findings, reprise.Warning), 0, linesMessage)
	for _, f := range findings {
		if (f.Code == reprise.CodeUncommitted || f.Code == reprise.CodeUnpushed) && f.Severity == reprise.Warning && f.Hint != "" {
			p.para("    ", f.Hint, linesAll)
		}
	}
}

// linesCommand is how many lines of one command are shown; a truncation is mentioned.
const linesCommand = 40

// command prints what would be started, with words and spaces exactly as they are. The
// text must be safe for a terminal, as from commandWords.
func (p *page) command(lead, text string) {
	lines := wrapExact(text, p.columns-width(lead))
	more := 0
	for len(lines) > linesCommand {
		more += utf8.RuneCountInString(lines[len(lines)-1])
		lines = lines[:len(lines)-1]
	}
	for _, l := range lines {
		p.line("%s%s", lead, l)
		lead = strings.Repeat(" ", width(lead))
	}
	if more > 0 {
		p.marked("  ", "!", yellow, count(more, "character")+" more not shown; see the file", linesMessage)
	}
}

// place prints a path or another source after a lead. If it is too long for the line it
// continues below, split at a slash if possible.
func (p *page) place(lead, text string) {
	room := p.columns - width(lead)
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(fit(plain(text), room*linesSource), "/") {
		switch {
		case width(line)+width(part) <= room:
			line += part
		case line == "" || width(part) > room:
			p.para(lead, text, linesSource) // a name too long for any line
			return
		default:
			lines, line = append(lines, line), part
		}
	}
	if lines = append(lines, line); len(lines) > linesSource {
		p.para(lead, text, linesSource)
		return
	}
	for _, l := range lines {
		p.line("%s%s", lead, strings.TrimRight(l, " "))
		lead = strings.Repeat(" ", width(lead))
	}
}

// field prints a name and a value that may take several lines.
func (p *page) field(name, value string) {
	for i, l := range wrap(value, p.columns-12) {
		if i > 0 {
			name = ""
		}
		p.line("  %s %s", pad(name, 9), l)
	}
}

// pair prints a name and a value from a file.
func (p *page) pair(name, value string) { p.para(name+" ", value, linesMessage) }

// banner prints a heading in the style of seed 001.
func (p *page) banner(text string) {
	p.line("%s", p.paint(bold, "=== "+fit(plain(text), p.columns-8)+" ==="))
}

// heading prints the name of a section.
func (p *page) heading(text string) {
	p.gap()
	p.line("%s", p.paint(bold, fit(text, p.columns)))
}

// next prints the command to continue with, if there is one.
func (p *page) next(command string) {
	if command != "" {
		p.line("%s", p.paint(bold, "Next: ")+command)
	}
}

// question prints the end of a prompt; a report asks nothing.
func (p *page) question(text string) {
	if p.asking {
		p.gap()
		p.say(text)
	}
}

// diff prints a unified diff of users' files, sanitized line by line.
func (p *page) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		colour := ""
		switch {
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "-"):
			colour = red
		}
		// Spaces matter in a diff, and plain folds them.
		words := strings.Split(strings.ReplaceAll(line, "\t", "    "), " ")
		for i, word := range words {
			words[i] = plain(word)
		}
		p.line("  %s", p.paint(colour, strings.Join(words, " ")))
	}
}

// progressLine is one line on standard error, shown only on a terminal and only after a
// second.
type progressLine struct {
	w     io.Writer
	since time.Time
	last  time.Time // when it was shown, zero if it was not
}

func (a *app) newProgress() *progressLine {
	p := &progressLine{since: time.Now(), w: io.Discard}
	if _, is := a.terminal(a.err); is {
		p.w = a.err
	}
	return p
}

// show is called under the project's lock.
func (p *progressLine) show(loaded, total int) {
	now := time.Now()
	if now.Sub(p.since) < time.Second || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last = now
	fmt.Fprintf(p.w, "\rreading %d of %d runs …", loaded, total)
}

func (p *progressLine) clear() {
	if !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
