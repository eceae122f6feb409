package doc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing that is wrong in a file that a person wrote for us, with
// the place to put the finger on. Lines and columns count from 1, columns in
// characters; a Line of 0 stands for the file as a whole.
type Problem struct {
	File         string
	Line, Column int
	Message      string
	Hint         string // what to write instead, "" if the message says it
	Text         string // the line as it stands, control characters replaced
}

// maxShown bounds how much of a long line is shown.
const maxShown = 120

// String gives the place and the message, below it the line with a caret, then
// the hint. Nothing in it can move a terminal's cursor.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Brief())
	if p.Line > 0 && strings.TrimSpace(p.Text) != "" {
		text, column := window([]rune(p.Text), p.Column)
		no := fmt.Sprintf("%5d | ", p.Line)
		fmt.Fprintf(&b, "\n%s%s\n%s| %s^", no, text, strings.Repeat(" ", len(no)-2), strings.Repeat(" ", column-1))
	}
	if p.Hint != "" {
		b.WriteString("\n        hint: " + p.Hint)
	}
	return b.String()
}

// Brief gives the place and the message, on one line.
func (p Problem) Brief() string {
	place := showable(p.File)
	if p.Line > 0 {
		place += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	return place + ": " + p.Message
}

// Do says what a person can do about it.
func (p Problem) Do() string {
	if p.Hint == "" {
		return "correct it"
	}
	return "correct it: " + p.Hint
}

// window cuts a long line to what stands around a column.
func window(line []rune, column int) (string, int) {
	column = min(max(column, 1), len(line)+1)
	if len(line) <= maxShown {
		return string(line), column
	}
	from := max(0, column-1-maxShown/2)
	to := min(len(line), from+maxShown)
	text, column := string(line[from:to]), column-from
	if from > 0 {
		text, column = "…"+text, column+1
	}
	if to < len(line) {
		text += "…"
	}
	return text, column
}

// showable replaces whatever is not simply shown, one character by one, so that
// columns stay what they are.
func showable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '\ufffd'
		}
		return r
	}, s)
}

// Problems are all that is wrong with a file, in the order of its lines. As an
// error it shows each of them.
type Problems []Problem

// Error implements error.
func (ps Problems) Error() string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.String()
	}
	return strings.Join(out, "\n")
}

// Hint says what a person can do.
func (ps Problems) Hint() string {
	if len(ps) == 0 {
		return ""
	}
	return "correct " + showable(ps[0].File) + " where it is marked"
}

// Near gives the known word that a misspelt one most likely stands for, or "".
func Near(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with their neighbour.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// order sorts problems by place and drops those said twice.
func (ps Problems) order() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(ps)
}
