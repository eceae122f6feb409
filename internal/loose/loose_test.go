package loose

import (
	"testing"
	"time"
)

func TestWhat_is_of_another_kind_is_empty_and_odd(t *testing.T) {
	t.Parallel()
	const raw = `{"a":{"b":"text","n":7,"null":null,"list":["x",1]},"at":1767355200,"when":"2026-01-02T12:00:00Z"}`
	for name, tc := range map[string]struct {
		ask func(Value) bool // whether the answer is the expected one
		odd bool
	}{
		"a text":                     {func(v Value) bool { return v.Text("a", "b") == "text" }, false},
		"nothing there":              {func(v Value) bool { return v.Text("a", "x", "y") == "" && !v.Has("x") }, false},
		"null":                       {func(v Value) bool { return v.Text("a", "null") == "" && !v.Has("a", "null") }, false},
		"a number in place of text":  {func(v Value) bool { return v.Text("a", "n") == "" }, true},
		"text in place of an object": {func(v Value) bool { return v.Text("a", "b", "c") == "" }, true},
		"a list":                     {func(v Value) bool { return len(v.List("a", "list")) == 2 }, false},
		"an item of another kind":    {func(v Value) bool { return v.List("a", "list")[1].Text() == "" }, true},
		"odd apart from the rest":    {func(v Value) bool { return v.At("a").Apart().Text("n") == "" }, false},
		"seconds":                    {func(v Value) bool { return v.Time("at").Equal(time.Unix(1767355200, 0)) }, false},
		"a time as text":             {func(v Value) bool { return v.Time("when").Hour() == 12 }, false},
		"the whole":                  {func(v Value) bool { return v.At("a", "list").JSON() == `["x",1]` && v.At("x").JSON() == "" }, false},
	} {
		v, ok := Object([]byte(raw))
		if !ok || !tc.ask(v) || v.Odd() != tc.odd {
			t.Errorf("%s: read %t, odd %t", name, ok, v.Odd())
		}
	}
	for _, raw := range []string{"", "{", "[]", `"x"`, `{"a":1} x`} {
		if _, ok := Object([]byte(raw)); ok {
			t.Errorf("%q is an object", raw)
		}
	}
}
