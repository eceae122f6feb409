package autoclaude_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/autoclaude"
	"reprise/convention/conventiontest"
)

const (
	mendHome = ".auto-claude/specs/001-x/"
	mendTree = ".worktrees/001-x/.auto-claude/specs/001-x/"
	planName = "implementation_plan.json"
	mendPlan = `{"feature": "X", "phases": [{"id": "p1", "subtasks": [{"id": "a", "status": "completed"}, {"id": "b", "status": "pending"}]}]}`
	freshly  = `{"feature": "X", "phases": [{"id": "p1", "subtasks": [{"id": "a", "status": "pending"}, {"id": "b", "status": "pending"}]}]}`
	stubPlan = `{"feature": "X", "status": "pending", "phases": []}`
)

func mendFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644, ModTime: conventiontest.Epoch}
	}
	return fsys
}

func mendAll(t *testing.T, fsys fstest.MapFS) conventiontest.Mended {
	t.Helper()
	return conventiontest.Mends(t, autoclaude.New(), fsys)
}

func TestMend(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  map[string]string // what is rebuilt; nothing else is touched
		what  string            // a part of What
	}{
		{"clean", map[string]string{mendHome + planName: mendPlan, mendTree + planName: mendPlan}, nil, ""},
		{"a copy that is behind is no damage", map[string]string{mendHome + planName: freshly, mendTree + planName: mendPlan}, nil, ""},
		{"the project's copy is cut off", map[string]string{mendHome + planName: mendPlan[:30], mendTree + planName: mendPlan},
			map[string]string{mendHome + planName: mendPlan}, "cannot be read"},
		{"the project's copy is empty", map[string]string{mendHome + planName: "", mendTree + planName: "\ufeff" + mendPlan + "\r\n"},
			map[string]string{mendHome + planName: "\ufeff" + mendPlan + "\r\n"}, "cannot be read"},
		{"the worktree's copy is garbled and was ahead", map[string]string{mendHome + planName: freshly, mendTree + planName: mendPlan + "}"},
			map[string]string{mendTree + planName: freshly}, "more items completed"},
		{"the project's copy is gone", map[string]string{mendHome + "spec.md": "# X\n", mendTree + planName: mendPlan},
			map[string]string{mendHome + planName: mendPlan}, "is gone"},
		{"the worktree's copy is gone", map[string]string{mendHome + planName: mendPlan, mendTree + "build-progress.txt": "a\n"},
			map[string]string{mendTree + planName: mendPlan}, "is gone"},
		{"a worktree nobody worked in", map[string]string{mendHome + planName: mendPlan, mendTree + "spec.md": "# X\n"}, nil, ""},
		{"a stub is no source", map[string]string{mendHome + planName: stubPlan, mendTree + planName: mendPlan[:40]}, nil, ""},
		{"a plan with lost parts is no source", map[string]string{
			mendHome + planName: `{"phases": [{"id": "p1", "subtasks": [{"id": "a", "status": "completed"}]}, 7]}`, mendTree + planName: "{"}, nil, ""},
		{"both are broken", map[string]string{mendHome + planName: "{", mendTree + planName: "["}, nil, ""},
		{"no second copy", map[string]string{mendHome + planName: mendPlan[:40], mendHome + "spec.md": "# X\n"}, nil, ""},
		{"a blank history", map[string]string{mendHome + planName: mendPlan, mendHome + "memory/attempt_history.json": ""},
			map[string]string{mendHome + "memory/attempt_history.json": "{\n  \"subtasks\": {},\n  \"stuck_subtasks\": [],\n  \"metadata\": {}\n}\n"}, "is blank"},
		{"a blank history of the first versions", map[string]string{
			mendHome + planName:                      strings.ReplaceAll(mendPlan, "subtasks", "chunks"),
			mendHome + "memory/attempt_history.json": "\x00\x00\n"},
			map[string]string{mendHome + "memory/attempt_history.json": "{\n  \"chunks\": {},\n  \"stuck_chunks\": [],\n  \"metadata\": {}\n}\n"}, "is blank"},
		{"a blank history with a copy", map[string]string{mendHome + planName: mendPlan, mendTree + "memory/attempt_history.json": " \n",
			mendTree + planName: mendPlan, mendHome + "memory/attempt_history.json": `{"subtasks": {"a": {"attempts": []}}}`},
			map[string]string{mendTree + "memory/attempt_history.json": `{"subtasks": {"a": {"attempts": []}}}`}, "is blank"},
		{"blank commits", map[string]string{mendHome + planName: mendPlan, mendHome + "memory/build_commits.json": "\x00"},
			map[string]string{mendHome + "memory/build_commits.json": "{\n  \"commits\": [],\n  \"last_good_commit\": null,\n  \"metadata\": {}\n}\n"}, "is blank"},
		{"a history with something left in it", map[string]string{mendHome + planName: mendPlan,
			mendHome + "memory/attempt_history.json": `{"subtasks": {"a": {"attempts": [{"success": false}`}, nil, ""},
		{"commits with something left in them", map[string]string{mendHome + planName: mendPlan,
			mendHome + "memory/build_commits.json": `{"commits": [{"subtask_id": "a", "hash": "0123`}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fsys := mendFS(tc.files)
			got := mendAll(t, fsys)
			mends := got.Mends
			if len(mends) != len(tc.want) {
				t.Fatalf("%d mends, want %d: %+v", len(mends), len(tc.want), mends)
			}
			for _, m := range mends {
				if !strings.Contains(m.What, tc.what) {
					t.Errorf("what: %q, want %q in it", m.What, tc.what)
				}
			}
			for name, f := range got.Tree {
				want, mended := tc.want[name]
				if !mended {
					want = tc.files[name]
				}
				if string(f.Data) != want {
					t.Errorf("%s is\n%s\nwant\n%s", name, f.Data, want)
				}
			}
		})
	}
}

// Files that cannot be opened are no one's to overwrite.
func TestMend_folderInThePlansPlace(t *testing.T) {
	t.Parallel()
	fsys := mendFS(map[string]string{mendHome + "spec.md": "# X\n", mendHome + planName + "/x": "y", mendTree + planName: mendPlan})
	if got := mendAll(t, fsys); len(got.Mends) > 0 {
		t.Errorf("%+v", got.Mends)
	}
}

func TestMend_scenarios(t *testing.T) {
	t.Parallel()
	conventiontest.MendsEvery(t, "testdata/*/*.txtar", func(t *testing.T, fsys fstest.MapFS) []reprise.Mend { return mendAll(t, fsys).Mends })
}
