package web

import "strings"

// diffLines tells the lines of a unified diff apart.
func diffLines(diff string) (out []diffLine) {
	for text := range strings.Lines(diff) {
		text = strings.TrimRight(text, "\n")
		kind := "same"
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			kind = "file"
		case strings.HasPrefix(text, "@@"):
			kind = "place"
		case strings.HasPrefix(text, "+"):
			kind = "added"
		case strings.HasPrefix(text, "-"):
			kind = "removed"
		}
		out = append(out, diffLine{kind, text})
	}
	return out
}
