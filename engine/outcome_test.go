package engine_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// outcome is what comes of a run, without times, commits and attempts.
type outcome struct {
	// finished and asked count what happened, by run and step or question.
	finished, asked, answered, applied map[string]int
	launches, reruns                   map[string]int
	tokens                             map[string]int
	files                              map[string]string
	left                               []string
	fsck                               string
	list                               string // what is wrong with the list of tasks in the head
}

// outcome reads what is on disk.
func (k *killed) outcome(t testing.TB) outcome {
	o := outcome{
		finished: map[string]int{}, asked: map[string]int{}, answered: map[string]int{}, applied: map[string]int{},
		launches: map[string]int{}, reruns: map[string]int{}, tokens: map[string]int{}, files: map[string]string{},
	}
	for name, all := range journals(t, k.dir) {
		for _, ev := range all {
			switch ev.Kind {
			case reprise.StepFinished:
				o.finished[name+" "+ev.Step]++
			case reprise.QuestionAsked:
				o.asked[name+" "+ev.Text]++
			case reprise.QuestionAnswered:
				o.answered[name+" "+ev.Question]++
			case reprise.AnswerApplied:
				o.applied[name+" "+ev.Question]++
			case reprise.StepResolved:
				if ev.Outcome == string(reprise.Rerun) {
					o.reruns[ev.Step]++
				}
			}
		}
	}
	launched, _ := os.ReadFile(launchesOf(k.dir))
	for line := range strings.Lines(string(launched)) {
		// RUN STEP ATTEMPT TOKEN; a step may hold spaces.
		words := strings.Fields(line)
		o.launches[strings.Join(words[1:len(words)-2], " ")]++
		o.tokens[words[len(words)-1]]++
	}
	o.files = contents(t, k.dir)
	o.list = listProblem(k.dir)
	fsck := exec.Command("git", "fsck", "--no-dangling", "--no-progress")
	fsck.Dir = k.dir
	if out, err := fsck.CombinedOutput(); err != nil {
		o.fsck = string(out)
	}
	o.left = markedIn(k.dir)
	return o
}

// listProblem says where the list of tasks in the head does not tell what was committed:
// a task is ticked there with the commit of the step, and with no other.
func listProblem(dir string) string {
	run := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, _ := cmd.Output() // another workflow has no list
		return string(out)
	}
	list, log := run("show", "HEAD:"+taskList), run("log", "--format=%B")
	for step, line := range map[string]string{"1": "- [x] 1. Cart\n", "2.1": "  - [x] 2.1 Card\n"} {
		done := false
		for text := range strings.Lines(log) {
			value, ok := strings.CutPrefix(strings.TrimSpace(text), reprise.TrailerKey+": ")
			_, of, known := strings.Cut(value, "/") // a commit of the core is that of an accepted step
			done = done || ok && known && of == step
		}
		if list != "" && done != strings.Contains(list, line) {
			return fmt.Sprintf("%s is committed as accepted: %t, and the list of the head says\n%s", step, done, list)
		}
	}
	return ""
}

// compare says in what another outcome is worse than this one.
func (o outcome) compare(got outcome) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for what, both := range map[string][2]map[string]int{
		"finished": {o.finished, got.finished}, "asked": {o.asked, got.asked}, "answered": {o.answered, got.answered}, "applied": {o.applied, got.applied},
	} {
		for key := range merged(both[0], both[1]) {
			if both[0][key] != both[1][key] {
				say("%s was %s %d times, undisturbed %d", key, what, both[1][key], both[0][key])
			}
		}
	}
	for step, n := range got.launches {
		if n > o.launches[step]+got.reruns[step] {
			say("%s was launched %d times, undisturbed %d, %d cut off", step, n, o.launches[step], got.reruns[step])
		}
	}
	for token, n := range got.tokens {
		if n > 1 {
			say("the attempt %s was launched %d times", token, n)
		}
	}
	if got.fsck != "" {
		say("git fsck: %s", got.fsck)
	}
	if got.list != "" {
		say("%s", got.list)
	}
	if len(got.left) > 0 {
		say("processes are left over: %v", got.left)
	}
	for name := range merged(o.files, got.files) {
		was, in := o.files[name]
		now, has := got.files[name]
		switch {
		case !has:
			say("%s is missing", name)
		case !in && halfWritten.MatchString(name):
		case !in:
			say("%s is there and should not be", name)
		case was != now:
			say("%s differs:\n%s", name, durable.Diff(name, []byte(was), []byte(now)))
		}
	}
	slices.Sort(problems)
	return problems
}

