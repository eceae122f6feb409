package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/agenttest"
)

// served is how each program is told of the server: the file it reads, what stands in it
// (%q is the program), the arguments it needs besides, and what it calls the tool.
var served = map[string]struct {
	file, text string
	args       []string
	tool       string
}{
	"claude": {
		"%DIR%/.mcp.json", `{"mcpServers":{"reprise":{"command":%q,"args":["mcp"]}}}`,
		[]string{"--mcp-config", ".mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__reprise__status"}, "mcp__reprise__status",
	},
	"codex":    {"%HOME%/.codex/config.toml", "\n[mcp_servers.reprise]\ncommand = %q\nargs = [\"mcp\"]\n", nil, "mcp__reprise/status"},
	"gemini":   {"%DIR%/.gemini/settings.json", `{"mcpServers":{"reprise":{"command":%q,"args":["mcp"],"trust":true}}}`, nil, "mcp_reprise_status"},
	"opencode": {"%DIR%/opencode.json", `{"mcp":{"reprise":{"type":"local","command":[%q,"mcp"],"enabled":true}}}`, nil, "reprise_status"},
	"copilot":  {"%HOME%/.copilot/mcp-config.json", `{"mcpServers":{"reprise":{"type":"local","command":%q,"args":["mcp"],"tools":["*"]}}}`, nil, "reprise-status"},
	"qwen":     {"%HOME%/.qwen/settings.json", `{"$version":4,"mcpServers":{"reprise":{"command":%q,"args":["mcp"],"trust":true}}}`, nil, "mcp__reprise__status"},
}

// The server is listed by the real programs, and a tool of it is called (issue 17).
func TestAC_real_agents_call_the_server(t *testing.T) {
	forAgents(t, func(t *testing.T, p agent.Preset) {
		how := served[p.Name]
		rig := agenttest.New(t, p.Name, p.Tested[0], p.Program, fmt.Sprintf(`{"turns":[{"tool":%q,"args":{}},{"text":"Thanks.","repeat":true}]}`, how.tool))
		if err := os.CopyFS(rig.Dir, os.DirFS("../../examples/longrun")); err != nil {
			t.Fatal(err)
		}
		trustFolder(t, rig)
		name := strings.NewReplacer("%DIR%", rig.Dir, "%HOME%", rig.Home).Replace(how.file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		var old []byte
		if filepath.Ext(name) == ".toml" {
			old, _ = os.ReadFile(name) // may not be there
		}
		if err := os.WriteFile(name, append(old, fmt.Sprintf(how.text, linked(t))...), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, rig.Program, append(headless[p.Name], how.args...)...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = rig.Dir, rig.Environ(), 5*time.Second
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		listed, called := false, false
		for _, r := range rig.Model.Requests() {
			body := string(r.Body)
			// claude names its tools at first and tells more of them when asked.
			listed = listed || strings.Contains(body, "Every run of agent work in this project") || strings.Contains(body, how.tool)
			called = called || strings.Contains(body, "1 run in project")
		}
		if !listed || !called {
			t.Errorf("listed %v, called %v in %d requests\n%s", listed, called, len(rig.Model.Requests()), out)
		}
	})
}
