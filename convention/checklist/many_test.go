package checklist_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A list of issues grows for years. What is allocated is counted, not the time: it is the same
// on every machine. So this test is not parallel.
func TestReading_a_list_of_thousands_of_issues_does_not_grow_with_their_square(t *testing.T) {
	const most = 6000
	var text strings.Builder
	for i := range most {
		kind, status := "task", []string{"open", "closed"}[i%2]
		if i%40 == 0 {
			kind, status = "epic", "open"
		}
		fmt.Fprintf(&text, `{"id":"bd-%d","title":"a","status":%q,"priority":%d,"issue_type":%q,"dependencies":[`, i, status, i%5, kind)
		if i > 0 {
			fmt.Fprintf(&text, `{"depends_on_id":"bd-%d","type":"blocks"},{"depends_on_id":"bd-%d","type":"parent-child"}`, i-1, i/40*40)
		}
		text.WriteString("]}\n")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run := loadList(t, "beads", ".beads/issues.jsonl", text.String())
	runtime.ReadMemStats(&after)
	if len(run.Steps) != most-most/40 {
		t.Errorf("%d steps, %s", len(run.Steps), run.Reason)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("%d MB", mb)
	}
}
