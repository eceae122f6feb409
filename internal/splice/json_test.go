package splice_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/splice"
)

const plan = `{
  "feature": "x",
  "unknown": {"kept": [1, 2.50, 1e3], "big": 12345678901234567890},
  "status": "in_progress",
  "status": "pending",
  "phases": [
    {
      "id": 1,
      "subtasks": [
        {"id": "a", "done": false, "note": null}
      ]
    }
  ],
  "empty": [],
  "nothing": {}
}
`

func TestJSON_edits_change_their_own_bytes_only(t *testing.T) {
	t.Parallel()
	swap := func(old, next string) string {
		if strings.Count(plan, old) != 1 {
			t.Fatalf("%q stands %d times", old, strings.Count(plan, old))
		}
		return strings.Replace(plan, old, next, 1)
	}
	tests := []edit{
		{"text, the last of two keys", plan, swap(`"pending"`, `"done <b> & \"q\" é"`), js(func(j *splice.JSON) error { return j.Set(path{"status"}, `done <b> & "q" é`) })},
		{"bool in a list of maps", plan, swap(`false`, `true`), js(func(j *splice.JSON) error { return j.Set(path{"phases", 0, "subtasks", 0, "done"}, true) })},
		{"null to time", plan, swap(`null`, `"2026-01-02T03:04:05Z"`), js(func(j *splice.JSON) error {
			return j.Set(path{"phases", 0, "subtasks", 0, "note"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		})},
		{"number keeps its kind", plan, swap(`"id": 1,`, `"id": 2,`), js(func(j *splice.JSON) error { return j.Set(path{"phases", 0, "id"}, 2) })},
		{"big number", plan, swap(`2.50`, `18446744073709551615`), js(func(j *splice.JSON) error { return j.Set(path{"unknown", "kept", 1}, uint64(18446744073709551615)) })},
		{"empty list to map", plan, swap(`"empty": []`, "\"empty\": {\n    \"a\": [\n      1\n    ]\n  }"), js(func(j *splice.JSON) error {
			return j.Set(path{"empty"}, map[string]any{"a": []int{1}})
		})},
		{"new key at the root", plan, swap("\"nothing\": {}\n", "\"nothing\": {},\n  \"qa\": {\n    \"status\": \"approved\",\n    \"list\": [],\n    \"n\": 1\n  }\n"), js(func(j *splice.JSON) error {
			return j.Put(path{"qa"}, splice.Object{{"status", "approved"}, {"list", []int{}}, {"n", 1}})
		})},
		{"new key in an inline map", plan, swap(`"note": null}`, `"note": null, "x": {"y": [1, 2]}}`), js(func(j *splice.JSON) error {
			return j.Put(path{"phases", 0, "subtasks", 0, "x"}, map[string]any{"y": []int{1, 2}})
		})},
		{"new key in an empty map", plan, swap(`"nothing": {}`, "\"nothing\": {\n    \"k\": 1\n  }"), js(func(j *splice.JSON) error { return j.Put(path{"nothing", "k"}, 1) })},
		{"item in the way of the last", plan, swap(`"note": null}`, "\"note\": null},\n        {\"id\": \"b\"}"), js(func(j *splice.JSON) error {
			return j.Append(path{"phases", 0, "subtasks"}, map[string]string{"id": "b"})
		})},
		{"item over several lines", plan, swap("    }\n  ],", "    },\n    {\n      \"id\": 2\n    }\n  ],"), js(func(j *splice.JSON) error {
			return j.Append(path{"phases"}, map[string]int{"id": 2})
		})},
		{"first item", plan, swap(`"empty": []`, "\"empty\": [\n    \"z\"\n  ]"), js(func(j *splice.JSON) error { return j.Append(path{"empty"}, "z") })},
		{"inline item", plan, swap(`1e3]`, `1e3, 4]`), js(func(j *splice.JSON) error { return j.Append(path{"unknown", "kept"}, 4) })},
		{"no change", plan, plan, js(func(j *splice.JSON) error {
			if err := j.Set(path{"status"}, "pending"); err != nil {
				return err
			}
			if err := j.Put(path{"unknown"}, map[string]any{"big": json.Number("12345678901234567890"), "kept": []json.Number{"1", "2.50", "1e3"}}); err != nil {
				return err
			}
			if j.Changed() {
				t.Error("a no-op says it changed something")
			}
			return nil
		})},
		{"tabs", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n", "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": [\n\t\t\t{\n\t\t\t\t\"d\": 2\n\t\t\t}\n\t\t]\n\t}\n}\n", js(func(j *splice.JSON) error {
			return j.Put(path{"a", "c"}, []any{map[string]int{"d": 2}})
		})},
		{"four blanks, blanks around colons", "{\n    \"a\" : 1\n}\n", "{\n    \"a\" : 1,\n    \"b\" : {\n        \"c\" : 2\n    }\n}\n", js(func(j *splice.JSON) error { return j.Put(path{"b"}, map[string]int{"c": 2}) })},
		{"compact", "{\"a\":[1,{\"b\":2}]}\n", "{\"a\":[1,{\"b\":2,\"c\":{\"d\":[3,4]}}]}\n", js(func(j *splice.JSON) error {
			return j.Put(path{"a", 1, "c"}, map[string]any{"d": []int{3, 4}})
		})},
		{"one line with blanks", "{\"a\": [1]}\n", "{\"a\": [1, 2]}\n", js(func(j *splice.JSON) error { return j.Append(path{"a"}, 2) })},
		{"a map in an inline map", plan, swap(`"note": null`, `"note": {"x": 1}`), js(func(j *splice.JSON) error {
			return j.Set(path{"phases", 0, "subtasks", 0, "note"}, map[string]int{"x": 1})
		})},
		{"an empty map in an inline map", "{\n  \"a\": {\"b\": {}, \"c\": []}\n}\n", "{\n  \"a\": {\"b\": {\"k\": 1}, \"c\": []}\n}\n", js(func(j *splice.JSON) error { return j.Put(path{"a", "b", "k"}, 1) })},
		{"the root is empty", "\n{}\n", "\n{\n  \"a\": 1\n}\n", js(func(j *splice.JSON) error { return j.Put(path{"a"}, 1) })},
		{"the root is a list", "[\n  1\n]\n", "[\n  1,\n  {\n    \"a\": 1\n  }\n]\n", js(func(j *splice.JSON) error { return j.Append(nil, map[string]int{"a": 1}) })},
		{"escapes as the file has them", "{\"a\": \"\\u00e9\"}\n", "{\"a\": \"\\u00e9\", \"b\": \"\\u00e8\\ud83d\\ude00\"}\n", js(func(j *splice.JSON) error { return j.Put(path{"b"}, "è😀") })},
		{"broken characters elsewhere", "{\"a\": \"\xff\", \"b\": 1}\n", "{\"a\": \"\xff\", \"b\": 2}\n", js(func(j *splice.JSON) error { return j.Set(path{"b"}, 2) })},
		{"trailing blanks and blank lines", "\n {\t\"a\" :1 \n\n} \n", "\n {\t\"a\" :2 \n\n} \n", js(func(j *splice.JSON) error { return j.Set(path{"a"}, 2) })},
		{"root scalar", "1\n", "\"x\"\n", js(func(j *splice.JSON) error { return j.Set(nil, "x") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); run(t, tt) })
	}
}

func TestJSON_refuses(t *testing.T) {
	t.Parallel()
	tests := []refusal{
		{"a path that is not there", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Set(path{"nope"}, 1) })},
		{"an index that is not there", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Set(path{"phases", 1}, 1) })},
		{"an index into a map", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Put(path{"phases", 0, 3}, 1) })},
		{"a step of another kind", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Put(path{"phases", 1.5}, 1) })},
		{"a key below a scalar", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Put(path{"feature", "x"}, 1) })},
		{"an item for a map", plan, splice.ErrNotFound, js(func(j *splice.JSON) error { return j.Append(path{"nothing"}, 1) })},
		{"to lose entries", plan, splice.ErrUnfit, js(func(j *splice.JSON) error { return j.Set(path{"phases"}, "x") })},
		{"broken text", plan, splice.ErrUnfit, js(func(j *splice.JSON) error { return j.Set(path{"feature"}, "a\xffb") })},
		{"broken text within", plan, splice.ErrUnfit, js(func(j *splice.JSON) error { return j.Append(path{"empty"}, []string{"a\xff"}) })},
		{"a broken key", plan, splice.ErrUnfit, js(func(j *splice.JSON) error { return j.Put(path{"\xff"}, 1) })},
		{"what JSON cannot hold", plan, splice.ErrUnfit, js(func(j *splice.JSON) error { return j.Set(path{"feature"}, func() {}) })},
		{"half a file", plan[:60], splice.ErrUnreadable, js(func(j *splice.JSON) error { return nil })},
		{"an empty file", "", splice.ErrUnreadable, js(func(j *splice.JSON) error { return nil })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); refused(t, tt) })
	}
}

