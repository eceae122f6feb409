package durable

import (
	"bytes"
	"fmt"

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
