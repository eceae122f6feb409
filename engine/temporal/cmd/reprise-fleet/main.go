// Command reprise-fleet carries runs of reprise on many machines: a Temporal server says
// who does what, git holds everything else.
package main

import (
	"os"
	"runtime/debug"

	"reprise/engine/temporal/fleetcli"
	"reprise/internal/demo"
	"reprise/internal/shim"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as reprise does: a turn reads a whole run and keeps it
	}
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if handled, code := demo.Main(os.Args[1:], os.Getenv); handled {
		os.Exit(code)
	}
	os.Exit(fleetcli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
