package transcript

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise"
)

// Brief shortens a command line to about so many bytes. Parts of it are left out, those
// last that reach beyond this machine: that it pushes or sends something must be seen.
func Brief(line string, most int) string {
	if len(line) <= most {
		return line
	}
	parts := partsOf(line)
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return reach(parts[b]) - reach(parts[a]) })
	kept, room := make([]string, len(parts)), most
	for _, i := range order {
		if part := middleOut(parts[i], most/2); len(part) <= room {
			kept[i], room = part, room-len(part)
		}
	}
	var out strings.Builder
	gap := false
	for _, part := range kept {
		if part == "" && !gap {
			out.WriteString("… ")
		}
		gap = part == ""
		out.WriteString(part)
	}
	return strings.TrimSpace(out.String())
}

// partsOf cuts a line behind what separates commands, wherever that stands.
func partsOf(line string) (out []string) {
	const separators = ";&|\n"
	for line != "" {
		end := strings.IndexAny(line, separators)
		if end < 0 {
			return append(out, line)
		}
		end += len(line[end:]) - len(strings.TrimLeft(line[end:], separators+" "))
		out, line = append(out, line[:end]), line[end:]
	}
	return out
}

// reach tells how far a part of a command line may reach, by the words in it.
func reach(part string) int {
	words := strings.FieldsFunc(part, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._/-", r)
	})
	for i, w := range words {
		words[i] = path.Base(w)
	}
	has := func(list string) bool {
		all := strings.Fields(list)
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(all, w) })
	}
	switch {
	case slices.Contains(words, "git") && has(gitRemote):
		return 3
	case has(programWords[reprise.EffectNetwork]):
		return 2
	case has(programWords[reprise.EffectProcess]):
		return 1
	}
	return 0
}

// middleOut cuts the middle out of a text: programs stand at its beginning or, behind
// variables, near its end.
func middleOut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + "…" + strings.ToValidUTF8(text[len(text)-most/2:], "")
}
