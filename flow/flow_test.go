package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"reprise"
	"reprise/convention/eventrun"
)

func schema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	raw, err := os.ReadFile("../schema/workflow.v1.json")
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
func bySchema(s *jsonschema.Resolved, content string) error {
	var v any
	if err := yaml.Unmarshal([]byte(content), &v); err != nil {
		return err
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

// examples are the YAML blocks of the page.
func examples(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		out = append(out, b[1])
	}
	if len(out) < 2 {
		t.Fatalf("only %d examples were found", len(out))
	}
	for _, key := range slices.Concat(fileKeys, stepKeys) {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("the page lacks %s", key)
		}
		if !strings.Contains(out[0], key+":") {
			t.Errorf("the example lacks %s", key)
		}
	}
	return out
}

func TestEV9_every_example_of_the_page_is_taken_by_the_reader_and_by_the_schema(t *testing.T) {
	t.Parallel()
	_, s := schema(t)
	for _, content := range examples(t) {
		if _, err := Parse("f.yaml", []byte(content)); err != nil {
			t.Errorf("%v in:\n%s", err, content)
		}
		if err := bySchema(s, content); err != nil {
			t.Errorf("schema: %v in:\n%s", err, content)
		}
	}
}

func TestEV9_schema_has_the_keys_the_reader_knows(t *testing.T) {
	t.Parallel()
	s, _ := schema(t)
	for name, tc := range map[string]struct {
		known []string
		has   map[string]*jsonschema.Schema
	}{
		"file": {fileKeys, s.Properties}, "step": {stepKeys, s.Defs["step"].Properties}, "ask": {askKeys, s.Defs["step"].Properties["ask"].Properties},
	} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(tc.known)), slices.Sorted(maps.Keys(tc.has))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEV9_workflow_is_read(t *testing.T) {
	t.Parallel()
	got, err := Parse("release.yaml", []byte(examples(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := &Workflow{Name: "release", Title: "Release the next version", Parallel: 2, steps: []Step{
		{ID: "tests", Title: "tests", Command: []string{"make", "test"}, Verify: []string{"make", "test"}, OnCrash: reprise.Verify, Timeout: 30 * time.Minute},
		{ID: "notes", Title: "Write the release notes", Role: "dev", Prompt: "Write the release notes for what changed since the last tag.\nKeep to the style of the notes that are there.\n",
			Inputs: []string{"CHANGELOG.md"}, Outputs: []string{"notes/next.md"}, OnCrash: reprise.Verify, Attempts: 2},
		{ID: "approve", Title: "approve", Needs: []string{"tests", "notes"}, Ask: &Question{"Release it?", []string{"release", "stop"}}, OnCrash: reprise.Verify},
		{ID: "package", Title: "package", Needs: []string{"approve"}, Command: []string{"make", "dist", "-j", "4"}, Outputs: []string{"dist/app.tar.gz"},
			Env: map[string]string{"SOURCE_DATE_EPOCH": "0"}, OnCrash: reprise.Verify, Backoff: 10 * time.Second},
		{ID: "announce", Title: "announce", Needs: []string{"package"}, Command: []string{"./scripts/announce", "--list", "users"}, OnCrash: reprise.AskWho},
		{ID: "released", Title: "Everything is out", Needs: []string{"announce"}, OnCrash: reprise.Verify},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Step{}, "Line"), cmp.AllowUnexported(Workflow{}), cmpopts.IgnoreFields(Workflow{}, "place")); diff != "" {
		t.Error(diff)
	}
	if line := got.Step("notes").Line; line != 9 {
		t.Errorf("notes is declared in line %d", line)
	}
	if got.Step("nothing") != nil {
		t.Error("a step from nowhere")
	}
}

func TestEV9_policy_of_a_cut_off_step(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]reprise.Ambiguity{
		"command: [x]":                      reprise.AskWho,
		"command: [x], outputs: [a]":        reprise.Verify,
		"command: [x], verify: [y]":         reprise.Verify,
		"command: [x], on_crash: rerun":     reprise.Rerun,
		"role: dev, prompt: p":              reprise.Verify,
		"role: 7, prompt: p, on_crash: ask": reprise.AskWho,
	} {
		w, err := Parse("f", []byte("name: n\nsteps: [{id: a, "+step+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := w.Assignment("a"); !ok || a.Policy != want {
			t.Errorf("%s: %q", step, a.Policy)
		}
	}
}

func TestEV9_assignments_say_what_a_step_needs(t *testing.T) {
	t.Parallel()
	w, err := Parse("f", []byte(examples(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	tests, _ := w.Assignment("tests")
	notes, _ := w.Assignment("notes")
	approve, _ := w.Assignment("approve")
	pack, _ := w.Assignment("package")
	released, _ := w.Assignment("released")
	switch {
	case len(tests.Command) != 2 || len(tests.Verify) != 2 || tests.Timeout != 30*time.Minute || tests.Ask != nil || tests.Local != "":
		t.Errorf("tests: %+v", tests)
	case notes.Role != "dev" || notes.Template != Template || !strings.HasPrefix(notes.Prompt, "Write") || notes.Attempts != 2 || len(notes.Expect) != 1 || notes.Expect[0].Path != "notes/next.md":
		t.Errorf("notes: %+v", notes)
	case approve.Ask == nil || approve.Ask.Text != "Release it?" || len(approve.Ask.Options) != 2 || approve.Ask.ID != "approve":
		t.Errorf("approve: %+v", approve)
	case len(pack.Answers) != 1 || pack.Answers[0] != "approve" || pack.Env["SOURCE_DATE_EPOCH"] != "0" || pack.Backoff != 10*time.Second:
		t.Errorf("package: %+v", pack)
	case released.Local == "":
		t.Errorf("released: %+v", released)
	}
	if _, ok := w.Assignment("nothing"); ok {
		t.Error("an assignment from nowhere")
	}
}

func TestEV9_run_of_a_workflow_is_made_in_the_layout_and_finds_its_file_again(t *testing.T) {
	t.Parallel()
	content := []byte(examples(t)[0])
	w, err := Parse("f", content)
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Graph("flows/release.yaml", reprise.HashOf(content), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"make", "scripts/announce", "SOURCE_DATE", "style of the notes", "Release it"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q stands in the state:\n%s", secret, text)
		}
	}
	run := &reprise.Run{Ref: reprise.Ref{Layout: "eventrun", ID: "release-1", Kind: reprise.KindGraph}}
	edits, err := eventrun.Layout{}.Record(fstest.MapFS{}, run, reprise.Event{Kind: reprise.RunStarted, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Text: text})
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"flows/release.yaml": {Data: content}}
	for _, e := range edits {
		fsys[e.Path] = &fstest.MapFile{Data: e.Content}
	}
	refs, err := eventrun.Layout{}.Find(fsys)
	if err != nil || len(refs) != 1 {
		t.Fatalf("%v, %v", refs, err)
	}
	got, err := eventrun.Layout{}.Load(fsys, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string][]string{}
	for _, s := range got.Steps {
		needs[s.ID] = s.Needs
	}
	want := map[string][]string{"tests": nil, "notes": nil, "approve": {"tests", "notes"}, "package": {"approve"}, "announce": {"package"}, "released": {"announce"}}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Error(diff)
	}
	if got.Worst() > reprise.Info || got.Title != w.Title {
		t.Errorf("%q, findings %+v", got.Title, got.Findings)
	}
	d := reprise.Next(got, reprise.Observed{}, reprise.Policy{})
	var offered []string
	for _, u := range d.Units {
		offered = append(offered, u.ID)
	}
	if diff := cmp.Diff([]string{"tests", "notes"}, offered); diff != "" || d.Action != reprise.Start {
		t.Errorf("%v %s", d.Action, diff)
	}
	file, hash, own := Origin(fsys[path.Join(refs[0].Path, "task-graph.json")].Data)
	if !own || file != "flows/release.yaml" || hash != reprise.HashOf(content) {
		t.Errorf("origin %q %v %v", file, hash, own)
	}
}

func TestEV9_graphs_of_others_have_no_origin(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `null`, `{"tasks":[]}`, `{"workflow":"x"}`, `{"workflow":{"file":"a"}}`, `{"workflow":{"file":"a","sha256":"-"}}`,
		`{"workflow":{"sha256":"` + reprise.HashOf(nil).String() + `"}}`, `{"workflow":{"file":"a","sha256":"zz"}}`,
	} {
		if file, _, own := Origin([]byte(text)); own {
			t.Errorf("%s: %s", text, file)
		}
	}
}

// step wraps a step of a flow.
func step(s string) string { return "name: n\nsteps:\n  - {id: a, " + s + "}\n" }

// refused are contents and the places and words of what is wrong with them.
// beyond marks what a schema cannot say.
var refused = map[string]struct {
	content string
	want    []string
	beyond  bool
}{
	"empty":              {"", []string{"contains no workflow"}, false},
	"comment":            {"# later\n", []string{"contains no workflow"}, false},
	"a list":             {"- a\n", []string{":1:1: a list stands where a map belongs"}, false},
	"no name":            {"steps: [{id: a}]\n", []string{":1:1: the workflow has no name"}, false},
	"no steps":           {"name: n\n", []string{"has no steps"}, false},
	"empty steps":        {"name: n\nsteps: []\n", []string{":2:8: the workflow has no steps"}, false},
	"null steps":         {"name: n\nsteps:\n", []string{"nothing stands where a list belongs"}, false},
	"unknown key":        {"name: n\nstep: []\nsteps: [{id: a}]\n", []string{`:2:1: there is no key "step"`, "did you mean steps?"}, false},
	"unknown step key":   {step("need: [b]"), []string{`there is no key "need"`, "did you mean needs?"}, false},
	"name":               {"name: a b\nsteps: [{id: a}]\n", []string{`"a b" cannot be the name of a workflow`}, false},
	"no id":              {"name: n\nsteps: [{title: x}]\n", []string{":2:9: a step without an id"}, false},
	"bad id":             {"name: n\nsteps: [{id: ../x}]\n", []string{`cannot be the name of a step`}, false},
	"dash id":            {"name: n\nsteps: [{id: -x}]\n", []string{`cannot be the name of a step`}, false},
	"reserved id":        {"name: n\nsteps: [{id: close}]\n", []string{`has a meaning of its own`}, false},
	"same id":            {"name: n\nsteps:\n  - {id: a}\n  - {id: a}\n", []string{`:4:10: the id "a" is already used in line 3`}, true},
	"like id":            {"name: n\nsteps:\n  - {id: a-b}\n  - {id: A_b}\n", []string{`the id "A_b" is too similar to "a-b" in line 3`}, true},
	"unknown need":       {"name: n\nsteps:\n  - {id: build}\n  - {id: test, needs: [biuld]}\n", []string{`:4:24: there is no step "biuld"`, "did you mean build?"}, true},
	"need twice":         {"name: n\nsteps: [{id: a}, {id: b, needs: [a, a]}]\n", []string{`"a" is needed twice`}, false},
	"need itself":        {step("needs: [a]"), []string{"circle: a → a"}, true},
	"circle":             {"name: n\nsteps:\n  - {id: a, needs: [c]}\n  - {id: b, needs: [a]}\n  - {id: c, needs: [x, b]}\n  - {id: x}\n", []string{":4:21: the steps need each other in a circle: a → c → b → a"}, true},
	"two kinds":          {step("command: [x], role: r, prompt: p"), []string{"this one has command and role"}, false},
	"command and ask":    {step("command: [x], ask: {question: q}"), []string{"this one has command and ask"}, false},
	"role and ask":       {step("role: r, prompt: p, ask: {question: q}"), []string{"this one has role and ask"}, false},
	"role w/o prompt":    {step("role: r"), []string{"a role needs a prompt"}, false},
	"prompt w/o role":    {step("prompt: p"), []string{"a prompt needs a role"}, false},
	"shell":              {step("command: rm -rf /"), []string{"a command is a list", "[rm, -rf, /]"}, false},
	"verify shell":       {step("command: [x], verify: make test"), []string{"a command is a list"}, false},
	"empty command":      {step("command: []"), []string{"the command is empty"}, false},
	"option as program":  {step("command: [-c, x]"), []string{"cannot begin with a dash"}, false},
	"absolute output":    {step("command: [x], outputs: [/etc/passwd]"), []string{`"/etc/passwd" is absolute`}, false},
	"leaving output":     {step("command: [x], outputs: [../x]"), []string{"leaves the project"}, false},
	"hidden leaving":     {step("command: [x], outputs: [a/../../x]"), []string{"leaves the project"}, true},
	"dotted leaving":     {step("command: [x], outputs: [./../x]"), []string{"leaves the project"}, false},
	"project output":     {step("command: [x], outputs: [.]"), []string{"is the project itself"}, false},
	"git output":         {step("command: [x], outputs: [.git/hooks/pre-commit]"), []string{"is in .git"}, false},
	"GIT output":         {step("command: [x], outputs: [./.GIT/config]"), []string{"is in .git"}, false},
	"state output":       {step("command: [x], outputs: [.reprise/lock]"), []string{"is in .reprise"}, false},
	"backslash":          {step(`command: [x], outputs: ['..\x']`), []string{"cannot be a path here"}, false},
	"output twice":       {step("command: [x], outputs: [a, ./a]"), []string{"occurs twice"}, true},
	"leaving input":      {step("command: [x], inputs: [../../secret]"), []string{"leaves the project"}, false},
	"absolute input":     {step("command: [x], inputs: [/etc/passwd]"), []string{"is absolute"}, false},
	"empty question":     {step("ask: {}"), []string{"nothing is asked"}, false},
	"question as text":   {step("ask: 'Really?'"), []string{"stands where a map belongs"}, false},
	"option twice":       {step("ask: {question: q, options: [y, y]}"), []string{`"y" occurs twice`}, false},
	"milestone outputs":  {step("outputs: [x]"), []string{"this step starts nothing"}, false},
	"ask with timeout":   {step("ask: {question: q}, timeout: 5s"), []string{"timeout goes with a command or a role"}, false},
	"bad policy":         {step("command: [x], on_crash: retry"), []string{`"retry" is not known here`, "known: verify, rerun, ask"}, false},
	"bad timeout":        {step("command: [x], timeout: 5"), []string{`"5" is not a duration`}, false},
	"no attempts":        {step("command: [x], attempts: 0"), []string{"not between 1 and 100"}, false},
	"env":                {step("command: [x], env: {1A: b}"), []string{"cannot be the name of an environment"}, false},
	"our env":            {step("command: [x], env: {REPRISE_STEP: b}"), []string{"set by reprise itself"}, false},
	"title of two lines": {step(`title: "a\nb"`), []string{"one line"}, false},
	"escape in title":    {step(`title: "a\e[2J"`), []string{"one line"}, false},
	"parallel":           {"name: n\nparallel: 65\nsteps: [{id: a}]\n", []string{"not between 1 and 64"}, false},
	"duplicate key":      {"name: n\nname: m\nsteps: [{id: a}]\n", []string{`:2:1: key "name" stands in line 1 already`}, false},
	"alias":              {"name: n\nsteps:\n  - &a {id: a}\n  - *a\n", []string{":4:5: aliases are not read here"}, true},
	"not YAML":           {"name: n\nsteps: [{id: a]\n", []string{":2:1: not valid YAML"}, false},
	"several": {"name: n\nsteps:\n  - {id: a, needs: [z]}\n  - {id: b, comand: [x]}\n  - {id: c, timeout: x, command: [y]}\n",
		[]string{`:3:21: there is no step "z"`, `:4:13: there is no key "comand"`, `:5:22: "x" is not a duration`}, false},
}

func TestEV9_wrong_workflows_are_refused_at_their_place_by_the_reader_and_by_the_schema(t *testing.T) {
	t.Parallel()
	_, s := schema(t)
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f.yaml", []byte(tc.content))
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("taken, or refused without a place: %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if err := bySchema(s, tc.content); err == nil && !tc.beyond {
				t.Error("the schema takes it")
			}
		})
	}
}

