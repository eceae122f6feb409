package project

import (
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"
)

// refusing is a file system that does not let files be opened.
type refusing struct {
	fstest.MapFS
	err error
}

func (r refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: r.err}
}

// What the system cannot tell is unknown, and not gone.
func TestAn_output_that_cannot_be_looked_at_is_not_gone(t *testing.T) {
	t.Parallel()
	there := fstest.MapFS{"out": {}}
	info, err := there.Stat("out")
	if err != nil || isUnread(there, "out", info, nil) || isUnread(there, "out", nil, fs.ErrNotExist) {
		t.Errorf("what is there or is not counts as unread (%v)", err)
	}
	for errno, unread := range map[syscall.Errno]bool{
		syscall.EIO: true, syscall.EACCES: true, syscall.EPERM: true, syscall.ESTALE: true,
		syscall.ENOENT: false, syscall.ENOTDIR: false, syscall.ELOOP: false,
	} {
		if got := isUnread(there, "out", nil, &fs.PathError{Op: "stat", Path: "out", Err: errno}); got != unread {
			t.Errorf("%v at the name: unread is %t", errno, got)
		}
		if got := isUnread(refusing{there, errno}, "out", info, nil); got != unread {
			t.Errorf("%v at the content: unread is %t", errno, got)
		}
	}
}
