package splice_test

import (
	"strings"
	"testing"

	"reprise/internal/splice"
)

const epic = `# the state
epic_state:
  epicId: "EPIC-1"   # quoted
  status: active     # plain
  single: 'it''s'
  started_at: 2026-01-02T03:04:05Z
  completed_at:
  current_wave: 1
  plan: 03-02
  mode: &m yolo
  again: *m
  waves:
    1:
      status: in_progress
      stories:
        "1.1": {status: pending, tags: [a, "b c"], branch: }
        "1.10":
          status: done
  decisions:
    - first
    - id: d2
      text: second  # kept
  notes: |
    one
    # two
  open: []
  gates: {}
  later:
# the end
unknown: [x,
  y]
`

func TestYAML_edits_change_their_own_bytes_only(t *testing.T) {
	t.Parallel()
	swap := func(old, next string) string {
		if strings.Count(epic, old) != 1 {
			t.Fatalf("%q stands %d times", old, strings.Count(epic, old))
		}
		return strings.Replace(epic, old, next, 1)
	}
	set := func(value any, p ...any) func([]byte) ([]byte, error) {
		return ya(func(y *splice.YAML) error { return y.Set(append(path{"epic_state"}, p...), value) })
	}
	put := func(value any, p ...any) func([]byte) ([]byte, error) {
		return ya(func(y *splice.YAML) error { return y.Put(append(path{"epic_state"}, p...), value) })
	}
	add := func(value any, p ...any) func([]byte) ([]byte, error) {
		return ya(func(y *splice.YAML) error { return y.Append(append(path{"epic_state"}, p...), value) })
	}
	tests := []edit{
		{"plain with comment", epic, swap("active ", "completed "), set("completed", "status")},
		{"plain that would be a bool", epic, swap("active ", `"yes" `), set("yes", "status")},
		{"plain that would break", epic, swap("active ", `"a: b # c" `), set("a: b # c", "status")},
		{"plain that is a number", epic, swap("active ", `7 `), set(7, "status")},
		{"text that looks like a number", epic, swap("active ", `"7" `), set("7", "status")},
		{"double quotes stay", epic, swap(`"EPIC-1"`, `"E \"2\"\n\u2028é"`), set("E \"2\"\n\u2028é", "epicId")},
		{"single quotes stay", epic, swap(`'it''s'`, `'that''s'`), set("that's", "single")},
		{"single quotes that cannot hold it", epic, swap(`'it''s'`, `"a\tb"`), set("a\tb", "single")},
		{"a plain time stays plain", epic, swap("2026-01-02T03:04:05Z", "2027-01-02"), set("2027-01-02", "started_at")},
		{"a time beside a plain time", epic, swap("completed_at:", "completed_at: 2027-01-02T03:04:05.5Z"), set("2027-01-02T03:04:05.5Z", "completed_at")},
		{"the same shape stays plain", epic, swap("03-02", "04-01"), set("04-01", "plan")},
		{"number", epic, swap("current_wave: 1", "current_wave: 2"), set(2, "current_wave")},
		{"flow map", epic, swap("status: pending", "status: completed"), set("completed", "waves", "1", "stories", "1.1", "status")},
		{"flow list", epic, swap("[a, ", "[\"x, y\", "), set("x, y", "waves", "1", "stories", "1.1", "tags", 0)},
		{"nothing in a flow map", epic, swap("branch: }", "branch: main}"), set("main", "waves", "1", "stories", "1.1", "branch")},
		{"key that looks like a number", epic, swap("status: done", "status: failed"), set("failed", "waves", "1", "stories", "1.10", "status")},
		{"item", epic, swap("- first", "- 1st"), set("1st", "decisions", 0)},
		{"map in a list", epic, swap("second ", "2 nd "), set("2 nd", "decisions", 1, "text")},
		{"text over lines", epic, swap("|\n    one\n    # two", "short"), set("short", "notes")},
		{"to null", epic, swap("active ", "null "), set(nil, "status")},
		{"no change", epic, epic, set("active", "status")},
		{"no change of what is behind an alias", epic, epic, set("yolo", "again")},

		{"new key in a map", epic, swap("status: done\n", "status: done\n          commit: abc\n"), put("abc", "waves", "1", "stories", "1.10", "commit")},
		{"new key behind everything", epic, swap("  later:\n", "  later:\n  now: 2026-05-05\n"), put("2026-05-05", "now")},
		{"new key in the way of its kind", epic, swap("status: done\n", "status: done\n        \"1.11\":\n          status: pending\n          list:\n            - 1\n"), put(splice.Object{{"status", "pending"}, {"list", []int{1}}}, "waves", "1", "stories", "1.11")},
		{"new key without quotes in the way of its kind", epic, swap("          status: done\n", "          status: done\n    2:\n      status: pending\n"), put(splice.Object{{"status", "pending"}}, "waves", "2")},
		{"new key in a flow map", epic, swap("branch: }", "branch: , at: \"1.5\"}"), put("1.5", "waves", "1", "stories", "1.1", "at")},
		{"new key in an empty flow map", epic, swap("gates: {}", "gates:\n    final: approved"), put("approved", "gates", "final")},
		{"new key where nothing is", epic, swap("later:", "later:\n    a:\n      b: 1"), put(map[string]int{"b": 1}, "later", "a")},
		{"new key in an item", epic, swap("second  # kept\n", "second  # kept\n      by: pm\n"), put("pm", "decisions", 1, "by")},

		{"item behind the last", epic, swap("second  # kept\n", "second  # kept\n    - third\n"), add("third", "decisions")},
		{"map behind the last", epic, swap("second  # kept\n", "second  # kept\n    - id: d3\n      more:\n        - \"\"\n        - x: null\n"), add(splice.Object{{"id", "d3"}, {"more", []any{"", map[string]any{"x": nil}}}}, "decisions")},
		{"item of a flow list", epic, swap(`"b c"]`, `"b c", d]`), add("d", "waves", "1", "stories", "1.1", "tags")},
		{"first item", epic, swap("open: []", "open: [q1]"), add("q1", "open")},
		{"first item that is a map", epic, swap("open: []", "open:\n    - id: q1"), add(map[string]string{"id": "q1"}, "open")},
		{"first item where nothing is", epic, swap("later:", "later:\n    - a"), add("a", "later")},
		{"item of a list over lines", epic, swap("y]", "y, z]"), ya(func(y *splice.YAML) error { return y.Append(path{"unknown"}, "z") })},
		{"the last document", "a: 1\n---\nb: 2\n...\n", "a: 1\n---\nb: 2\nc: 3\n...\n", ya(func(y *splice.YAML) error { return y.Put(path{"c"}, 3) })},
		{"a value of the first document", "a: 1\n---\nb: 2\n", "a: x\n---\nb: 2\n", ya(func(y *splice.YAML) error { return y.Set(path{"a"}, "x") })},
		{"lists flush with their key", "a:\n- x\nb: 1\n", "a:\n- x\n- z\nb: 1\n", ya(func(y *splice.YAML) error { return y.Append(path{"a"}, "z") })},
		{"lists flush, new list", "a:\n- x\n", "a:\n- x\nb:\n- k: v\n", ya(func(y *splice.YAML) error { return y.Put(path{"b"}, []any{map[string]string{"k": "v"}}) })},
		{"four blanks", "a:\n    b: 1\n", "a:\n    b: 1\n    c:\n        d: 2\n", ya(func(y *splice.YAML) error { return y.Put(path{"a", "c"}, map[string]int{"d": 2}) })},
		{"single quotes where the file has them", "# c\na: 'x'\n", "# c\na: 'x'\nb: '1.1'\n", ya(func(y *splice.YAML) error { return y.Put(path{"b"}, "1.1") })},
		{"a key twice", "a: 1\na: 2\n", "a: 1\na: 3\n", ya(func(y *splice.YAML) error { return y.Set(path{"a"}, 3) })},
		{"root list", "- a\n# c\n", "- a\n- b: 1\n# c\n", ya(func(y *splice.YAML) error { return y.Append(nil, map[string]int{"b": 1}) })},
		{"not well-formed: set", "title: Studio: x\nstatus: draft # c\n", "title: Studio: x\nstatus: done # c\n", ya(func(y *splice.YAML) error { return y.Set(path{"status"}, "done") })},
		{"not well-formed: add", "title: Studio: x\nl:\n  - a\n", "title: Studio: x\nl:\n  - a\nstatus: done\n", ya(func(y *splice.YAML) error { return y.Put(path{"status"}, "done") })},
		{"not well-formed: append", "title: Studio: x\nl:\n  - a\n", "title: Studio: x\nl:\n  - a\n  - b\n", ya(func(y *splice.YAML) error { return y.Append(path{"l"}, "b") })},
		{"broken characters elsewhere", "a: \xff\nb: 1\n", "a: \xff\nb: two\n", ya(func(y *splice.YAML) error { return y.Set(path{"b"}, "two") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); run(t, tt) })
	}
}

