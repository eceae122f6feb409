package project_test

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/gitx/gittest"
	"reprise/project"
)

// Where git has a state file, a removal that is not committed never makes the answer better:
// only a file that its tool takes away in the course of the work may be missing. A run may
// vanish with its only file. (issue 15, item 1)
func TestRemoval_of_a_state_file_that_git_has_never_makes_the_answer_better(t *testing.T) {
	t.Parallel()
	all := examples(t)
	for _, example := range slices.Sorted(maps.Keys(all)) {
		files, top := all[example], gittest.Folder(t)
		dir, now := filepath.Join(top, "project"), cmp.Or(interrupted[example], time.Now())
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		gittest.Begin(t, dir, gittest.Environ(top))
		before := judged(t, dir, now)
		for _, name := range stateFiles(t, files) {
			if name == "reprise.yaml" || convention.Passing(filepath.Base(name)) {
				continue
			}
			t.Run(example+"/"+name, func(t *testing.T) {
				t.Parallel()
				copied := filepath.Join(gittest.Folder(t), "project")
				if err := errors.Join(os.CopyFS(copied, os.DirFS(dir)), os.Remove(filepath.Join(copied, name))); err != nil {
					t.Fatal(err)
				}
				after := judged(t, copied, now)
				notBetter(t, among(before, after), after)
			})
		}
	}
}

// among leaves out the runs that are not there any more.
func among(before, after *project.Judgement) *project.Judgement {
	out := *before
	out.Runs = slices.DeleteFunc(slices.Clone(before.Runs), func(r *reprise.Run) bool {
		return !slices.ContainsFunc(after.Runs, func(o *reprise.Run) bool { return o.Layout == r.Layout && o.Path == r.Path })
	})
	return &out
}
