package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reprise"
)

// ownFile stands in files that we made.
const ownFile = "reprise hook install"

// installFile gives the file that is ours alone. Another one in its place, or one that
// someone changed, is refused.
func (t Tool) installFile(old []byte, program string) ([]byte, error) {
	if old != nil && !unchanged(old) {
		return nil, errors.New("there is a file of this name that `" + ownFile + "` did not write, or that was changed since; move it away")
	}
	body := t.whole(program)
	return []byte(fmt.Sprintf("// Written by `%s %s`; `reprise hook uninstall %[2]s` removes it as long as it is %s\n", ownFile, t.Name, reprise.HashOf([]byte(body))) + body), nil
}

// uninstallFile removes the file that is ours alone. One that was changed since is left,
// with an error.
func (t Tool) uninstallFile(old []byte) ([]byte, error) {
	switch {
	case old == nil || unchanged(old):
		return nil, nil
	case strings.Contains(string(old), ownFile):
		return nil, errors.New("it was changed since `" + ownFile + "` wrote it; remove it by hand")
	}
	return old, nil
}

// unchanged reports whether a file that is ours alone is what we wrote: its first line
// tells the hash of the rest.
func unchanged(file []byte) bool {
	first, body, _ := strings.Cut(string(file), "\n")
	return strings.Contains(first, ownFile) && strings.HasSuffix(first, " "+reprise.HashOf([]byte(body)).String())
}

// plugin is a plugin of opencode. Its system prompt is made anew for every request, so
// what a session was told at its start is kept and given each time.
func plugin(program string) string {
	quoted, err := json.Marshal(program)
	if err != nil {
		panic(fmt.Sprintf("encode path: %v", err)) // a string
	}
	return `import { spawnSync } from "node:child_process"

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
