// Command reprise tells what was interrupted in a project, whether it is safe
// to resume, and from where.
package main

import (
	"os"

	"reprise/internal/cli"
	"reprise/internal/demo"
	"reprise/internal/shim"
)

func main() {
	cli.Frugal(os.Getenv)
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if handled, code := demo.Main(os.Args[1:], os.Getenv); handled {
		os.Exit(code)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}
