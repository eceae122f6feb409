package cli

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/sample"
)

// updating tells whether the golden files of the presentations are rewritten. The flag is
// that of conventiontest.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// judgedRun decides about a run as `check` does.
func judgedRun(r *reprise.Run, o reprise.Observed) judged {
	o.Now = fixtureNow
	return presented(r, r.ID, reprise.Next(r, o, reprise.Policy{}), o, func() string { return "sha256:5f1c0a9e" })
}

// presentations maps every golden to what prints it.
func presentations() map[string]func(f *page) {
	prompt := func(r *reprise.Run, show func(*page, judged)) func(*page) {
		return func(f *page) {
			f.asking = true
			show(f, judgedRun(r, reprise.Observed{}))
		}
	}
	report := func(r *reprise.Run, o reprise.Observed) func(*page) {
		return func(f *page) { f.check(judgedRun(r, o)) }
	}
	preflight := func(r *reprise.Run) func(*page) {
		return func(f *page) {
			f.full = true
			f.check(judgedRun(r, reprise.Observed{}))
		}
	}
	live := plansRun(reprise.ActiveAgent)
	alive := reprise.Observed{Owners: map[reprise.Source]reprise.OwnerLife{live.Owner.Source: {Life: reprise.Alive, Reason: "process 4711 (claude) has run since 08:55 and is the recorded one"}}}
	build := reprise.Observed{Git: &reprise.Git{Branch: "main", Head: "51d2c07aa0", HasRemote: true, Unpushed: 1, Changed: []reprise.Change{
		{Path: "src/header.ts", Worktree: ".worktrees/auto-claude"}, {Path: "src/theme.ts", Worktree: ".worktrees/auto-claude"}, {Path: "README.md"},
	}}}
	several := func(f *page) {
		f.candidates([]judged{judgedRun(storyRun(), reprise.Observed{}), judgedRun(loopRun(), reprise.Observed{}), judgedRun(epicRun(), reprise.Observed{}), judgedRun(specRun(), reprise.Observed{})})
	}
	out := map[string]func(*page){
		"or6-summary":                   prompt(storyRun(), (*page).show),
		"or6-summary-warning":           prompt(loopRun(), (*page).show),
		"or6-unrecoverable":             prompt(epicRun(), (*page).show),
		"or6-partial":                   prompt(pipelineRun(), (*page).show),
		"or6-confirmation":              prompt(storyRun(), (*page).confirmation),
		"or6-candidates":                func(f *page) { f.asking = true; several(f) },
		"or6-candidates-report":         several,
		"or6-failure":                   func(f *page) { f.asking = true; f.show(judgedRun(live, alive)) },
		"ev6-report":                    prompt(graphRun(), (*page).show),
		"sl2-prompt":                    prompt(specRun(), (*page).show),
		"lr8-active-agent":              prompt(plansRun(reprise.ActiveAgent), (*page).show),
		"lr8-partial-plan":              prompt(plansRun(reprise.PartialPlan), (*page).show),
		"lr8-between-plans":             prompt(plansRun(reprise.BetweenPlans), (*page).show),
		"lr8-pending-clarification":     prompt(plansRun(reprise.PendingClarification), (*page).show),
		"ac3-prompt":                    func(f *page) { f.asking = true; f.show(judgedRun(buildRun(), build)) },
		"check-orchestrate-safe":        report(storyRun(), reprise.Observed{}),
		"check-orchestrate-caution":     report(loopRun(), reprise.Observed{}),
		"check-orchestrate-blocked":     report(epicRun(), reprise.Observed{}),
		"check-orchestrate-partial":     report(pipelineRun(), reprise.Observed{}),
		"check-eventrun":                report(graphRun(), reprise.Observed{}),
		"check-specloop":                report(specRun(), reprise.Observed{}),
		"check-longrun":                 report(plansRun(reprise.ActiveAgent), reprise.Observed{}),
		"check-longrun-plans":           report(gsdRun(), reprise.Observed{}),
		"check-longrun-live":            report(live, alive),
		"check-autoclaude":              report(buildRun(), build),
		"check-preflight-orchestrate":   preflight(pipelineRun()),
		"check-preflight-eventrun":      preflight(graphRun()),
		"check-complete":                report(finished(), reprise.Observed{}),
		"check-unreadable":              report(unreadable(), reprise.Observed{}),
		"x9-hostile-check":              hostile(func(f *page, j judged) { f.full = true; f.check(j) }, reprise.KindEpic),
		"x9-hostile-prompt-orchestrate": hostile(func(f *page, j judged) { f.asking = true; f.show(j) }, reprise.KindEpic),
		"x9-hostile-prompt-eventrun":    hostile(func(f *page, j judged) { f.asking = true; f.show(j) }, reprise.KindGraph),
		"x9-hostile-prompt-specloop":    hostile(func(f *page, j judged) { f.asking = true; f.show(j) }, reprise.KindSpecLoop),
		"x9-hostile-prompt-longrun":     hostile(func(f *page, j judged) { f.asking = true; f.show(j) }, reprise.KindPlans),
		"x9-hostile-prompt-autoclaude":  hostile(func(f *page, j judged) { f.asking = true; f.show(j) }, reprise.KindBuild),
		"x9-hostile-others":             hostile(func(f *page, j judged) { hostileRest(f, j) }, reprise.KindEpic),
	}
	maps.Copy(out, workPresentations())
	maps.Copy(out, airPresentations())
	return out
}

func hostileRest(f *page, j judged) {
	f.summary(j)
	f.partial(j)
	f.unrecoverable(j)
	f.confirmation(j)
	f.failure(j, "Nothing.")
	f.candidates([]judged{j, j})
}

