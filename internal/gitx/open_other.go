//go:build !unix

package gitx

import (
	"os"
	"os/exec"
)

func lookExecutable(file string) (string, error) { return exec.LookPath(file) }

const openFlags = os.O_RDONLY
