package splice_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/splice"
)

// unopened is a file system in which nothing may be opened, as if every file were a pipe.
type unopened struct {
	fstest.MapFS
	t *testing.T
}

func (u unopened) Open(name string) (fs.File, error) {
	u.t.Errorf("%s was opened", name)
	return nil, fs.ErrInvalid
}

func TestTo_look_at_a_file_below_edits_does_not_open_it(t *testing.T) {
	t.Parallel()
	over := splice.Over(unopened{fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}}, t}, []reprise.Edit{{Path: "new", Content: []byte("1234")}})
	if info, err := fs.Stat(over, "pipe"); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := fs.Stat(over, "new"); err != nil || info.Size() != 4 {
		t.Errorf("%v, %v", info, err)
	}
}
