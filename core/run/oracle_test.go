//go:build unix

package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"reprise/agent"
	"reprise/agent/script"
	"reprise/core"
	"reprise/core/journal"
	"reprise/core/run"
	"reprise/core/ticklist"
	"reprise/internal/sample"
	"reprise/internal/shim"
)

// The oracle: runs of twenty steps, whose engine and agents are killed at random moments,
// while a user edits, stages and commits. What must be true afterwards is at the end.
//
//	ORACLE_RUNS=18 ORACLE_SEED=1 go test ./core/run -run Oracle -v

const steps = 20

// TestMain is the engine, or the agent, where the environment says so.
func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	switch os.Getenv("ORACLE") {
	case "agent":
		os.Exit(actor())
	case "engine":
		os.Exit(engine())
	}
	os.Exit(m.Run())
}

func engine() int {
	ctx := context.Background()
	c := config(os.Getenv("ORACLE_DIR"))
	if command := os.Getenv("ORACLE_COMMAND"); command != "" {
		c.Work = does(command, append(os.Environ(), fmt.Sprintf("ENGINE=%d", os.Getpid())))
	}
	if text := os.Getenv("ORACLE_CLAUDE"); text != "" {
		var r claude
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		c.Work = r.work
	}
	if boot := os.Getenv("ORACLE_BOOT"); boot != "" {
		c.Boot, c.Booted = boot, time.Now()
	}
	e, err := run.Open(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer e.Close()
	rest, err := e.Work(ctx)
	fmt.Println(rest.Why, err)
	if err != nil {
		return 2
	}
	return 0
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func config(dir string) run.Config {
	return run.Config{
		Dir: dir, Run: "run", Plan: "PLAN.md", Convention: ticklist.List{}, Tries: 5,
		Work: does("exec "+self(), append(os.Environ(), "ORACLE=agent")),
		Tell: func(p run.Progress) { fmt.Printf("%s %s %s %s\n", p.Kind, p.Step, p.Outcome, p.Text) },
	}
}

// does gives a plain command for the shell that does each step. Its environment has what a
// prompt would say.
func does(command string, env []string) func(context.Context, run.Assignment) (agent.Agent, agent.Job, error) {
	return func(_ context.Context, a run.Assignment) (agent.Agent, agent.Job, error) {
		return script.New(script.Options{Grace: time.Second}), job(command, env, a), nil
	}
}

// asks is does for a program that stands for an agent: that it ended without an error says
// nothing.
func asks(command string, env []string) func(context.Context, run.Assignment) (agent.Agent, agent.Job, error) {
	return func(_ context.Context, a run.Assignment) (agent.Agent, agent.Job, error) {
		by, err := agent.New(agent.Options{Preset: agent.Command, Grace: time.Second})
		return by, job(command, env, a), err
	}
}

func job(command string, env []string, a run.Assignment) agent.Job {
	brief := "Do this step: " + a.Step.Title
	if a.Continues {
		brief += "\nAn attempt before you did not finish it."
	}
	for _, said := range a.Answers {
		brief += "\nYou asked: " + said.Question + "\nThe answer: " + said.Answer
	}
	return agent.Job{Command: []string{"/bin/sh", "-c", command}, Env: append(slices.Clone(env), "REPRISE_BRIEF="+brief)}
}

// says is a command that leaves a reply.
func says(outcome string) string { return `echo '{"outcome":"` + outcome + `"}' >$REPRISE_RESULT` }

// actor does a step: files of its own, and a line in a file that all share. It continues
// what is there, as a good agent does.
func actor() int {
	dir, outside, step := os.Getenv("ORACLE_DIR"), os.Getenv("ORACLE_OUT"), os.Getenv("REPRISE_STEP")
	k, _ := strconv.Atoi(strings.TrimPrefix(step, "s"))
	attempt, _ := strconv.Atoi(os.Getenv("REPRISE_ATTEMPT"))
	say := func(what string) {
		appendLine(filepath.Join(outside, "log"), fmt.Sprintf("%s %s %d", what, step, os.Getpid()))
	}
	lock, err := os.OpenFile(filepath.Join(outside, "alone"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 3
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		say("overlap")
		return 3
	}
	say("start")
	r := rand.New(rand.NewPCG(uint64(k), uint64(time.Now().UnixNano())))
	for i := range 4 {
		name := filepath.Join(dir, "work", fmt.Sprintf("%s-%d.txt", step, i))
		os.MkdirAll(filepath.Dir(name), 0o777)
		os.WriteFile(name, []byte(fmt.Sprintf("%s chunk %d\n", step, i)), 0o666)
		if i == 1 {
			shared(dir, outside, fmt.Sprintf("section %02d", k), "run "+step)
			fmt.Println("wrote shared.txt")
		}
		fmt.Println("chunk", i)
		time.Sleep(time.Duration(r.IntN(12)) * time.Millisecond)
	}
	if k%6 == 0 && attempt == 1 {
		return 1 // fails the first time
	}
	switch {
	case k%5 == 0:
		gitUntil(dir, "add", "work")
	case k%7 == 0:
		gitUntil(dir, "add", "work")
		gitUntil(dir, "commit", "-q", "-m", "agent "+step, "--", "work")
	}
	// From here on it is done, whoever is killed.
	if reply := os.Getenv("REPRISE_RESULT"); os.WriteFile(reply+".new", []byte(`{"outcome":"done"}`), 0o600) != nil || os.Rename(reply+".new", reply) != nil {
		return 3
	}
	say("finish")
	return 0
}

// shared adds a line below a heading of the shared file, unless it is there.
func shared(dir, outside, heading, text string) {
	lock, _ := os.OpenFile(filepath.Join(outside, "shared"), os.O_CREATE|os.O_RDWR, 0o600)
	defer lock.Close()
	unix.Flock(int(lock.Fd()), unix.LOCK_EX) // the two of them take turns; the engine has no part in it
	path := filepath.Join(dir, "shared.txt")
	data, _ := os.ReadFile(path)
	if bytes.Contains(data, []byte(text+"\n")) {
		return
	}
	data = bytes.Replace(data, []byte(heading+"\n"), []byte(heading+"\n"+text+"\n"), 1)
	os.WriteFile(path+".new", data, 0o666)
	os.Rename(path+".new", path)
}

func appendLine(path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		f.WriteString(text + "\n")
		f.Close()
	}
}

// gitUntil runs git until nobody else has its lock, as people do.
func gitUntil(dir string, args ...string) string {
	for range 200 {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), ".lock") && !strings.Contains(string(out), "cannot lock ref") {
			return string(out)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ""
}

// user works beside the run.
type user struct {
	dir, outside string
	r            *rand.Rand
	mu           sync.Mutex
	n            int
	said         map[string][]string // lines by file
	staged       map[string]string   // what he staged last and did not commit, by file
	committed    bool                // he committed the file that all share
	stop         chan struct{}
	done         sync.WaitGroup
}

func (u *user) work() {
	defer u.done.Done()
	for {
		select {
		case <-u.stop:
			return
		case <-time.After(time.Duration(20+u.r.IntN(120)) * time.Millisecond):
		}
		u.n++
		file := fmt.Sprintf("user/u%d.txt", u.r.IntN(4))
		text := fmt.Sprintf("user edit %d", u.n)
		switch what := u.r.IntN(10); {
		case what < 3:
			u.edit(file, text)
		case what < 5:
			file = fmt.Sprintf("user/staged%d.txt", u.r.IntN(3))
			u.edit(file, text)
			gitUntil(u.dir, "add", file)
			if got := gitUntil(u.dir, "show", ":"+file); !strings.HasPrefix(got, "fatal") { // git was locked for long
				u.staged[file] = got
			}
		case what < 7:
			u.edit(file, text)
			gitUntil(u.dir, "add", file)
			gitUntil(u.dir, "commit", "-q", "-m", "user "+text, "--", file)
		case what < 9 && len(u.said["shared.txt"]) < steps:
			// Never twice in a row in one place: he would tear his own lines.
			shared(u.dir, u.outside, fmt.Sprintf("user %02d", len(u.said["shared.txt"])), text)
			u.said["shared.txt"] = append(u.said["shared.txt"], text)
			if u.n%2 == 0 { // with whatever of a step is in it by now
				u.commitShared("user " + text)
			}
		default:
			u.plan(text)
		}
	}
}

// commitShared commits the shared file while no agent writes it: git reads a file that it
// is to commit by name twice, once for the index and once for the commit, and a change
// between the two leaves its index behind HEAD, with or without us.
func (u *user) commitShared(message string) {
	lock, _ := os.OpenFile(filepath.Join(u.outside, "shared"), os.O_CREATE|os.O_RDWR, 0o600)
	defer lock.Close()
	unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	gitUntil(u.dir, "commit", "-q", "-m", message, "--", "shared.txt")
	u.committed = true
}

func (u *user) edit(file, text string) {
	os.MkdirAll(filepath.Join(u.dir, "user"), 0o777)
	appendLine(filepath.Join(u.dir, file), text)
	u.said[file] = append(u.said[file], text)
}

// plan adds a remark to the plan, which the engine edits too: as an editor saves.
func (u *user) plan(text string) {
	path := filepath.Join(u.dir, "PLAN.md")
	for range 100 {
		was, _ := os.ReadFile(path)
		os.WriteFile(path+".new", append(bytes.Clone(was), []byte("\n"+text+"\n")...), 0o666)
		if now, _ := os.ReadFile(path); bytes.Equal(was, now) {
			os.Rename(path+".new", path)
			break
		}
	}
	u.said["PLAN.md"] = append(u.said["PLAN.md"], text)
}

// killer starts engines and kills them and their agents.
type killer struct {
	t            *testing.T
	dir, outside string
	r            *rand.Rand
	kills        map[string]int
	dead         map[int]bool // agents that were killed
	questions    int
	overwritten  int
}

func (k *killer) carry(total int) {
	for left := total; ; {
		cmd := exec.Command(self())
		cmd.Env = append(os.Environ(), "ORACLE=engine", "ORACLE_DIR="+k.dir, "ORACLE_OUT="+k.outside)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			k.t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		killed := false
		for left > 0 && !killed {
			select {
			case err := <-ended:
				ended <- err
				left = 0
			case <-time.After(time.Duration(k.r.IntN(160)) * time.Millisecond):
				switch left--; k.r.IntN(4) {
				case 0:
					k.killAgent()
				case 1, 2:
					syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // and the git commands it runs
					k.kills["engine"]++
					killed = true
				default:
					syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
					time.Sleep(time.Duration(k.r.IntN(15)) * time.Millisecond)
					k.killAgent()
					k.kills["both"]++
					killed = true
				}
			}
		}
		err := <-ended
		if killed {
			time.Sleep(time.Duration(k.r.IntN(60)) * time.Millisecond)
			continue
		}
		if err != nil {
			k.t.Fatalf("the engine: %v\n%s", err, out.String())
		}
		if k.answer() {
			continue
		}
		if !strings.Contains(out.String(), "the run is over") {
			k.t.Fatalf("the run rests:\n%s", out.String())
		}
		return
	}
}

// killAgent kills the agent that began last, or its keeper, which takes it with it.
func (k *killer) killAgent() {
	data, _ := os.ReadFile(filepath.Join(k.outside, "log"))
	var pid int
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "start" {
			pid, _ = strconv.Atoi(f[2])
		}
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if pid < 2 || !bytes.Contains(env, []byte("ORACLE=agent")) { // it is over, and its number may be another's
		return
	}
	victim := pid
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && k.r.IntN(4) == 0 {
		victim, _ = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))[2])
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", victim)); !bytes.Contains(name, []byte("__keep-attempt")) {
			return // it was adopted
		}
	}
	if syscall.Kill(victim, syscall.SIGKILL) == nil {
		k.dead[pid] = true
		k.kills["agent"]++
	}
}

