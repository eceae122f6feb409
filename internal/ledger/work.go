package ledger

import (
	"io/fs"
	"slices"
	"strings"

	"reprise/internal/doc"
)

// IsWork reports whether a heading is that of tasks or acceptance criteria.
func IsWork(title string) bool {
	return Marked(title, "acceptance criteria", "criterios de aceit", "criterio de aceit", "criterios de acept", "criteres d acceptation", "akzeptanzkriterien",
		"验收标准", "接受标准", "受け入れ", "인수 조건", "task", "tarefas", "tareas")
}

// Marked reports whether one of the marks stands near the beginning.
func Marked(text string, marks ...string) bool {
	fold := doc.Fold(doc.Clip(text, 60))
	return slices.ContainsFunc(marks, func(mark string) bool { i := strings.Index(fold, mark); return i >= 0 && i <= 20 })
}

// Present leaves the names of the files that are there.
func Present(fsys fs.FS, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := fs.Stat(fsys, name)
		return err != nil || info.IsDir()
	})
}

// Work gives the boxes of the tasks and criteria of a document, each once, without those
// on lines to leave out. The tasks of a gate are done by others.
func Work(m *doc.Markdown, without map[int]bool) (out []doc.Check) {
	seen := map[int]bool{}
	for _, sec := range m.Sections() {
		if !IsWork(sec.Title) || strings.Contains(doc.Fold(sec.Title), "gate") {
			continue
		}
		for _, c := range sec.Tasks() {
			if c.Ticked && c.Mark != "x" && c.Mark != "X" {
				continue // a sign of success stands before much that is no task
			}
			if !without[c.Line] && !seen[c.Line] {
				seen[c.Line] = true
				out = append(out, c)
			}
		}
	}
	return out
}
