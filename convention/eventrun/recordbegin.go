package eventrun

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// begin makes a run. The text of the event is what is to be done: a task graph
// as JSON, with `tasks`, or words.
//
// A graph makes a run that stands at its execution: the documents that come
// before it are written too, as short as they can be, and the constitution says
// that whoever started the run gave the graph and thereby approved it. Words
// make a run at its intake, with nothing but the event.
func (rec *recording) begin() ([]reprise.Edit, error) {
	if rec.dir == "" {
		if !plainRunID(rec.run.ID) {
			return nil, fmt.Errorf("record %s: %q cannot be the name of a run", rec.ev.Kind, doc.Clip(rec.run.ID, 60))
		}
		rec.dir = path.Join(memoryDir, "runs", rec.run.ID)
	}
	if err := rec.open(); err != nil {
		return nil, err
	}
	if rec.has(rec.id) {
		return nil, nil
	}
	if isRun(rec.reader.FS(), rec.dir) {
		return nil, fmt.Errorf("record %s: a run is there already: %s", rec.ev.Kind, rec.dir)
	}
	text := strings.TrimSpace(rec.ev.Text)
	if !strings.HasPrefix(text, "{") {
		l := rec.line("run-started", rec.about("feature_name", text))
		e, err := rec.append([]line{l})
		return []reprise.Edit{e}, err
	}
	g, err := readOrder(text)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", rec.ev.Kind, err)
	}
	if g.title == "" {
		g.title = slug(rec.run.ID)
	}
	l := rec.line("run-started", rec.about("feature_name", g.title))
	log, err := rec.append([]line{l})
	if err != nil {
		return nil, err
	}
	return append(rec.documents(g, text), log), nil
}

// plainRunID accepts what can be a folder in every file system.
func plainRunID(id string) bool {
	if id == "" || len(id) > 120 || id[0] == '.' || strings.HasSuffix(id, ".") || strings.TrimSpace(id) != id {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) || r == unicode.ReplacementChar
	})
}

// order is a task graph that was given to begin with.
type order struct {
	title string
	tasks []orderTask
}

type orderTask struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

func readOrder(text string) (order, error) {
	var g struct {
		Title string      `json:"title"`
		Tasks []orderTask `json:"tasks"`
	}
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return order{}, fmt.Errorf("task graph: %w", err)
	}
	if len(g.Tasks) == 0 {
		return order{}, fmt.Errorf("task graph: it holds no task")
	}
	seen := map[string]bool{}
	for i, t := range g.Tasks {
		if id := strings.TrimSpace(t.ID); id == "" || seen[id] {
			return order{}, fmt.Errorf("task graph: task %d has the id %q, which is empty or taken", i+1, doc.Clip(t.ID, 60))
		}
		seen[strings.TrimSpace(t.ID)] = true
	}
	return order{inline(g.Title), g.Tasks}, nil
}

// inline makes text that can stand in a line of Markdown without being more.
func inline(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune("`<>[]|", r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return doc.Clip(strings.Join(strings.Fields(s), " "), 120)
}

func (rec *recording) documents(g order, graph string) []reprise.Edit {
	stamp, _ := json.Marshal(rec.ev.At.UTC().Format(time.RFC3339Nano))
	id, _ := json.Marshal(rec.run.ID)
	head := fmt.Sprintf("---\nrun_id: %s\nactor: reprise\ncreated: %s\n---\n\n", id, stamp)
	var list strings.Builder
	for _, t := range g.tasks {
		fmt.Fprintf(&list, "- %s: %s\n", inline(t.ID), inline(t.Title))
	}
	create := func(name, content string) reprise.Edit {
		return splice.Create(path.Join(rec.dir, name), []byte(content), "begin the run")
	}
	return []reprise.Edit{
		create("prd.md", head+"# PRD: "+g.title+"\n\nWhat is to be done is told by the tasks of task-graph.json.\n"),
		create("plan.md", head+"# Plan: "+g.title+"\n\n"+list.String()),
		create("task-graph.json", graph+"\n"),
		create("constitution.md", head+"# Constitution\n\nThe task graph was given by the person who started this run; starting it approved it.\n"),
	}
}
