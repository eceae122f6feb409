// Command reprise tells what was interrupted in a project, whether it is safe
// to resume, and from where.
package main

import (
	"os"
	"runtime/debug"

	"reprise/internal/cli"
	"reprise/internal/demo"
	"reprise/internal/shim"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// A command reads much at its beginning and keeps most of it: looking for
		// what can be freed takes a third of that time.
		debug.SetGCPercent(400)
	}
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if handled, code := demo.Main(os.Args[1:], os.Getenv); handled {
		os.Exit(code)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}
