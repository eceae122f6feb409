package project

import (
	"io/fs"
	"syscall"
	"testing"
)

// What the system cannot tell is unknown, and not gone.
func TestAn_output_that_cannot_be_looked_at_is_not_gone(t *testing.T) {
	t.Parallel()
	for errno, unread := range map[syscall.Errno]bool{
		syscall.EIO: true, syscall.EACCES: true, syscall.EPERM: true, syscall.ESTALE: true,
		syscall.ENOENT: false, syscall.ENOTDIR: false, syscall.ELOOP: false,
	} {
		if got := isUnread(&fs.PathError{Op: "stat", Path: "out", Err: errno}); got != unread {
			t.Errorf("%v: unread is %t", errno, got)
		}
	}
	if isUnread(nil) || isUnread(fs.ErrNotExist) {
		t.Error("what is there or is not counts as unread")
	}
}
