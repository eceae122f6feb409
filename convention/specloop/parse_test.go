package specloop

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/doc"
)

func TestSL3_CountOfIterations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		n     int
		ok    bool
		blank bool
	}{
		{"2 / 10", 2, true, false},
		{"0/10", 0, true, false},
		{"3", 3, true, false},
		{"3 of 10", 3, true, false},
		{" / 10", 0, false, true},
		{"", 0, false, true},
		{"{{iteration_count}} / 10", 0, false, true},
		{"2 (C1.1, C1.2)", 2, true, false},
		{"-1 / 10", 0, false, false},
		{"two / 10", 0, false, false},
		{"99999999999 / 10", 0, false, false},
		{"- / 10", 0, false, true},
	} {
		c := count(value{tt.text, 1})
		if c.n != tt.n || c.ok != tt.ok || c.blank() != tt.blank {
			t.Errorf("count(%q) = %d, %t, blank %t; want %d, %t, %t", tt.text, c.n, c.ok, c.blank(), tt.n, tt.ok, tt.blank)
		}
	}
}

func TestSL6_GapIDsOfACell(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string][]string{
		"G-001":                      {"G-001"},
		"G-001, G-002, G-003":        {"G-001", "G-002", "G-003"},
		"`G-001`; G-002 and G-003.":  {"G-001", "G-002", "G-003"},
		"G1+G2":                      {"G1", "G2"},
		"none":                       nil,
		"":                           nil,
		"Pending C2.1 (see G-004)":   {"C2.1", "G-004"},
		"**G-001** & **G-002** / G3": {"G-001", "G-002", "G3"},
	} {
		if diff := cmp.Diff(want, ids(cell)); diff != "" {
			t.Errorf("ids(%q) (-want +got):\n%s", cell, diff)
		}
	}
}

func TestSL4_WhichWorkflowAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"Q-S1", "", "specify"}, {"Q-C1", "", "specify"}, {"C2.1", "", "specify"},
		{"Q-P1", "", "plan"}, {"Q-T3", "", "tasks"}, {"Q1", "plan", "plan"}, {"Q-S1", "implement", "implement"},
	} {
		if got := workflowOf(tt[0], tt[1]); got != tt[2] {
			t.Errorf("workflowOf(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestSL1_FoldersAndIDs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"007-a": true, "7-a": true, "a-7": false, "007": false, "007-": false, "": false} {
		if numbered(name) != want {
			t.Errorf("numbered(%q) = %t", name, !want)
		}
	}
	for id, want := range map[string]bool{"007-a": true, "{{feature_id}}": false, "../x": false, "a b": false, "\x1b[31m": false, "": false} {
		if plainID(id) != want {
			t.Errorf("plainID(%q) = %t", id, !want)
		}
	}
}

// TestSL3_EveryStatusHasAPhase holds the table of the seed: each of the seven
// values gives a phase and a state, with nothing else recorded.
func TestSL3_EveryStatusHasAPhase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word  string
		state reprise.State
		next  string
	}{
		{"not_started", reprise.NotStarted, "A1"}, {"scaffolding", reprise.Interrupted, "A1"},
		{"spec_writing", reprise.Interrupted, "A2"}, {"validating", reprise.Interrupted, "A3"},
		{"clarifying", reprise.Interrupted, "A3"}, {"completed", reprise.Complete, ""}, {"terminated", reprise.Stopped, ""},
	} {
		fsys := fstest.MapFS{"specs/001-a/.workflow/index.md": {Data: []byte("## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | " + tt.word + " |\n")}}
		if tt.next != "A1" {
			fsys["specs/001-a/spec.md"] = &fstest.MapFile{Data: []byte("# Feature Specification: Invites\n\nText.\n")}
		}
		r, err := Layout{}.Load(fsys, reprise.Ref{Layout: layoutName, ID: "001-a", Path: "specs/001-a", Kind: reprise.KindSpecLoop})
		if err != nil {
			t.Fatal(err)
		}
		next := ""
		if len(r.Next) > 0 {
			next = r.Next[0].ID
		}
		if r.State != tt.state || next != tt.next {
			t.Errorf("%s: %s, next %q; want %s, %q", tt.word, r.State, next, tt.state, tt.next)
		}
	}
}

func loadBytes(t testing.TB, name string, data []byte) *reprise.Run {
	t.Helper()
	fsys := fstest.MapFS{"specs/001-a/.workflow/" + name: {Data: data}, "specs/001-a/spec.md": {Data: []byte("# Feature Specification: Invites\n")}}
	r, err := Layout{}.Load(fsys, reprise.Ref{Layout: layoutName, ID: "001-a", Path: "specs/001-a", Kind: reprise.KindSpecLoop})
	if err != nil {
		t.Fatal(err)
	}
	if r.State == 0 || r.Reason == "" {
		t.Errorf("state %q for the reason %q", r.State, r.Reason)
	}
	if r.State == reprise.Complete && len(r.Next) > 0 {
		t.Errorf("complete and offers %v", r.Next)
	}
	return r
}

func FuzzIndex(f *testing.F) {
	f.Add("clarifying", "2 / 10", "| C1.1 | Q | G-001 | answered |", "| Critical | G-001 | clarifying | C1.1 |")
	f.Add("completed", "{{n}} / 10", "", "|||")
	f.Add("`vali|dating`", "", "| | | | |", "| Minor | G | ? |")
	f.Fuzz(func(t *testing.T, status, iteration, question, gap string) {
		loadBytes(t, "index.md", []byte("# Feature Index: 001-a\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | "+status+" |\n| **Current Iteration** | "+iteration+
			" |\n\n## Pending Questions\n\n| ID | Question Summary | Gaps | Status |\n|---|---|---|---|\n"+question+"\n\n## Gap Priority Queue\n\n| Priority | Gap ID | Status | Resolution |\n|---|---|---|---|\n"+gap+"\n"))
	})
}

func FuzzContext(f *testing.F) {
	f.Add([]byte("---\nstatus: awaiting-user\niteration: 2\n---\n\n## Clarification Log\n\n### Iteration 2\n\n| Gap ID | Question | Answer |\n|---|---|---|\n| G1 | Q | A |\n"))
	f.Add([]byte("---\nstatus: {{status}}\nphase: {{phase}}\n---\n"))
	f.Add([]byte("---\nstatus: [a]\niteration: {x: 1}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		loadBytes(t, "context.md", data)
		loadBytes(t, "plan-context.md", data)
	})
}

func FuzzGraph(f *testing.F) {
	f.Add([]byte(`{"status":"in-progress","current_pass":2,"passes":[{"pass":1}],"nodes":[{"id":"a","type":"gate","status":"pending"}],"edges":[{"type":"depends-on","source":"a","target":"b"}]}`))
	f.Add([]byte(`{"outcome":"halted","nodes":[[]],"edges":{}}`))
	f.Add([]byte(`[1`))
	f.Fuzz(func(t *testing.T, data []byte) {
		loadBytes(t, "dags/specify-strategy.json", data)
		loadBytes(t, "dags/pass-002.json", data)
	})
}

func FuzzCells(f *testing.F) {
	f.Add("G-001, G-002", "2 / 10")
	f.Add("((,,", "/ /")
	f.Fuzz(func(t *testing.T, cell, number string) {
		for _, id := range ids(cell) {
			if !names(cell, id) && doc.Fold(id) != "" {
				t.Errorf("%q does not name its own id %q", cell, id)
			}
		}
		if c := count(value{number, 1}); c.ok && c.blank() {
			t.Errorf("%q is a number and blank", number)
		}
		options(cell)
	})
}
