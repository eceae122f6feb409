package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"reprise"
	"reprise/agent"
)

func replyOf(t *testing.T, text string) (*reprise.Reply, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return agent.ReadReply(name)
}

// X6: a result that could be meant either way is never read as success, and what is
// wrong with it is said in words for people.
//
// Requirement X6.
func TestA_result_is_read_strictly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, says string }{
		"doubled":                  {`{"outcome":"failed","outcome":"done"}`, `it has the field "outcome" twice`},
		"doubled by an escape":     {`{"outcome":"failed","\u006futcome":"done"}`, `"outcome" twice`},
		"another case":             {`{"outcome":"failed","Outcome":"done"}`, `it has the field "Outcome", which is written "outcome"`},
		"another case alone":       {`{"OUTCOME":"failed"}`, `which is written "outcome"`},
		"a letter that folds":      {`{"outcome":"done","i\u017fsues":[]}`, `which is written "issues"`},
		"doubled and unknown":      {`{"note":1,"note":2}`, `"note" twice`},
		"doubled in a question":    {`{"questions":[{"text":"a?"},{"text":"b?","text":"c?"}]}`, `question 2 has the field "text" twice`},
		"another case in a gap":    {`{"gaps":[{"id":"G1","Priority":"Critical"}]}`, `gap 1 has the field "Priority", which is written "priority"`},
		"a list":                   {`[]`, "it is not a JSON object"},
		"a word":                   {`"done"`, "it is not a JSON object"},
		"outcome a list":           {`{"outcome":["done"]}`, "it: outcome must be text"},
		"outcome a boolean":        {`{"outcome":true}`, "it: outcome must be text"},
		"questions an object":      {`{"questions":{"text":"a?"}}`, "it: questions must be a list"},
		"a question that is text":  {`{"questions":["a?"]}`, "question 1 is not a JSON object"},
		"a question that is null":  {`{"questions":[null]}`, "question 1 is not a JSON object"},
		"a question without words": {`{"outcome":"question","questions":[{"id":"q1"}]}`, "question 1 has no text"},
		"a question of blanks":     {`{"questions":[{"text":" \n"}]}`, "question 1 has no text"},
		"options of numbers":       {`{"questions":[{"text":"a?","options":[1,2]}]}`, "question 1: options must be a list of texts"},
		"issues with null":         {`{"issues":["a",null]}`, "it: issues must be a list of texts"},
		"id a number":              {`{"gaps":[{"id":1}]}`, "gap 1: id must be text"},
		"torn":                     {`{"outcome":"done"`, "ends too early"},
		"empty":                    {"\n", "it is empty"},
		"no JSON":                  {"{\n\"outcome\": done\n}", "line 2"},
		"more than one":            {`{}{}`, "after top-level value"},
		"unknown word":             {`{"outcome":"Done"}`, `outcome "Done" is unknown here`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := replyOf(t, tc.text)
			if err == nil || r != nil || !strings.HasPrefix(err.Error(), "read the result: ") || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%+v %v", r, err)
			}
			for _, word := range []string{"unmarshal", "reprise.", "struct"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("words of a programmer: %v", err)
				}
			}
		})
	}
}

// Requirement X6.
func TestAll_of_a_result_is_read(t *testing.T) {
	t.Parallel()
	want := &reprise.Reply{
		Outcome: "question", Summary: "half", Verdict: "needs_work", Issues: []string{"a", ""},
		Questions: []reprise.Asked{{ID: "q1", Text: "Which?", Subject: "G1", Options: []string{"x", "y"}}, {Text: "Why?"}},
		Gaps:      []reprise.Gap{{ID: "G1", Priority: "Critical", Question: "How?"}, {ID: "G2"}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := replyOf(t, string(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	for text, want := range map[string]reprise.Reply{
		`{}`: {},
		`{"outcome":null,"questions":null,"extra":{"a":1,"a":2}}`:  {},
		`{"outcome":"done","questions":[],"note":[{"outcome":1}]}`: {Outcome: "done"},
		// Two options that mean the same are one choice.
		`{"questions":[{"text":"a?","options":["Yes","yes."," ","no"]}]}`: {Questions: []reprise.Asked{{Text: "a?", Options: []string{"Yes", "no"}}}},
	} {
		if got, err := replyOf(t, text); err != nil || !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
}
