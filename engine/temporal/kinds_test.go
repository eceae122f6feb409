package temporal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
	"reprise/report"
)

// three starts the three workers of a site.
func (s *site) three() {
	for _, name := range []string{"w1", "w2", "w3"} {
		s.worker(name)
	}
}

// A workflow file of one's own goes from nothing to the end with three workers: steps beside
// each other, one that is verified, one that fails at first, and a question that takes an
// answer once and no other. The branch tells it all without the server. (issue 19)
func TestFleet_a_workflow_of_ones_own(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: own
parallel: 2
steps:
  - {id: a, role: dev, prompt: make it, outputs: [a.txt]}
  - {id: b, needs: [a], role: dev, prompt: make it, outputs: [b.txt], verify: [grep, Made, b.txt]}
  - {id: c, needs: [a], command: [sh, -c, 'echo "own c $REPRISE_ATTEMPT" >> "$FLEET_LOG"; test "$REPRISE_ATTEMPT" = 2 && echo c > c.txt'], outputs: [c.txt]}
  - {id: q, needs: [b, c], ask: {question: "Ship it?", options: [go on, stop]}}
  - {id: d, needs: [q], role: dev, prompt: make it, outputs: [d.txt], verify: [sh, -c, 'until test -e "$FLEET_LOG.on"; do sleep 0.1; done']}
`})
	s.three()
	if r := s.fleet("run", "flow.yaml", "--id", "own", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	if r := s.fleet("stop", "nothing"); r.code != 2 {
		t.Errorf("stopping what is not there: %+v", r)
	}
	s.until("it asks", func() bool { return strings.Contains(s.fleet("status").out, "? q: Ship it?") })
	var seen report.Status
	if r := s.program(filepath.Join(shared.dir, "reprise"), "status", "--json", s.clone); json.Unmarshal([]byte(r.out), &seen) != nil || seen.Fleet == nil ||
		len(seen.Fleet.Runs) != 1 || seen.Fleet.Runs[0].State != "open" || len(seen.Fleet.Runs[0].Questions) != 1 {
		t.Errorf("status --json of the plain program: %+v", r)
	}
	if r := s.fleet("answer", "own", "--text", "perhaps"); r.code == 0 {
		t.Error("an answer that is not offered was taken")
	}
	if r := s.fleet("answer", "own", "--question", "x", "--text", "go on"); r.code != 2 {
		t.Errorf("an answer to nothing: %+v", r)
	}
	if r := s.fleet("answer", "own", "--json"); r.code != 12 || !strings.Contains(r.out, `"open":[{"id":"q"`) {
		t.Errorf("the list of what is asked: %+v", r)
	}
	if r := s.fleet("answer", "own", "--question", "q", "--text", "go on"); r.code != 0 {
		t.Fatal(r)
	}
	// A second start finds the first, whose last step waits for that.
	second := exec.Command(shared.bin, "run", "flow.yaml", "--id", "own", "-C", s.clone)
	said := filepath.Join(s.dir, "second")
	out, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	second.Env, second.Stdout, second.Stderr = s.env(), out, out
	if err := startWithUs(second); err != nil {
		t.Fatal(err)
	}
	saw := func() string { text, _ := os.ReadFile(said); return string(text) }
	s.until("the second start follows it", func() bool { return strings.Contains(saw(), "own is on the fleet") })
	if err := os.WriteFile(s.launches+".on", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil || !strings.Contains(saw(), "\nown: complete\n") || strings.Count(saw(), "  ✓ ") != 5 {
		t.Fatalf("%v: %s", err, saw())
	}
	dir := s.checkout("own")
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for step, want := range map[string]int{"a": 1, "b": 1, "c": 2, "d": 1} {
		if got := s.attempts("own", step); got != want {
			t.Errorf("%d attempts at %s, want %d", got, step, want)
		}
	}
	if got := s.landed("own"); len(got) != 4 || got["a"] != 1 || got["b"] != 1 || got["c"] != 1 || got["d"] != 1 {
		t.Errorf("accepted: %v", got)
	}
	s.record("own")
	if r := s.program(filepath.Join(shared.dir, "reprise"), "status", dir); !strings.Contains(r.out, "complete") {
		t.Errorf("status in a clone of the branch: %+v", r)
	}
}

// epicFiles are an epic of two waves, whose stories are runs of their own.
var epicFiles = map[string]string{
	"docs/stories/epics/EPIC-3-EXECUTION.yaml": "epic: EPIC-3\ntitle: Payments\nwaves:\n  - wave: 1\n    stories: [\"3.1\", \"3.2\"]\n  - wave: 2\n    stories: [\"3.3\"]\n",
	"docs/stories/3.1.story.md":                storyReady("3.1"),
	"docs/stories/3.2.story.md":                storyReady("3.2"),
	"docs/stories/3.3.story.md":                storyReady("3.3"),
}

func storyReady(id string) string {
	return "# Story " + id + ": Something\n\n## Status\n\nReady\n\n## Acceptance Criteria\n\n1. It works.\n\n## Tasks\n\n- [ ] Make it\n"
}

// kinds are workflows that a person starts from nothing, played by the demo's actor.
var kinds = []struct {
	name  string
	args  []string
	files map[string]string
	want  reprise.State
	code  int
}{
	{name: "sdc", args: []string{"run", "sdc", "--id", "4.2", "Refunds"}, want: reprise.Complete},
	{name: "spec-loop", args: []string{"run", "spec-loop", "--id", "012", "Team invites"}, want: reprise.Complete},
	{name: "plans", args: []string{"run", "plans", "--path", "specs/checkout"}, want: reprise.Complete, files: map[string]string{
		"specs/checkout/spec.md": "# Checkout\n\nSell things.\n", "specs/checkout/tasks.md": "# Tasks\n\n- [ ] 1. Cart\n- [ ] 2. Payment\n",
	}},
	{name: "graph", args: []string{"run", "graph", "--id", "csv", "CSV export"}, want: reprise.Complete},
	{name: "build", args: []string{"run", "build", "--id", "005-health", "Health endpoint"}, want: reprise.Waiting, code: 12},
	{name: "qa-loop", args: []string{"run", "qa-loop", "--story", "docs/stories/2.2.story.md"}, want: reprise.Complete, files: map[string]string{
		"docs/stories/2.2.story.md": "# Story 2.2: Vouchers\n\n## Status\n\nReady for Review\n\n## Acceptance Criteria\n\n1. A voucher is taken once.\n\n## Tasks\n\n- [x] Take it once\n",
	}},
	{name: "spec-pipeline", args: []string{"run", "spec-pipeline", "Login with a link"}, want: reprise.Complete},
	{name: "epic", args: []string{"run", "epic", "--epic", "docs/stories/epics/EPIC-3-EXECUTION.yaml", "--parallel", "2"}, want: reprise.Complete, files: epicFiles},
	{name: "tasks", args: []string{"resume", "cart"}, want: reprise.Complete, files: map[string]string{"work/cart/todo.md": "# Cart\n\n- [ ] W1 Fill it\n- [ ] W2 Empty it\n"}},
}

// Workflow kinds go from nothing to the end with three workers. (issue 19)
func TestFleet_workflow_kinds(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		if short := k.name == "sdc" || k.name == "tasks" || k.name == "spec-loop" || k.name == "epic"; !short && os.Getenv("REPRISE_ALL") == "" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, k.files)
			s.three()
			done := make(chan struct{})
			defer close(done)
			go s.answering(done)
			sum := s.answered(s.summary(s.fleet(append(k.args, "--json", "--heartbeat", "5s")...)))
			if sum.State != k.want || sum.Exit != k.code {
				t.Errorf("%s, exit %d: %q, questions %+v, parked %v", sum.State, sum.Exit, sum.Reasons, sum.Questions, sum.Parked)
			}
			s.merges(sum)
			seen := map[string]bool{}
			text, _ := os.ReadFile(s.launches)
			for line := range strings.Lines(string(text)) {
				if seen[line] {
					t.Errorf("twice: %s", line)
				}
				seen[line] = true
			}
			if len(seen) == 0 {
				t.Error("no agent was started")
			}
		})
	}
}

// answered follows a run on while someone else answers what it asks.
func (s *site) answered(sum report.Summary) report.Summary {
	s.Helper()
	for len(sum.Questions) > 0 && sum.Exit == 12 {
		time.Sleep(time.Second)
		sum = s.summary(s.fleet("resume", sum.ID, "--json"))
		if sum.Exit == 3 {
			sum.Exit = 0 // it came to its end before it was followed again
		}
	}
	return sum
}

// merges merges the branch of a run that is over into the main branch as it is. That brings
// nothing of ours, and status still sees the run, in the branch and after the merge.
func (s *site) merges(sum report.Summary) {
	s.Helper()
	s.git("fetch", "-q", "origin")
	s.git("merge", "-q", "origin/"+temporal.Branch(sum.ID))
	if files := s.git("ls-files", ".reprise"); files != "" {
		s.Errorf("the branch brings %s", files)
	}
	for _, dir := range []string{s.clone, s.checkout(sum.ID)} {
		var seen report.Status
		r := s.program(filepath.Join(shared.dir, "reprise"), "status", "--json", dir)
		if err := json.Unmarshal([]byte(r.out), &seen); err != nil {
			s.Fatal(err, r)
		}
		i := slices.IndexFunc(seen.Runs, func(run report.Run) bool { return run.ID == sum.ID })
		if i < 0 || seen.Runs[i].Kind == string(sum.Kind) && seen.Runs[i].State != sum.State { // a story takes the place of its pipeline
			s.Errorf("status: %s", r.out)
		}
	}
}

// asking is an agent that asks something before it implements story 3.1 or 3.2.
const asking = `cat > /dev/null
echo "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT" >> "$FLEET_LOG"
case "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT" in
"3.1 implement 1"|"3.2 implement 1") echo '{"outcome":"question","questions":[{"id":"Q1","text":"Which way?"}]}' > "$REPRISE_RESULT"; exit ;;
*" implement "*) sed -i 's/- \[ \]/- [x]/' docs/stories/$REPRISE_RUN.story.md; echo made > made-$REPRISE_RUN.txt ;;
esac
echo '{"outcome":"done","verdict":"PASS"}' > "$REPRISE_RESULT"
`

// What runs within a run ask is asked beside each other and answered by the name of the run
// around them, even where they call it the same; the worker that has a story is killed. Each
// step is accepted once. (issue 19)
func TestFleet_runs_within_a_run_ask(t *testing.T) {
	t.Parallel()
	s := newSite(t, epicFiles)
	s.put("agent.sh", asking)
	s.put("reprise.yaml", "agents: {any: {command: [sh, agent.sh]}}\nroles: {default: any}\nenv: [FLEET_LOG]\nbackoff: 1s\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "agent")
	s.git("push", "-q", "origin", "main")
	s.three()
	if r := s.fleet("run", "epic", "--epic", "docs/stories/epics/EPIC-3-EXECUTION.yaml", "--parallel", "2", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("both ask", func() bool {
		out := s.fleet("status").out
		return strings.Contains(out, "? 3.1/Q1: Which way?") && strings.Contains(out, "? 3.2/Q1: Which way?")
	})
	for _, question := range []string{"3.2/Q1", "3.1/Q1"} {
		if r := s.fleet("answer", "EPIC-3", "--question", question, "--text", "the short one"); r.code != 0 && r.code != 12 {
			t.Fatal(r)
		}
	}
	s.until("story 3.1 was implemented", func() bool { return s.attempts("3.1", "implement") == 2 })
	_ = s.workers["w1"].Process.Kill()
	r := s.fleet("resume", "EPIC-3", "--json", "--heartbeat", "5s")
	if sum := s.summary(r); !ended(r) || sum.State != reprise.Complete {
		t.Fatalf("%d %+v", r.code, sum)
	}
	s.record("EPIC-3")
	landed := s.landed("EPIC-3")
	for _, step := range []string{"implement", "qa"} {
		if landed[step] != 3 { // one of each story
			t.Errorf("accepted: %v", landed)
		}
	}
	dir := s.checkout("EPIC-3")
	for _, story := range []string{"3.1", "3.2", "3.3"} {
		if _, err := os.Stat(filepath.Join(dir, "made-"+story+".txt")); err != nil {
			t.Error(err)
		}
	}
}

// answering takes the first option of whatever is asked.
func (s *site) answering(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		for line := range strings.Lines(s.fleet("status").out) {
			if id, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "? "), ": "); ok && strings.HasPrefix(strings.TrimSpace(line), "? ") {
				run := strings.Fields(s.fleet("status").out)[0]
				if r := s.fleet("answer", run, "--question", id, "--option", "1"); r.code == 12 {
					s.fleet("answer", run, "--question", id, "--text", "as you think best")
				}
			}
		}
	}
}
