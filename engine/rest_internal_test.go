package engine

import (
	"fmt"
	"strings"
	"testing"

	"reprise"
)

// A turn that only records what the last one recorded would continue for ever: it is an
// error that names what changed nothing.
func TestRecordingWithoutEffectIsAnErrorAndNotALoop(t *testing.T) {
	t.Parallel()
	closing := Op{Record: []reprise.Event{{Kind: reprise.QuestionSkipped, Question: "lost-1", Actor: actor}}}
	asking := Op{Question: []reprise.Asked{{ID: "lost-2", Text: "Is it done?"}}, Notice: []reprise.Finding{{Code: "x"}}}
	heard := Op{Record: []reprise.Event{{Kind: reprise.QuestionAnswered, Question: "q"}}}
	taken := Op{TakeOut: [][]byte{[]byte("line")}}
	posed := func(name string) Op {
		return Op{Record: []reprise.Event{{Kind: reprise.QuestionAsked, Question: name, Step: "G-004", Text: "Validity"}}}
	}
	var many [][]Op
	for i := range maxSettle + 1 {
		many = append(many, []Op{{Record: []reprise.Event{{Kind: reprise.StepReset, Step: fmt.Sprint(i)}}}})
	}
	for name, c := range map[string]struct {
		turns [][]Op
		want  string
	}{
		"the same record":          {[][]Op{{closing}, {closing}}, "question_skipped lost-1 was recorded and changed nothing"},
		"asked under another name": {[][]Op{{posed("C1.1")}, {posed("C1.2")}}, "question_asked C1.2 was recorded"},
		"the same question":        {[][]Op{{asking}, {asking}}, "the question lost-2 was recorded"},
		"two in turn":              {[][]Op{{closing}, {asking}, {closing}}, ""},
		"a wait in between":        {[][]Op{{closing}, {{Await: true}}, {closing}}, ""},
		"waits":                    {[][]Op{{{Await: true}}, {{Await: true}}}, ""},
		"the same letter twice":    {[][]Op{{heard, taken}, {heard, taken}}, ""},
		"it never comes to rest":   {many, "does not settle"},
		"it comes to rest":         {append(many[:maxSettle:maxSettle], []Op{{Leave: true}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &work{ref: reprise.Ref{ID: "one"}}
			var err error
			for i, ops := range c.turns {
				if err = w.mustMove(ops); err != nil && i < len(c.turns)-1 {
					t.Fatalf("turn %d: %v", i+1, err)
				}
			}
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
