package ledger

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise/internal/doc"
)

// NamedFiles lists the files that lines of a document name, as paths of the tree: what stands in
// backquotes, and the first word of an item or of a cell, where it looks like a path.
func NamedFiles(lines []doc.Line, project string) (files []string) {
	add := func(word string) {
		if p := NamedFile(project, word); p != "" && !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	for _, l := range lines {
		rest, quoted := l.Text, false
		for {
			_, after, ok := strings.Cut(rest, "`")
			word, behind, shut := strings.Cut(after, "`")
			if !ok || !shut {
				break
			}
			quoted = true
			add(word)
			rest = behind
		}
		if text := strings.TrimSpace(l.Text); !quoted && (strings.HasPrefix(text, "|") || unbulleted(text) != text) {
			text = unbulleted(strings.TrimLeft(text, "| "))
			text = strings.TrimPrefix(strings.TrimPrefix(text, "[x] "), "[ ] ")
			if words := strings.Fields(text); len(words) > 0 {
				add(words[0])
			}
		}
	}
	return files
}

func unbulleted(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text), "> ")
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && text[1] == ' ' {
		text = text[2:]
	}
	return strings.TrimSpace(text)
}

// NamedFile gives a file named in a project's documents as a path of the tree, "" if it is none: no
// file without an ending or a folder, nothing absolute, nothing with wild cards, nothing
// outside.
func NamedFile(project, name string) string {
	name = strings.Trim(strings.TrimSpace(name), "*_,;:")
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./")
	if len(name) > 300 || strings.ContainsAny(name, " \t\x00*?{}<>|\"'()") || strings.Contains(name, "://") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "@") || strings.HasSuffix(name, "/") {
		return ""
	}
	if ext := path.Ext(name); !strings.Contains(name, "/") && (len(ext) < 2 || len(ext) > 6 || len(ext) == len(name)) {
		return ""
	}
	if len(name) > 1 && name[1] == ':' {
		return ""
	}
	p := path.Join(project, name)
	if !fs.ValidPath(p) || p == "." {
		return ""
	}
	return p
}
