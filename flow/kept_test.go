package flow

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reprise"
)

// diffKept compares a workflow with what is read of what was kept of it.
func diffKept(w, kept *Workflow) string {
	if kept == nil {
		return "nothing is kept"
	}
	kept.Steps()
	return cmp.Diff(w, kept, cmp.AllowUnexported(Workflow{}), cmpopts.IgnoreFields(Workflow{}, "kept"))
}

// X8: a workflow that is kept is the one that was read; anything else in its
// place, and the smallest damage, is none.
func TestX8_a_kept_workflow_is_the_one_that_was_read(t *testing.T) {
	t.Parallel()
	w, err := Parse("release.yaml", []byte(`name: release
title: "Ünïcode & <b>"
parallel: 3
steps:
  - {id: build, command: [make, "a b", "\u00e9\t"], outputs: [dist/app], env: {A: ""}, backoff: 10s, timeout: 1m, attempts: 2}
  - {id: go, needs: [build], ask: {question: "Release\nit?", options: [yes, no]}}
  - {id: notes, needs: [go], role: writer, prompt: "Write\n\nit.", inputs: [CHANGES.md], verify: [test, -s, NOTES.md], on_crash: rerun}
  - {id: end, needs: [notes]}
`))
	if err != nil {
		t.Fatal(err)
	}
	hash := reprise.HashOf([]byte("the file"))
	kept, err := w.Keep(hash)
	if err != nil {
		t.Fatal(err)
	}
	if d := diffKept(w, Kept(kept, hash)); d != "" {
		t.Error(d)
	}
	one := Kept(kept, hash)
	if d := cmp.Diff(w.Step("notes"), one.Step("notes")); d != "" || one.Step("nothing") != nil {
		t.Errorf("one step alone: %s", d)
	}
	if Kept(kept, reprise.HashOf([]byte("another file"))) != nil {
		t.Error("it was taken for that of another file")
	}
	for i := range kept {
		if Kept(kept[:i], hash) != nil {
			t.Fatalf("cut after %d bytes it counts", i)
		}
		damaged := append([]byte(nil), kept...)
		damaged[i] ^= 1
		if Kept(damaged, hash) != nil {
			t.Fatalf("damaged at byte %d it counts", i)
		}
	}
	if Kept(nil, hash) != nil || Kept(append(kept, ' '), hash) != nil {
		t.Error("nothing, or more than it, counts")
	}
}

// A form that is kept on people's machines must not be read as another one: when
// this fails, keptForm needs another name.
func TestX8_the_kept_form_has_these_fields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, of := range []any{Workflow{}, Step{}, Question{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if f.IsExported() {
				fmt.Fprintf(&b, "%s %s; ", f.Name, f.Type)
			}
		}
	}
	const want = "Name string; Title string; Parallel int; " +
		"ID string; Title string; Needs []string; Command []string; Role string; Prompt string; Ask *flow.Question; " +
		"Inputs []string; Outputs []string; Env map[string]string; Verify []string; OnCrash reprise.Ambiguity; " +
		"Attempts int; Backoff time.Duration; Timeout time.Duration; Line int; " +
		"Text string; Options []string; "
	if keptForm != "reprise-workflow-1" || b.String() != want {
		t.Errorf("%s: %s", keptForm, b.String())
	}
}
