package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Sample is a commented file for a project in which the agents of these presets do the
// work, the first of them whatever no one else is named for: with leave to build and to
// test, which finishing a step takes, and these variables of the environment. It sets nothing else.
func Sample(presets, env []string) []byte {
	var b strings.Builder
	b.WriteString("# Who does the work in this project, and how.\n# Every key: docs/reference/settings.md of reprise.\n")
	b.WriteString("# It takes effect once you trust it: reprise trust\n\nagents:\n")
	for i, p := range presets {
		fmt.Fprintf(&b, "  %s:\n    preset: %[1]s\n", p)
		b.WriteString("    approve: commands  # without asking: change files, run any command\n")
		if i == 0 {
			b.WriteString("    # less: edits, none; more: all\n    # model: NAME       # passed on as it is written\n")
		}
	}
	fmt.Fprintf(&b, "roles:\n  default: %s  # every role that is not named here\n", presets[0])
	if len(presets) > 1 {
		fmt.Fprintf(&b, "  # qa: %s  # another agent reviews\n", presets[1])
	}
	b.WriteString("\n")
	if len(env) == 0 {
		b.WriteString("# env: [NAME, PREFIX_*]  # variables that agents get besides PATH, HOME ...\n")
	} else {
		b.WriteString("env:  # variables that agents get besides PATH, HOME ...; PREFIX_* is allowed\n")
	}
	for _, name := range env {
		fmt.Fprintf(&b, "  - %s\n", name)
	}
	b.WriteString(`# attempts: 3            # failures of one step before you are asked
# timeout: 2h            # of one attempt
# silence: 20m           # how long an agent may print nothing
# parallel: 1            # steps at the same time
# budget:                # before more is spent, you are asked
#   run: {max_cost: 5}   # US dollars; max_tokens counts tokens
#   day: {max_cost: 25}  # of all runs of the project
# notify:                # when a run asks, ends or waits for a limit
#   desktop: true
#   bell: true
`)
	return []byte(b.String())
}

// Named lists the variables of an environment whose names are in a list; a * at the end of one of
// these stands for anything.
func Named(environ, list []string) (out []string) {
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" && matches(name, list) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Own is what a file holds in which a command of a person's own does the work.
const Own = `agents:
  worker:
    command: [my-agent, --print]  # takes a prompt on standard input
roles:
  default: worker
`
