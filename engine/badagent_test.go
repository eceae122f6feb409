package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

// stages are runs in whose middle an agent turns bad.
var stages = []stage{
	{name: "flow", victim: "b", state: reprise.Complete},
	{name: "build", victim: "subtask-1-1", state: reprise.Waiting},
	{name: "sdc", victim: "implement", state: reprise.Complete},
	{name: "plans", victim: "01", state: reprise.Complete},
}

type stage struct {
	name   string
	victim string        // the step that the bad agent is given
	state  reprise.State // where the run ends with good agents
}

const staged = `name: staged
title: With one bad step
steps:
  - {id: a, role: worker, prompt: Make a., outputs: [a.txt]}
  - {id: b, needs: [a], role: worker, prompt: Make b., outputs: [b.txt]}
  - {id: c, needs: [b], role: worker, prompt: Make c., outputs: [c.txt]}
`

// bad is one way an agent or a setting can be bad.
type bad struct {
	name string
	// script is what the agent of the victim does, in its working folder; it
	// falls through to good work unless it exits. PROJECT is the project, OUT
	// a folder outside of it.
	script string
	// set makes the settings bad instead.
	set func(s *settings.Settings, out string)
	// tune is for limits that hold also after it is healed.
	tune func(s *settings.Settings)
	only string // the stage it is for, all if ""
	not  string // a stage it means nothing in
	step string // another victim
	// again is how often a restart may launch it once more: what would have
	// told was taken away.
	again int
	// stuck is set where a command of ours must mend it first, held where its work is
	// complete and only to be committed.
	stuck, held bool

	// says is a piece of what a person must be told, one of several parted by |;
	// none if the run is to end well all the same.
	says string
	// most is how often the victim may be launched before a person is asked.
	most int
	// fix is what a person does, beside putting a good agent in place.
	fix string
}

// briefly is long enough for a good agent on a busy machine.
const briefly = 3 * time.Second

func short(s *settings.Settings) { s.Timeout = briefly }

func command(argv ...string) func(*settings.Settings, string) {
	return func(s *settings.Settings, out string) {
		a := s.Agents["actor"]
		a.Command = nil
		for _, arg := range argv {
			a.Command = append(a.Command, strings.ReplaceAll(arg, "OUT", out))
		}
		s.Agents["actor"] = a
	}
}

func file(name, text string, mode os.FileMode, then func(*settings.Settings, string)) func(*settings.Settings, string) {
	return func(s *settings.Settings, out string) {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), mode); err != nil {
			panic(err)
		}
		then(s, out)
	}
}

const say = `printf '%s' '{"outcome":"done","summary":"all is well","verdict":"approved"}' > "$REPRISE_RESULT"; `

// lacking is what is said of a step that made nothing, by stage.
const lacking = "is not there|without a result, a commit|no commit|nothing|left|still|partial"

