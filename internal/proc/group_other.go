//go:build !unix

package proc

import "os/exec"

// Group can do nothing on this system beyond what the end of a context does.
func Group(cmd *exec.Cmd) {}