func finished() *reprise.Run {
	r := storyRun()
	r.State, r.Reason, r.Next = reprise.Complete, "the story is Done", nil
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Status, s.Grade = reprise.Done, reprise.Evidenced
		for k := range s.Claims {
			s.Claims[k].Status, s.Claims[k].Word = reprise.Done, "Done"
		}
	}
	return r
}

func unreadable() *reprise.Run {
	r := loopRun()
	r.State, r.Reason, r.Next, r.Steps = reprise.Unreadable, "loop-status.json is not JSON from line 7 on", nil, nil
	r.LastActivity = time.Time{}
	r.Findings = []reprise.Finding{{Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: "loop-status.json", Message: "a value is expected at line 7, the file ends there", Source: at(r.Path, 7), Hint: "restore the file from version control, or let `reprise repair` rebuild it from the story"}}
	return r
}

// evil is text that would do harm on a terminal, and a great deal of it.
var evil = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066\u200b\ufeff\r\n\n\t\x00\xff\u009b31m 진행 " +
	strings.Repeat("W", 300) + " " + strings.Repeat("long words ", 900)

// hostile shows a run in which every text is evil.
func hostile(show func(*page, judged), kind reprise.Kind) func(*page) {
	return func(f *page) {
		r := epicRun()
		r.Questions = []reprise.Question{{Options: []string{"x"}}}
		r.Options = []reprise.Option{{}}
		one := 1
		r.Resume = &reprise.ResumeState{Interrupted: true, Type: reprise.ActiveAgent, Also: []reprise.ResumeState{{Type: reprise.PartialPlan, CompletedTasks: &one}, {Type: reprise.PendingClarification}}}
		r.Steps[0].Evidence = []reprise.Evidence{{For: true}, {}}
		r.Steps[0].Commits, r.Steps[4].Needs = []string{"x"}, []string{"x"}
		types := []reprise.ResumeType{r.Resume.Type, r.Resume.Also[0].Type, r.Resume.Also[1].Type}
		poison(reflect.ValueOf(r).Elem())
		r.Resume.Type, r.Resume.Also[0].Type, r.Resume.Also[1].Type = types[0], types[1], types[2]
		r.Kind = kind
		o := reprise.Observed{Now: fixtureNow}
		d := reprise.Next(r, o, reprise.Policy{})
		d.Point = &r.Next[0]
		d.Units, d.Verify, d.Doubtful = r.Next, r.Next, r.Next
		d.Missing, d.Keep, d.Again = r.Artifacts, []string{evil}, []string{evil}
		show(f, presented(r, evil, d, o, func() string { return evil }))
	}
}

// poison puts evil into every string below a value that others can set.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				poison(f)
			}
		}
	}
}

func TestOR6_EV6_SL2_LR8_AC3_X9_presentations(t *testing.T) {
	t.Parallel()
	for name, show := range presentations() {
		for _, columns := range []int{80, 120} {
			t.Run(fmt.Sprintf("%s-%d", name, columns), func(t *testing.T) {
				got := render(show, columns, false)
				harmless(t, got, columns)
				file := filepath.Join("testdata", "golden", fmt.Sprintf("%s-%d.txt", name, columns))
				if updating() {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("not as in %s (go test ./internal/cli -update rewrites it):\n%s", file, got)
				}
			})
		}
	}
}

// However much there is to say of a run, the screen by which a person decides is one, and
// what it leaves out is counted.
func TestThe_decision_fits_on_one_screen(t *testing.T) {
	t.Parallel()
	for name, show := range presentations() {
		got := render(show, 80, false)
		if n := strings.Count(got, "\n"); strings.HasPrefix(name, "check-") && !strings.Contains(name, "preflight") && n > 32 {
			t.Errorf("%s takes %d lines:\n%s", name, n, got)
		}
	}
	got := render(presentations()["check-burdened"], 80, false)
	for _, want := range []string{"✗ 3.4", "… and 8 more findings, 5 more failed steps, 5 more calls: `reprise check --full`", "exit 1", "claude 2.1.197"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func render(show func(*page), columns int, colour bool) string {
	var b bytes.Buffer
	show(&page{w: &b, columns: columns, now: fixtureNow, colour: colour})
	return b.String()
}

func harmless(t *testing.T, text string, columns int) {
	t.Helper()
	for i, l := range strings.Split(text, "\n") {
		if width(l) > columns && !OneCommand(l) {
			t.Errorf("line %d takes %d of %d columns: %q", i+1, width(l), columns, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("line %d ends in blanks: %q", i+1, l)
		}
		for _, r := range l {
			if unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) {
				t.Errorf("line %d holds %U", i+1, r)
			}
		}
	}
	if n := strings.Count(text, "\n"); n > 400 {
		t.Errorf("%d lines: a long text buries the rest", n)
	}
}

// Colour only repeats: without its escapes the text is the same.
func TestX10_colour_only_repeats(t *testing.T) {
	t.Parallel()
	for name, show := range presentations() {
		plainText, painted := render(show, 80, false), render(show, 80, true)
		for _, code := range []string{"0", "1", "2", "31", "32", "33", "36"} {
			painted = strings.ReplaceAll(painted, "\x1b["+code+"m", "")
		}
		if painted != plainText {
			t.Errorf("%s says more in colour:\n%s", name, painted)
		}
	}
}

// Every width from the narrowest up holds, not only the two of the goldens.
func TestX9_no_line_is_wider_than_the_terminal(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, show := range presentations() {
		for columns := 40; columns <= 200; columns += 7 {
			harmless(t, render(show, columns, false), columns)
		}
	}
}