// answer answers the open question, if there is one.
func (k *killer) answer() bool {
	e, err := run.Open(context.Background(), config(k.dir))
	if err != nil {
		k.t.Fatal(err)
	}
	defer e.Close()
	q := e.Journal.State.Asked
	if q == nil {
		return false
	}
	if q.Shows == "the plan calls it open" {
		k.overwritten++ // the user saved the plan as it was before a tick: his editor won
	} else if k.questions++; k.questions > 5 {
		k.t.Fatal("too many questions")
	}
	o := q.Options[0]
	k.t.Logf("question %s about %s: %s; %s %q -> %s", q.ID, q.Step, q.Says, q.Shows, q.Facts.Files, o.Key)
	if err := e.Answer(q.ID, o.Key); err != nil {
		k.t.Fatal(err)
	}
	return true
}

func TestOracle(t *testing.T) {
	sample.Drawn(t)
	runs, seed := number("ORACLE_RUNS", 1), uint64(number("ORACLE_SEED", int(sample.Seed(t)%10_000)))
	if sample.All() {
		runs = 60
	}
	kills, questions, overwritten, edits := map[string]int{}, 0, 0, 0
	for i := range runs {
		t.Run(fmt.Sprintf("seed%d", seed+uint64(i)), func(t *testing.T) {
			k, u := oracle(t, seed+uint64(i))
			for what, n := range k.kills {
				kills[what] += n
			}
			questions += k.questions
			overwritten += k.overwritten
			edits += u.n
		})
	}
	t.Logf("seeds %d to %d: %d runs of %d steps, kills %v, %d user actions, %d questions, %d ticks overwritten by the user", seed, seed+uint64(runs)-1, runs, steps, kills, edits, questions, overwritten)
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// project makes a repository with a plan, and what the user has in work.
func project(t *testing.T, n int) (dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), t.TempDir()
	for k, v := range map[string]string{
		"HOME": outside, "GIT_AUTHOR_NAME": "user", "GIT_AUTHOR_EMAIL": "u@example.org", "GIT_COMMITTER_NAME": "user", "GIT_COMMITTER_EMAIL": "u@example.org",
		"ORACLE_DIR": dir, "ORACLE_OUT": outside, "GIT_CONFIG_NOSYSTEM": "1",
	} {
		t.Setenv(k, v)
	}
	var plan, shared strings.Builder
	plan.WriteString("# Plan\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&plan, "- [ ] s%02d: step %d\n", i, i)
		fmt.Fprintf(&shared, "section %02d\n.\n.\n.\n.\nuser %02d\n.\n.\n.\n.\n", i, i-1)
	}
	put(t, dir, "PLAN.md", plan.String())
	put(t, dir, "shared.txt", shared.String())
	put(t, dir, ".gitignore", "*.new\n")
	put(t, dir, "mine.txt", "one\n")
	gitUntil(dir, "init", "-q", "-b", "main")
	gitUntil(dir, "add", ".")
	gitUntil(dir, "commit", "-q", "-m", "first")
	return dir, outside
}