var bads = []bad{
	{name: "no binding", set: func(s *settings.Settings, _ string) { delete(s.Roles, "default") }, says: "no agent configured for role"},
	{name: "unknown agent", set: func(s *settings.Settings, _ string) { s.Roles["default"] = "ghost" }, says: `there is no agent "ghost"`},
	{name: "command missing", set: command("/no/such/program"), says: "start /no/such/program"},
	{name: "command not on the path", set: command("no-such-program-anywhere"), says: "start no-such-program-anywhere"},
	{name: "command empty", set: command(), says: "no command"},
	{name: "command a folder", set: command("OUT"), says: "start /"},
	{name: "command not executable", set: file("plain", "#!/bin/sh\n", 0o644, command("OUT/plain")), says: "permission denied"},
	{name: "command no program", set: file("noise", "\x00\x01noise", 0o755, command("OUT/noise")), says: "exec format error"},
	{name: "interpreter missing", set: file("odd", "#!/no/such/interpreter\n", 0o755, command("OUT/odd")), says: "no such file"},

	{name: "does nothing", script: `exit 0`, says: lacking, most: 2},
	// Where a plan names no files that it was to make, only QA can tell.
	{name: "says done and made nothing", not: "sdc build", script: say + `exit 0`, says: lacking, most: 2},
	{name: "fails the same way", script: `echo no >&2; exit 7`, says: "exit code 7", most: 2},
	{name: "fails each time in another world", script: `date +%s%N > "noise.$REPRISE_ATTEMPT"; exit 7`, says: "exit code 7", most: 3},
	{name: "work done and exit code not zero", script: `"$ACTOR" act; exit 5`, says: "exit code 5", most: 3},
	{name: "result says done and exit code not zero", script: say + `exit 9`, says: "exit code 9", most: 2},
	{name: "unchanged", only: "sdc", step: "create", script: say + `exit 0`, says: "is what it was before", most: 2},
	{name: "result of the next attempt", script: `d=$(dirname "$REPRISE_RESULT"); n=${d%.1}.2
if [ "$REPRISE_ATTEMPT" = 1 ]; then mkdir -p "$n"; cd "$n"; REPRISE_RESULT="$n/result.json"; ` + say + `exit 1; fi
exit 0`, says: lacking + "|before it began", most: 3},
	{name: "unknown outcome", script: `echo '{"outcome":"splendid"}' > "$REPRISE_RESULT"; exit 0`, says: "is unknown here", most: 2},
	{name: "result a FIFO", script: `mkfifo "$REPRISE_RESULT"; exit 0`, says: "not a regular file", most: 2},
	{name: "result a link", script: `ln -s /etc/hostname "$REPRISE_RESULT"; exit 0`, says: "not a regular file", most: 2},
	{name: "result a folder", script: `mkdir "$REPRISE_RESULT"; exit 0`, says: "not a regular file", most: 2},
	{name: "result of 10 MB", script: `head -c 10000000 /dev/zero | tr '\0' ' ' > "$REPRISE_RESULT"; exit 0`, says: "more than", most: 2},
	{name: "result no JSON", script: `echo '{"outcome": done' > "$REPRISE_RESULT"; exit 0`, says: "read the result", most: 2},
	{name: "result null", script: `echo null > "$REPRISE_RESULT"; exit 0`, says: "not a JSON object", most: 2},
	{name: "question without one", script: `echo '{"outcome":"question"}' > "$REPRISE_RESULT"; exit 0`, says: "question", most: 2},
	{name: "result folder gone", script: `rm -rf "$(dirname "$REPRISE_RESULT")"; exit 0`, says: lacking, most: 2},

	{name: "hangs", tune: short, script: `sleep 100`, says: "longest it may take", most: 2},
	{name: "silent", tune: func(s *settings.Settings) { s.Silence = briefly }, script: `sleep 100`, says: "printed nothing", most: 2},
	{name: "ignores TERM", tune: short, script: `trap '' TERM INT HUP; while :; do sleep 1; done`, says: "longest it may take", most: 2},
	{name: "floods", tune: func(s *settings.Settings) { s.MaxLog = 1 << 20 }, script: `head -c 100000000 /dev/zero | tr '\0' 'x'`},
	{name: "floods with lines", tune: func(s *settings.Settings) { s.MaxLog = 1 << 20 }, script: `yes "nothing to see here" | head -c 5000000`},
	{name: "forks away", script: `(setsid sh -c 'while :; do sleep 1; done' "$OUT" &) `},
	{name: "forks away without a name", script: `(env -i setsid /bin/sh -c 'while :; do /bin/sleep 1; done' "$OUT" < /dev/null > /dev/null 2>&1 &) `},
	{name: "a child holds its output", script: `sh -c 'trap "" HUP TERM; while :; do sleep 1; done' "$OUT" & `},
	{name: "closes everything", script: `exec < /dev/null > /dev/null 2>&1`},
	{name: "kills its keeper", tune: func(s *settings.Settings) { s.Attempts, s.Cutoffs = 1, 3 }, script: `kill -9 $PPID; sleep 100`, says: "cut off 3 times|nobody can say|without a report", most: 3},
	{name: "kills its group", script: `kill -9 0; sleep 100`, says: "nobody can say|SIGKILL|killed", most: 2},
	{name: "kills itself", script: `kill -SEGV $$`, says: "segmentation|SIGSEGV", most: 2},
	{name: "thousands of files", script: `mkdir -p many; i=0; while [ $i -lt 3000 ]; do : > "many/$i"; i=$((i+1)); done`},

	{name: "reset of the project", script: `[ -e "$OUT/was" ] || git -C "$PROJECT" rev-parse HEAD > "$OUT/was"; git -C "$PROJECT" reset -q --hard "$(git -C "$PROJECT" rev-parse keep)~1"; exit 3`, says: "exit code 3|flow.yaml|left main without commit", most: 3, fix: `git -C "$PROJECT" merge -q --ff-only "$(cat "$OUT/was")"`},
	{name: "checkout in the project", script: `git -C "$PROJECT" checkout -q --detach keep~1; exit 3`, says: "exit code 3|flow.yaml", most: 3, fix: `git -C "$PROJECT" checkout -q main`},
	{name: "another branch", script: `git checkout -q -b elsewhere 2>/dev/null || git checkout -q elsewhere; exit 3`, says: "exit code 3|elsewhere", most: 3, fix: `git -C "$PROJECT" checkout -q main 2>/dev/null || true
w="$PROJECT/.auto-claude/worktrees/tasks/001-health-endpoint"; [ ! -d "$w" ] || git -C "$w" checkout -q auto-claude/001-health-endpoint`},
	{name: "merge in progress", script: `git checkout -q -b side; echo side > clash.txt; git add clash.txt; git commit -q -m side; git checkout -q -; echo main > clash.txt; git add clash.txt; git commit -q -m main; git merge side; exit 3`,
		says: "exit code 3|merge|side is checked out", most: 3, fix: `for w in "$PROJECT" "$PROJECT/.auto-claude/worktrees/tasks/001-health-endpoint"; do [ ! -d "$w" ] || { git -C "$w" merge --abort; git -C "$w" checkout -q main || git -C "$w" checkout -q auto-claude/001-health-endpoint; } 2> /dev/null || true; done`},
	{name: "index lock left", not: "sdc", script: `: > "$(git rev-parse --git-dir)/index.lock"; "$ACTOR" act; exit 0`, says: "index.lock|lock", most: 3, held: true, fix: `find "$PROJECT/.git" -name index.lock -delete`},
	{name: "worktree deleted", only: "build", script: `d=$(pwd); cd /; rm -rf "$d"; exit 3`, says: "exit code 3|checkout", most: 3},
	{name: "worktree deleted and all is well", only: "build", script: `d=$(pwd); ` + say + `cd /; rm -rf "$d"; exit 0`, says: "times: its checkout is gone", most: 3},
	{name: "worktree moved", only: "build", script: `d=$(pwd); cd /; mv "$d" "$OUT/moved.$REPRISE_ATTEMPT"; exit 3`, says: "exit code 3|checkout", most: 3},

	{name: "our folder deleted", script: `rm -rf "$PROJECT/.reprise"; exit 3`, says: "changed or replaced under us", most: 1, again: 1},
	{name: "our lock deleted", script: `rm -f "$PROJECT/.reprise/lock"; exit 3`, says: "changed or replaced under us", most: 1, again: 1},
	{name: "our journal cut", script: `for f in $(find "$PROJECT/.reprise/journal" -type f); do : > "$f"; done; exit 3`, says: "changed or replaced under us|reprise repair", most: 1, again: 1, stuck: true},
	{name: "our journal garbled", script: `for f in $(find "$PROJECT/.reprise/journal" -type f); do echo garbage >> "$f"; done; exit 3`, says: "changed or replaced under us|reprise repair", most: 1, again: 1, stuck: true},

	{name: "state folder deleted", script: `cp -a "$PROJECT/$STATE" "$OUT/kept"; rm -rf "$PROJECT/$STATE"; exit 0`, says: "is gone", most: 1, fix: `cp -a "$OUT/kept" "$PROJECT/$STATE"`},
	{name: "graph garbled", only: "flow", script: `echo '{' > "$PROJECT/$STATE/task-graph.json"; exit 0`, says: "b.txt is not there", most: 3},
	{name: "event log cut", only: "flow", script: `for f in $(find "$PROJECT/$STATE/events" -type f); do : > "$f"; done; exit 0`, says: "b.txt is not there", most: 3, again: 1},
	{name: "marks itself done", only: "flow", script: `for f in $(find "$PROJECT/$STATE/events" -type f); do grep -v '"b"' "$f" | sed 's/"a"/"b"/g' >> "$f"; done; exit 0`, says: "b.txt is not there", most: 3},
	{name: "plan garbled", only: "build", script: `n=0; for f in $(find "$PROJECT" -name implementation_plan.json); do cp "$f" "$OUT/kept"; echo '{' > "$f"; done; exit 0`, says: "plan cannot be read", most: 1, fix: `for f in $(find "$PROJECT" -name implementation_plan.json); do cp "$OUT/kept" "$f"; done`},
	{name: "marks all done", only: "build", script: `for f in $(find "$PROJECT" -name implementation_plan.json); do sed -i 's/"pending"/"completed"/' "$f"; done; exit 0`, says: "without a result, a commit", most: 3},
	{name: "story marked done", only: "sdc", script: `sed -i 's/^Ready$/Done/;s/^InProgress$/Done/;s/^In Progress$/Done/;s/\[ \]/[x]/' "$PROJECT/$STATE"; exit 0`},
	{name: "story emptied", only: "sdc", script: `cp "$PROJECT/$STATE" "$OUT/kept"; : > "$PROJECT/$STATE"; exit 0`, says: "nothing of the story is left", most: 2, fix: `cp "$OUT/kept" "$PROJECT/$STATE"`},
	{name: "STATE.md deleted", only: "plans", script: `rm "$PROJECT/$STATE/STATE.md"; exit 0`, says: "01-SUMMARY.md is not there|says \\\"partial|partial|STATE.md is in the last commit but not on disk", most: 3, fix: `cd "$PROJECT" && git checkout -q -- "$STATE/STATE.md"`},
	{name: "other plan marked done", only: "plans", script: `mkdir -p "$PROJECT/$STATE/summaries"; echo '# Summary' > "$PROJECT/$STATE/summaries/02-SUMMARY.md"; exit 0`, says: "01-SUMMARY.md is not there|partial|the attempt at 01 marked it done", most: 3},
	{name: "workflow changed", only: "flow", script: `sed -i 's/Make c/Make d/' "$PROJECT/flow.yaml"; exit 3`, says: "changed|exit code 3", most: 3, fix: `sed -i 's/Make d/Make c/' "$PROJECT/flow.yaml"`},
}

