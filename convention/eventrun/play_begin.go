package eventrun

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// ErrNotInFile means that a task of a run is not a step of the workflow file it was
// started with.
var ErrNotInFile = errors.New("the workflow file has no such step")

// Begin implements reprise.Playbook. The text of the goal is what to do, in words, or a
// task graph as JSON; a path may instead name a file with the graph, or the folder of an
// existing run.
func (b Book) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	text := strings.TrimSpace(g.Text)
	if g.Path == path.Join(runsDir, g.ID) {
		g.Path = "" // the run's own folder, which is archived on a fresh start
	}
	if g.Path != "" {
		info, err := fs.Stat(fsys, g.Path)
		if err != nil {
			return reprise.Ref{}, nil, fmt.Errorf("begin a run from %s: %w", g.Path, err)
		}
		if info.IsDir() {
			return ref(path.Base(g.Path), g.Path), nil, nil
		}
		data, err := fs.ReadFile(fsys, g.Path)
		if err != nil {
			return reprise.Ref{}, nil, fmt.Errorf("begin a run from %s: %w", g.Path, err)
		}
		text = strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	}
	if g.ID != "" {
		at := ref(g.ID, path.Join(runsDir, g.ID))
		if !fs.ValidPath(at.Path) || strings.Contains(g.ID, "/") {
			return reprise.Ref{}, nil, fmt.Errorf("begin a run: %q cannot be its name", doc.Clip(g.ID, 60))
		}
		if _, err := fs.Stat(fsys, at.Path); err == nil {
			return at, nil, nil
		}
	}
	if text == "" {
		return reprise.Ref{}, nil, &reprise.MissingError{Run: "a run", What: "nothing says what to do", Do: "describe it in a sentence"}
	}
	title := text
	if strings.HasPrefix(text, "{") {
		tasks, err := givenGraph(text)
		if err == nil {
			err = tasks.workable()
		}
		if err != nil {
			return reprise.Ref{}, nil, fmt.Errorf("begin a run: %w", err)
		}
		if title = tasks.title; title == "" {
			title = "tasks"
		}
	}
	if g.ID == "" {
		var err error
		if g.ID, err = name(fsys, g, title, text); err != nil {
			return reprise.Ref{}, nil, err
		}
	}
	return ref(g.ID, path.Join(runsDir, g.ID)), []reprise.Event{{Kind: reprise.RunStarted, At: g.Now, Text: text, Outcome: g.Mode}}, nil
}

// GoalOf implements reprise.Goaler: for a person's own workflow file it is the graph that
// names the file; otherwise the title.
func (b Book) GoalOf(fsys fs.FS, r *reprise.Run) string {
	data, err := fs.ReadFile(fsys, path.Join(r.Path, graphJSON))
	if b.steps == nil || err != nil {
		return ""
	}
	return string(data)
}

func ref(id, at string) reprise.Ref {
	return reprise.Ref{Layout: Name, ID: id, Path: at, Kind: reprise.KindGraph}
}

// name creates the name of a run: its time, its words, and a few letters derived from
// both, so that two goals in one minute differ.
func name(fsys fs.FS, g reprise.Goal, title, text string) (string, error) {
	head := g.Now.UTC().Format("20060102-1504-") + words(title)
	for n := range 1000 {
		id := head + "-" + letters(fmt.Sprintf("%s\x00%d\x00%d", text, g.Now.UnixNano(), n))
		_, err := fs.Stat(fsys, path.Join(runsDir, id))
		if errors.Is(err, fs.ErrNotExist) {
			return id, nil
		}
		if err != nil {
			return "", fmt.Errorf("name a run: %w", err)
		}
	}
	return "", fmt.Errorf("name a run: every name like %s is taken", head)
}

// workable rejects a graph whose tasks wait for each other or for a task that does not
// exist.
func (g *graph) workable() error {
	needs, left := map[string][]string{}, map[string]int{}
	for _, n := range g.nodes {
		left[n.id] = 0
	}
	for _, n := range g.nodes {
		for _, need := range n.needs {
			if _, known := left[need]; !known {
				return fmt.Errorf("task graph: %s waits for %q, which is not one of its tasks", doc.Clip(n.id, 60), doc.Clip(need, 60))
			}
			needs[need] = append(needs[need], n.id)
			left[n.id]++
		}
	}
	var ready []string
	for id, n := range left {
		if n == 0 {
			ready = append(ready, id)
		}
	}
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		delete(left, id)
		for _, next := range needs[id] {
			if left[next]--; left[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("task graph: tasks wait for each other: %s", doc.Clip(strings.Join(slices.Sorted(maps.Keys(left)), ", "), 200))
	}
	return nil
}

func letters(of string) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	sum := reprise.HashOf([]byte(of))
	out := make([]byte, 4)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}

// words creates the readable part of a name from the first words of a title.
func words(text string) string {
	var out []string
	size := 0
	for _, w := range strings.FieldsFunc(doc.Fold(text), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if size += len(w) + 1; len(out) == 5 || size > 40 && len(out) > 0 {
			break
		}
		out = append(out, w[:min(len(w), 40)])
	}
	if len(out) == 0 {
		return "run"
	}
	return strings.Join(out, "-")
}
