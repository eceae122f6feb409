//go:build !unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// Group can do nothing on this system beyond what the end of a context does.
func Group(*exec.Cmd) {}

// Foreground is always true on this system.
func Foreground(*os.File) bool { return true }

func ownGroup() *syscall.SysProcAttr { return nil }

func signalOf(*os.ProcessState) string { return "" }

func ask(p *os.Process) { kill(p) }

func kill(p *os.Process) { _ = p.Kill() }

func left(*os.Process) bool { return false }
