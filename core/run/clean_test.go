//go:build unix

package run_test

import (
	"context"
	"testing"

	"reprise/core/run"
)

// A run that is packed in the middle goes on, and its steps can be taken back; a run that is
// cleaned leaves nothing of it in our store.
func TestPacked_and_cleaned(t *testing.T) {
	dir, _ := project(t, 2)
	crowded := `mkdir -p .reprise/worlds/objects/17; cd .reprise/worlds/objects/17; seq 40 | xargs touch; cd - >/dev/null; echo x >>f; mkdir -p d; echo $REPRISE_STEP >d/$REPRISE_STEP`
	e := open(t, dir, crowded)
	work(t, e, "the run is over")
	if got := shell(t, dir, `ls .reprise/worlds/objects/pack | wc -l; find .reprise/worlds/objects/17 -size 0 | wc -l`); got != "2\n0\n" {
		t.Errorf("store: %s", got)
	}
	if err := run.Clean(context.Background(), dir, "run"); err == nil {
		t.Error("it was cleaned while an engine had it")
	}
	if err := e.Undo(context.Background(), "s02"); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := run.Clean(context.Background(), dir, "run"); err == nil {
		t.Error("it was cleaned while it was open")
	}
	e = open(t, dir, `echo again >>f`)
	work(t, e, "the run is over")
	e.Close()
	if err := run.Clean(context.Background(), dir, "run"); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, dir, `ls .reprise/runs; find .reprise/worlds/objects -type f | wc -l; git status --porcelain; cat f; git fsck --no-dangling --no-progress 2>&1`); got != "0\nx\nagain\n" {
		t.Errorf("left: %s", got)
	}
}
