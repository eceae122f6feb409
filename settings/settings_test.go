package settings

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"reprise"
)

// write puts a file somewhere and returns its path.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a content as a user's own file.
func load(t *testing.T, content string) (*Settings, error) {
	t.Helper()
	s, _, err := Load(Options{User: write(t, t.TempDir(), FileName, content)})
	return s, err
}

func schema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	raw, err := os.ReadFile("../schema/settings.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &s, resolved
}

// bySchema says what the schema thinks of a content.
func bySchema(t *testing.T, s *jsonschema.Resolved, content string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(content), &v); err != nil {
		return err
	}
	if v == nil {
		v = map[string]any{}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	v = nil
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func TestOR11_every_example_of_the_page_is_taken_by_the_reader_and_by_the_schema(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 3 {
		t.Fatalf("only %d examples were found", len(blocks))
	}
	_, s := schema(t)
	for _, b := range blocks {
		if _, err := load(t, b[1]); err != nil {
			t.Errorf("%v in:\n%s", err, b[1])
		}
		if err := bySchema(t, s, b[1]); err != nil {
			t.Errorf("schema: %v in:\n%s", err, b[1])
		}
	}
	var first map[string]any
	if err := yaml.Unmarshal([]byte(blocks[0][1]), &first); err != nil {
		t.Fatal(err)
	}
	for _, key := range fileKeys {
		if _, ok := first[key]; !ok && key != "prompts" {
			t.Errorf("the example of everything lacks %s", key)
		}
		if !strings.Contains(string(page), "| `"+key+"` |") {
			t.Errorf("the table lacks %s", key)
		}
	}
}

func TestOR11_schema_has_the_keys_the_reader_knows(t *testing.T) {
	t.Parallel()
	s, _ := schema(t)
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if diff := cmp.Diff(sorted(fileKeys), slices.Sorted(maps.Keys(s.Properties))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sorted(agentKeys), slices.Sorted(maps.Keys(s.Defs["agent"].Properties))); diff != "" {
		t.Error(diff)
	}
	var presets []string
	for _, p := range s.Defs["agent"].Properties["preset"].Enum {
		presets = append(presets, p.(string))
	}
	if diff := cmp.Diff(Presets(), presets); diff != "" {
		t.Error(diff)
	}
}

func TestOR11_settings_are_read(t *testing.T) {
	t.Parallel()
	got, err := load(t, `
agents:
  c: {preset: claude, model: m, env: {A: 1, B: ""}, timeout: 1h30m, silence: 500ms, call: 2h, command: [/opt/claude, --x, ""]}
  t: {command: [make, -j, 4, test]}
roles: {default: c, qa: t}
env: [FOO, NPM_*]
secrets: [MY]
parallel: 3
attempts: 5
cutoffs: 7
backoff: 1s
timeout: 3h
silence: 1m
call: 3m
grace: 2s
max_log: 2 KiB
budget: {run: {max_cost: 2.5, max_tokens: 1000}, day: {max_cost: 10}}
prices: {gpt: {input: 1, output: 8.5, cache_read: 0}}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &Settings{
		Agents: map[string]Agent{
			"c": {Name: "c", Preset: "claude", Model: "m", Command: []string{"/opt/claude", "--x", ""}, Env: map[string]string{"A": "1", "B": ""}, Timeout: 90 * time.Minute, Silence: 500 * time.Millisecond, Call: 2 * time.Hour},
			"t": {Name: "t", Preset: "command", Command: []string{"make", "-j", "4", "test"}},
		},
		Roles: map[string]string{"default": "c", "qa": "t"}, Env: []string{"FOO", "NPM_*"}, Secrets: []string{"MY"},
		Parallel: 3, Attempts: 5, Cutoffs: 7, Backoff: time.Second, Timeout: 3 * time.Hour, Silence: time.Minute, Call: 3 * time.Minute, Grace: 2 * time.Second, MaxLog: 2048,
		Budget: Budgets{Run: Limit{Cost: 2.5, Tokens: 1000}, Day: Limit{Cost: 10}}, Prices: reprise.Prices{"gpt": {Input: 1, Output: 8.5, CacheRead: new(float64)}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Agent{}, "Source")); diff != "" {
		t.Error(diff)
	}
	if src := got.Agents["t"].Source; src.Line != 4 {
		t.Errorf("declared at %s", src)
	}
	qa, err := got.For("qa")
	if err != nil || qa.Timeout != 3*time.Hour || qa.Silence != time.Minute || qa.Call != 3*time.Minute {
		t.Errorf("qa: %+v, %v", qa, err)
	}
	if a, _ := got.For("anything"); a.Name != "c" || a.Timeout != 90*time.Minute {
		t.Errorf("default: %+v", a)
	}
	if _, err := Default().For("dev"); err == nil || !strings.Contains(err.Error(), `role "dev"`) {
		t.Errorf("nobody: %v", err)
	}
}

// refused are contents and the places and words of what is wrong with them.
// beyond marks what a schema cannot say.
var refused = map[string]struct {
	content string
	want    []string
	beyond  bool
}{
	"unknown key":        {"agent:\n  a: {preset: claude}\n", []string{`:1:1: there is no key "agent"`, "did you mean agents?"}, false},
	"far key":            {"zzz: 1\n", []string{`:1:1: there is no key "zzz"`, "known here: agents, roles"}, false},
	"unknown agent key":  {"agents:\n  a:\n    comand: [x]\n    preset: claude\n", []string{`:3:5: there is no key "comand"`, "did you mean command?", "    3 |     comand: [x]\n      |     ^"}, false},
	"list for a map":     {"agents: [a]\n", []string{":1:9: a list stands where a map belongs"}, false},
	"text for a map":     {"agents: a\n", []string{`:1:9: "a" stands where a map belongs`}, false},
	"nothing for a map":  {"agents:\n", []string{":1:8: nothing stands where a map belongs"}, false},
	"map for a list":     {"env: {A: b}\n", []string{":1:6: a map stands where a list belongs"}, false},
	"text for a number":  {"parallel: three\n", []string{`:1:11: "three" stands where a whole number`}, false},
	"quoted number":      {"parallel: \"3\"\n", []string{`:1:11: "3" stands where a whole number`}, false},
	"fraction":           {"attempts: 1.5\n", []string{`"1.5" stands where a whole number`}, false},
	"zero":               {"parallel: 0\n", []string{"0 is not between 1 and 64"}, false},
	"negative":           {"attempts: -1\n", []string{"-1 is not between"}, false},
	"too many":           {"cutoffs: 100000\n", []string{"not between 1 and 1000"}, false},
	"duration w/o unit":  {"timeout: 90\n", []string{`:1:10: "90" is not a duration`, "90s"}, false},
	"bad duration":       {"backoff: soon\n", []string{`"soon" is not a duration`}, false},
	"negative duration":  {"grace: -5s\n", []string{"is not a duration"}, false},
	"no duration":        {"grace: 0s\n", []string{"a duration of nothing"}, false},
	"days":               {"timeout: 1d\n", []string{"is not a duration"}, false},
	"endless duration":   {"timeout: 99999999999999h\n", []string{"is not a duration"}, true},
	"bad size":           {"max_log: 64MB\n", []string{`"64MB" is not a size`, "64MiB"}, false},
	"number as size":     {"max_log: 1000\n", []string{`is not a size`}, false},
	"no size":            {"max_log: 0MiB\n", []string{`is not a size`}, false},
	"budget of nothing":  {"budget: {run: {max_cost: 0}}\n", []string{":1:26: a budget of nothing"}, false},
	"negative budget":    {"budget: {day: {max_cost: -1}}\n", []string{"stands where an amount belongs"}, false},
	"budget as text":     {"budget: {day: {max_cost: \"5\"}}\n", []string{"stands where an amount belongs"}, false},
	"endless budget":     {"budget: {day: {max_cost: .inf}}\n", []string{"stands where an amount belongs"}, true},
	"notify by mail":     {"notify: {mail: true}\n", []string{`there is no key "mail"`}, false},
	"notify perhaps":     {"notify: {bell: perhaps}\n", []string{"perhaps"}, false},
	"budget of a week":   {"budget: {week: {max_cost: 1}}\n", []string{`there is no key "week"`}, false},
	"half a token":       {"budget: {run: {max_tokens: 0.5}}\n", []string{"stands where a whole number"}, false},
	"half a price":       {"prices: {gpt: {input: 1}}\n", []string{":1:10: the price of gpt needs input and output"}, false},
	"shell command":      {"agents: {a: {command: make test}}\n", []string{":1:23: a command is a list", "[make, test]"}, false},
	"empty command":      {"agents: {a: {command: []}}\n", []string{":1:23: the command is empty"}, false},
	"empty program":      {"agents: {a: {command: [\"\", x]}}\n", []string{"empty text"}, false},
	"dash program":       {"agents: {a: {command: [--x]}}\n", []string{"cannot begin with a dash"}, false},
	"nested argument":    {"agents: {a: {command: [x, [y]]}}\n", []string{"a list stands where text belongs"}, false},
	"null argument":      {"agents: {a: {command: [x, null]}}\n", []string{"nothing stands where text belongs"}, false},
	"nobody":             {"agents: {a: {model: m}}\n", []string{":1:10: agent a has neither"}, false},
	"unknown preset":     {"agents: {a: {preset: claud}}\n", []string{`:1:22: "claud" is not known`, "did you mean claude?"}, false},
	"command alone":      {"agents: {a: {preset: command}}\n", []string{"needs a command"}, false},
	"model of a command": {"agents: {a: {command: [x], model: m}}\n", []string{":1:35: a plain command takes no model"}, false},
	"agent name":         {"agents: {\"a b\": {preset: claude}}\n", []string{"cannot be the name of an agent"}, false},
	"role name":          {"agents: {a: {preset: claude}}\nroles: {\"../x\": a}\n", []string{"cannot be the name of a role"}, false},
	"unknown agent":      {"agents: {claude: {preset: claude}}\nroles: {default: claud}\n", []string{`:2:18: there is no agent "claud"`, "did you mean claude?"}, true},
	"undeclared preset":  {"roles: {default: codex}\n", []string{"agents: {codex: {preset: codex}}"}, true},
	"role without agent": {"roles: {qa: }\n", []string{"nothing stands where text belongs"}, false},
	"value in env":       {"env: [A=b]\n", []string{"write only the name"}, false},
	"env name":           {"env: [A-B]\n", []string{"cannot be the name of an environment"}, false},
	"all of env":         {"env: [\"*\"]\n", []string{"cannot be the name of an environment"}, false},
	"star in secrets":    {"secrets: [A*]\n", []string{"cannot be the name of an environment"}, false},
	"agent env name":     {"agents: {a: {preset: codex, env: {\"A=B\": c}}}\n", []string{"cannot be the name of an environment"}, false},
	"our variables":      {"agents: {a: {preset: codex, env: {REPRISE_TOKEN: c}}}\n", []string{"set by reprise itself"}, false},
	"env list":           {"agents: {a: {preset: codex, env: {A: [b]}}}\n", []string{"a list stands where text belongs"}, false},
	"NUL":                {"agents: {a: {command: [x, \"a\\0b\"]}}\n", []string{"NUL"}, true},
	"duplicate key":      {"parallel: 2\nparallel: 3\n", []string{`:2:1: key "parallel" stands in line 1 already`}, false},
	"duplicate agent":    {"agents:\n  a: {preset: codex}\n  a: {preset: qwen}\n", []string{`:3:3: key "a" stands in line 2`}, false},
	"alias":              {"env: &x [A]\nsecrets: *x\n", []string{":2:10: aliases are not read here"}, true},
	"merge":              {"agents:\n  a: &x {preset: codex}\n  b: {<<: *x}\n", []string{`there is no key "<<"`}, true},
	"bomb":               {"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n", []string{`:1:1: there is no key "a"`}, false},
	"two documents":      {"parallel: 2\n---\nparallel: 3\n", []string{"a second document"}, true},
	"not YAML":           {"parallel: 2\nroles: {a: b\n", []string{"not valid YAML"}, false},
	"tab":                {"agents:\n\ta: b\n", []string{"not valid YAML", ":2:"}, false},
	"a list":             {"- a\n", []string{":1:1: a list stands where a map belongs"}, false},
	"a text":             {"hello\n", []string{`"hello" stands where a map belongs`}, false},
	"control characters": {"a\x1b[2Jb: 1\n", []string{"not valid YAML"}, false},
	"no prompts":         {"prompts: nowhere\n", []string{":1:10: the folder of prompts cannot be listed"}, true},
	"several at once": {"paralel: 3\nroles: {default: x}\ntimeout: never\nenv: A\n",
		[]string{`:1:1: there is no key "paralel"`, "did you mean parallel?", `:2:18: there is no agent "x"`, `:3:10: "never" is not a duration`, `:4:6: "A" stands where a list`}, false},
}

func TestOR11_wrong_settings_are_refused_at_their_place_by_the_reader_and_by_the_schema(t *testing.T) {
	t.Parallel()
	_, s := schema(t)
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tc.content)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("taken, or refused without a place: %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
				t.Errorf("control characters in %q", err)
			}
			if problems.Hint() == "" {
				t.Error("no hint")
			}
			if err := bySchema(t, s, tc.content); err == nil && !tc.beyond {
				t.Error("the schema takes it")
			}
		})
	}
}

func TestX2_huge_and_odd_files_are_refused_in_bounds(t *testing.T) {
	t.Parallel()
	if _, err := load(t, "env: ["+strings.Repeat("A, ", 1<<20)+"]"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a huge file: %.200v", err)
	}
	if _, err := load(t, strings.Repeat("x: 1\ny: 2\n", 1000)); err == nil || len(err.Error()) > 20_000 {
		t.Errorf("%d bytes of problems", len(err.Error()))
	}
	if _, err := load(t, "roles: "+strings.Repeat("{a: ", 5000)); err == nil {
		t.Error("a deep file was taken")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(Options{Project: dir}); err == nil {
		t.Error("a folder was read as settings")
	}
	dir = t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone.yaml"), filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(Options{Project: dir}); err == nil {
		t.Error("a link that leads to nothing was taken for no settings")
	}
	if s, err := load(t, "# nothing yet\n"); err != nil || s.Parallel != 1 {
		t.Errorf("a comment: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	for _, tc := range refused {
		f.Add(tc.content)
	}
	f.Add("agents: {a: {preset: codex}}\nroles: {default: a}\n")
	f.Fuzz(func(t *testing.T, content string) {
		file := read("f", []byte(content))
		file.bound(file.Agents)
		if err := file.strict.Err(); err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		for name, a := range file.Agents {
			if a.Preset == "" || a.Preset == "command" && len(a.Command) == 0 || slices.Contains(a.Command[:min(1, len(a.Command))], "") {
				t.Fatalf("agent %q cannot be started: %+v", name, a)
			}
		}
		for role, agent := range file.Roles {
			if _, ok := file.Agents[agent]; !ok {
				t.Fatalf("role %q is bound to nobody", role)
			}
		}
	})
}
