package temporal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
)

// signing is an agent that does what it is told, and is slow where its step is in the file slow.
const signing = `cat > /dev/null
echo "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT" >> "$FLEET_LOG"
if test -f "$FLEET_LOG.slow" && grep -qx "$REPRISE_RUN $REPRISE_STEP" "$FLEET_LOG.slow"; then sleep 3; fi
case $REPRISE_STEP in implement) sed -i 's/- \[ \]/- [x]/' docs/stories/$REPRISE_RUN.story.md ;; esac
echo made > "made-$REPRISE_RUN-$REPRISE_STEP.txt"
echo '{"outcome":"done","verdict":"PASS"}' > "$REPRISE_RESULT"
`

// newEpic is a site with an epic of two waves and a worker. slow are attempts that take some time.
func newEpic(t *testing.T, slow ...string) *site {
	t.Helper()
	s := newSite(t, map[string]string{
		"docs/stories/epics/EPIC-3-EXECUTION.yaml": "epic: EPIC-3\ntitle: Payments\nwaves:\n  - wave: 1\n    stories: [\"3.1\"]\n  - wave: 2\n    stories: [\"3.2\"]\n",
		"docs/stories/3.1.story.md":                storyReady("3.1"), "docs/stories/3.2.story.md": storyReady("3.2"),
		"agent.sh":     signing,
		"reprise.yaml": "agents: {any: {command: [sh, agent.sh]}}\nroles: {default: any}\nenv: [FLEET_LOG]\nbackoff: 1s\n",
	})
	if err := os.WriteFile(s.launches+".slow", []byte(strings.Join(slow, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.worker("w1")
	return s
}

// runEpic starts the epic.
func (s *site) runEpic() {
	s.Helper()
	if r := s.fleet("run", "epic", "--epic", "docs/stories/epics/EPIC-3-EXECUTION.yaml", "--detach", "--heartbeat", "5s"); r.code != 0 {
		s.Fatal(r)
	}
}

// once wants the epic complete, with each agent started once.
func (s *site) once(r result) {
	s.Helper()
	if sum := s.summary(r); sum.State != reprise.Complete || r.code != 0 {
		s.Errorf("%d %+v", r.code, sum)
	}
	want := "3.1 implement 1, 3.1 qa 1, EPIC-3 wave-1-gate 1, 3.2 implement 1, 3.2 qa 1, EPIC-3 wave-2-gate 1, EPIC-3 final-gate 1"
	if got := strings.ReplaceAll(strings.TrimSpace(s.launched()), "\n", ", "); got != want {
		s.Errorf("agents were started for %s", got)
	}
}

// The remote refuses the work of a step of a story. That costs the story no attempt, and what is
// finished lands once it is allowed, with the command that is named. (issue 19)
func TestFleet_what_was_refused_within_a_run_lands_once_allowed(t *testing.T) {
	t.Parallel()
	s := newEpic(t, "3.1 implement")
	s.runEpic()
	s.until("it is at work", func() bool { return s.attempts("3.1", "implement") == 1 })
	hook := filepath.Join(s.remote, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nwhile read old new ref; do case $ref in refs/reprise/*) echo 'policy 17 forbids it'; exit 1;; esac; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sum := s.summary(s.fleet("resume", "EPIC-3", "--json"))
		if sum.Exit != 11 || len(sum.Parked)+len(sum.Failed) > 0 || sum.Next != "reprise-fleet resume EPIC-3" || !strings.Contains(strings.Join(sum.Reasons, "\n"), "the remote refuse") {
			t.Fatalf("%+v", sum)
		}
	}
	r := s.fleet("stop", "EPIC-3")
	if r.code != 11 || !strings.Contains(r.err, "`reprise-fleet resume EPIC-3 --until 3.1`") || !strings.Contains(r.err, "`reprise-fleet resume EPIC-3 --from 3.1`") {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if sum := s.summary(s.fleet("resume", "EPIC-3", "--until", "3.1", "--json")); sum.Exit != 0 {
		t.Errorf("%+v", sum)
	}
	s.once(s.fleet("resume", "EPIC-3", "--json"))
}

// A run is stopped during the gate after its last story: no story is left, and it is not over. One
// machine goes on with its journal, and the fleet takes back what it did. (issue 19)
func TestFleet_a_run_without_open_steps_that_has_a_gate_is_not_over(t *testing.T) {
	t.Parallel()
	s := newEpic(t, "EPIC-3 wave-2-gate")
	s.runEpic()
	s.until("the gate is at work", func() bool { return s.attempts("EPIC-3", "wave-2-gate") == 1 })
	r := s.fleet("stop", "EPIC-3")
	_, way, _ := strings.Cut(r.out, "in a checkout: `")
	way, _, _ = strings.Cut(way, "`")
	if r.code != 0 || way == "" {
		t.Fatalf("%+v", r)
	}
	if err := os.Remove(s.launches + ".slow"); err != nil {
		t.Fatal(err)
	}
	if r := s.program("sh", "-c", "cd "+s.clone+" && "+way+" --trust --mode autopilot"); r.code != 0 || s.attempts("EPIC-3", "wave-2-gate") != 2 || !strings.Contains(s.launched(), "EPIC-3 wave-2-gate 2\n") {
		t.Fatalf("%s: %+v\n%s", way, r, s.launched())
	}
	s.commits(s.fleet("resume", "EPIC-3"))
	if r := s.fleet("resume", "EPIC-3", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete || s.attempts("EPIC-3", "final-gate") != 1 {
		t.Errorf("%+v", r)
	}
}
