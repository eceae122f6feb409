package splice_test

import (
	"strings"
	"testing"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// mine recognises what the tests add.
func mine(n *doc.Node) bool { return n.Kind == doc.Map && n.Has("mine") }

var item = splice.Object{{Key: "mine", Value: "x y"}}

func graft(t *testing.T, data []byte, keys ...string) []byte {
	t.Helper()
	next, err := splice.Graft(data, keys, item)
	if err != nil {
		t.Fatalf("add to %q: %v", data, err)
	}
	return next
}

func prune(t *testing.T, data []byte, keys ...string) []byte {
	t.Helper()
	next, err := splice.Prune(data, keys, mine)
	if err != nil {
		t.Fatalf("take out of %q: %v", data, err)
	}
	return next
}

// grafted are settings files in all the forms that people and programs leave.
var grafted = []string{
	"", "\n", "\n\n", "{}", "{ }", "{\n}\n", "{\n  \"a\": 1\n}\n", "{\n\t\"a\": 1\n}", "{\"a\":1}", "{\"a\": 1, \"b\": [1, 2]}\n", "\xef\xbb\xbf{\"a\": 1}\n",
	"{\r\n  \"a\": 1\r\n}\r\n", "{\n  \"hooks\": {}\n}\n", "{\"hooks\":{}}", "{\n  \"hooks\": {\n  },\n  \"z\": null\n}\n", "{\"hooks\": {\"Start\": []}}\n",
	"{\n  \"hooks\": {\n    \"Start\": [\n      {\"theirs\": 1}\n    ]\n  }\n}\n", "{\n  \"hooks\": {\n    \"Other\": [\n      {\"theirs\": 1}\n    ]\n  },\n  \"b\": 2\n}\n",
	"// settings\n{\n  \"a\": 1, // one, or two\n  /* all */\n}\n// end\n", "{\n  \"hooks\": { // mine, all of them\n  },\n}\n", "{\"hooks\": {\"Start\": [{\"theirs\": 1},]},}",
	"{\n  \"hooks\": {\"Start\": [ /* none */ ]}\n}", "{\n  \"a\": 1 // why\n}\n// no end of line", "{} /* end */",
}

func TestWhat_was_added_is_taken_out_without_a_trace(t *testing.T) {
	t.Parallel()
	for i, text := range append(grafted, "") {
		data := []byte(text)
		if i == 0 {
			data = nil
		}
		two := graft(t, graft(t, data, "hooks", "Start"), "hooks", "End")
		for _, key := range []string{"Start", "End"} {
			if !strings.Contains(string(two), `"`+key+`"`) {
				t.Fatalf("%q holds no %s", two, key)
			}
		}
		back := prune(t, prune(t, two, "hooks", "Start"), "hooks", "End")
		if string(back) != text || (back == nil) != (data == nil) {
			t.Errorf("%q became %q and then %q", text, two, back)
		}
		back = prune(t, prune(t, two, "hooks", "End"), "hooks", "Start")
		if string(back) != text {
			t.Errorf("%q became %q and, the other way round, %q", text, two, back)
		}
	}
}

func TestWhat_others_change_meanwhile_stays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, change, to, want string }{
		{"{\n  \"a\": 1\n}\n", `"a": 1`, `"a": [1, 2]`, "{\n  \"a\": [1, 2]\n}\n"},
		{"{\n  \"a\": 1\n}\n", "\n}\n", ",\n  \"b\": 2\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"", "\n}\n", ",\n  \"b\": 2\n}\n", "{\n  \"b\": 2\n}\n"},
		{"{}", "{\"hooks\"", "{\"b\": 2, \"hooks\"", "{\"b\": 2}"},
		{"{\n  \"a\": 1\n}\n", "\"a\": 1,", "\"a\": 1, // why\n", "{\n  \"a\": 1 // why\n\n  \n}\n"},
		{"{\n  \"hooks\": {}\n}\n", "\n  ]", ",\n    {\"theirs\": 1}\n  ]", "{\n  \"hooks\": {\"Start\": [\n    {\"theirs\": 1}\n  ]}\n}\n"},
	} {
		var data []byte
		if c.before != "" {
			data = []byte(c.before)
		}
		text := string(graft(t, data, "hooks", "Start"))
		changed := strings.Replace(text, c.change, c.to, 1)
		if changed == text {
			t.Fatalf("%q does not hold %q", text, c.change)
		}
		if got := string(prune(t, []byte(changed), "hooks", "Start")); got != c.want {
			t.Errorf("%q became %q, want %q", changed, got, c.want)
		}
	}
}

func TestSettings_that_are_something_else_are_left_alone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[]", "{", "{\"hooks\": 1}", "{\"hooks\": {\"Start\": {}}}", "hooks = 1\n", "{\"a\": 1} x"} {
		if next, err := splice.Graft([]byte(text), []string{"hooks", "Start"}, item); err == nil {
			t.Errorf("%q became %q", text, next)
		}
	}
}

func FuzzGraft(f *testing.F) {
	for _, text := range grafted {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		next, err := splice.Graft([]byte(text), []string{"hooks", "Start"}, item)
		if err != nil || strings.Contains(text, "mine") {
			return
		}
		back, err := splice.Prune(next, []string{"hooks", "Start"}, mine)
		if err != nil || string(back) != text && strings.TrimSpace(text) != "" {
			t.Fatalf("%q became %q and then %q: %v", text, next, back, err)
		}
	})
}
