package project_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
)

// A state file that ends at one of its lines, where the last commit goes on, looks whole:
// only git knows that something is missing. The verdict is never better and the resume
// point never later than with all of it. A few of the lines are tried, all with
// REPRISE_ALL. (issue 15, item 1)
func TestA_file_that_ends_at_a_line_where_git_has_more_never_makes_the_answer_better(t *testing.T) {
	t.Parallel()
	chosen, row := sample.Every(t, 17), 0
	all := examples(t)
	for _, example := range slices.Sorted(maps.Keys(all)) {
		files, dir := all[example], t.TempDir()
		now := cmp.Or(interrupted[example], time.Now())
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		environ := gittest.Environ(t.TempDir())
		gittest.Begin(t, dir, environ)
		gittest.Run(t, dir, environ, "add", "-Af")
		gittest.Commit(t, dir, environ, "base")
		before := judged(t, dir, now)
		for r, d := range before.Decisions {
			if d.Action == reprise.Start && d.Verdict == reprise.Caution {
				d.Verdict = reprise.Safe // removing the lines that a warning is about is a way to settle it
				before.Decisions[r] = d
			}
		}
		for _, name := range stateFiles(t, files) {
			if name == "reprise.yaml" {
				continue // a person's settings
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for at := range data {
				if data[at] != '\n' || len(bytes.TrimSpace(data[at:])) == 0 {
					continue
				}
				if row++; !chosen(row) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s:%d", example, name, bytes.Count(data[:at+1], []byte("\n"))), func(t *testing.T) {
					t.Parallel()
					other := t.TempDir()
					if err := errors.Join(os.CopyFS(other, os.DirFS(dir)), os.WriteFile(filepath.Join(other, name), data[:at+1], 0o644)); err != nil {
						t.Fatal(err)
					}
					notBetter(t, before, judged(t, other, now))
				})
			}
		}
	}
}
