package checklist

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Open gives the tasks that are open, and of a list of boxes the lines of each: its own and
// those below it that are indented further.
func Open(fsys fs.FS, r *reprise.Run) []reprise.Listed {
	file := doc.NewReader(fsys).Open(r.Path) // of what cannot be read only the ids are known
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
			out = append(out, reprise.Listed{
				ID: s.ID, Title: s.Title, Text: strings.Join(lines[at-1:below(lines, at)], "\n"), After: before(lines[:at-1], indent(lines[at-1])),
			})
		}
	}
	return out
}

// below is the end of the lines from one on that belong to the task right before them.
func below(lines []string, at int) int {
	end := at
	for end < len(lines) && strings.TrimSpace(lines[end]) != "" && indent(lines[end]) > indent(lines[at-1]) {
		end++
	}
	return end
}

// before is the last of the lines that a task can follow, "" if there is none.
func before(lines []string, within int) string {
	for _, line := range slices.Backward(lines) {
		if parts(line, within) {
			return anchor(line)
		}
	}
	return ""
}

// box begins a task, with whatever mark.
var box = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+\[.?\]`)

func isBox(line string) bool { return box.MatchString(line) }

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// parts reports whether a line is a heading, or a task that is not indented further.
func parts(line string, within int) bool {
	return strings.HasPrefix(line, "#") || isBox(line) && indent(line) <= within
}

// anchor is a line without what its box says.
func anchor(line string) string {
	return strings.TrimRight(box.ReplaceAllStringFunc(line, func(b string) string { return b[:strings.LastIndex(b, "[")] + "[ ]" }), "\r")
}

// putBack writes a task that was removed where it stood, else at the end of the list.
func (l Layout) putBack(changes *ledger.Changes, read *list, was *reprise.Listed) ([]reprise.Edit, error) {
	lines := strings.Split(string(read.file.Data), "\n")
	at := len(lines)
	if i := slices.IndexFunc(lines, func(line string) bool { return anchor(line) == was.After }); i >= 0 && was.After != "" {
		for at = i + 1; at < len(lines) && !parts(lines[at], indent(was.Text)); {
			at++
		}
	}
	blank := func(i int) bool { return i >= 0 && strings.TrimSpace(lines[i]) == "" }
	for blank(at-1) && (blank(at-2) || isBox(was.After) || at == len(lines)) {
		at--
	}
	list := changes.Markdown(read.file.Path)
	list.Replace([]byte(strings.Join(slices.Insert(lines, at, was.Text), "\n")))
	list.Because("task %s is put back", was.ID)
	if l.read(doc.NewReader(changes.FS()), read.file.Path).find(was.ID) == nil {
		return nil, ledger.Cannot("%s would not list %q again", read.file.Path, doc.Clip(was.ID, 60))
	}
	return changes.Edits()
}