// halfWritten is what an agent leaves that is killed while it writes a file; that
// is its own.
var halfWritten = regexp.MustCompile(`\.[0-9]+\.tmp$`)

func merged[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// journals are the events of all runs of a project, by the names of their
// journals.
func journals(t testing.TB, dir string) map[string][]reprise.Event {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names, err := store.Logs()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]reprise.Event{}
	for _, name := range names {
		entries, _, err := journal.Read(store, name)
		if err != nil {
			t.Errorf("journal %s: %v", name, err)
		}
		for _, e := range entries {
			out[name] = append(out[name], e.Event)
		}
	}
	return out
}

var (
	times        = regexp.MustCompile(`\d{8}T\d{6}Z|\d{4}-\d\d-\d\d(-\d{4}\b)?([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:\d\d))?)?`)
	commits      = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)
	spans        = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(s|ms|µs)\b`)
	commitField  = regexp.MustCompile(`,"commit":"#"`)
	interruption = regexp.MustCompile(`(?i)resum|cut-off|^(taken as safe|validation|warning): `)
	numbers      = regexp.MustCompile(`("?(attempts?|iterations?|updated|elapsed|duration)\w*"?: ?"?)\d+`)
)

// contents are the files of a project as far as they are to be the same however
// often it was interrupted: without times, commits and the numbers of attempts,
// and a line that was written twice once. Logs of several hours are one.
func contents(t testing.TB, dir string) map[string]string {
	out, raw := map[string]string{}, map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".reprise"):
			return filepath.SkipDir
		case d.IsDir() || d.Name() == ".git":
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel = hourly.ReplaceAllString(plainTimes(rel), "#.jsonl")
		switch d.Name() {
		case "attempt_history.json", "agent-history.json", "current-agent-id.txt":
			data = nil // it tells of every attempt
		}
		raw[rel] += string(data)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name, text := range raw {
		out[name] = settled(text)
	}
	return out
}

// hourly is the end of the name of a log that begins anew every hour.
var hourly = regexp.MustCompile(`-[0-9]{4}(-[0-9]{3})?\.jsonl$`)

func plainTimes(s string) string {
	for _, re := range []*regexp.Regexp{times, commits, spans} {
		s = re.ReplaceAllString(s, "#")
	}
	return numbers.ReplaceAllString(s, "$1#")
}

// settled leaves out of a file what tells of interruptions.
func settled(s string) string {
	var out []string
	for line := range strings.Lines(plainTimes(s)) {
		line = commitField.ReplaceAllString(strings.TrimSpace(line), "")
		if line == "" || interruption.MatchString(line) || slices.Contains(out, line) {
			continue
		}
		out = append(out, line)
	}
	if strings.HasPrefix(s, "{\"event") {
		slices.Sort(out) // steps at work side by side end in any order
	}
	return strings.Join(out, "\n") + "\n"
}

// markedIn finds live processes of attempts in a project.
func markedIn(dir string) []string {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(env), "REPRISE_RESULT="+dir+"/") {
			out = append(out, filepath.Base(filepath.Dir(name)))
		}
	}
	return out
}

// dump shows what happened.
func (k *killed) dump(t testing.TB) {
	for name, all := range journals(t, k.dir) {
		for _, ev := range all {
			t.Logf("%s %s %s%s %s %d %s %q", name, ev.Kind, ev.Step, ev.Question, ev.Phase, ev.Attempt, ev.Outcome, ev.Text)
		}
	}
}
