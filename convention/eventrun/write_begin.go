package eventrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// begin creates a run. The text of the event is what to do: a task graph as JSON, with
// `tasks`, or words.
//
// A graph creates a run that is ready for execution: the documents before it are written
// too, as short as possible, and the constitution says that whoever started the run
// provided the graph and thereby approved it. Words create a run at its intake, with
// nothing but the event.
func (rec *recording) begin() ([]line, error) {
	if isRun(rec.fsys, rec.dir) {
		return nil, fmt.Errorf("a run is there already: %s", rec.dir)
	}
	title := strings.TrimSpace(rec.ev.Text)
	if strings.HasPrefix(title, "{") {
		g, err := givenGraph(title)
		if err != nil {
			return nil, err
		}
		if g.title = inline(g.title); g.title == "" {
			g.title = slug(rec.run.ID)
		}
		rec.documents(g, title)
		title = g.title
	}
	return []line{rec.line("run-started", rec.about("feature_name", title))}, nil
}

// revise replaces the graph: the workflow file was changed, and a person wants the run to
// continue with that.
func (rec *recording) revise() error {
	text := strings.TrimSpace(rec.ev.Text)
	if _, err := givenGraph(text); err != nil {
		return err
	}
	name := path.Join(rec.dir, graphJSON)
	if _, err := fs.Stat(rec.fsys, name); errors.Is(err, fs.ErrNotExist) {
		return ledger.Cannot("it has no %s", graphJSON)
	}
	rec.changes.Rewrite(name, []byte(text+"\n"), "adopt the steps of the changed workflow file")
	return nil
}

// plainRunID accepts what can be a folder name in every file system.
func plainRunID(id string) bool {
	if id == "" || len(id) > 120 || id[0] == '.' || strings.HasSuffix(id, ".") || strings.TrimSpace(id) != id {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) || r == unicode.ReplacementChar
	})
}

// inline makes text safe within a line of Markdown.
func inline(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune("`<>[]|", r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return doc.Clip(strings.Join(strings.Fields(s), " "), 120)
}

// documents creates the files of a run that begins with its graph.
func (rec *recording) documents(g graph, text string) {
	stamp, _ := json.Marshal(rec.ev.At.UTC().Format(time.RFC3339Nano))
	id, _ := json.Marshal(rec.run.ID)
	head := fmt.Sprintf("---\nrun_id: %s\nactor: reprise\ncreated: %s\n---\n\n", id, stamp)
	var list strings.Builder
	for _, n := range g.nodes {
		fmt.Fprintf(&list, "- %s: %s\n", inline(n.id), inline(n.title))
	}
	for _, f := range [][2]string{
		{"prd.md", head + "# PRD: " + g.title + "\n\nWhat is to be done is told by the tasks of task-graph.json.\n"},
		{"plan.md", head + "# Plan: " + g.title + "\n\n" + list.String()},
		{graphJSON, text + "\n"},
		{"constitution.md", head + "# Constitution\n\nThe task graph was given by the person who started this run; starting it approved it.\n"},
	} {
		rec.changes.Create(path.Join(rec.dir, f[0]), []byte(f[1]), "begin the run")
	}
}
