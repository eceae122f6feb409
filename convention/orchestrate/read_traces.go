package orchestrate

import (
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
			if p := ledger.NamedFile(l.project(), name); p != "" && len(out) < maxFiles && !slices.Contains(out, p) {
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
