// Command reprise tells what was interrupted in a project, whether it is safe
// to resume, and from where.
package main

import (
	"os"

	"reprise/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr, os.Getenv)) }
