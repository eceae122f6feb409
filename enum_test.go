package reprise

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The words are read by other programs: a change here breaks them.
func TestX1_words_are_frozen(t *testing.T) {
	t.Parallel()
	list := func(l wordList) []string {
		_, words := l.words()
		return words
	}
	for name, c := range map[string]struct{ got, want []string }{
		"status":   {list(statusWords{}), []string{"", "pending", "in_progress", "in_review", "done", "failed", "blocked", "skipped", "unknown"}},
		"state":    {list(stateWords{}), []string{"", "not_started", "running", "interrupted", "waiting", "stopped", "complete", "unreadable"}},
		"verdict":  {list(verdictWords{}), []string{"", "none", "safe", "caution", "blocked", "unchecked", "wait"}},
		"severity": {list(severityWords{}), []string{"", "info", "warning", "blocking"}},
		"grade":    {list(gradeWords{}), []string{"", "claimed", "evidenced", "verified"}},
		"life":     {list(lifeWords{}), []string{"", "alive", "dead", "unknown"}},
		"effect":   {list(effectWords{}), []string{"", "none", "local-file", "local-git", "process", "network", "remote-git", "unknown"}},
		"landing":  {list(landingWords{}), []string{"", "landed", "not_landed", "partly", "unknown"}},
		"span":     {list(spanWords{}), []string{"", "working", "finished", "failed", "cut-off", "stopped", "limit", "person"}},
		"presence": {list(presenceWords{}), []string{"", "present", "missing", "unchecked", "damaged"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestX2_unset_is_no_judgement(t *testing.T) {
	t.Parallel()
	var (
		status   Status
		state    State
		verdict  Verdict
		severity Severity
		presence Presence
	)
	for name, word := range map[string]string{
		"status": status.String(), "state": state.String(), "verdict": verdict.String(),
		"severity": severity.String(), "presence": presence.String(),
	} {
		if word != "" {
			t.Errorf("zero %s is %q", name, word)
		}
	}
	if status.Closed() || Unknown.Closed() || state.Open() {
		t.Error("an unset or unknown value decides something")
	}
}

func TestX2_unknown_words_are_refused(t *testing.T) {
	t.Parallel()
	var s struct {
		Status  Status
		State   State
		Verdict Verdict
	}
	if err := json.Unmarshal([]byte(`{"Status":"in_review","State":"stopped","Verdict":"caution"}`), &s); err != nil {
		t.Fatal(err)
	}
	if s.Status != InReview || s.State != Stopped || s.Verdict != Caution {
		t.Errorf("round trip gave %+v", s)
	}
	for _, bad := range []string{`{"Status":"finished"}`, `{"State":"ok"}`, `{"Verdict":"fine"}`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if got := Status(99).String(); got != "invalid(99)" {
		t.Errorf("out of range: %q", got)
	}
}
