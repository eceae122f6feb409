// Package agenttest sets real coding agents up for tests: the pinned program, a
// scripted model it is pointed at, and a home and a project of its own. Nothing
// of the person who runs the tests is read or written, and nothing leaves the
// machine.
package agenttest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"reprise/internal/modelstub"
)

// Rig is a real agent, ready to be started in Dir with Environ.
type Rig struct {
	Name    string // of the preset
	Program string // absolute
	Model   *modelstub.Server
	Home    string
	Dir     string // the project
	Tmp     string // for temporary files
}

// New sets one up, or skips the test where the program was not fetched. name and
// version are those of its preset, program is what it is usually called.
func New(t testing.TB, name, version, program, script string) *Rig {
	t.Helper()
	base := t.TempDir()
	r := &Rig{
		Name: name, Program: find(t, name, version, program),
		// codex refuses to work with a home below the folder for temporary files.
		Home: filepath.Join(base, "home"), Dir: filepath.Join(base, "project"), Tmp: filepath.Join(base, "scratch"),
	}
	for _, dir := range []string{r.Home, r.Dir, r.Tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.Script(t, script)
	return r
}

// find gives the pinned program of the module that is tested.
func find(t testing.TB, name, version, program string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := ""
	for last := ""; dir != last; last, dir = dir, filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = dir
		}
	}
	if root == "" {
		t.Fatal("no go.mod above the test")
	}
	for _, at := range []string{program, "node_modules/.bin/" + program} {
		full := filepath.Join(root, "bin/agents", name+"-"+version, at)
		if _, err := os.Stat(full); err == nil {
			return full
		}
	}
	target := "agents-all"
	if name == "codex" || name == "claude" {
		target = "agents"
	}
	t.Skipf("%s %s is not here: `make %s` fetches it", name, version, target)
	return ""
}

// Script points the agent to a new model with another script. Sessions live on
// in the home.
func (r *Rig) Script(t testing.TB, text string) {
	t.Helper()
	parsed, err := modelstub.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if r.Model, err = modelstub.Start(parsed); err != nil {
		t.Fatal(err)
	}
	model := r.Model
	t.Cleanup(func() { _ = model.Close() }) // only listens
	r.configure(t)
}

// File reads a file of the project, "" if it is not there.
func (r *Rig) File(name string) string {
	b, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// NoneLeft looks through the process table for anything of an attempt: by what
// it was given in its environment, and by where it works.
func (r *Rig) NoneLeft(t testing.TB, token string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("the process table is not compared here")
		return
	}
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pids {
		env, _ := os.ReadFile(p + "/environ") // gone, or another user's
		cwd, _ := os.Readlink(p + "/cwd")
		if (token != "" && strings.Contains(string(env), "REPRISE_TOKEN="+token)) || strings.HasPrefix(cwd, filepath.Dir(r.Dir)) {
			cmd, _ := os.ReadFile(p + "/cmdline")
			t.Errorf("%s lives on: %s", p, strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
}

// ModelName is a model that the agent takes without looking it up, "" for its
// own.
func (r *Rig) ModelName() string {
	return map[string]string{"claude": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash", "opencode": "stub/stub-model"}[r.Name]
}

func (r *Rig) write(t testing.TB, name, text string) {
	t.Helper()
	at := filepath.Join(r.Home, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configure leaves the settings files that point a program to the model.
func (r *Rig) configure(t testing.TB) {
	t.Helper()
	switch r.Name {
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
`, r.Model.URL()+"/v1"))
	case "gemini":
		r.write(t, ".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},
"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}`)
	}
}

// Environ is all that the agent gets to see.
func (r *Rig) Environ() []string {
	url := r.Model.URL()
	env := []string{"HOME=" + r.Home, "TMPDIR=" + r.Tmp, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	switch r.Name {
	case "claude":
		env = append(env, "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL="+url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=1",
			"IS_SANDBOX=1") // lets root approve everything
	case "codex":
		env = append(env, "CODEX_HOME="+r.Home+"/.codex", "STUB_API_KEY=test-key")
	case "gemini":
		env = append(env, "GEMINI_CLI_HOME="+r.Home, "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+url,
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
