package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/hook"
)

// The plugins and extensions call the same hooks that install adds, and the same server.
func TestPlugins_hold_the_hooks_of_the_table(t *testing.T) {
	t.Parallel()
	const root = "../../integrations"
	for _, c := range []struct{ tool, hooks, server string }{
		{"claude", "claude/plugins/reprise/hooks/hooks.json", "claude/plugins/reprise/.mcp.json"},
		{"codex", "codex/plugins/reprise/hooks/hooks.json", "codex/plugins/reprise/.mcp.json"},
		{"gemini", "gemini/hooks/hooks.json", "gemini/gemini-extension.json"},
	} {
		tool, _ := hook.Find(c.tool)
		text, err := os.ReadFile(filepath.Join(root, c.hooks))
		if err != nil {
			t.Fatal(err)
		}
		with, err := tool.Install(nil, "/reprise")
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(string(with), "'/reprise'", "reprise"); string(text) != want {
			t.Errorf("%s is %s\nwant %s", c.hooks, text, want)
		}
		var server struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		text, err = os.ReadFile(filepath.Join(root, c.server))
		if err == nil {
			err = json.Unmarshal(text, &server)
		}
		if s := server.MCPServers["reprise"]; err != nil || s.Command != "reprise" || len(s.Args) != 1 || s.Args[0] != "mcp" {
			t.Errorf("%s: %+v, %v", c.server, server, err)
		}
	}
}

// Manifests are JSON that names what is there, and commands have a description.
func TestPlugins_are_whole(t *testing.T) {
	t.Parallel()
	const root = "../../integrations"
	for _, market := range []string{"claude", "codex"} {
		var list struct {
			Plugins []struct{ Name, Source string }
		}
		text, err := os.ReadFile(filepath.Join(root, market, ".claude-plugin/marketplace.json"))
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil || len(list.Plugins) != 1 {
			t.Fatalf("%s: %+v, %v", market, list, err)
		}
		var plugin struct{ Name, Version, Description string }
		at := filepath.Join(root, market, list.Plugins[0].Source)
		text, err = os.ReadFile(filepath.Join(at, ".claude-plugin/plugin.json"))
		if err == nil {
			err = json.Unmarshal(text, &plugin)
		}
		if err != nil || plugin.Name != list.Plugins[0].Name || plugin.Version == "" || plugin.Description == "" {
			t.Errorf("%s: %+v, %v", market, plugin, err)
		}
		for _, name := range []string{"status.md", "resume.md"} {
			text, err := os.ReadFile(filepath.Join(at, "commands", name))
			if err != nil || !strings.HasPrefix(string(text), "---\ndescription: ") {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	}
}
