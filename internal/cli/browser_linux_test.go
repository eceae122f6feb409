package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
	"reprise/internal/web/webtest"
)

// sound holds a page against what every page must be: no script failed, nothing was kept
// away by the policy, nothing was asked for elsewhere, and, where axe-core was fetched,
// no one is shut out of it.
func sound(t *testing.T, b *webtest.Browser, host string) {
	t.Helper()
	if problems := b.Problems(); len(problems) > 0 {
		t.Errorf("at %v: %q", b.Eval("location.href"), problems)
	}
	for _, at := range b.Requests() {
		if !strings.HasPrefix(at, "http://"+host+"/") && !strings.HasPrefix(at, "about:") && !strings.HasPrefix(at, "data:") {
			t.Errorf("it asks for %s", at)
		}
	}
	axe, err := os.ReadFile("../../bin/axe/axe.min.js")
	if err != nil {
		t.Log("axe-core is not here; make bin/axe fetches it")
		return
	}
	b.Eval(string(axe) + ";0")
	// A live page may put new elements in place of those that are looked at: then it is looked at again.
	found := b.Eval(`(async () => {
		for (let round = 1; ; round++) {
			let changed = false
			const changes = new MutationObserver(() => { changed = true })
			changes.observe(document, {childList: true, subtree: true})
			const r = await axe.run(document, {resultTypes: ["violations"]})
			changed ||= changes.takeRecords().length > 0
			changes.disconnect()
			if (!changed || round === 5) return r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target + " " + (n.any[0]?.message ?? "")).join("; ")).join("\n")
		}
	})()`)
	if found != "" {
		t.Errorf("axe finds at %v:\n%v", b.Eval("location.href"), found)
	}
}

// place is where the pages of the server are that the browser is at.
func place(b *webtest.Browser) string {
	return b.Eval("location.origin + '/' + location.pathname.split('/')[1]").(string)
}

// Every page on all examples, in light and dark, by keyboard alone.
func TestBrowser_every_page_is_sound_and_works_by_keyboard(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	b := webtest.Open(t)
	s := servedAt(t, nil, examplesCopy(t))
	b.Size(1280, 900, false)
	b.Go(s.address)
	b.Wait("document.querySelector('.live.on')")
	if strings.Contains(b.Eval("location.href").(string), "token") {
		t.Error("the token stays in the address")
	}
	sound(t, b, s.host)
	b.Type("?")
	b.Wait("document.querySelector('#help').open")
	b.Type("<Escape>")
	b.Wait("!document.querySelector('#help').open")
	b.Type("/")
	b.Wait("document.activeElement.id === 'search'")
	b.Type("4", "<Enter>")
	b.Wait("location.search === '?q=4' && document.querySelector('.live.on')")
	b.Type("j", "j", "k")
	b.Wait("document.activeElement.matches('.row')")
	b.Go(place(b) + "/?state=all")
	links := b.Eval("[...document.querySelectorAll('a.run')].map((a) => a.href).join('\\n')").(string)
	if strings.Count(links, "\n") != 10 {
		t.Errorf("these are listed:\n%s", links)
	}
	for i, at := range strings.Split(links, "\n") {
		if i == 3 && !sample.All() {
			break // make test-web looks at every page
		}
		b.Size([]int{1280, 344, 2560}[i%3], 900, i%2 == 1)
		b.Go(at)
		b.Wait("document.querySelector('.live.on') && document.querySelector('#verdict')")
		steady(t, b)
		sound(t, b, s.host)
		if wide := b.Eval("document.documentElement.scrollWidth - innerWidth").(float64); wide > 0 {
			t.Errorf("%s is %v pixels too wide at %v", at, wide, b.Eval("innerWidth"))
		}
	}
	b.Type("u")
	b.Wait("location.pathname.endsWith('/')")
	b.Size(344, 740, false) // 360 with a scrollbar; a page that is resized shifts
	b.Go(strings.Split(links, "\n")[0])
	b.Eval("document.querySelector('.actions a').click()")
	b.Wait("location.pathname.endsWith('/preview') && document.querySelector('#would')")
	steady(t, b)
	sound(t, b, s.host)
	b.Go(place(b) + "/run?project=0&run=none")
	b.Wait("document.querySelector('#failure')")
	b.Type("u")
	b.Wait("location.pathname.endsWith('/') && document.querySelector('.live.on')")
	// A server that was started again does not know the browser.
	b.Forget()
	b.Eval("document.dispatchEvent(new Event('visibilitychange'))")
	b.Wait("document.querySelector('#lost').textContent.includes('started again')")
}