// TestX10_bad_agents_come_to_a_clear_end plays one bad agent in five in the middle of
// a workflow file, and some of them in the middle of a workflow of the layouts.
// REPRISE_ALL=1 plays every one in all of them.
func TestX10_bad_agents_come_to_a_clear_end(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const some = 9
	drawn := sample.Every(t, some)
	for i, b := range bads {
		for j, s := range stages {
			if b.only != "" && b.only != s.name || strings.Contains(b.not, s.name) {
				continue
			}
			elsewhere := b.only == "" && j > 0
			if !drawn(i) || elsewhere && !sample.All() && i/some%14 != j {
				continue
			}
			t.Run(strings.ReplaceAll(b.name+" in "+s.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				newTrial(t, s, b).play()
			})
		}
	}
}

// trial is one bad agent in one run.
type trial struct {
	*testing.T
	stage    stage
	bad      bad
	dir, out string
	ref      reprise.Ref
}

func newTrial(t *testing.T, s stage, b bad) *trial {
	if b.step != "" {
		s.victim = b.step
	}
	return &trial{T: t, stage: s, bad: b, dir: repository(t), out: t.TempDir()}
}

// engine is one whose agent is bad until OUT/healed is there.
func (p *trial) engine(good bool) *engine.Engine {
	e := newEngine(p.dir)
	e.Parallel = 1
	if good {
		e.Ask = answering
	}
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", filepath.Join(p.out, "agent.sh")}
	a.Env = map[string]string{"OUT": p.out, "ACTOR": os.Args[0], "PROJECT": p.dir, "STATE": p.ref.Path, "DEMO_GAPS": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
	e.Settings.Agents["actor"] = a
	if !good {
		if p.bad.set != nil {
			p.bad.set(e.Settings, p.out)
		}
		if p.bad.tune != nil {
			p.bad.tune(e.Settings)
		}
	}
	return e
}

func (p *trial) begin() {
	put(p, p.out, "agent.sh", fmt.Sprintf(`echo "$REPRISE_STEP $REPRISE_ATTEMPT" >> "$OUT/launches"
if [ "$REPRISE_STEP" = %s ] && [ ! -e "$OUT/healed" ]; then
:
%s
fi
exec "$ACTOR" act
`, p.stage.victim, p.bad.script))
	put(p, p.dir, "theirs.txt", "committed\n")
	if p.stage.name == "flow" {
		put(p, p.dir, "flow.yaml", staged)
	}
	for _, w := range workflows {
		for name, text := range w.files {
			if w.name == p.stage.name {
				put(p, p.dir, name, text)
			}
		}
	}
	git(p, p.dir, "add", "-A")
	git(p, p.dir, "commit", "-q", "-m", "state")
	put(p, p.dir, "mine.txt", "not committed\n")
	git(p, p.dir, "branch", "keep")
	e := p.engine(true)
	var err error
	if p.stage.name == "flow" {
		w, hash, rerr := readFlow(filepath.Join(p.dir, "flow.yaml"))
		if rerr != nil {
			p.Fatal(rerr)
		}
		p.ref, err = e.BeginFlow(p.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "staged"}, engine.Choice{})
	}
	for _, w := range workflows {
		if w.name == p.stage.name {
			p.ref, err = e.Begin(p.Context(), w.layout, w.kind, w.goal, engine.Choice{})
		}
	}
	if err != nil {
		p.Fatal(err)
	}
}

