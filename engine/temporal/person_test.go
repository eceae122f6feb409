package temporal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
)

// waits is a step that ends once a file is there, and says when it began.
func waits(run, step, needs string) string {
	return fmt.Sprintf("  - {id: %[2]s, needs: [%[3]s], command: [sh, -c, 'echo \"%[1]s %[2]s $REPRISE_ATTEMPT\" >> \"$FLEET_LOG\"; echo %[2]s > %[2]s.txt; while [ ! -e \"$FLEET_LOG.go\" ]; do sleep 0.1; done'], outputs: [%[2]s.txt]}\n", run, step, needs)
}

// Someone moves the branch of a run at work to a commit that does not have the run: that is
// said, and nothing is made up. Once the commit is back the run goes on. (issue 19)
func TestFleet_a_branch_that_lost_the_run(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: lost\nsteps:\n  - {id: a, command: [touch, a.txt], outputs: [a.txt]}\n" + waits("lost", "b", "a")})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "lost", "--detach"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("b is at work", func() bool { return s.attempts("lost", "b") == 1 })
	branch := temporal.Branch("lost")
	s.git("fetch", "-q", "origin", branch)
	was := s.git("rev-parse", "FETCH_HEAD")
	s.git("push", "-q", "--force", "origin", "main:refs/heads/"+branch)
	if err := os.WriteFile(s.launches+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the one that is at work, and one that is begun on this branch
		r := s.fleet("resume", "lost")
		if r.code != 11 || !strings.Contains(r.err, "does not have what is recorded of it") || !strings.Contains(r.err, "git push --force origin ") {
			t.Fatalf("%+v", r)
		}
	}
	if now := s.git("ls-remote", "origin", branch); !strings.HasPrefix(now, s.git("rev-parse", "main")) {
		t.Errorf("something was made up: %s", now)
	}
	_, way, _ := strings.Cut(s.fleet("resume", "lost").err, "`")
	way, _, _ = strings.Cut(way, "`")
	paste := exec.Command("sh", "-c", way)
	paste.Dir = s.clone
	s.must(paste)
	if now := s.git("ls-remote", "origin", branch); !strings.HasPrefix(now, was) {
		t.Errorf("the hint brings back %s, not %s", now, was)
	}
	if r := s.fleet("resume", "lost", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete || s.attempts("lost", "b") != 1 {
		t.Errorf("%+v after %d attempts", r, s.attempts("lost", "b"))
	}
}

// However a person spells the name of a file, a second start finds the first. (issue 19)
func TestFleet_one_file_however_it_is_spelled(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"sub/flow.yaml": "name: same\nsteps:\n  - {id: q, ask: {question: 'Ship it?', options: [yes, no]}}\n"})
	s.worker("w1")
	first := s.fleet("run", "sub/flow.yaml", "--detach")
	if first.code != 0 {
		t.Fatal(first)
	}
	if err := os.Symlink("sub/flow.yaml", filepath.Join(s.clone, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.yaml", "./sub/flow.yaml", "sub/../sub/flow.yaml", filepath.Join(s.clone, "sub", "flow.yaml"), "sub//flow.yaml"} {
		if r := s.fleet("run", name, "--detach", "--until", "q"); r.code != 0 || r.out != first.out {
			t.Errorf("%s: %+v, not %q", name, r, first.out)
		}
	}
}

