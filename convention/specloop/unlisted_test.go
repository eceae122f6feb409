package specloop

import (
	"io/fs"
	"os"
	"slices"
	"testing"

	"reprise"
)

// shut is a tree with a folder that may not be listed.
type shut struct {
	fs.FS
	dir string
}

func (s shut) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == s.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return fs.ReadDir(s.FS, name)
}

func TestA_folder_that_may_not_be_listed_proves_nothing(t *testing.T) {
	t.Parallel()
	const dir = "specs/012-team-invites/checklists"
	tree := shut{os.DirFS("../../examples/specloop"), dir}
	found, err := New().Find(tree)
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	r, err := reprise.Load(New(), tree, found[0])
	if err != nil || !slices.Contains(r.Unread, dir) {
		t.Errorf("unread %q, %v", r.Unread, err)
	}
	for _, a := range r.Artifacts {
		if a.Path == dir && a.Presence != reprise.Unchecked {
			t.Errorf("%s is %v", dir, a.Presence)
		}
	}
}
