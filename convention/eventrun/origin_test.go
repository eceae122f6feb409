package eventrun_test

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

// EV9: a run whose workflow file was changed says so, and takes the steps of the
// changed file over.
func TestEV9_record_a_changed_workflow_file(t *testing.T) {
	t.Parallel()
	graph := func(file, tasks string) string {
		return fmt.Sprintf("{\n  \"title\": \"Ship\",\n  \"workflow\": {\"file\": \"flow.yaml\", \"sha256\": \"%s\"},\n  \"tasks\": [%s]\n}", reprise.HashOf([]byte(file)), tasks)
	}
	const a, b, c = `{"id":"a","title":"A","dependencies":[]}`, `{"id":"b","title":"B","dependencies":["a"]}`, `{"id":"c","title":"C","dependencies":["a"]}`
	told := func(fsys fs.FS) string {
		for _, f := range load(t, fsys).Findings {
			if f.Code == reprise.CodeWorkflowChanged {
				return f.Message
			}
		}
		return ""
	}
	fsys := conventiontest.Records(t, eventrun.New(), fstest.MapFS{"flow.yaml": file("old")}, "r1",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStarted, At: clock(0), Text: graph("old", a+","+b)}, State: reprise.Interrupted},
		conventiontest.Recorded{Event: attempt(step(reprise.StepStarted, "a", 1), 1), Status: reprise.InProgress},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "a", 2), Status: reprise.Done})
	if got := told(fsys); got != "" {
		t.Errorf("unchanged: %s", got)
	}
	fsys["flow.yaml"] = file("new")
	if got := told(fsys); !strings.Contains(got, "has changed since") {
		t.Errorf("changed: %q", got)
	}
	gone := maps.Clone(fsys)
	delete(gone, "flow.yaml")
	if got := told(gone); !strings.Contains(got, "is gone") {
		t.Errorf("gone: %q", got)
	}
	revised := reprise.Event{Kind: reprise.RunRevised, At: clock(3), Text: graph("new", a+","+c)}
	fsys = conventiontest.Records(t, eventrun.New(), fsys, "r1", conventiontest.Recorded{Event: revised, Moves: []string{"b", "c"}})
	r := load(t, fsys)
	if got := told(fsys); got != "" || r.Step("b") != nil || r.Step("c") == nil || r.Step("a").Status != reprise.Done {
		t.Errorf("revised: %q %+v", got, r.Steps)
	}
	if edits, err := record(t, fsys, revised); err != nil || len(edits) > 0 {
		t.Errorf("a second time: %+v %v", edits, err)
	}
	revised.Text = "{}"
	if edits, err := record(t, fsys, revised); err == nil {
		t.Errorf("no graph: %+v", edits)
	}
	for _, ev := range []reprise.Event{step(reprise.StepSkipped, "c", 4), {Kind: reprise.RunEnded, Outcome: "completed", At: clock(5)}} {
		edits, err := record(t, fsys, ev)
		if err != nil {
			t.Fatal(err)
		}
		if fsys, err = conventiontest.Apply(fsys, edits); err != nil {
			t.Fatal(err)
		}
	}
	delete(fsys, "flow.yaml")
	if got := told(fsys); got != "" {
		t.Errorf("a finished run needs no file: %s", got)
	}
}
