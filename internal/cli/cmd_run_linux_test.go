package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
)

// TestOR1_run_in_preflight_makes_nothing_before_the_word: a pre-flight check shows
// what would be made, and whoever does not say "proceed" finds the project as it was.
func TestOR1_run_in_preflight_makes_nothing_before_the_word(t *testing.T) {
	t.Parallel()
	dir := shop(t, strings.Replace(askingFlow, "while ! test -e go; do sleep 0.05; done; ", "", 1))
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	was := stamps(t, dir)
	c := onTerminal(t, dir, 90, 40, env, "run", "flow.yaml", "--id", "one", "--mode", "preflight", "--trust")
	c.waitFor("Pre-flight: Task graph one")
	c.waitFor(".agent-memory/runs/one/task-graph.json")
	c.waitFor("Steps: build, ask, ship")
	c.waitFor(`Type "proceed" to start it`)
	c.send("yes\r")
	c.waitFor("Nothing was started.")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	if now := stamps(t, dir); now != was {
		t.Errorf("something was made:\n%s\n%s", was, now)
	}
	c = onTerminal(t, dir, 90, 40, env, "run", "flow.yaml", "--id", "one", "--mode", "preflight")
	c.waitFor(`Type "proceed" to start it`)
	c.send("proceed\r")
	c.waitFor("? ask: Ship it?")
	c.send("1\r")
	c.waitFor("=== Finished: Task graph one")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
}

// TestX8_run_of_a_file_goes_on_with_a_run_that_was_only_begun: someone was killed
// when the journal told of the run and its files were not there yet.
func TestX8_run_of_a_file_goes_on_with_a_run_that_was_only_begun(t *testing.T) {
	t.Parallel()
	dir, env := unstarted(t)
	trusts(t, dir, env, "release.yaml", "reprise.yaml")
	w, hash, err := engine.ReadFlow(filepath.Join(dir, "release.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := w.Graph("release.yaml", hash, 3)
	if err != nil {
		t.Fatal(err)
	}
	ref := reprise.Ref{Layout: "eventrun", ID: "one", Path: ".agent-memory/runs/one", Kind: reprise.KindGraph}
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, convention.Find("eventrun"), ref)
	if err != nil {
		t.Fatal(err)
	}
	place := reprise.Place(ref)
	began := reprise.Event{Kind: reprise.RunStarted, At: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), Text: graph, Run: &place}
	if _, err := j.Record(context.Background(), began); err != nil {
		t.Fatal(err)
	}
	store.Release()
	if err := os.RemoveAll(filepath.Join(dir, ref.Path)); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := run(t, env, "run", "release.yaml", "--mode", "autopilot", "--until", "build", "--dir", dir)
	if code != 0 || !strings.Contains(out, "was already begun") {
		t.Errorf("%d: %s%s", code, out, errOut)
	}
	if runs, err := filepath.Glob(filepath.Join(dir, ".agent-memory/runs/*")); err != nil || len(runs) != 1 {
		t.Errorf("%q %v", runs, err)
	}
}
