package checklist

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Open returns the open tasks and, for a list of boxes, the lines of each: its own and
// those below it with more indentation.
func Open(fsys fs.FS, r *reprise.Run) []reprise.Listed {
	file := doc.NewReader(fsys).Open(r.Path) // if it cannot be read, only the ids are known
	lines := strings.Split(string(file.Data), "\n")
	out := []reprise.Listed{}
	for i := range r.Steps {
		s := &r.Steps[i]
		at := s.Source.Line
		switch {
		case s.Removed != nil:
			out = append(out, *s.Removed)
		case s.Status.Closed():
		case s.Source.File != r.Path || at < 1 || at > len(lines) || !isBox(lines[at-1]):
			out = append(out, reprise.Listed{ID: s.ID, Title: s.Title})
		default:
			end := below(lines, at)
			out = append(out, reprise.Listed{
				ID: s.ID, Title: s.Title, Text: strings.Join(lines[at-1:end], "\n"), After: before(lines[:at-1], indent(lines[at-1])),
				Below: strings.TrimSpace(strings.Join(lines[end:max(end, nextPart(lines, at))], "\n")),
			})
		}
	}
	return out
}

// below returns the end of the lines, from at on, that belong to the task right before
// them. A blank line is one of them if another one follows that is.
func below(lines []string, at int) int {
	end := at
	for i := at; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		if indent(lines[i]) <= indent(lines[at-1]) {
			break
		}
		end = i + 1
	}
	return end
}

// nextPart returns where the next task or heading is, from at on.
func nextPart(lines []string, at int) int {
	i := slices.IndexFunc(lines[at:], func(line string) bool { return parts(line, indent(lines[at-1])) })
	if i < 0 {
		return len(lines)
	}
	return at + i
}

// before returns the last line that a task can follow, or "".
func before(lines []string, within int) string {
	for _, line := range slices.Backward(lines) {
		if parts(line, within) {
			return anchor(line)
		}
	}
	return ""
}

// box matches the start of a task, with any mark.
var box = doc.Pattern(`^\s*(?:[-*+]|\d+[.)]|#{1,6})\s+\\?\[.?\\?\]`)

func isBox(line string) bool { return strings.Contains(line, "[") && box().MatchString(line) }

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// parts reports whether a line is a heading, or a task with no more indentation.
func parts(line string, within int) bool {
	return strings.HasPrefix(line, "#") || isBox(line) && indent(line) <= within
}

// anchor returns a line without the content of its box.
func anchor(line string) string {
	return strings.TrimRight(box().ReplaceAllStringFunc(line, func(b string) string { return b[:strings.LastIndex(b, "[")] + "[ ]" }), "\r")
}

// putBack writes a removed task where it was: replacing a line that says the same and is
// not a task, else after the line it followed, else at the end of the list.
func (l Layout) putBack(changes *ledger.Changes, read *list, was *reprise.Listed) ([]reprise.Edit, error) {
	lines := strings.Split(string(read.file.Data), "\n")
	shown := map[int]bool{} // the others are in a code block or a comment
	for _, line := range read.file.Markdown().All().Lines() {
		shown[line.No-1] = true
	}
	tasks := map[int]bool{}
	for i := range read.items {
		for _, p := range read.items[i].places {
			tasks[p.source.Line-1] = true
		}
	}
	find := func(fits func(i int) bool) int {
		for i := range lines {
			if shown[i] && fits(i) {
				return i
			}
		}
		return -1
	}
	first, _, _ := strings.Cut(was.Text, "\n")
	at, replaces := len(lines), false
	if i := find(func(i int) bool { return !tasks[i] && letters(lines[i]) == letters(first) }); i >= 0 {
		lines, at, replaces = slices.Delete(lines, i, below(lines, i+1)), i, true
	} else if i := find(func(i int) bool { return anchor(lines[i]) == was.After }); i >= 0 && was.After != "" {
		within := func(i int) bool { return shown[i] || indent(lines[i]) > indent(was.Text) }
		for at = i + 1; at < len(lines) && within(at) && !(shown[at] && parts(lines[at], indent(was.Text))); {
			at++
		}
	}
	blank := func(i int) bool { return i >= 0 && strings.TrimSpace(lines[i]) == "" }
	for !replaces && blank(at-1) && (blank(at-2) || isBox(was.After) || at == len(lines)) {
		at--
	}
	list := changes.Markdown(read.file.Path)
	list.Replace([]byte(strings.Join(slices.Insert(lines, at, was.Text), "\n")))
	list.Because("task %s is restored", was.ID)
	if l.read(doc.NewReader(changes.FS()), read.file.Path).find(was.ID) == nil {
		return nil, ledger.Cannot("%s would not list %q again", read.file.Path, doc.Clip(was.ID, 60))
	}
	return changes.Edits()
}

// letters returns the letters and digits after a box, or what was meant as one.
func letters(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.N) {
			return r
		}
		return -1
	}, doc.ItemOf(line).Text)
}

// Left returns what an attempt wrote in the entry of its own task, or behind it up to the next task
// or heading, that says that the task is not finished, "" if it wrote no such thing. was is the
// entry as the attempt found it: what stood there before is not the word of its agent. Boxes below the task that it left open while it
// ticked or wrote others say so too.
func Left(fsys fs.FS, r *reprise.Run, was reprise.Listed) string {
	s := r.Step(was.ID)
	file := doc.NewReader(fsys).Open(r.Path)
	lines := strings.Split(string(file.Data), "\n")
	if s == nil || was.Text == "" || s.Source.File != r.Path || s.Source.Line < 1 || s.Source.Line > len(lines) || !isBox(lines[s.Source.Line-1]) {
		return ""
	}
	at, before := s.Source.Line, strings.Split(was.Text+"\n"+was.Below, "\n")
	if wrote := added(doc.ItemOf(before[0]).Text, doc.ItemOf(lines[at-1]).Text); notDone(wrote) {
		return fmt.Sprintf("wrote %q beside it in %s", doc.Clip(wrote, 80), s.Source)
	}
	open, touched := "", false
	entry := below(lines, at)
	for i := at; i < max(entry, nextPart(lines, at)); i++ {
		own := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Source.File == r.Path && s.Source.Line == i+1 })
		wrote := !slices.ContainsFunc(before[1:], func(line string) bool { return strings.TrimSpace(line) == strings.TrimSpace(lines[i]) })
		if wrote && !own && notDone(doc.ItemOf(lines[i]).Text) {
			return fmt.Sprintf("wrote %q below it in %s:%d", doc.Clip(strings.TrimSpace(lines[i]), 80), r.Path, i+1)
		}
		if own || !isBox(lines[i]) || i >= entry {
			continue
		}
		touched = touched || wrote
		if c := doc.ItemOf(lines[i]); open == "" && strings.TrimSpace(c.Mark) == "" {
			open = fmt.Sprintf("left a box open below it in %s:%d: %q", r.Path, i+1, doc.Clip(c.Text, 80))
		}
	}
	if !touched {
		return ""
	}
	return open
}

// notDone reports whether what was added to a task says that it is not done.
func notDone(added string) bool {
	return slices.ContainsFunc(sayings(added, true), func(s saying) bool { return s.status != reprise.Done })
}

// added returns the words of a text that another one, which it was made from, does not have
// at its beginning or end.
func added(was, now string) string {
	a, b := strings.Fields(was), strings.Fields(now)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Join(b, " ")
}
