package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"reprise/internal/modelstub"
	"reprise/internal/shim"
)

func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// rig is a real program of a preset, a scripted model, and a home and a folder
// of its own.
type rig struct {
	preset  Preset
	program string
	model   *modelstub.Server
	home    string
	dir     string
	tmp     string
	edits   bool // approve edits only
}

// realProgram finds the pinned program of a preset, or skips the test.
func realProgram(t *testing.T, p Preset) string {
	t.Helper()
	base, err := filepath.Abs("../bin/agents/" + p.Name + "-" + p.Tested)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{p.Program, "node_modules/.bin/" + p.Program} {
		if _, err := os.Stat(filepath.Join(base, at)); err == nil {
			return filepath.Join(base, at)
		}
	}
	target := "agents-all"
	if p.Name == "codex" || p.Name == "claude" {
		target = "agents"
	}
	t.Skipf("%s %s is not here: `make %s` fetches it", p.Name, p.Tested, target)
	return ""
}

func newRig(t *testing.T, p Preset, script string) *rig {
	t.Helper()
	program := realProgram(t, p)
	base := t.TempDir()
	// codex refuses to work with a home below the folder for temporary files.
	r := &rig{preset: p, program: program, home: filepath.Join(base, "home"), dir: filepath.Join(base, "project"), tmp: filepath.Join(base, "scratch")}
	for _, dir := range []string{r.home, r.dir, r.tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.script(t, script)
	return r
}

// script starts a model with another script.
func (r *rig) script(t *testing.T, text string) {
	t.Helper()
	parsed, err := modelstub.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if r.model, err = modelstub.Start(parsed); err != nil {
		t.Fatal(err)
	}
	model := r.model
	t.Cleanup(func() { _ = model.Close() }) // only listens
	r.configure(t)
}

func (r *rig) write(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(r.home, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configure leaves the settings files that point a program to the model.
func (r *rig) configure(t *testing.T) {
	t.Helper()
	switch r.preset.Name {
	case "codex":
		r.write(t, ".codex/config.toml", fmt.Sprintf(`model = "stub-model"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "Stub"
base_url = %q
env_key = "STUB_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[features]
plugins = false
unbounded_connection_retries = false
[analytics]
enabled = false
`, r.model.URL()+"/v1"))
	case "gemini":
		r.write(t, ".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},
"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}`)
	}
}

// environ is all a program gets.
func (r *rig) environ() []string {
	url := r.model.URL()
	env := []string{"HOME=" + r.home, "TMPDIR=" + r.tmp, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC"}
	switch r.preset.Name {
	case "claude":
		env = append(env, "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL="+url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=1",
			"IS_SANDBOX=1") // lets root approve everything
	case "codex":
		env = append(env, "CODEX_HOME="+r.home+"/.codex", "STUB_API_KEY=test-key")
	case "gemini":
		env = append(env, "GEMINI_CLI_HOME="+r.home, "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+url,
			"GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_TRUST_WORKSPACE=true")
	case "opencode":
		env = append(env, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"autoupdate":false,"share":"disabled","model":"stub/stub-model",`+
				`"small_model":"stub/stub-model","enabled_providers":["stub"],"provider":{"stub":{"npm":"@ai-sdk/openai-compatible",`+
				`"options":{"baseURL":%q,"apiKey":"test-key"},"models":{"stub-model":{"tool_call":true,"limit":{"context":128000,"output":8000}}}}},`+
				`"permission":{"bash":"ask","edit":"ask"}}`, url+"/v1"))
	case "qwen":
		env = append(env, "OPENAI_API_KEY=test-key", "OPENAI_BASE_URL="+url+"/v1", "OPENAI_MODEL=stub-model")
	case "copilot":
		env = append(env, "COPILOT_PROVIDER_BASE_URL="+url+"/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=test-key",
			"COPILOT_MODEL=stub-model", "COPILOT_OFFLINE=true")
	}
	return env
}

// model names that need no look-up.
var models = map[string]string{"claude": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash", "opencode": "stub/stub-model"}