func TestAppendRecord(t *testing.T) {
	t.Parallel()
	rec := splice.Object{{"event_type", "task-started"}, {"n", 1}, {"html", "<é>"}}
	const spaced, tight = `{"event_type": "task-started", "n": 1, "html": "<é>"}`, `{"event_type":"task-started","n":1,"html":"<é>"}`
	for in, added := range map[string]string{
		"":                            tight + "\n",
		"\ufeff":                      tight + "\n",
		"{\"a\":1}\n":                 tight + "\n",
		"{\"a\": 1}\n":                spaced + "\n",
		"{\"a\": 1}\r\n":              spaced + "\r\n",
		"{\"a\": 1}\r\n{\"b\": 2}":    "\r\n" + spaced + "\r\n",
		"{\"a\":1}":                   "\n" + tight + "\n",
		"{\"a\": 1}\n{\"b\": \"cut":   "\n" + spaced + "\n",
		"{\"a\": 1}\n\x00\x00\xff":    "\n" + spaced + "\n",
		"{\"a\":\"\\u00e9\"}\n\n \n":  strings.ReplaceAll(tight, "é", `\u00e9`) + "\n",
		"not JSON at all\n{\"a\": 1}": "\n" + spaced + "\n",
	} {
		got, err := splice.AppendRecord([]byte(in), rec)
		if err != nil || string(got) != in+added {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
		e, err := splice.Tail("events/x.jsonl", []byte(in), got, "why")
		if err != nil || !e.Append || string(e.Content) != added || e.Base != reprise.HashOf([]byte(in)) {
			t.Errorf("%q: tail %+v, %v", in, e, err)
		}
	}
	if _, err := splice.AppendRecord(nil, "\xff"); err == nil {
		t.Error("broken text was taken")
	}
	if _, err := splice.Tail("x", []byte("ab"), []byte("b"), ""); err == nil {
		t.Error("a tail that is none was taken")
	}
}

func TestEdit_carries_the_hash_of_what_was_read(t *testing.T) {
	t.Parallel()
	base := []byte(`{"a":1}`)
	j, err := splice.NewJSON(base)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := j.Edit("f", "w"); ok {
		t.Error("nothing changed, and yet there is an edit")
	}
	if err := j.Set(path{"a"}, 2); err != nil {
		t.Fatal(err)
	}
	e, ok := j.Edit("f.json", "because")
	if !ok || e.Path != "f.json" || e.Why != "because" || e.Base != reprise.HashOf(base) || string(e.Content) != `{"a":2}` || e.Append {
		t.Errorf("edit %+v %v", e, ok)
	}
	if e := splice.Edit("f", nil, nil, ""); e.Base.IsZero() {
		t.Error("an empty file was taken for none")
	}
	if e := splice.Create("f", []byte("x"), "new"); !e.Base.IsZero() || !bytes.Equal(e.Content, []byte("x")) {
		t.Errorf("creation %+v", e)
	}
}

func TestError_says_what_was_refused(t *testing.T) {
	t.Parallel()
	j, err := splice.NewJSON([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	err = j.Set(path{"phases", 0, "subtasks"}, 1)
	if got := err.Error(); got != "set phases.0.subtasks: cannot be written there: it holds entries that would be lost" {
		t.Errorf("got %q", got)
	}
	var e *splice.Error
	if !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("no hint in %#v", err)
	}
}