func put(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func oracle(t *testing.T, seed uint64) (*killer, *user) {
	dir, outside := project(t, steps)
	r := rand.New(rand.NewPCG(seed, 0))
	// In work before the run begins: one edit that is staged, one that is not, and in every
	// third run one on the line that a step will change.
	put(t, dir, "mine.txt", "one\ntwo\n")
	gitUntil(dir, "add", "mine.txt")
	put(t, dir, "mine.txt", "one\ntwo\nthree\n")
	planted := seed%3 == 0
	if planted {
		shared(dir, outside, "section 07", "user was here")
	}
	u := &user{dir: dir, outside: outside, r: rand.New(rand.NewPCG(seed, 1)), said: map[string][]string{}, staged: map[string]string{}, stop: make(chan struct{})}
	u.done.Add(1)
	go u.work()
	k := &killer{t: t, dir: dir, outside: outside, r: r, kills: map[string]int{}, dead: map[int]bool{}}
	k.carry(number("ORACLE_KILLS", 13))
	close(u.stop)
	u.done.Wait()
	check(t, k, u, planted)
	return k, u
}

// check is the oracle.
func check(t *testing.T, k *killer, u *user, planted bool) {
	read := func(name string) string { data, _ := os.ReadFile(filepath.Join(k.dir, name)); return string(data) }

	// 1. Every step was done, once: an agent that finished is started again only if it
	// was killed before anything could show that it had finished.
	finished := map[string][]int{}
	data, _ := os.ReadFile(filepath.Join(k.outside, "log"))
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		pid, _ := strconv.Atoi(f[2])
		switch f[0] {
		case "overlap":
			t.Errorf("two agents were at work: %s", line)
		case "finish":
			finished[f[1]] = append(finished[f[1]], pid)
		}
	}
	for i := 1; i <= steps; i++ {
		id := fmt.Sprintf("s%02d", i)
		by := finished[id]
		if len(by) == 0 {
			t.Errorf("%s was never finished", id)
			continue
		}
		for _, pid := range by[:len(by)-1] {
			if !k.dead[pid] {
				t.Errorf("%s was finished by %d, which was not killed, and again by %v", id, pid, by)
			}
		}
	}

	// 2. The journal says so too, and every attempt was started by a record.
	done := map[string]int{}
	err := journal.Read(filepath.Join(k.dir, ".reprise/runs/run"), func(r core.Record) error {
		if r.End != nil && r.End.Outcome == core.Done {
			done[r.End.Step]++
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	// 3. Every step has one commit with its trailer.
	log := gitUntil(k.dir, "log", "--format=%B")
	for i := 1; i <= steps; i++ {
		id := fmt.Sprintf("s%02d", i)
		if n := strings.Count(log, "Reprise-Step: run/"+id+"\n"); n != done[id] || n < 1 || n > 1+k.overwritten {
			t.Errorf("%s has %d commits and %d ends", id, n, done[id])
		}
	}

	// 4. No edit of the user is lost.
	for file, lines := range u.said {
		for _, l := range lines {
			if !strings.Contains(read(file), l+"\n") {
				t.Errorf("%s lost %q", file, l)
			}
		}
	}
	if read("mine.txt") != "one\ntwo\nthree\n" {
		t.Errorf("mine.txt: %q", read("mine.txt"))
	}

	// 5. What the user staged is staged; a step may have committed it that used git itself.
	if got := gitUntil(k.dir, "show", ":mine.txt"); got != "one\ntwo\n" {
		t.Errorf("the index has mine.txt as %q", got)
	}
	for file, want := range u.staged {
		if got := gitUntil(k.dir, "show", ":"+file); got != want && !strings.HasPrefix(got, want) {
			t.Errorf("the index has %s as %q, not %q", file, got, want)
		}
	}

	// 6. The tree is clean of the changes of the run.
	for line := range strings.Lines(gitUntil(k.dir, "status", "--porcelain", "-uall")) {
		file := strings.TrimSpace(line[3:])
		if !strings.HasPrefix(file, "user/") && file != "mine.txt" && file != "shared.txt" && file != "PLAN.md" {
			t.Errorf("not clean: %s", line)
		}
	}
	for _, file := range []string{"shared.txt", "PLAN.md"} {
		for line := range strings.Lines(gitUntil(k.dir, "diff", "HEAD", "--", file)) {
			if (line[0] == '+' || line[0] == '-') && (strings.Contains(line, "run s") || strings.Contains(line, "[")) {
				t.Errorf("not committed in %s: %s", file, line)
			}
		}
		for line := range strings.Lines(gitUntil(k.dir, "diff", "--cached", "--", file)) {
			if (line[0] == '+' || line[0] == '-') && (strings.Contains(line, "run s") || strings.Contains(line, "[")) {
				t.Errorf("staged in %s: %s", file, line)
			}
		}
	}

	// 7. A question is asked only where both touched the same lines, and he had not committed his.
	if want := map[bool]int{true: 1}[planted]; k.questions != want && !(k.questions == 0 && u.committed) {
		t.Errorf("%d questions, not %d", k.questions, want)
	}

	// 8. The user's repository stands by itself.
	if out := gitUntil(k.dir, "fsck", "--no-dangling", "--no-progress"); strings.TrimSpace(out) != "" {
		t.Errorf("fsck: %s", out)
	}
	t.Logf("kills %v, %d user actions, %d questions, %d ticks overwritten by the user, %d agents finished more than once after a kill", k.kills, u.n, k.questions, k.overwritten, len(slices.Concat(slices.Collect(values(finished))...))-steps)
}

func values(m map[string][]int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}
