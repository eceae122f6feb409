package durable

import "testing"

// A disk without room for what working on a run records is told before anything is
// written; what is kept free already counts.
func TestA_full_disk_is_told_before_anything_is_recorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free     uint64
		reserved int64
		full     bool
	}{
		{0, 0, true}, {leastRoom - 1, 0, true}, {leastRoom, 0, false},
		{leastRoom - defaultRoom, defaultRoom, false}, {leastRoom - defaultRoom - 1, 9 * defaultRoom, true},
	} {
		if got := room(c.free, c.reserved) != nil; got != c.full {
			t.Errorf("%d free, %d reserved: full is %v", c.free, c.reserved, got)
		}
	}
	if err := Room(t.TempDir() + "/gone"); err != nil {
		t.Errorf("what cannot be told is no full disk: %v", err)
	}
}
