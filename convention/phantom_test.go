package convention_test

import (
	"maps"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
)

// found are the runs of a tree.
func found(t *testing.T, tree fstest.MapFS) (refs []reprise.Ref) {
	t.Helper()
	for _, e := range convention.All() {
		of, err := e.Find(tree)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, of...)
	}
	return refs
}

// What packages, frameworks, templates and the tools of agents are made of looks like state and is
// none: the same tree is one of runs in its own place, and of none there.
func TestFolders_of_tools_and_packages_hold_no_runs(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, archive := range slices.Sorted(maps.Keys(hosts(t))) {
		tree := conventiontest.LoadFS(t, archive)
		if len(found(t, tree)) == 0 {
			continue
		}
		tried++
		for _, folder := range []string{"_bmad/core", ".bmad", "bmad/bmm", ".claude/skills/a", ".cursor/rules", "node_modules/a", "vendor/a/b", "templates", ".specify/templates", "web/node_modules/a"} {
			moved := fstest.MapFS{}
			for name, file := range tree {
				moved[path.Join(folder, name)] = file
			}
			if refs := found(t, moved); len(refs) > 0 && refs[0].Path != "reprise.yaml" {
				t.Errorf("%s in %s: %v", archive, folder, refs)
			}
		}
		moved := fstest.MapFS{}
		for name, file := range tree {
			moved[path.Join("packages/web", name)] = file
		}
		if _, own := tree["reprise.yaml"]; len(found(t, moved)) == 0 && !own {
			t.Errorf("%s in packages/web: no run", archive)
		}
	}
	if tried < 50 {
		t.Errorf("%d trees", tried)
	}
}

// A folder whose name ends in -stories is one of stories if what is in it says so.
func TestA_folder_called_stories_holds_stories_by_their_names(t *testing.T) {
	t.Parallel()
	const story = "# Story 1.1: Do it\n\n## Status\n\nReady\n\n## Tasks\n\n- [ ] a\n"
	for name, want := range map[string]int{
		"docs/stories/1.1.do-it.md": 1, "docs/user-stories/1.1.do-it.md": 1, "docs/user-stories/story-1.md": 1, "docs/stories/do-it.md": 1,
		"docs/success-stories/acme-corp.md": 0, "content/customer-stories/2024.md": 0, "site/web_stories/hello-world.md": 0,
	} {
		tree := fstest.MapFS{name: {Data: []byte(story), Mode: 0o644, ModTime: conventiontest.Epoch}}
		if refs := found(t, tree); len(refs) != want {
			t.Errorf("%s: %v, want %d", name, refs, want)
		}
	}
}
