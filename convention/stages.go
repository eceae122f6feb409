package convention

import (
	"path"
	"slices"

	"reprise"
)

// later are the steps that the files of a run do not name when it begins, as
// patterns, by kind.
var later = map[reprise.Kind][]string{
	reprise.KindBuild:  {"qa-review", "qa-fix"},
	reprise.KindGraph:  {"prd", "plan", "task-graph", "constitution", "cleanup", "pr-prep", "consolidation"},
	reprise.KindPlans:  {"transform", "roadmap", "plan", "verify"},
	reprise.KindEpic:   {"wave-*-gate", "final-gate", "merge"},
	reprise.KindQALoop: {"review-*", "fix-*"},
}

// Later reports whether the work on a run of a kind can come to a step that its
// files do not name.
func Later(kind reprise.Kind, step string) bool {
	return slices.ContainsFunc(later[kind], func(pattern string) bool {
		ok, err := path.Match(pattern, step)
		return err == nil && ok
	})
}

// Grows reports whether runs of a kind get steps that only the work itself plans.
func Grows(kind reprise.Kind) bool {
	return kind == reprise.KindBuild || kind == reprise.KindGraph || kind == reprise.KindPlans
}
