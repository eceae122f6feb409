package specloop_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/specloop"
)

func broken(r *reprise.Run) (n int) {
	for _, f := range r.Findings {
		if f.Code == reprise.CodeIntegrity {
			n++
		}
	}
	return n
}

// mend mends a tree and asks that each run violates fewer rules then.
func mend(t *testing.T, fsys fstest.MapFS) ([]reprise.Mend, fstest.MapFS) {
	t.Helper()
	l := specloop.New()
	got := conventiontest.Mends(t, l, fsys)
	for _, now := range got.Runs {
		was, err := l.Load(fsys, now.Ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Mends {
			if len(m.Edits) != 1 || strings.HasPrefix(m.Edits[0].Path, now.Path) && broken(now) >= broken(was) {
				t.Errorf("%+v: still %d of %d violations", m, broken(now), broken(was))
			}
		}
	}
	return got.Mends, got.Tree
}

// SL6: every tree of the package gives mends that apply and make nothing more
// done.
func TestSL6_Mend_every_scenario(t *testing.T) {
	t.Parallel()
	conventiontest.MendsEvery(t, "testdata/scenarios/*.txtar", func(t *testing.T, fsys fstest.MapFS) []reprise.Mend {
		mends, _ := mend(t, fsys)
		return mends
	})
}

const wholeIndex = "# Feature Index: 007-team-invites\r\n\r\n## Priority Loop State\r\n\r\n| Field | Value |\r\n|---|---|\r\n" +
	"| **Loop Status** | `clarifying` |\r\n| **Current Iteration** | 2 / 10 |\r\n| **Stale Count** | 1 / 3 |\r\n\r\n" +
	"## Pending Questions\r\n\r\n| ID | Question | Gaps | Status |\r\n|---|---|---|---|\r\n| C2.1 | How long? | G-001 | awaiting_answer |\r\n\r\n" +
	"## Gap Priority Queue\r\n\r\n| Priority | Gap ID | Status |\r\n|---|---|---|\r\n| Critical | G-001 | clarifying |\r\n| Minor | G-002 | pending |\r\n\r\n" +
	"## Gap Resolution History\r\n\r\n| Gap ID | Iteration | Details |\r\n|---|---|---|\r\n| G-000 | 1 | said so |\r\n"

// SL6: each violation that can be set right, byte for byte.
func TestSL6_Mend(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name           string
		old, bad, good string // good "" for what is beyond repair
	}{
		{"whole", "x", "x", ""},
		{"no last activity is no damage", "| **Stale Count** | 1 / 3 |\r\n", "", ""},
		{"iteration above the limit", "2 / 10", "12 / 10", "10 / 10"},
		{"iteration below zero", "2 / 10", "-1 / 10", "2 / 10"},
		{"iteration in words", "| 2 / 10", "| two / 10", "| 2 / 10"},
		{"stale count above the limit", "1 / 3", "9 / 3", "3 / 3"},
		{"stale count below zero", "1 / 3", "-2 / 3", "0 / 3"},
		{"stale count in words", "1 / 3", "one / 3", ""},
		{"unknown status with a question open", "`clarifying`", "`paused`", "`clarifying`"},
		{"named gap is pending", "| G-001 | clarifying |", "| G-001 | pending |", "| G-001 | clarifying |"},
		{"named gap is resolved without a record", "| G-001 | clarifying |", "| G-001 | resolved |", "| G-001 | clarifying |"},
		{"named gap is deferred", "| G-001 | clarifying |", "| G-001 | deferred |", ""},
		{"named gap is resolved on record", "clarifying |\r\n| Minor | G-002 | pending |", "resolved |\r\n| Minor | G-002 | pending |\r\n\r\n## Gap Resolution History\r\n\r\n| Gap ID | Iteration |\r\n|---|---|\r\n| G-001 | 2 |", ""},
		{"named gap is not there", "| G-001 | awaiting", "| G-001, G-009 | awaiting", ""},
		{"clarifying gap without a question", "| G-002 | pending |", "| G-002 | clarifying |", "| G-002 | pending |"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(wholeIndex, row.old, row.bad, 1)
			mends, after := mend(t, fstest.MapFS{indexPath: file(bad), featureDir + "spec.md": file(specText)})
			want := bad
			if row.good != "" {
				want = strings.Replace(bad, row.bad, row.good, 1)
			}
			if got := string(after[indexPath].Data); got != want || (len(mends) > 0) != (row.good != "") {
				t.Errorf("mends %+v\n%s\nwant\n%s", mends, got, want)
			}
		})
	}
}

// SL6: with nothing open an unknown status cannot be told.
func TestSL6_Mend_never_guesses_an_end(t *testing.T) {
	t.Parallel()
	text := "# Feature Index: x\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | finished |\n\n## Gap Priority Queue\n\n| Gap ID | Status |\n|---|---|\n| G-001 | resolved |\n"
	if mends, _ := mend(t, fstest.MapFS{indexPath: file(text), featureDir + "spec.md": file(specText)}); len(mends) > 0 {
		t.Errorf("%+v", mends)
	}
}

// X9: index.md cut off at any byte is mended to nothing more done.
func TestX9_Mend_cut_anywhere(t *testing.T) {
	t.Parallel()
	for cut := range len(wholeIndex) {
		mend(t, fstest.MapFS{indexPath: file(wholeIndex[:cut]), featureDir + "spec.md": file(specText)})
	}
}