// resume continues and gives all that a person is told.
func (p *trial) resume(e *engine.Engine, c engine.Choice) (*engine.Summary, string) {
	p.Helper()
	sum, err := e.Resume(p.Context(), p.ref, c)
	var told strings.Builder
	if err != nil {
		fmt.Fprintln(&told, "error:", err)
		var h interface{ Hint() string }
		if errors.As(err, &h) {
			fmt.Fprintln(&told, "hint:", h.Hint())
		}
	}
	if sum != nil {
		fmt.Fprintf(&told, "%s, %s\n", sum.State, sum.Action)
		for _, r := range sum.Reasons {
			fmt.Fprintln(&told, "reason:", r)
		}
		for _, f := range sum.Failed {
			fmt.Fprintln(&told, "failed:", f.ID, f.Attempt, f.Text)
		}
		for _, f := range sum.Findings {
			fmt.Fprintln(&told, "finding:", f.Code, f.Message)
		}
		for _, q := range sum.Questions {
			fmt.Fprintln(&told, "question:", q.ID, q.Text, q.Facts)
		}
	}
	return sum, told.String()
}

// launches counts those of the victim.
func (p *trial) launches() int {
	data, _ := os.ReadFile(filepath.Join(p.out, "launches"))
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, p.stage.victim+" ") {
			n++
		}
	}
	return n
}

