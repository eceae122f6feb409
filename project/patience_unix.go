//go:build unix

package project

import (
	"syscall"
	"time"
)

// processed is the time that processors have worked for this process.
func processed() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