// The beginning of a name is enough where it means one run. (issue 19)
func TestFleet_the_beginning_of_a_name(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"ask.yaml": "name: ask\nsteps:\n  - {id: q, ask: {question: 'Ship it?', options: [yes, no]}}\n"})
	s.worker("w1")
	for _, id := range []string{"north-1", "north-2", "south"} {
		if r := s.fleet("run", "ask.yaml", "--id", id); r.code != 12 {
			t.Fatal(r)
		}
	}
	for _, verb := range []string{"stop", "answer", "resume"} {
		if r := s.fleet(verb, "nor"); r.code != 2 || !strings.Contains(r.err, "north-1") || !strings.Contains(r.err, "north-2") {
			t.Errorf("%s of what means two: %+v", verb, r)
		}
		if r := s.fleet(verb, "east"); r.code != 2 {
			t.Errorf("%s of what means none: %+v", verb, r)
		}
	}
	if r := s.fleet("status", "nor"); r.code != 0 || strings.Contains(r.out, "south") || !strings.Contains(r.out, "north-1") {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("status", "east"); r.code != 2 {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "sou"); r.code != 12 {
		t.Errorf("%+v", r)
	}
	// A run that was stopped takes its answer, and goes on with it.
	if r := s.fleet("stop", "sou"); r.code != 0 || !strings.Contains(r.out, "resume south") {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("answer", "sou", "--question", "q", "--text", "maybe"); r.code != 2 {
		t.Errorf("an answer that it does not take: %+v", r)
	}
	if r := s.fleet("answer", "sou", "--question", "q", "--text", "yes"); r.code != 0 || !strings.Contains(r.out, "reprise-fleet resume south") {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("answer", "sou", "--list"); r.code != 3 {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "sou", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete {
		t.Errorf("%+v", r)
	}
	// Whoever comes later is told what the answer was, and that nothing is left.
	if r := s.fleet("answer", "sou", "--question", "q", "--text", "no"); r.code != 11 || !strings.Contains(r.err, `already answered: "yes"`) {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("answer", "sou", "--question", "q", "--text", "yes"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "sou"); r.code != 3 {
		t.Errorf("%+v", r)
	}
}

// A limit that takes long is told, and not waited for unless that is asked for. (issue 19)
func TestFleet_a_limit_is_told(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"reprise.yaml": "agents: {coder: {preset: claude, account: long" + strconv.FormatInt(time.Now().UnixNano(), 36) + "}}\nroles: {default: coder}\nenv: [FLEET_LOG]\n",
		"flow.yaml":    "name: limit\nsteps:\n  - {id: a, role: dev, prompt: make a.txt, outputs: [a.txt]}\n",
		"ask.yaml":     "name: ask\nsteps:\n  - {id: q, ask: {question: 'Ship it?', options: [yes, no]}}\n",
	})
	bin := filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(strings.ReplaceAll(limited, "+ 20", "+ 7200")), 0o755); err != nil {
		t.Fatal(err)
	}
	s.worker("w1", "PATH="+bin+":"+os.Getenv("PATH"))
	const says = "waits for a limit or an outage until "
	if r := s.fleet("run", "flow.yaml", "--id", "lim"); r.code != 75 || !strings.Contains(r.out, says) {
		t.Fatalf("%+v", r)
	}
	r := s.fleet("resume", "lim", "--json")
	if sum := s.summary(r); r.code != 75 || sum.Exit != 75 || sum.Until == nil || time.Until(*sum.Until) < time.Hour || sum.State != reprise.Waiting {
		t.Errorf("%+v", r)
	}
	if _, text := s.state("lim"); !strings.Contains(text, says) || !strings.Contains(s.fleet("status").out, says) {
		t.Errorf("the status says nothing of it: %s", text)
	}
	cmd := exec.Command(shared.bin, "resume", "lim", "--wait", "-C", s.clone)
	cmd.Env = s.env()
	if err := startWithUs(cmd); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err := <-over:
		t.Errorf("--wait does not wait: %v", err)
	case <-time.After(5 * time.Second):
	}
	_ = cmd.Process.Kill()
	// Another run of the account waits as well, and says for whom; one that tries now opens it for both.
	if r := s.fleet("run", "flow.yaml", "--id", "other"); r.code != 75 {
		t.Fatalf("%+v", r)
	}
	if r := s.fleet("status", "other"); !strings.Contains(r.out, "closed the account long") || !strings.Contains(r.out, "met by lim of "+temporal.Identity(s.remote)) {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "other", "--option", "now", "--json"); !ended(r) || s.summary(r).State != reprise.Complete {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "lim", "--json"); !ended(r) {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("run", "ask.yaml", "--id", "none"); r.code != 12 {
		t.Fatalf("%+v", r)
	}
	for range 2 { // while it is at work, and once it is stopped
		if r := s.fleet("resume", "none", "--option", "now"); r.code != 2 || !strings.Contains(r.err, "it waits for no limit") {
			t.Errorf("%+v", r)
		}
		s.fleet("stop", "none")
	}
	if r := s.fleet("status", "none"); !strings.Contains(r.out, "none  ") || !strings.Contains(r.out, "Ship it? (yes, no)") {
		t.Errorf("%+v", r)
	}
}

// A worker dies that knew a run: another one says what it does. (issue 19)
func TestFleet_a_dead_worker_hides_no_living_one(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: hides\nsteps:\n  - {id: a, command: [\"true\"]}\n" + waits("hides", "b", "a")})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "hides", "--detach"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("b is at work", func() bool { return s.attempts("hides", "b") == 1 })
	s.worker("w2")
	s.until("w2 is there", func() bool {
		log, _ := os.ReadFile(filepath.Join(s.dir, "w2.log"))
		return strings.Contains(string(log), "takes part")
	})
	s.workers["w1"].kill()
	if r := s.fleet("status", "hides"); r.code != 0 || strings.Contains(r.out, "no worker answers") {
		t.Errorf("%+v", r)
	}
}

// The status says why a run does not come on: what the last attempts said, and what is tried
// again. A stop that takes too long ends. (issue 19)
func TestFleet_status_says_why(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"bad.yaml": "name: bad\nsteps:\n  - {id: a, command: [sh, -c, 'echo the disk of the moon is full >&2; exit 7'], attempts: 2}\n  - {id: q, ask: {question: 'Ship it?', options: [yes, no]}}\n",
	})
	lock := filepath.Join(s.remote, "refs", "heads", filepath.FromSlash(temporal.Branch("land"))+".lock")
	s.put("land.yaml", fmt.Sprintf("name: land\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt; touch %s'], outputs: [a.txt]}\n", lock))
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "land")
	s.git("push", "-q", "origin", "main")
	s.worker("w1")
	for _, id := range []string{"bad", "land"} {
		if r := s.fleet("run", id+".yaml", "--id", id, "--detach"); r.code != 0 {
			t.Fatal(r)
		}
	}
	s.until("the failure is told", func() bool {
		run, _ := s.state("bad")
		return run.State == "open" && len(run.Failed) > 0 && strings.Contains(run.Failed[0].Reason, "the disk of the moon is full")
	})
	s.until("the landing is told", func() bool {
		run, text := s.state("land")
		return strings.Contains(run.Stuck, "landing what ended is tried again") && len(run.AtWork) == 1 && run.AtWork[0].Ended && strings.Contains(text, "has ended and waits to be landed")
	})
	if r := s.fleet("stop", "land", "--within", "3s"); r.code != 20 || !strings.Contains(r.err, "it was told to stop") {
		t.Errorf("%+v", r)
	}
	if run, text := s.state("land"); !run.Stopping || !strings.Contains(text, "it was told to stop") {
		t.Errorf("the status says nothing of the stop: %+v\n%s", run, text)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	s.until("it is stopped", func() bool { run, _ := s.state("land"); return run.State != "open" })
}

