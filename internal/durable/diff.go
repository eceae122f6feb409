package durable

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff shows the change of one file as a unified diff, "" if there is none. A
// nil before stands for a file that does not exist. Where text takes the place of text with
// NUL bytes, what is left of it is what there is to see.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return ""
	}
	if bytes.IndexByte(before, 0) >= 0 && bytes.IndexByte(after, 0) < 0 {
		before = append([]byte{}, bytes.ReplaceAll(before, []byte{0}, nil)...)
	}
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	switch {
	case bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0:
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	case bytes.Equal(before, after):
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	return udiff.Unified(from, to, string(before), string(after))
}

// Merge makes the changes from base to one and those from base to other both, byte for
// byte; ok is false where they meet in the same place. Lines are compared as wholes and
// changed only where they differ: a box that is ticked and words behind it are two places.
func Merge(base, one, other []byte) (merged []byte, ok bool) {
	all := changes(string(base), string(one))
	for _, e := range changes(string(base), string(other)) {
		if slices.Contains(all, e) {
			continue // both made it
		}
		for _, have := range all {
			if e.Start == have.Start || e.Start < have.End && have.Start < e.End {
				return nil, false
			}
		}
		all = append(all, e)
	}
	merged, err := udiff.ApplyBytes(base, all)
	return merged, err == nil
}

// changes are the edits that make one text of another. Where as many lines take the place
// of others, each is changed by itself, and only between what its beginning and its end
// have in common.
func changes(before, after string) (out []udiff.Edit) {
	for _, e := range udiff.Lines(before, after) {
		was, now := strings.SplitAfter(before[e.Start:e.End], "\n"), strings.SplitAfter(e.New, "\n")
		if e.Start == e.End || len(was) != len(now) {
			out = append(out, e)
			continue
		}
		at := e.Start
		for i, line := range was {
			if line != now[i] {
				head := commonPrefix(line, now[i])
				tail := commonSuffix(line[head:], now[i][head:])
				out = append(out, udiff.Edit{Start: at + head, End: at + len(line) - tail, New: now[i][head : len(now[i])-tail]})
			}
			at += len(line)
		}
	}
	return out
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
