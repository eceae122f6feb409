package prompt

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise"
)

var update = flag.Bool("update", false, "rewrite the golden prompts")

// sample is a task with everything.
func sample(template string) Task {
	return Task{
		Assignment: reprise.Assignment{
			Unit: reprise.Unit{ID: "T002", Title: "Export as CSV", Phase: "Phase 2: the export", Path: "docs/t002.md", Reason: "everything it depends on is done"},
			Step: "T002", Role: "dev", Template: template, Commit: true,
			Facts:  map[string]string{"iteration": "2 of 5", "story": "docs/stories/1.2.story.md", "feature": "Export for accountants", TaskFact: "Do this part of the workflow: Phase 2: the export"},
			Data:   []reprise.Data{{Name: "acceptance criteria", Source: reprise.Source{File: "docs/stories/1.2.story.md", Line: 12}, Text: "1. One row for each order.\n2. Dates as ISO 8601.\n"}},
			Inputs: []string{"docs/stories/1.2.story.md", "docs/odd name.md"}, Expect: []reprise.Expected{{Path: "export/csv.go"}},
		},
		Run: "shop-1.2", Attempt: 2, Dir: "/home/ann/shop", Result: "/home/ann/shop/.reprise/results/T002.2.json", Trailer: "Reprise-Step: shop-1.2/T002/2",
		Earlier: []string{"An earlier attempt was cut off (once)."},
		Answers: []Answer{{"Which separator?", "A semicolon."}},
	}
}

func render(t testing.TB, task Task) string {
	t.Helper()
	out, err := Render(task, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outside gives what stands outside of the blocks, the fence named FENCE, and
// checks that every block is whole.
func outside(t testing.TB, out string) string {
	t.Helper()
	m := regexp.MustCompile("`<<<DATA ([0-9a-f]{32})`").FindStringSubmatch(out)
	if m == nil {
		t.Fatal("the fence is not told")
	}
	var b strings.Builder
	open := ""
	head := false
	for line := range strings.SplitSeq(out, "\n") {
		switch {
		case strings.HasPrefix(line, "<<<DATA "+m[1]):
			if open != "" {
				t.Fatalf("a block begins in block %s", open)
			}
			open, head = strings.TrimPrefix(line, "<<<DATA "+m[1]+" "), true
		case strings.HasPrefix(line, ">>>DATA "+m[1]):
			if line != ">>>DATA "+m[1]+" "+open {
				t.Fatalf("block %q ends with %q", open, line)
			}
			open = ""
		case open != "":
			head = head && !strings.HasPrefix(line, "|")
			if !head && !strings.HasPrefix(line, "|") || head && !regexp.MustCompile(`^(name|source|characters): `).MatchString(line) {
				t.Fatalf("a line of block %s is not marked: %q", open, line)
			}
			if strings.Contains(line, m[1]) {
				t.Fatalf("the fence stands in block %s", open)
			}
		default:
			b.WriteString(line + "\n")
		}
	}
	if open != "" {
		t.Fatalf("block %s has no end", open)
	}
	text := strings.ReplaceAll(b.String(), m[1], "FENCE")
	text = strings.ReplaceAll(text, "There is none.", "")
	return regexp.MustCompile(`\n{2,}`).ReplaceAllString(text, "\n\n")
}

func TestOR11_golden_prompts_of_every_template(t *testing.T) {
	t.Parallel()
	names := templates()
	if len(names) < 25 || !slices.Contains(names, Generic) || slices.Contains(names, frame) {
		t.Fatalf("templates: %v", names)
	}
	for _, name := range names {
		got := render(t, sample(name))
		golden := filepath.Join("testdata", "golden", name+".md")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs; run the test with -update and look at the difference:\n%s", name, diff)
		}
		if strings.Contains(got, "<no value>") || strings.Contains(got, "{{") {
			t.Errorf("%s: a part of the template is left", name)
		}
	}
	old, err := os.ReadDir(filepath.Join("testdata", "golden"))
	if err != nil || len(old) != len(names) {
		t.Errorf("%d golden prompts for %d templates: %v", len(old), len(names), err)
	}
}

func TestOR11_every_template_is_named_in_the_page(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range templates() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference/settings.md lacks %s", name)
		}
	}
	for role, name := range likes {
		if !slices.Contains(templates(), name) {
			t.Errorf("%s is like %s, which is not there", role, name)
		}
	}
}

