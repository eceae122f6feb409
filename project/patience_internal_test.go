package project

import (
	"context"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/internal/tree"
)

// stuck is a convention whose reader does not end before it is let go, for one of its two runs.
type stuck struct {
	reprise.Layout
	until chan struct{}
}

func (stuck) Name() string { return "stuck" }

func (stuck) Find(fs.FS) ([]reprise.Ref, error) {
	return []reprise.Ref{{Layout: "stuck", ID: "slow", Path: "slow.md"}, {Layout: "stuck", ID: "quick", Path: "quick.md"}}, nil
}

func (s stuck) Load(_ fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	if ref.ID == "slow" {
		<-s.until
	}
	return &reprise.Run{Ref: ref, State: reprise.Complete, Reason: "all is done"}, nil
}

// T8: a reader that takes too long is given up. What it would have told is unknown and blocks its run;
// the others are read.
func TestT8_a_reader_that_hangs_is_not_waited_for(t *testing.T) {
	t.Parallel()
	s := stuck{until: make(chan struct{})}
	defer close(s.until)
	limit := newPatience(20 * time.Millisecond)
	files, err := tree.Open(t.TempDir(), tree.Options{Time: limit.within})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	res := &Result{read: map[*reprise.Run]map[string]string{}, said: map[reprise.Ref]string{}}
	var jobs []job
	refs, _ := s.Find(fstest.MapFS{})
	for _, ref := range slices.Backward(refs) {
		jobs = append(jobs, job{s, ref})
	}
	runs, err := res.load(context.Background(), files, jobs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if slow := runs[1]; slow.State != reprise.Unreadable || len(slow.Unread) != 1 || len(slow.Findings) != 1 || slow.Findings[0].Severity != reprise.Blocking || slow.Findings[0].Source.File != "slow.md" {
		t.Errorf("%+v", slow)
	}
}
