//go:build !unix

package gitx

import (
	"os"
	"os/exec"
)

// ownGroup leaves the command as it is: cancellation kills git alone here.
func ownGroup(*exec.Cmd) {}

func lookExecutable(file string) (string, error) { return exec.LookPath(file) }

const openFlags = os.O_RDONLY