func TestOR11_prompt_says_what_an_agent_needs(t *testing.T) {
	t.Parallel()
	got := render(t, sample("dev"))
	for _, want := range []string{
		"in the role dev", "developer of a story", "- run: shop-1.2", "- step: T002", "- attempt: 2", "`/home/ann/shop`", "- iteration: 2 of 5",
		"- story: docs/stories/1.2.story.md", "- feature: (see the block named `feature`)", "- `docs/t002.md`", "- `export/csv.go`", "An earlier attempt was cut off (once).",
		"`Reprise-Step: shop-1.2/T002/2`", "`/home/ann/shop/.reprise/results/T002.2.json`", "| Export as CSV", "| A semicolon.", "source: docs/stories/1.2.story.md:12",
		"What is to be done: Do this part of the workflow: (see the data)", "| docs/odd name.md",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if got != render(t, sample("dev")) {
		t.Error("the same task gives two prompts")
	}
	other := sample("dev")
	other.Attempt = 3
	fence := regexp.MustCompile("[0-9a-f]{32}")
	if fence.FindString(got) == fence.FindString(render(t, other)) {
		t.Error("two attempts have one fence")
	}
}

func TestOR11_templates_fall_back_and_can_be_replaced(t *testing.T) {
	t.Parallel()
	guide := func(task Task, custom map[string]string) string {
		t.Helper()
		out, err := Render(task, custom)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out, "## Your role\n\n")
		got, _, _ := strings.Cut(rest, "\n\n## The step")
		return got
	}
	generic := guide(sample(Generic), nil)
	odd := sample("../frame")
	odd.Role = "nobody"
	if guide(odd, nil) != generic {
		t.Error("an odd name does not fall back")
	}
	like := sample("nowhere")
	like.Role = "qa-reviewer"
	if guide(like, nil) != guide(sample("qa"), nil) {
		t.Error("a role like qa does not get its template")
	}
	custom := map[string]string{"qa": "Mine for {{.Role}}, {{.Facts.iteration}}{{.Facts.absent}}, try {{.Attempt}} of {{.Step}} in {{.Run}}.", "frame": "evil"}
	if got := guide(sample("qa"), custom); got != "Mine for dev, 2 of 5, try 2 of T002 in shop-1.2." {
		t.Errorf("replaced: %q", got)
	}
	if guide(sample(frame), custom) != guide(sample("dev"), nil) {
		t.Error("the frame was replaced")
	}
	if got := guide(like, custom); !strings.HasPrefix(got, "Mine") {
		t.Errorf("a role like qa does not get the person's template: %q", got)
	}
	for _, broken := range []string{"{{.Nothing}}", "{{if}}", "{{template \"x\"}}"} {
		_, err := Render(sample("qa"), map[string]string{"qa": broken})
		var bad *TemplateError
		if !errors.As(err, &bad) || bad.Hint() == "" || !strings.Contains(err.Error(), "qa") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestEV9_persons_own_prompt_stands_as_it_is_written(t *testing.T) {
	t.Parallel()
	task := sample("workflow-step")
	task.Prompt = "# Do this\n\n```go\nx := `{{.Y}}`\n```\nand <<<DATA 1\u202e"
	got := render(t, task)
	if !strings.Contains(got, "wants done:\n\n# Do this\n\n```go\nx := `{{.Y}}`\n```\nand <<<DATA 1\n") {
		t.Errorf("%s", got)
	}
	outside(t, got)
}

func TestT6_paths_of_ours_that_are_odd_are_left_to_the_environment(t *testing.T) {
	t.Parallel()
	task := sample("dev")
	task.Dir, task.Result, task.Trailer = "/home/a`b\n# x", "/r\n\nIgnore", "Reprise-Step: a b\nSigned-off-by: x"
	got := render(t, task)
	for _, want := range []string{"working folder: the current folder", "the file that the environment variable `REPRISE_RESULT` names", "environment variable `REPRISE_TRAILER` holds"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(got, "Signed-off") || strings.Contains(got, "Ignore") {
		t.Error("an odd path got in")
	}
}

func BenchmarkRender(b *testing.B) {
	task := sample("dev")
	for b.Loop() {
		if _, err := Render(task, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// templates lists the built-in templates that a person can replace, sorted.
func templates() []string {
	entries, err := builtin.ReadDir("templates")
	if err != nil {
		return nil // they are part of the program
	}
	var out []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".md"); name != frame {
			out = append(out, name)
		}
	}
	return out
}
