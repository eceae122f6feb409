package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise/convention/conventiontest"
	"reprise/project"
)

// states judges a folder without git, and lists its runs with their states.
func states(t *testing.T, dir string, within []string) (list []string, whole func() bool) {
	t.Helper()
	opts := project.JudgeOptions{Alone: true}
	opts.Now, opts.Within = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), within
	j, err := project.Judge(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Runs {
		list = append(list, fmt.Sprint(r.Layout, " ", r.Path, " ", r.ID, " ", j.Decisions[r].State))
	}
	slices.Sort(list)
	return append(list, j.Hidden()), j.Whole
}

// TestA_glance_that_is_whole_tells_what_a_look_tells holds the narrow look against the whole
// one in every scenario: where it says that it saw everything, it did.
func TestA_glance_that_is_whole_tells_what_a_look_tells(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	deeper, _ := filepath.Glob("../convention/*/testdata/scenarios/*/*.txtar")
	if files = append(files, deeper...); err != nil || len(files) < 100 {
		t.Fatal(err, len(files))
	}
	wholes := 0
	for _, name := range files {
		dir := t.TempDir()
		if err := os.CopyFS(dir, conventiontest.LoadFS(t, name)); err != nil {
			t.Fatal(err)
		}
		all, _ := states(t, dir, nil)
		seen, whole := states(t, dir, []string{})
		same := slices.Equal(all, seen)
		if whole() {
			wholes++
			if !same {
				t.Errorf("%s: a glance that calls itself whole shows\n%q, a look\n%q", name, seen, all)
			}
		}
	}
	if wholes == 0 || wholes == len(files) {
		t.Errorf("%d of %d glances were whole", wholes, len(files))
	}
	t.Logf("%d of %d glances were whole", wholes, len(files))
}
