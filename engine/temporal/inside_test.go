package temporal_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// The clone that started a run knows that the fleet has it, and what is inside it, from then on,
// and so does every clone that fetched its branch. Plain reprise begins nothing of it and leaves
// no copy: the fleet goes on with it there. (issue 19)
func TestFleet_has_what_is_inside_a_run(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"flow.yaml": handFlow, "docs/stories/4.1.story.md": storyReady("4.1"),
		"docs/stories/epics/EPIC-4-EXECUTION.yaml": "epic: EPIC-4\ntitle: Vouchers\nwaves:\n  - wave: 1\n    stories: [\"4.1\"]\n",
	}
	for name, text := range epicFiles {
		files[name] = text
	}
	s := newSite(t, files)
	plain := filepath.Join(shared.dir, "reprise")
	epic := []string{"run", "epic", "--epic", "docs/stories/epics/EPIC-3-EXECUTION.yaml", "--detach", "--heartbeat", "5s"}
	if r := s.fleet(epic...); r.code != 0 {
		t.Fatal(r)
	}
	if r := s.fleet("run", "flow.yaml", "--id", "named", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	if r := s.fleet("run", "flow.yaml", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	other := filepath.Join(s.dir, "other")
	s.git("clone", "-q", s.remote, other)
	for _, dir := range []string{s.clone, other} {
		for _, args := range [][]string{
			{"check", "3.1"}, {"resume", "3.1", "--trust", "--mode", "autopilot"}, {"resume", "3.3", "--option", "continue", "--trust", "--mode", "autopilot"},
			{"run", "sdc", "--story", "docs/stories/3.2.story.md", "--trust", "--mode", "autopilot"},
			{"run", "flow.yaml", "--id", "named", "--trust", "--mode", "autopilot"},
		} {
			r := s.program(plain, append(args, "-C", dir)...)
			if said := strings.Join(strings.Fields(r.out+r.err), " "); r.code != 11 || !strings.Contains(said, "handed to the fleet") && !strings.Contains(said, "is such a run: the fleet works on it") {
				t.Errorf("%v in %s: %+v", args, dir, r)
			}
		}
		if r := s.program(plain, "run", "flow.yaml", "--trust", "--mode", "autopilot", "-C", dir); r.code != 11 || !strings.Contains(r.err, "`reprise-fleet resume ") {
			t.Errorf("a run of the same file, without a name, in %s: %+v", dir, r)
		}
		if r := s.program("git", "-C", dir, "status", "--short", "--untracked-files=all"); strings.Contains(r.out, ".agent-memory") {
			t.Errorf("what was refused left %s", r.out)
		}
	}
	// A run of the fleet inside one that it has, and around one.
	if r := s.fleet("run", "sdc", "--story", "docs/stories/3.1.story.md", "--detach"); r.code != 11 || !strings.Contains(r.err, "reprise-fleet resume EPIC-3") {
		t.Errorf("a story of an epic that the fleet has: %+v", r)
	}
	if r := s.fleet("run", "sdc", "--story", "docs/stories/4.1.story.md", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	around := []string{"run", "epic", "--epic", "docs/stories/epics/EPIC-4-EXECUTION.yaml"}
	if r := s.fleet(append(around, "--detach")...); r.code != 11 || !strings.Contains(r.err, "reprise-fleet resume 4.1") {
		t.Errorf("an epic around a story that the fleet has: %+v", r)
	}
	if r := s.program(plain, append(around, "--trust", "--mode", "autopilot", "-C", s.clone)...); r.code != 11 || s.git("status", "--short") != "" {
		t.Errorf("an epic here around a story that the fleet has: %+v, left %s", r, s.git("status", "--short"))
	}
	s.three()
	if r := s.fleet("resume", "named", "--heartbeat", "5s"); !ended(r) {
		t.Fatalf("%+v", r)
	}
	s.eachOnce("named", "a", "b", "c")
}