func (p *trial) play() {
	p.begin()
	sum, told := p.resume(p.engine(false), engine.Choice{})
	p.Logf("first:\n%s", told)
	p.alive()
	if p.bad.says == "" {
		if sum == nil || sum.State != p.stage.state || p.launches() != 1 {
			p.Errorf("it should have ended well, launched %d times", p.launches())
		}
		p.kept()
		return
	}
	p.told(told)
	most := p.bad.most
	if (p.stage.name == "build" || p.stage.name == "plans") && most == 2 {
		most = 3 // another step is finished in between, or the summary is partial from then on
	}
	if n := p.launches(); n > most {
		p.Errorf("it was launched %d times", n)
	}
	if sum != nil && sum.State == reprise.Complete {
		p.Error("it is called complete")
	}
	before := p.launches()
	_, told = p.resume(p.engine(false), engine.Choice{})
	p.Logf("again:\n%s", told)
	if n := p.launches(); n > before+p.bad.again {
		p.Errorf("a restart launched it %d more times", n-before)
	}
	p.told(told)
	p.alive()
	if !p.bad.stuck {
		p.heal()
	}
	p.kept()
}

// What an attempt left that was not accepted makes its step neither done nor left out done: a
// person is asked, and it counts as skipped once he skips it.
func TestWhat_a_rejected_attempt_left_closes_nothing(t *testing.T) {
	t.Parallel()
	p := newTrial(t, stages[3], bad{script: `"$ACTOR" act; exit 5`})
	p.begin()
	p.resume(p.engine(false), engine.Choice{})
	says := func(status reprise.Status, action reprise.Action) {
		t.Helper()
		j, err := project.Judge(t.Context(), p.dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Budget: func(reprise.Ref) (func(string) journal.Budget, error) {
			return func(string) journal.Budget { return journal.Budget{Attempts: 3, Cutoffs: 3} }, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := j.Find(p.ref)
		if got, d := r.Step("01").Status, j.Decisions[r]; got != status || d.Action != action {
			t.Errorf("01 is %s; %s: %v", got, d.Action, d.Reasons)
		}
	}
	says(reprise.InProgress, reprise.Ask)
	p.resume(p.engine(true), engine.Choice{Skip: []string{"01"}, Until: "01"})
	says(reprise.Skipped, reprise.Finish)
}

// told holds what a person is told against what they must be told.
func (p *trial) told(text string) {
	p.Helper()
	for want := range strings.SplitSeq(p.bad.says, "|") {
		if strings.Contains(text, want) {
			return
		}
	}
	p.Errorf("nothing of %q in:\n%s", p.bad.says, text)
}

// heal does what a person would, and lets the run continue to its end.
func (p *trial) heal() {
	p.Helper()
	put(p, p.out, "healed", "")
	if p.bad.fix != "" {
		put(p, p.out, "fix.sh", p.bad.fix)
		run(p, p.dir, []string{"PROJECT=" + p.dir, "OUT=" + p.out, "STATE=" + p.ref.Path}, "sh", filepath.Join(p.out, "fix.sh"))
	}
	c := engine.Choice{From: p.stage.victim}
	if p.bad.held {
		c = engine.Choice{}
	}
	if p.bad.set != nil {
		c = engine.Choice{} // mending the settings is enough: nothing has failed
		if n := count(events(p, p.dir, p.ref), reprise.StepFailed, ""); n > 0 {
			p.Errorf("%d attempts failed that were never started", n)
		}
	}
	before := p.launches()
	sum, told := p.resume(p.engine(true), c)
	p.Logf("healed:\n%s", told)
	if again := p.launches() > before; again == p.bad.held {
		p.Errorf("the step was launched again: %v", again)
	}
	if sum == nil || sum.State != p.stage.state {
		p.Errorf("a good agent does not bring it to its end:\n%s", told)
	}
	p.alive()
}

// kept looks for what is the person's own.
func (p *trial) kept() {
	p.Helper()
	if got := get(p, p.dir, "mine.txt"); got != "not committed\n" {
		p.Errorf("mine.txt is %q", got)
	}
	if got := git(p, p.dir, "show", "keep:theirs.txt"); got != "committed" {
		p.Errorf("theirs.txt is %q", got)
	}
	if st := git(p, p.dir, "status", "--porcelain", "mine.txt"); st != "?? mine.txt" {
		p.Errorf("mine.txt was taken: %q", st)
	}
}

// alive looks for processes of the trial.
func (p *trial) alive() {
	p.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		environ, _ := os.ReadFile(filepath.Join(name, "environ"))
		cmdline, _ := os.ReadFile(filepath.Join(name, "cmdline"))
		if bytes.Contains(environ, []byte("OUT="+p.out+"\x00")) || bytes.Contains(cmdline, []byte(p.out)) {
			p.Errorf("left over: %s %q", filepath.Base(name), cmdline)
		}
	}
}
