package orchestrate

import (
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// What evidence from outside the files rests on: how commits name a story, the
// files it touches, the branch it is made on.

// maxFiles bounds how many files of one step are kept.
const maxFiles = 200

// storyTraces tells how commits name a story. An id with a prefix of its own
// (CP-7.4) says it alone; a bare number needs the word or brackets, because
// versions are numbers too. All are partial: commits name a story from its
// draft to its review, and none shows that it was accepted. Ids of stories last
// as long as the project, so there is no time before which they do not count.
func storyTraces(k key) []reprise.Trace {
	if len(k.nums) == 0 {
		return nil
	}
	id := k.id
	if k.prefix == "" && k.letter == 0 {
		id = joinInts(k.nums) // epic-1-story-2 and 1-2 are called 1.2
	}
	forms := []string{"Story " + id, "story " + id, "story-" + id}
	switch {
	case strings.ContainsAny(k.prefix, "-_") && len(id) > 3:
		forms = []string{id}
	case len(k.nums) > 1:
		forms = append(forms, "["+id+"]", "("+id+")")
	}
	out := make([]reprise.Trace, len(forms))
	for i, f := range forms {
		out[i] = reprise.Trace{Subject: f, Anywhere: true, Partial: true}
	}
	return out
}

// fileLists begin the headings of sections that list the files a story touches.
var fileLists = []string{
	"file list", "files modified", "files changed", "modified files", "lista de arquivos", "arquivos modificados", "arquivos afetados", "arquivos a criar", "文件列表",
}

// listFiles reads the paths of a file list: what stands in backquotes, and the
// first word of an item or of a cell, where it looks like a path.
func (s *storyDoc) listFiles(sec doc.Section) {
	for _, l := range sec.Lines() {
		rest := l.Text
		quoted := false
		for len(s.files) < maxFiles {
			_, after, ok := strings.Cut(rest, "`")
			word, behind, shut := strings.Cut(after, "`")
			if !ok || !shut {
				break
			}
			quoted = true
			s.addFile(word)
			rest = behind
		}
		if text := strings.TrimSpace(l.Text); !quoted && (strings.HasPrefix(text, "|") || trimBullet(text) != text) {
			text = trimBullet(strings.TrimLeft(text, "| "))
			text = strings.TrimPrefix(strings.TrimPrefix(text, "[x] "), "[ ] ")
			if words := strings.Fields(text); len(words) > 0 {
				s.addFile(words[0])
			}
		}
	}
}

func (s *storyDoc) addFile(name string) {
	if p := relative(projectOf(s.path), name); p != "" && len(s.files) < maxFiles && !slices.Contains(s.files, p) {
		s.files = append(s.files, p)
	}
}

// relative gives a file named in a project's documents as a path of the tree, ""
// if it is none: no file without an ending or a folder, nothing absolute,
// nothing with wild cards, nothing outside.
func relative(project, name string) string {
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
	if !fsPath(p) || p == "." {
		return ""
	}
	return p
}

// filesOf reads a list of files of a state. A number counts files and names none.
func (l *loader) filesOf(nodes ...*doc.Node) []string {
	var out []string
	for _, n := range nodes {
		if n == nil || n.Kind != doc.List {
			continue
		}
		for _, item := range n.Items {
			name := item.Plain()
			if item.Kind == doc.Map {
				name = item.Get("path", "file").Plain()
			}
			if p := relative(l.project(), name); p != "" && len(out) < maxFiles && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// stateBranch is the branch a workflow's state names.
func stateBranch(root ledger.Value) string {
	for _, in := range []ledger.Value{root, root.In("target_context"), root.In("context"), root.In("context_snapshot")} {
		if b := ledger.Branch(in.In("branch").Plain()); b != "" {
			return b
		}
	}
	return ""
}