// Whoever follows a run, or looks, is told which of its steps a worker has, which wait for one, and
// which have lost theirs: only what a worker has is at work. (issue 19)
func TestFleet_tells_who_has_a_step_and_who_lost_it(t *testing.T) {
	t.Parallel()
	flow := "name: who\nparallel: 3\nsteps:\n"
	for _, step := range []string{"a", "b", "c"} {
		flow += waits("who", step, "")
	}
	s := newSite(t, map[string]string{"flow.yaml": flow})
	first := s.worker("w1") // which has two of them at once
	said := filepath.Join(s.dir, "said")
	out, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	follows := exec.Command(shared.bin, "run", "flow.yaml", "--id", "who", "--heartbeat", "5s", "-C", s.clone)
	follows.Env, follows.Stdout, follows.Stderr = s.env(), out, out
	if err := startWithUs(follows); err != nil {
		t.Fatal(err)
	}
	lines := func(end string) int {
		text, _ := os.ReadFile(said)
		return strings.Count(string(text), "attempt 1 "+end)
	}
	s.until("one of them waits", func() bool { return lines("waits for a worker") > 0 }) // perhaps with why
	if n := lines("is at work on w1"); n != 2 {
		t.Errorf("w1 is told to have %d steps", n)
	}
	s.worker("w2")
	s.until("the third is at work as well", func() bool { return lines("is at work on w2") == 1 })
	if err := os.WriteFile(filepath.Join(s.remote, "refs", "heads", filepath.FromSlash(temporal.Branch("who"))+".lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.kill()
	s.until("two of them are lost", func() bool {
		run, text := s.state("who")
		lost := 0
		for _, w := range run.AtWork {
			if w.Lost && w.Ended && w.Worker == "" {
				lost++
			}
		}
		return lost == 2 && len(run.AtWork) == 3 && strings.Count(text, "lost its worker and waits to be settled") == 2 && !strings.Contains(text, "waits to be landed")
	})
	s.until("that is told to whoever follows it", func() bool { return lines("lost its worker") == 2 })
	if err := follows.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _ = follows.Wait(); follows.ProcessState.ExitCode() != 130 {
		t.Errorf("ctrl-C: exit %d", follows.ProcessState.ExitCode())
	}
}

// Work that the remote refused is finished: once it is allowed, the run goes on with it, on
// whichever worker. (issue 19)
func TestFleet_what_was_refused_is_not_done_again(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: ref\nsteps:\n  - {id: a, command: [sh, -c, 'echo \"ref a $REPRISE_ATTEMPT\" >> \"$FLEET_LOG\"; echo $REPRISE_ATTEMPT > a.txt'], outputs: [a.txt]}\n  - {id: b, needs: [a], command: [touch, b.txt], outputs: [b.txt]}\n"})
	hook := filepath.Join(s.remote, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nwhile read old new ref; do case $ref in refs/reprise/*) echo policy 17 forbids it; exit 1;; esac; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(shared.dir, "reprise")
	s.worker("w1")
	for _, run := range []string{"ref", "one"} {
		if r := s.fleet("run", "flow.yaml", "--id", run); r.code != 11 || !strings.Contains(r.out+r.err, "policy 17") {
			t.Fatalf("%+v", r)
		}
	}
	once := func(when string) {
		t.Helper()
		if n := strings.Count(s.launched(), "\n"); n != 2 {
			t.Errorf("%s: agents of two steps were started %d times", when, n)
		}
	}
	kept := func(when string) (way string) {
		t.Helper()
		r := s.fleet("stop", "one")
		_, way, _ = strings.Cut(r.err, "`")
		way, _, _ = strings.Cut(way, "`")
		if r.code != 11 || way != "reprise-fleet resume one --until a" || !strings.Contains(r.err, "refs/reprise/one/a/1") {
			t.Fatalf("%s: %+v", when, r)
		}
		if r := s.program(plain, "resume", "one", "--adopt", "--trust", "--mode", "autopilot", "-C", s.checkout("one")); r.code != 11 || !strings.Contains(r.out+r.err, "reprise-fleet stop one") {
			t.Errorf("%s: one machine goes on: %+v", when, r)
		}
		return way
	}
	kept("it is not pushed")
	w := s.workers["w1"]
	w.kill()
	w.rest()
	w2 := s.worker("w2")
	if r := s.fleet("resume", "one"); r.code != 11 || !strings.Contains(r.out, "its worker keeps") {
		t.Errorf("another worker has not got it: %+v", r)
	}
	kept("another worker tried")
	once("before the remote allows it")
	w2.kill()
	w2.rest()
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	w = s.worker("w1")
	s.until("the worker pushed it", func() bool {
		return s.git("ls-remote", "origin", "refs/reprise/ref/a/1") != "" && s.git("ls-remote", "origin", "refs/reprise/one/a/1") != ""
	})
	w.kill()
	w.rest()
	way := kept("it is pushed")
	s.worker("w2")
	if r := s.program("sh", "-c", "cd "+s.clone+" && "+way); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	r := s.fleet("stop", "one")
	_, way, _ = strings.Cut(r.err, "on one machine: `")
	way, _, _ = strings.Cut(way, "`")
	if r := s.program("sh", "-c", "cd "+s.clone+" && "+way+" --trust --mode autopilot"); r.code != 0 || !strings.Contains(r.out, "Finished") {
		t.Errorf("%s: %+v", way, r)
	}
	once("one machine went on")
	if r := s.fleet("resume", "ref", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete {
		t.Errorf("%+v", r)
	}
	once("the fleet went on")
	if text, err := os.ReadFile(filepath.Join(s.checkout("ref"), "a.txt")); err != nil || string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
	mirror := filepath.Join(s.dir, "worker-w1", "mirror.git")
	if kept := s.must(exec.Command("git", "--git-dir", mirror, "for-each-ref", "refs/kept/refused/")); kept != "" {
		t.Errorf("what is pushed is kept: %s", kept)
	}
}

// What a run that ended with doubts says to do next shows these doubts. (issue 19)
func TestFleet_the_next_command_of_a_doubtful_end(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"reprise.yaml": "agents: {w: {command: [sh, -c, 'echo \"{\\\"outcome\\\":\\\"done\\\",\\\"summary\\\":\\\"nothing needed\\\"}\" > \"$REPRISE_RESULT\"']}}\nroles: {default: w}\n",
		"flow.yaml":    "name: doubt\nsteps:\n  - {id: a, role: dev, prompt: do it}\n",
	})
	s.worker("w1")
	r := s.fleet("run", "flow.yaml", "--id", "doubt")
	next := regexp.MustCompile(`(?m)^Next: (.+)$`).FindStringSubmatch(r.out)
	if r.code != 10 || next == nil || !strings.Contains(r.out, "["+reprise.CodeNothingMade+"]") {
		t.Fatalf("%+v", r)
	}
	if r := s.program("sh", "-c", next[1]); r.code != 10 || !strings.Contains(r.out, "doubt") {
		t.Errorf("%s: %+v", next[1], r)
	}
}
