package gitx

import "testing"

// A file that ends before the last commit's version of it does is told with what is
// missing, wherever it ends; what was removed elsewhere was removed on purpose. (issue 15,
// item 1)
func TestWhat_the_head_has_after_the_end_of_a_file(t *testing.T) {
	t.Parallel()
	const list = "# Tasks\n\n- [x] T1 Plan\n- [ ] T2 Build\n- [ ] T3 Ship\n"
	const state = "epic: 1\nstories:\n  a: ready\n  b: ready\n"
	for _, c := range []struct{ name, now, was, want string }{
		{"a.md", "# Tasks\n\n- [x] T1 Plan\n", list, "- [ ] T2 Build\n- [ ] T3 Ship\n"},
		{"a.md", "# Tasks\n\n- [x] T1 Pl", list, "an\n- [ ] T2 Build\n- [ ] T3 Ship\n"},
		{"a.md", "# Tasks\n\n- [x] T1 Plan\n- [X] T2 Build\n", list, "- [ ] T3 Ship\n"},
		{"a.md", "# Tasks\n\n- [x] T1 Plan\n- [X] T2 Build", list, "\n- [ ] T3 Ship\n"},
		{"a.md", "# Tasks\n\n- [ ] T1 Plan\n- [X] T2 Bu", list, "ild\n- [ ] T3 Ship\n"},
		{"a.md", "# Tasks\n\n- [x] T1 Plan\n- [ ] T3 Ship\n", list, ""},
		{"a.md", list, list, ""},
		{"a.md", list + "- [ ] T4 Tell\n", list, ""},
		{"a.md", "", list, list},
		{"a.yaml", "epic: 1\nstories:\n  a: done\n", state, "  b: ready\n"},
		{"a.yaml", "epic: 1\nstories: none\n", state, ""},
		{"a.yaml", "- id: 1\n- id: 3\n", "- id: 1\n- id: 2\n- id: 3\n", ""},
		{"a.json", "{\"a\": 2\n", "{\"a\": 1\n}\n", ""},
		{"a.jsonl", "{\"a\": 1}\n", "{\"a\": 1}\n{\"a\": 2}\n", "{\"a\": 2}\n"},
		{"a.jsonl", "{\"a\": 2}\n", "{\"a\": 1}\n{\"a\": 2}\n", ""},
	} {
		if got := string(beyond(c.name, []byte(c.now), []byte(c.was))); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.now, got, c.want)
		}
	}
}
