//go:build !unix

package proc

import "os"

// Foreground is always true on this system.
func Foreground(*os.File) bool { return true }