func TestYAML_refuses(t *testing.T) {
	t.Parallel()
	state := func(do func(y *splice.YAML) error) func([]byte) ([]byte, error) { return ya(do) }
	tests := []refusal{
		{"a path that is not there", epic, splice.ErrNotFound, state(func(y *splice.YAML) error { return y.Set(path{"x"}, 1) })},
		{"a key in a list", epic, splice.ErrNotFound, state(func(y *splice.YAML) error { return y.Put(path{"unknown", "k"}, 1) })},
		{"an item for a scalar", epic, splice.ErrNotFound, state(func(y *splice.YAML) error { return y.Append(path{"epic_state", "status"}, 1) })},
		{"to lose entries", epic, splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Set(path{"epic_state", "waves"}, 1) })},
		{"to write through an alias", epic, splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Set(path{"epic_state", "again"}, "x") })},
		{"to change what an alias shows elsewhere", epic, splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Set(path{"epic_state", "mode"}, "x") })},
		{"a key behind an alias", "a: &x {b: 1}\nc: *x\n", splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Put(path{"c", "d"}, 1) })},
		{"an item behind an alias", "a: &x [b]\nc: *x\n", splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Append(path{"c"}, 1) })},
		{"a key of two lines", epic, splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Put(path{"a\nb"}, 1) })},
		{"broken text", epic, splice.ErrUnfit, state(func(y *splice.YAML) error { return y.Set(path{"epic_state", "status"}, "\xff") })},
		{"an empty file", "\n", splice.ErrUnreadable, state(func(y *splice.YAML) error { return nil })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); refused(t, tt) })
	}
}
