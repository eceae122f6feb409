package checklist

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

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