// steady holds a page against what must not move: nothing is pushed aside while it loads,
// and its head is one line that shows all it has.
func steady(t *testing.T, b *webtest.Browser) {
	t.Helper()
	moved := b.Eval(`new Promise((done) => {
		let sum = 0;
		new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({ type: "layout-shift", buffered: true });
		setTimeout(() => done(sum), 50);
	})`).(float64)
	if moved > 0.02 {
		t.Errorf("at %v and %v pixels: the layout shifts by %v", b.Eval("location.href"), b.Eval("innerWidth"), moved)
	}
	if cut := b.Eval("[...document.querySelectorAll('header.bar > *')].filter((e) => e.offsetHeight > 44 || e.getBoundingClientRect().right > innerWidth).map((e) => e.id + e.className).join()"); cut != "" {
		t.Errorf("at %v and %v pixels: %v does not fit in the head", b.Eval("location.href"), b.Eval("innerWidth"), cut)
	}
}

const pagedFlow = `
name: release
title: Ship the shop
steps:
  - id: lint
    command: [sh, -c, "echo linted; touch linted"]
    outputs: [linted]
  - id: build
    needs: [lint]
    command: [sh, -c, "i=0; while ! test -e go; do i=$((i+1)); echo line $i; sleep 0.1; done; touch built"]
    outputs: [built]
  - id: ask
    needs: [build]
    ask: {question: "Ship it?", options: ["yes", "no"]}
  - id: ship
    needs: [ask]
    command: [sh, -c, "while ! test -e ship; do sleep 0.1; done; touch shipped"]
    outputs: [shipped]
`

// A run is killed and resumed while its page is open, then asked for and continued from
// the page.
func TestBrowser_follows_a_run_that_is_killed_answered_and_resumed(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	b := webtest.Open(t)
	dir := shop(t, pagedFlow)
	env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	var said bytes.Buffer
	work := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir, cmd.Env = dir, env
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	s := servedAt(t, env, dir, "--allow-actions")
	run := work("run", "flow.yaml", "--id", "r", "--trust", "--mode", "autopilot")
	b.Size(1280, 900, false)
	b.Go(s.address)
	b.Wait("document.querySelector('a.run .state-running')")
	b.Eval("document.querySelector('a.run').click()")
	b.Wait("document.querySelector('#verdict .state-running')?.innerText.includes('running') && document.querySelector('#attempts tbody')?.textContent.includes('build')")
	b.Eval("document.querySelector('#attempts').open = true; [...document.querySelectorAll('#attempts a[href*=output]')].at(-1).click()")
	b.Wait("location.pathname.endsWith('/output') && /line [2-9]/.test(document.querySelector('#output')?.innerText ?? '')")
	grows := b.Eval("document.querySelector('#output').innerText.length").(float64)
	b.Wait(fmt.Sprintf("document.querySelector('#output').innerText.length > %v", grows))
	sound(t, b, s.host)
	b.Type("u")
	b.Wait("document.querySelector('#verdict .state-running')")
	killed := time.Now()
	if err := run.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	b.Wait("document.querySelector('#verdict .state-interrupted')")
	t.Logf("it shows after %v that the run was killed", time.Since(killed).Round(time.Millisecond))
	// It lasted as long as its agent printed something.
	b.Wait("document.querySelector('.span-cut-off .bar')?.getAttribute('width') > 20")
	again := work("resume", "r", "--option", "continue", "--stop-orphans")
	resumed := time.Now()
	b.Wait("document.querySelector('#verdict .state-running')")
	t.Logf("it shows after %v that it was resumed", time.Since(resumed).Round(time.Millisecond))
	gittest.Write(t, dir, "go", "")
	if _ = again.Wait(); again.ProcessState.ExitCode() != 12 {
		t.Fatalf("resume ended with %v:\n%s", again.ProcessState, said.String())
	}
	b.Wait("document.querySelector('#questions .reply')")
	sound(t, b, s.host)
	b.Eval("document.querySelector('#attempts').open = true; [...document.querySelectorAll('#attempts a')].find((a) => a.href.includes('/changes') && a.href.includes('step=lint')).click()")
	b.Wait("location.pathname.endsWith('/changes') && document.querySelector('#changed')?.innerText.includes('linted') && document.querySelector('.diff')")
	sound(t, b, s.host)
	b.Go(place(b) + "/")
	b.Eval("document.querySelector('#asks a').click()")
	b.Wait("location.pathname.endsWith('/question') && document.querySelector('#asked .reply')")
	sound(t, b, s.host)
	b.Type("u")
	b.Wait("document.querySelector('#questions .reply')")
	// By keyboard: to the first option, which the space bar chooses.
	b.Eval("document.querySelector('#questions input[type=radio]').focus()")
	b.Type(" ")
	b.Eval("document.querySelector('#questions .reply button').focus()")
	b.Type("<Enter>") // the answer is not confirmed, and nothing is sent
	b.Wait("document.activeElement.name === 'confirm'")
	b.Type(" ", "<Enter>")
	b.Wait("document.querySelector('#answered')?.innerText.includes('is kept: “')")
	b.Eval("document.querySelector('#resume').open = true")
	b.Eval("document.querySelector('#resume button').click()")
	b.Wait("document.querySelector('#verdict .state-running') && !document.querySelector('#resume')")
	gittest.Write(t, dir, "ship", "")
	b.Wait("document.querySelector('#verdict .state-complete')")
	sound(t, b, s.host)
	if _, err := os.Stat(filepath.Join(dir, "shipped")); err != nil {
		t.Error(err)
	}
}

