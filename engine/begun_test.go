package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// TestO1_O2_a_run_that_was_only_begun_is_listed_and_resumed kills an engine before
// each operation on the disk by which it begins a run. As soon as the journal tells
// of the run it is listed as interrupted, with files or without, it can be previewed
// as what it will be, and whoever resumes what is listed comes to the end that an
// undisturbed run comes to. Before that nothing is there, and only some operations
// are tried. Without REPRISE_MATRIX it is resumed from the first ones alone, in half of
// some workflows; with REPRISE_MATRIX=all every operation is tried.
func TestO1_O2_a_run_that_was_only_begun_is_listed_and_resumed(t *testing.T) {
	sample.Drawn(t)
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	t.Parallel()
	names := everyWorkflow()
	if only := os.Getenv("REPRISE_WORKFLOW"); only != "" {
		names = strings.Split(only, ",")
	} else if os.Getenv("REPRISE_MATRIX") == "" {
		names = nil
		some := sample.Every(t, 3)
		for i, name := range []string{"file", "epic", "build"} { // each layout that the core does not begin by a record, with runs below one
			if some(i) {
				names = append(names, name)
			}
		}
	}
	drawn := sample.Every(t, 3)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := undisturbed(t, name)
			from := whole.from
			last := slices.IndexFunc(whole.sites, func(s string) bool { return strings.HasPrefix(s, "engine/resume.go") })
			recorded := slices.IndexFunc(whole.sites, func(s string) bool {
				return strings.HasPrefix(s, "engine/begin.go") && strings.Contains(s, "journal/journal.go")
			})
			if recorded < 10 || last < recorded {
				t.Fatalf("it is recorded by operation %d, and resumed by %d", recorded, last)
			}
			var without, with int
			every := os.Getenv("REPRISE_MATRIX") == "all"
			for n := range last {
				if n < recorded-1 && n%90 != 0 && !every {
					continue // nothing of it is on record yet
				}
				if n >= recorded-1 && !drawn(n) && !every {
					continue
				}
				k := killed{name: name, dir: filepath.Join(t.TempDir(), "p")}
				if err := os.CopyFS(k.dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				if out, code := k.engine(n); code != -1 {
					t.Fatalf("killed before operation %d it ends with %d: %s", n, code, out)
				}
				begun, left := false, false
				for _, all := range journals(t, k.dir) {
					begun = begun || count(all, reprise.RunStarted, "") > 0
					left = left || count(all, reprise.EngineLeft, "") > 0
				}
				if left {
					break // it was begun in good order, and is one of those that no one has started
				}
				ref, err := listed(k.dir, name)
				if begun != (err == nil) {
					t.Errorf("killed before operation %d (%s), on record %v: %v", n, whole.sites[n], begun, err)
				}
				if !begun || err != nil {
					continue
				}
				_, missing := os.Stat(filepath.Join(k.dir, ref.Path))
				if missing == nil {
					with++
				} else {
					without++
				}
				before := stamps(t, k.dir)
				p, err := newEngine(k.dir).Preview(t.Context(), ref, engine.Choice{})
				if err != nil || len(p.Starts) == 0 {
					t.Fatalf("killed before operation %d (%s): its preview is %+v: %v", n, whole.sites[n], p, err)
				}
				if stamps(t, k.dir) != before {
					t.Errorf("killed before operation %d (%s): looking changed something", n, whole.sites[n])
				}
				if (without+with)%4 != 1 && os.Getenv("REPRISE_MATRIX") == "" && !sample.All() {
					continue
				}
				e, began := actors(k.dir), ""
				e.Tell = func(p engine.Progress) {
					if p.Kind == engine.Began && began == "" {
						began = p.Step
					}
				}
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil || sum.State != reprise.Complete && !(waits(name) && sum.State == reprise.Waiting) {
					t.Errorf("killed before operation %d (%s): whoever resumes it comes to %+v: %v", n, whole.sites[n], sum, err)
				} else if st := p.Starts[0]; began != st.Step && began != st.Run { // which may do a step
					t.Errorf("killed before operation %d (%s): it begins with %s, previewed %s", n, whole.sites[n], began, st.Step)
				} else if problems := whole.came.compare(k.outcome(t)); len(problems) > 0 {
					t.Errorf("killed before operation %d (%s):\n  %s", n, whole.sites[n], strings.Join(problems, "\n  "))
				}
			}
			if without == 0 {
				t.Error("no kill was where the journal alone tells of the run")
			}
			t.Logf("of %d operations %d are behind the journal and before the files, %d behind both", last, without, with)
		})
	}
}

// actors is an engine whose steps are played, and counted, as those of carry are.
func actors(dir string) *engine.Engine {
	e := newEngine(dir)
	e.Ask = answering
	e.Environ = append(e.Environ, "DEMO_LAUNCHES="+launchesOf(dir))
	e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"] = launchesOf(dir)
	e.Settings.Env = append(e.Settings.Env, "DEMO_LAUNCHES")
	return e
}
