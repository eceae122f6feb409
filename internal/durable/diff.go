package durable

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	diffContext = 3
	diffLimit   = 4 << 20 // cells of the table; beyond, the middle counts as changed whole
)

// Diff shows the change of one file as a unified diff, "" if there is none. A
// nil before stands for a file that does not exist.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return ""
	}
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	if bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	}
	steps := diffLines(splitLines(before), splitLines(after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	for _, h := range hunks(steps) {
		writeHunk(&out, steps[h[0]:h[1]], steps[:h[0]])
	}
	return out.String()
}

// step is one line of a diff: ' ', '-' or '+'.
type step struct {
	op   byte
	line string
}

func splitLines(b []byte) (out []string) {
	for line := range strings.Lines(string(b)) {
		out = append(out, line)
	}
	return out
}

func diffLines(a, b []string) []step {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	end := 0
	for end < len(a)-head && end < len(b)-head && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []step
	for _, line := range a[:head] {
		out = append(out, step{' ', line})
	}
	out = append(out, diffMiddle(a[head:len(a)-end], b[head:len(b)-end])...)
	for _, line := range a[len(a)-end:] {
		out = append(out, step{' ', line})
	}
	return out
}

// diffMiddle finds the longest common subsequence by the plain table.
func diffMiddle(a, b []string) (out []step) {
	if len(a)*len(b) > diffLimit {
		for _, line := range a {
			out = append(out, step{'-', line})
		}
		for _, line := range b {
			out = append(out, step{'+', line})
		}
		return out
	}
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, step{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || table[i+1][j] >= table[i][j+1]):
			out = append(out, step{'-', a[i]})
			i++
		default:
			out = append(out, step{'+', b[j]})
			j++
		}
	}
	return out
}

// hunks gives the ranges of steps that are shown.
func hunks(steps []step) (out [][2]int) {
	for i, s := range steps {
		if s.op == ' ' {
			continue
		}
		from, to := max(0, i-diffContext), min(len(steps), i+diffContext+1)
		if n := len(out); n > 0 && from <= out[n-1][1] {
			out[n-1][1] = to
		} else {
			out = append(out, [2]int{from, to})
		}
	}
	return out
}

func writeHunk(out *strings.Builder, steps, before []step) {
	count := func(steps []step, skip byte) (n int) {
		for _, s := range steps {
			if s.op != skip {
				n++
			}
		}
		return n
	}
	span := func(skip byte) string {
		start, n := count(before, skip), count(steps, skip)
		if n > 0 {
			start++
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span('+'), span('-'))
	for _, s := range steps {
		out.WriteByte(s.op)
		out.WriteString(s.line)
		if !strings.HasSuffix(s.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