// What a person chooses on a page that follows a run is what is sent: a form is replaced
// as a whole, and one that is in use can no longer be sent once it is about something else.
func TestBrowser_a_form_sends_what_it_shows(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	b := webtest.Open(t)
	dir := shop(t, `
name: two
steps:
  - id: keep
    ask: {question: "Keep the old data?", options: ["yes", "no"]}
  - id: drop
    needs: [keep]
    ask: {question: "Delete the database?", options: ["no", "yes"]}
  - id: last
    needs: [drop]
    ask: {question: "Tell the team?", options: ["yes", "no"]}
`)
	env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	work := func(code int, args ...string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	work(12, "run", "flow.yaml", "--id", "t", "--trust", "--mode", "autopilot")
	s := servedAt(t, env, dir, "--allow-actions")
	b.Size(1280, 900, false)
	b.Go(s.address)
	b.Wait("document.querySelector('a.run')")
	b.Eval("document.querySelector('a.run').click()")
	b.Wait("document.querySelector('.live.on') && document.querySelector('#questions')?.innerText.includes('Keep the old data?')")
	work(0, "answer", "t", "--text", "yes")
	work(12, "resume", "t", "--mode", "autopilot")
	b.Wait("document.querySelector('#questions')?.innerText.includes('Delete the database?') && [...document.querySelectorAll('#questions .option')].length === 2")
	if got := b.Eval("[...document.querySelectorAll('#questions .option')].map((o) => o.innerText.trim() + '=' + o.querySelector('input').value).join()"); got != "no=no,yes=yes" {
		t.Errorf("the options are %v", got)
	}
	b.Eval("document.querySelector('#questions input[type=radio]').click()")
	work(0, "answer", "t", "--text", "yes")
	work(12, "resume", "t", "--mode", "autopilot")
	// In one step, or with a moment between in which nothing is asked.
	b.Wait("document.querySelector('#questions .stale') || document.querySelector('#questions')?.innerText.includes('Tell the team?')")
	if b.Eval("document.querySelector('#questions .stale') ? document.querySelector('#questions button').disabled : !document.querySelector('#questions input:checked')") != true {
		t.Error("what was chosen for one question can be sent for another")
	}
	b.Eval("location.reload()")
	b.Wait("document.querySelector('#questions')?.innerText.includes('Tell the team?') && !document.querySelector('.stale')")
	sound(t, b, s.host)
}

// However many runs there are and however much an agent printed, the browser gets a page
// of it.
func TestBrowser_thousands_of_runs_and_a_long_output_stay_smooth(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	runs, size := 250, 1<<20
	if sample.All() {
		runs, size = 5000, 100<<20
	}
	b := webtest.Open(t)
	dir := shop(t, fmt.Sprintf("name: loud\nsteps:\n  - id: talk\n    command: [sh, -c, \"yes a line of sixty characters or so, as agents print them all day | head -c %d; touch said\"]\n    outputs: [said]\n", size))
	env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	cmd := exec.Command(os.Args[0], "run", "flow.yaml", "--id", "loud", "--trust", "--mode", "autopilot")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range runs {
		gittest.Write(t, dir, fmt.Sprintf(".auto-claude/specs/%04d-feature-%d/implementation_plan.json", i, i),
			fmt.Sprintf(`{"feature": "Feature %d", "phases": [{"id": "1", "name": "Build", "subtasks": [{"id": "a", "description": "One", "status": "completed"}, {"id": "b", "description": "Two", "status": "in_progress"}]}]}`, i))
	}
	s := servedAt(t, env, dir)
	b.Size(1280, 900, false)
	b.Go(s.address)
	b.Wait("document.querySelector('.live.on')")
	page := func(what string) {
		t.Helper()
		if n := b.Eval("document.querySelectorAll('*').length").(float64); n > 4000 {
			t.Errorf("%s has %v elements", what, n)
		}
		// The longest time for which the page does not answer, while keys are pressed.
		b.Eval("window.longest = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.longest = Math.max(window.longest, e.duration); })).observe({entryTypes: ['longtask']}); 0")
		b.Type("j", "j", "j", "k", "j")
		t.Logf("%s: the longest task while keys are pressed takes %v ms", what, b.Eval("window.longest"))
	}
	page("the list")
	if got := b.Eval("document.querySelector('#main').innerText").(string); !strings.Contains(got, fmt.Sprintf("of %d", runs)) {
		t.Errorf("it does not say that there are %d runs:\n%.500s", runs, got)
	}
	b.Type("/", "f", "e", "a", "t", "u", "r", "e", "<Enter>")
	b.Wait("location.search === '?q=feature' && document.querySelectorAll('a.run').length === 100")
	b.Go(place(b) + "/output?project=0&run=eventrun%3A.agent-memory%2Fruns%2Floud&step=talk&attempt=1")
	b.Wait("document.querySelector('#output')?.innerText.length > 1000")
	page("the output")
	if n := b.Eval("document.querySelector('#output').innerText.length").(float64); n > 80_000 {
		t.Errorf("the page holds %v bytes of the output", n)
	}
	b.Eval("document.querySelector('a[rel=prev]').click()")
	b.Wait("new URLSearchParams(location.search).has('to') && document.querySelector('#output')?.innerText.length > 1000")
	sound(t, b, s.host)
}

// State that is full of payloads runs nothing in a real browser, and asks for nothing.
func TestBrowser_runs_nothing_from_state(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	b := webtest.Open(t)
	dir := t.TempDir()
	payloads := []string{"<script>window.pwned=1</script>", "<img src=//evil.example onerror=window.pwned=1>", "<svg onload=window.pwned=1><style>*{display:none}</style>", "</title><script>window.pwned=1</script>", "\" autofocus onfocus=\"window.pwned=1"}
	var tasks []string
	for i, p := range payloads {
		tasks = append(tasks, fmt.Sprintf(`{"id": %q, "description": %q, "status": "%s"}`, fmt.Sprintf("s%d%s", i, p), p, []string{"completed", "in_progress", "pending"}[i%3]))
	}
	gittest.Write(t, dir, ".auto-claude/specs/001-a/implementation_plan.json",
		fmt.Sprintf(`{"feature": %q, "phases": [{"id": "1", "name": %q, "subtasks": [%s]}]}`, payloads[3], payloads[2], strings.Join(tasks, ", ")))
	gittest.Write(t, dir, ".auto-claude/specs/001-a/spec.md", "# "+payloads[0])
	s := servedAt(t, nil, dir)
	b.Go(s.address)
	b.Wait("document.querySelector('.live.on')")
	at := b.Eval("document.querySelector('a.run').href").(string)
	for _, page := range []string{at, strings.Replace(at, "/run?", "/preview?", 1)} {
		b.Go(page)
		b.Wait("document.querySelector('#main h1')")
		if b.Eval("window.pwned !== undefined || document.querySelectorAll('script').length !== 1 || document.querySelector('#main img, #main style, #main script') !== null") == true {
			t.Errorf("state got into %s", page)
		}
	}
	sound(t, b, s.host)
}
