package longrun_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
)

// grouped is a run with a question and one open plan for each group.
func grouped(heading string, groups ...string) fstest.MapFS {
	fsys := fstest.MapFS{
		"s/.long-run/STATE.md":          {Data: []byte("## Current Position\nPlan: 1 of " + fmt.Sprint(len(groups)) + "\nStatus: Stopped\n")},
		"s/.long-run/clarifications.md": {Data: []byte("# Log\n\n## " + heading + "\n**Question:** Which?\n**Status:** pending\n**Response:**\n")},
	}
	for i, group := range groups {
		text := fmt.Sprintf("---\nplan: %02d\ntask_group: %q\n---\n\n<task><name>Do it</name></task>\n", i+1, group)
		if title, ok := strings.CutPrefix(group, "title "); ok {
			text = "# " + title + "\n\n<task><name>Do it</name></task>\n"
		}
		fsys[fmt.Sprintf("s/.long-run/plans/%02d-PLAN.md", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// TestLR8_the_plans_of_a_task_group: a question's heading gives plans only where
// that is certain, and else one line that says why not.
func TestLR8_the_plans_of_a_task_group(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heading string
		groups  string // one for each plan
		want    string // plans, or why there are none
	}{
		{"Task Group 3: ui", "schema,api,ui", "03"},
		{"Task Group 3: UI", "schema,api,ui", "03"},
		{"Task Group 2: API Layer", "schema,api-layer,ui", "02"},
		{"Task Group 2 - api", "schema,api,ui", "02"},
		{"Task Group: api", "schema,api,ui", "02"},
		{"Task Group 2: api", "schema,schema,api", "03"}, // groups are counted, not plans
		{"Task Group 2: api", "schema,api,api,ui", "02 03"},
		{"Task Group 2: api", "schema,2: api,3: ui", "02"},
		{"Task Group 2: api", "schema,Task Group 2: api,ui", "02"},
		{"Task Group 1: schema", "Task Group 1: schema,api", "01"},
		{"Task Group 2", "1,2,2,3", "02 03"},
		{"Task Group 2", "1: schema,2: api", "02"},
		{"Task Group 2: api", "1,2", "02"},
		{"Task Group 5: 3: ui", "a,b,3: ui", "03"}, // ours: the plan's number before its group
		{"Task Group 2: Make the pages", "title The tables,title Make the pages", "02"},

		{"Task Group 2: pages", "title The tables,title Make the pages", "no plan says that it belongs to that group"},
		{"Task Group 3", "schema,api,ui", "no plan says that it belongs to that group"},
		{"Task Group 1: user api", "api,ui", "no plan says that it belongs to that group"},
		{"Task Group 3: api", "1: schema,2: api", "no plan says that it belongs to that group"},
		{"Task Group: all", "schema,api", "no plan says that it belongs to that group"},
		{"Task Groups 1 and 2", "1,2", "no plan says that it belongs to that group"},
		{"Task Group 5: tests", "api,tests,ui,tests", "plan 02 and plan 04 have the same group but other plans between them; which is meant is unclear"},
		{"Task Group 2: ui", "ui,2", "it could be plan 01 (ui) or plan 02 (2)"},
		{"Task Group 1: C", "C,C++", "it could be plan 01 (C) or plan 02 (C++)"},
	} {
		checkGroup(t, c.heading+" of "+c.groups, grouped(c.heading, strings.Split(c.groups, ",")...), c.want)
	}

	lost := grouped("Task Group 2: api", "schema", "api", "ui")
	delete(lost, "s/.long-run/plans/03-PLAN.md")
	checkGroup(t, "a plan that is counted and not there", lost, "STATE.md counts 3 plans, but files mention 2")
	lost["s/.long-run/plans/03-CHECKPOINT.json"] = &fstest.MapFile{Data: []byte(`{"plan":"03","last_completed_task":1,"total_tasks":2}`)}
	checkGroup(t, "an open plan without its file", lost, "the group of plan 03 is unknown: its file is missing or cannot be read")
	lost["s/.long-run/summaries/03-SUMMARY.md"] = &fstest.MapFile{Data: []byte("---\nplan: 03\nstatus: completed\n---\n# x\n")}
	checkGroup(t, "a closed one holds nothing up", lost, "02")
}

func checkGroup(t *testing.T, name string, fsys fstest.MapFS, want string) {
	t.Helper()
	r := load(t, fsys)[0]
	q := r.PendingQuestions()[0]
	got := strings.Join(q.Group, " ")
	if got == "" {
		got = q.NoGroup
	}
	if got != want || (len(q.Group) > 0) == (q.NoGroup != "") {
		t.Errorf("%s: %q (%q), want %q", name, got, q.NoGroup, want)
	}
	for _, u := range r.Next {
		for _, id := range q.Group {
			if u.ID == id {
				t.Errorf("%s: plan %s is offered while its question is open", name, id)
			}
		}
	}
	for _, f := range r.Findings {
		if f.Code == reprise.CodePendingQuestion && q.NoGroup != "" && !strings.Contains(f.Hint, q.NoGroup) {
			t.Errorf("%s: the finding does not say why: %q", name, f.Hint)
		}
	}
	options := reprise.Next(r, reprise.Observed{}, reprise.Policy{}).Options(r)
	offered := false
	for _, o := range options {
		offered = offered || o.Key == "skip-group"
	}
	if options[0].Key != "answer" || offered != (len(q.Group) > 0) {
		t.Errorf("%s: %v is offered", name, options)
	}
}