func TestX2_long_chains_and_circles_are_read_in_bounds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("name: n\nsteps:\n  - {id: s0}\n")
	for i := 1; i < 9_000; i++ {
		fmt.Fprintf(&b, "  - {id: s%d, needs: [s%d]}\n", i, i-1)
	}
	if w, err := Parse("f", []byte(b.String())); err != nil || w.Len() != 9_000 {
		t.Fatalf("a chain: %v", err)
	}
	long := strings.Replace(b.String(), "{id: s0}", "{id: s0, needs: [s8999]}", 1)
	if _, err := Parse("f", []byte(long)); err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "…") {
		t.Errorf("a long circle: %.300v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, tc := range refused {
		f.Add(tc.content)
	}
	f.Add("name: n\nsteps: [{id: a, command: [x]}, {id: b, needs: [a], role: r, prompt: p, outputs: [o]}]\n")
	f.Fuzz(func(t *testing.T, content string) {
		w, err := Parse("f", []byte(content))
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if w.Name == "" || w.Len() == 0 {
			t.Fatalf("a workflow of nothing: %+v", w)
		}
		for _, s := range w.Steps() {
			for _, need := range s.Needs {
				if w.Step(need) == nil {
					t.Fatalf("%s needs %s, which is not there", s.ID, need)
				}
			}
			for _, out := range s.Outputs {
				if path.IsAbs(out) || strings.HasPrefix(out, "..") && (out == ".." || out[2] == '/') {
					t.Fatalf("output %q", out)
				}
			}
			if len(s.Command) > 0 && s.Command[0] == "" {
				t.Fatal("a command without a program")
			}
		}
		text, err := w.Graph("f", reprise.HashOf([]byte(content)), 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, own := Origin([]byte(text)); !own {
			t.Fatal("the graph lost its origin")
		}
	})
}
