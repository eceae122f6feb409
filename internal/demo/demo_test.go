package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/convention"
)

func TestX10_every_layout_has_a_play(t *testing.T) {
	t.Parallel()
	for _, name := range convention.Names() {
		p, ok := PlayOf(name)
		if !ok {
			t.Errorf("%s has no play", name)
		}
		if p.Hold == "" || len(p.Run) == 0 || len(p.After) == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func at(kind reprise.EventKind, step string) reprise.Event {
	return reprise.Event{Kind: kind, Step: step}
}

func resolved(step, outcome string) reprise.Event {
	return reprise.Event{Kind: reprise.StepResolved, Step: step, Outcome: outcome, Text: "because"}
}

// TestO1_proof_fails_where_it_must: a proof that always holds proves nothing.
func TestO1_proof_fails_where_it_must(t *testing.T) {
	t.Parallel()
	before := []reprise.Event{at(reprise.StepStarted, "a"), at(reprise.StepFinished, "a"), at(reprise.StepStarted, "b")}
	launched := []Launch{{Step: "a"}, {Step: "b"}}
	for name, c := range map[string]struct {
		after    []reprise.Event
		launches []Launch
		want     string // "" if it holds
	}{
		"run again":          {[]reprise.Event{resolved("b", "rerun"), at(reprise.StepStarted, "b"), at(reprise.StepFinished, "b")}, []Launch{{Step: "b"}}, ""},
		"found done":         {[]reprise.Event{resolved("b", "landed"), at(reprise.StepFinished, "b")}, nil, ""},
		"asked":              {[]reprise.Event{resolved("b", "rerun"), at(reprise.StepStarted, "b"), {Kind: reprise.StepReset, Step: "b", Outcome: "question"}}, []Launch{{Step: "b"}}, ""},
		"silent":             {[]reprise.Event{at(reprise.StepFinished, "b")}, nil, "b was cut off and nothing says how that was settled"},
		"twice by the agent": {[]reprise.Event{resolved("b", "rerun"), at(reprise.StepFinished, "b")}, []Launch{{Step: "b"}, {Step: "b"}}, "b was launched 3 times with 1 attempts given up"},
		"twice accepted":     {[]reprise.Event{resolved("b", "landed"), at(reprise.StepFinished, "b"), at(reprise.StepFinished, "b")}, nil, "b was accepted as finished 2 times"},
		"a finished one":     {[]reprise.Event{resolved("b", "landed"), at(reprise.StepFinished, "b")}, []Launch{{Step: "a"}}, "a was finished before the kill and launched again"},
		"not finished":       {[]reprise.Event{resolved("b", "rerun")}, nil, "b was never finished"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p := Prove(slices.Concat(before, c.after), slices.Concat(launched, c.launches), Moment{Events: len(before), Launches: len(launched)})
			if c.want == "" && len(p.Problems) > 0 || c.want != "" && !slices.Contains(p.Problems, c.want) {
				t.Errorf("problems %q, want %q", p.Problems, c.want)
			}
			if !p.Steps[0].Before || p.Steps[0].CutOff || !p.Steps[1].CutOff || p.Steps[1].Before {
				t.Errorf("%+v", p.Steps)
			}
		})
	}
	if p := Prove(before[:2], launched[:1], Moment{Events: 2, Launches: 1}); len(p.Problems) != 1 {
		t.Errorf("a kill that hit nothing proves nothing: %q", p.Problems)
	}
}

func TestX10_a_scene_is_set_in_an_empty_folder_only(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, _ := PlayOf("eventrun")
	s, err := Set(p, filepath.Join(dir, "new"), "/usr/bin/it's a program", 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Project, "reprise.yaml"))
	if err != nil || !strings.Contains(string(text), "command: ['/usr/bin/it''s a program', "+Word+"]") {
		t.Errorf("%v %s", err, text)
	}
	if _, err := Set(p, filepath.Join(dir, "new"), "x", 0); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("%v", err)
	}
	if _, err := Set(p, filepath.Join(dir, "other"), "a\nb", 0); err == nil {
		t.Error("a program with a line break in its path was taken")
	}
	for _, e := range s.Environ([]string{"GIT_DIR=/x", "XDG_STATE_HOME=/home/me", "REPRISE_NOW=1", "PATH=/bin"}) {
		if strings.Contains(e, "/home/me") || strings.HasPrefix(e, "GIT_DIR=") || strings.HasPrefix(e, "REPRISE_NOW=") {
			t.Errorf("%s reaches the children", e)
		}
	}
}
