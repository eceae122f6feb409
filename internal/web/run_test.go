package web_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/internal/web"
	"reprise/report"
)

// What cannot be read was recorded all the same, and what is blocked is not resumed.
func TestThe_page_of_a_blocked_run_offers_what_can_be_done(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	check := docs["check"].(report.Check)
	check.Decision.Verdict = reprise.BlockedVerdict
	check.Options = []reprise.Option{{Key: reprise.OptionContinue, Label: "Continue"}, {Key: reprise.OptionFresh, Label: "Start fresh"}, {Key: reprise.OptionFromPhase, Label: "From"}}
	check.Findings = []report.Finding{{Severity: reprise.Blocking, Message: "`reprise repair` shows it", Hint: "`reprise repair`"}}
	check.Git.Changed = 1
	check.Run.Questions = []report.Question{{ID: "q2", Subject: "q2", Text: "Which?"}}
	docs["check"], docs["log"] = check, report.Log{Damage: "the checksum does not fit"}
	get := func() string {
		t.Helper()
		_, page, _ := play(t, docs, func(o *web.Options) {
			o.Actions = true
			o.Complete = func(dir, run, text string) string {
				return strings.ReplaceAll(text, "repair", "repair "+run+" -C "+dir)
			}
		}).get(onePage)
		return page
	}
	page := get()
	for _, text := range []string{"Ways to continue, once that is resolved", "cannot be read", "reprise repair longrun:specs/x -C /p` shows", "To do: `reprise repair longrun:specs/x -C /p`", "1 changed file<"} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in\n%s", text, page)
		}
	}
	for _, text := range []string{"has recorded nothing", `id="resume"`, "q2 · q2"} {
		if strings.Contains(page, text) {
			t.Errorf("%q in\n%s", text, page)
		}
	}
	check.Options = append(check.Options, reprise.Option{Key: reprise.OptionRepair, Label: "Repair"})
	docs["check"] = check
	if page := get(); !strings.Contains(page, `id="resume"`) || strings.Contains(page, `value="fresh"`) || strings.Contains(page, `name="from"`) {
		t.Errorf("what mends is not all that is offered:\n%s", page)
	}
}

// What a run begins with is an object for programs; a page tells it in words.
func TestThe_page_of_a_run_tells_in_words_what_is_on_record(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	docs["log"] = report.Log{Entries: []report.LogEntry{
		{Kind: reprise.RunStarted, Text: "{\n \"title\": \"Ship <it>\", \"workflow\": {\"file\": \"flow.yaml\"}, \"tasks\": [{\"id\": \"a\"}, {\"id\": \"b\"}], \"none\": []}"},
		{Kind: reprise.StepFinished, Step: "A4", Text: `{"gaps": [{"id": "G-1"}]}`}, {Kind: reprise.StepFailed, Step: "b", Text: "{ no object"},
	}}
	_, page, _ := play(t, docs).get(onePage)
	for _, text := range []string{`<span class="said">Ship &lt;it&gt;: 2 tasks</span>`, `<span class="said">1 gap</span>`, `<span class="said">{ no object</span>`} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in\n%s", text, page)
		}
	}
	if strings.Contains(page, "flow.yaml") {
		t.Error("an object for programs is shown")
	}
}
