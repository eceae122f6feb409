package settings

import (
	"fmt"
	"strings"
)

// Sample is a commented file for a project in which the agents of these presets do the
// work, the first of them whatever no one else is named for. It sets nothing else.
func Sample(presets []string) []byte {
	var b strings.Builder
	b.WriteString("# Who does the work in this project, and how.\n# Every key: docs/reference/settings.md of reprise.\n")
	b.WriteString("# It takes effect once you trust it: reprise trust\n\n")
	off, first := "", ""
	if len(presets) == 0 {
		b.WriteString("# No agent that reprise knows is installed here.\n# Any command that takes a prompt on standard input will do.\n")
		off, presets = "# ", []string{"worker"}
	}
	fmt.Fprintf(&b, "%sagents:\n", off)
	for i, p := range presets {
		if i == 0 {
			first = p
		}
		fmt.Fprintf(&b, "%s  %s:\n", off, p)
		if off != "" {
			fmt.Fprintf(&b, "%s    command: [my-agent, --print]\n", off)
			continue
		}
		fmt.Fprintf(&b, "    preset: %s\n", p)
		if i == 0 {
			b.WriteString("    # model: NAME        # passed on as it is written\n")
			b.WriteString("    # approve: edits     # what it may do without asking: none, edits or all\n")
		}
	}
	fmt.Fprintf(&b, "%sroles:\n%[1]s  default: %s  # every role that is not named here\n", off, first)
	if len(presets) > 1 {
		fmt.Fprintf(&b, "  # qa: %s  # another agent reviews\n", presets[1])
	}
	b.WriteString(`
# env: [NAME, PREFIX_*]  # variables that agents get besides PATH, HOME ...
# attempts: 3            # failures of one step before you are asked
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
