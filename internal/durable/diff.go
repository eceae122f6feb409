package durable

import (
	"bytes"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// Diff shows the change of one file as a unified diff, "" if there is none. A
// nil before stands for a file that does not exist, and so does one of binary content
// where text takes its place: the text is what there is to see.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return ""
	}
	if bytes.IndexByte(before, 0) >= 0 && bytes.IndexByte(after, 0) < 0 {
		before = nil
	}
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	switch {
	case bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0:
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	case len(before) == 0 && len(after) == 0:
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	return udiff.Unified(from, to, string(before), string(after))
}
