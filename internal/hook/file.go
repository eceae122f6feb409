package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reprise/internal/splice"
)

// ownFile stands in files that are ours alone.
const ownFile = "reprise hook install"

// installFile gives the file that is ours. Another one in its place is refused.
func (t Tool) installFile(old []byte, program string) ([]byte, error) {
	if old != nil && !strings.Contains(string(old), ownFile) {
		return nil, errors.New("there is a file of this name that `reprise hook install` did not write")
	}
	return []byte(t.whole(t, program)), nil
}

// copilotFile is a hooks file of copilot.
func copilotFile(t Tool, program string) string {
	var events splice.Object
	for _, ev := range t.Events {
		events = append(events, splice.Member{Key: ev.Name, Value: []any{splice.Object{
			{Key: "type", Value: "command"}, {Key: "bash", Value: t.command(program, ev.Moment)}, {Key: "timeoutSec", Value: 5},
			{Key: "comment", Value: "written by `" + ownFile + " copilot`"},
		}}})
	}
	text, err := json.MarshalIndent(splice.Object{{Key: "version", Value: 1}, {Key: "hooks", Value: events}}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("encode hooks: %v", err)) // text of our own
	}
	return string(text) + "\n"
}

// plugin is a plugin of opencode. Its system prompt is made anew for every request, so
// what a session was told at its start is kept and given each time.
func plugin(t Tool, program string) string {
	quoted, err := json.Marshal(program)
	if err != nil {
		panic(fmt.Sprintf("encode path: %v", err)) // a string
	}
	return `// Written by ` + "`" + ownFile + ` opencode` + "`" + `; ` + "`reprise hook uninstall opencode`" + ` removes it.
import { spawnSync } from "node:child_process"

const program = ` + string(quoted) + `

export const Reprise = async ({ directory }) => {
  const told = new Map()
  const call = (moment, session) => {
    try {
      const input = JSON.stringify({ session_id: session ?? "", cwd: directory })
      const done = spawnSync(program, ["hook", "run", "opencode", moment], { input, cwd: directory, encoding: "utf8", timeout: 1000 })
      return done.status === 0 ? (done.stdout ?? "") : ""
    } catch {
      return ""
    }
  }
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const session = input?.sessionID
      if (!told.has(session)) told.set(session, call("start", session))
      const text = told.get(session)
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input) => {
      call("compact", input?.sessionID)
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") call("stop", event.properties?.sessionID)
    },
  }
}
`
}
