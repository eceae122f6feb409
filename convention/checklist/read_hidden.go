package checklist

import (
	"strings"
)

// readHidden notices a list none of whose tasks can be read because they are in a code block
// or a comment, or not on lines of their own: at its place it is the list all the same.
func (l *list) readHidden() {
	if len(l.items) > 0 {
		return
	}
	for i, line := range strings.Split(string(l.file.Data), "\n") {
		for part := range strings.SplitSeq(line, "\r") {
			at := box.FindStringIndex(part)
			if at == nil {
				continue
			}
			if _, named := l.family.match(strings.TrimSpace(part[at[1]:])); !named {
				continue
			}
			l.names = true
			if l.file.Whole() { // else it is said why
				l.lost(i+1, "the tasks are in a code block or a comment, so whether they are tasks is unknown")
			}
			return
		}
	}
}
