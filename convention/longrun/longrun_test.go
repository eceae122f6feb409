package longrun_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
)

func TestLR_Scenarios(t *testing.T) {
	t.Parallel()
	conventiontest.Scenarios(t, longrun.New(), "testdata/scenarios")
}

// TestX9_Conform damages rich samples of both families and both versions of
// `.long-run/` in every way the suite knows.
func TestX9_Conform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lr1-active-agent", "lr2-second-version", "gsd-handoff-waits", "gsd-agent-live"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conventiontest.Conform(t, longrun.New(), conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar"))
		})
	}
}

// TestLR8_Options: the options of the seed follow from the answer alone.
func TestLR8_Options(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"lr1-active-agent":     "resume-agent respawn skip fresh",
		"lr2-partial-plan":     "continue restart skip fresh",
		"lr3-between-plans":    "continue fresh",
		"lr5-complete":         "",
		"gsd-agent-live":       "resume-agent respawn skip fresh",
		"gsd-handoff":          "continue restart skip fresh",
		"gsd-between-phases":   "continue restart skip fresh",
		"gsd-complete":         "",
		"gsd-handoff-waits":    "continue restart skip fresh",
		"lr4-pending-question": "continue fresh",
	} {
		runs, err := conventiontest.Read(longrun.New(), conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar"))
		if err != nil || len(runs) == 0 {
			t.Fatalf("%s: %v, %d runs", name, err, len(runs))
		}
		var keys []string
		for _, o := range runs[0].ResumeOptions() {
			keys = append(keys, o.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: options %q, want %q", name, got, want)
		}
	}
}

// TestX1_FindKeepsWalking: one folder that cannot be listed hides no other, and
// refs come sorted.
func TestX1_FindKeepsWalking(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"b/.planning/STATE.md":  {Data: []byte("Phase: 1\n")},
		"a/.long-run/STATE.md":  {Data: []byte("Plan: 1 of 2\n")},
		".planning/ROADMAP.md":  {Data: []byte("# Roadmap\n")},
		"c/.long-run":           {Data: []byte("a file")},
		"d/.planning/ideas.txt": {Data: []byte("not GSD")},
	}
	refs, err := longrun.New().Find(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range refs {
		got = append(got, r.ID+"="+r.Path)
		if r.Layout != "longrun" || r.Kind != reprise.KindPlans {
			t.Errorf("ref %+v", r)
		}
	}
	if want := "planning=.planning a=a/.long-run b=b/.planning"; strings.Join(got, " ") != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func load(t testing.TB, fsys fstest.MapFS) []*reprise.Run {
	t.Helper()
	runs, err := conventiontest.Read(longrun.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.State == 0 || r.Reason == "" {
			t.Fatalf("no state or no reason: %s", conventiontest.Describe(r))
		}
		if r.State == reprise.Complete && len(r.Next) > 0 {
			t.Fatalf("complete and offering: %s", conventiontest.Describe(r))
		}
	}
	return runs
}

func fuzzFile(f *testing.F, scenario, name string) {
	base := conventiontest.LoadFS(f, "testdata/scenarios/"+scenario+".txtar")
	if base[name] == nil {
		f.Fatalf("%s holds no %s", scenario, name)
	}
	f.Add(base[name].Data)
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("{}"))
	f.Add([]byte("| Phase | 3 |\n- [x] 03-\n# Phase \n**Status:** \x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{}
		for n, file := range base {
			fsys[n] = file
		}
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644, ModTime: conventiontest.Epoch}
		if len(load(t, fsys)) == 0 {
			t.Fatal("the run vanished")
		}
	})
}

func FuzzLongRunState(f *testing.F) {
	fuzzFile(f, "lr1-active-agent", "specs/shop/.long-run/STATE.md")
}

func FuzzCheckpoint(f *testing.F) {
	fuzzFile(f, "lr2-second-version", "specs/shop/.long-run/plans/02-CHECKPOINT.json")
}

func FuzzHistory(f *testing.F) {
	fuzzFile(f, "lr1-active-agent", "specs/shop/.long-run/agent-history.json")
}

func FuzzClarifications(f *testing.F) {
	fuzzFile(f, "lr1-active-agent", "specs/shop/.long-run/clarifications.md")
}

func FuzzSummary(f *testing.F) {
	fuzzFile(f, "lr1-active-agent", "specs/shop/.long-run/summaries/01-SUMMARY.md")
}

func FuzzPlanningState(f *testing.F) { fuzzFile(f, "gsd-handoff", ".planning/STATE.md") }

func FuzzRoadmap(f *testing.F) { fuzzFile(f, "gsd-handoff", ".planning/ROADMAP.md") }

func FuzzHandoff(f *testing.F) { fuzzFile(f, "gsd-handoff", ".planning/HANDOFF.json") }

func FuzzContinueHere(f *testing.F) {
	fuzzFile(f, "gsd-continue-here-root", ".continue-here.md")
}

func FuzzPlan(f *testing.F) {
	fuzzFile(f, "gsd-depends-on", ".planning/phases/03-checkout/03-02-PLAN.md")
}

// FuzzFileNames puts a file of any name into a phase folder.
func FuzzFileNames(f *testing.F) {
	for _, name := range []string{"03-02-PLAN.md", "PLAN-01.md", "08-01-FIX.md", "12.1-03b-SUMMARY.md", "..PLAN.md", "9999999999-1-PLAN.md", "-_-PLAN-_-.md"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsAny(name, "/\\\x00") || name == "" || name == "." || name == ".." {
			t.Skip()
		}
		load(t, fstest.MapFS{
			".planning/STATE.md":                 {Data: []byte("Phase: 3\n")},
			".planning/phases/03-a/" + name:      {Data: []byte("x\n")},
			".planning/phases/" + name + "/x.md": {Data: []byte("x\n")},
			".long-run/plans/" + name:            {Data: []byte("{}")},
		})
	})
}
