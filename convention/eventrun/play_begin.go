package eventrun

import (
	"bytes"
	"encoding/json"
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

// ErrNotInFile is the cause where a task of a run is no step of the workflow file
// that it was started with.
var ErrNotInFile = errors.New("the workflow file has no such step")

// Begin implements reprise.Playbook. The text of the goal is what is to be done
// in words, or a task graph as JSON; a path may name a file that holds the graph
// instead, or the folder of a run that is there already.
func (b Book) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	text := strings.TrimSpace(g.Text)
	if g.Path == path.Join(runsDir, g.ID) {
		g.Path = "" // the run's own folder, which is archived where it starts afresh
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
		return reprise.Ref{}, nil, fmt.Errorf("begin a run: nothing says what is to be done: %w", reprise.ErrNotFromNothing)
	}
	if strings.HasPrefix(text, "{") {
		if err := workable(text); err != nil {
			return reprise.Ref{}, nil, fmt.Errorf("begin a run: %w", err)
		}
	}
	if g.ID == "" {
		var err error
		if g.ID, err = name(fsys, g, text); err != nil {
			return reprise.Ref{}, nil, err
		}
	}
	return ref(g.ID, path.Join(runsDir, g.ID)), []reprise.Event{{Kind: reprise.RunStarted, At: g.Now, Text: text, Outcome: g.Mode}}, nil
}

// GoalOf implements reprise.Goaler: of a workflow file of the person's own it is
// the graph that names the file; of others the title says it.
func (b Book) GoalOf(fsys fs.FS, r *reprise.Run) string {
	data, err := fs.ReadFile(fsys, path.Join(r.Path, "task-graph.json"))
	if b.steps == nil || err != nil {
		return ""
	}
	return string(data)
}

func ref(id, at string) reprise.Ref {
	return reprise.Ref{Layout: layoutName, ID: id, Path: at, Kind: reprise.KindGraph}
}

// name makes the name of a run: its time, its words, and a few letters that
// follow from both, so that two goals of one minute differ.
func name(fsys fs.FS, g reprise.Goal, text string) (string, error) {
	head := g.Now.UTC().Format("20060102-1504-") + words(text)
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

// workable refuses a graph whose tasks wait for each other or for none that is
// there.
func workable(text string) error {
	var g struct {
		Tasks []struct {
			ID    string   `json:"id"`
			Needs []string `json:"dependencies"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return fmt.Errorf("task graph: %w", err)
	}
	needs, left := map[string][]string{}, map[string]int{}
	for _, t := range g.Tasks {
		left[t.ID] = 0
	}
	for _, t := range g.Tasks {
		for _, need := range t.Needs {
			if _, known := left[need]; !known {
				return fmt.Errorf("task graph: %s waits for %q, which is no task of it", doc.Clip(t.ID, 60), doc.Clip(need, 60))
			}
			needs[need] = append(needs[need], t.ID)
			left[t.ID]++
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

// words makes the readable part of a name from the first words of the goal, or
// from the title of a graph.
func words(text string) string {
	if strings.HasPrefix(text, "{") {
		var g struct {
			Title string `json:"title"`
		}
		// A graph that is none is refused when the run is recorded, with the reason.
		if json.Unmarshal([]byte(text), &g) != nil || g.Title == "" {
			g.Title = "tasks"
		}
		text = g.Title
	}
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

// maxLog bounds what is read to find a run's goal; it stands in its first line.
const maxLog = 256 << 10

// goalOf gives what the run was started with, from the event that says so.
func goalOf(fsys fs.FS, dir string) (text string, at reprise.Source) {
	// A folder that cannot be listed holds no goal; Load has told of it.
	_ = fs.WalkDir(fsys, path.Join(dir, "events"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".jsonl" {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil
		}
		line := 0
		for raw := range bytes.Lines(data[:min(len(data), maxLog)]) {
			line++
			if text = startedWith(raw); text != "" {
				at = reprise.Source{File: name, Line: line}
				return fs.SkipAll
			}
		}
		return nil
	})
	return text, at
}

func startedWith(raw []byte) string {
	if !bytes.Contains(raw, []byte("started")) {
		return ""
	}
	var ev struct {
		EventType string `json:"event_type"`
		Type      string `json:"type"`
		Event     string `json:"event"`
		Name      string `json:"feature_name"`
		Details   struct {
			Name string `json:"feature_name"`
		} `json:"details"`
	}
	if json.Unmarshal(raw, &ev) != nil {
		return "" // a torn line costs that line, and Load has told of it
	}
	for _, word := range []string{ev.EventType, ev.Type, ev.Event} {
		if doc.Fold(word) == "run started" {
			if ev.Details.Name != "" {
				return ev.Details.Name
			}
			return ev.Name
		}
	}
	return ""
}
