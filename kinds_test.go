package reprise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestEveryKindIsInTheTableOnce holds that the table of kinds and the constants agree.
func TestEveryKindIsInTheTableOnce(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[Kind]int{}
	for _, f := range Kinds() {
		listed[f.Kind]++
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || spec.Type == nil {
			return true
		}
		word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if constants++; err != nil || listed[Kind(word)] != 1 || Kind(word).Facts().Kind != Kind(word) {
			t.Errorf("%s is %d times in the table", spec.Names[0], listed[Kind(word)])
		}
		return true
	})
	if constants != len(kinds) {
		t.Errorf("there are %d constants and %d rows", constants, len(kinds))
	}
}

func TestStepsThatComeLaterThanTheFilesName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind Kind
		step string
		want bool
	}{
		{KindBuild, "qa-review", true},
		{KindBuild, "qa-revew", false},
		{KindBuild, "", false},
		{KindEpic, "wave-2-gate", true},
		{KindEpic, "wave-2/x-gate", false},
		{KindQALoop, "fix-3", true},
		{KindStory, "qa-review", false},
		{KindGraph, "pr-prep", true},
		{"unheard-of", "plan", false},
	} {
		if got := c.kind.Facts().Comes(c.step); got != c.want {
			t.Errorf("%s %q: %v", c.kind, c.step, got)
		}
	}
}

func TestStagesThatAlwaysFollowAStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind Kind
		step string
		want []string
	}{
		{KindBuild, "subtask-1-1", []string{"qa-review"}},
		{KindBuild, "qa-fix", []string{"qa-review"}},
		{KindBuild, "qa-review", nil},
		{KindQALoop, "fix-3", []string{"review-*"}},
		{KindQALoop, "review-3", nil},
		{KindEpic, "wave-2-gate", []string{"final-gate"}},
		{KindEpic, "merge", nil},
		{KindGraph, "prd", []string{"cleanup", "pr-prep", "consolidation"}},
		{KindGraph, "pr-prep", []string{"consolidation"}},
		{KindPlans, "roadmap", nil},
		{KindStory, "create", nil},
		{"unheard-of", "plan", nil},
	} {
		if got := c.kind.Facts().Follow(c.step); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q", c.kind, c.step, got)
		}
	}
}
