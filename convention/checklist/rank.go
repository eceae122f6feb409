package checklist

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"reprise"
)

// Rank sorts the lists of a family in the order in which one would continue them: first
// the list with the most recently closed task or, if git does not say, the one changed
// last. A list with the name of the current branch comes before both.
func Rank(runs []*reprise.Run, o reprise.Observed) {
	ages := agesOf(runs, o)
	branch := ""
	if o.Git != nil {
		branch = o.Git.Branch
	}
	for _, r := range runs {
		if tier(r) >= 0 {
			continue
		}
		r.Placed = []reprise.Reason{placed(r, ages[r.Path])}
		if r.ID == branch {
			named := reprise.Reason{Term: "named like the branch", Why: "the list of the branch that is checked out comes before the others"}
			r.Placed = slices.Insert(r.Placed, 0, named)
		}
	}
	slices.SortStableFunc(runs, func(a, b *reprise.Run) int {
		return cmp.Or(cmp.Compare(tier(a), tier(b)), cmp.Compare(after(a.ID == branch), after(b.ID == branch)), cmp.Compare(ages[a.Path], ages[b.Path]))
	})
}

// placed says what determines the position of a list that can be continued.
func placed(r *reprise.Run, age int) reprise.Reason {
	out := reprise.Reason{Term: "the latest change", Why: "the list in which a task was closed last comes first"}
	if r.Moved == "" {
		out.Why = "the list that changed last, according to git, comes first"
	}
	switch {
	case age == math.MaxInt32:
		out.Term = "git has no change of it"
	case age > 1:
		out.Term = fmt.Sprintf("%d behind the latest change", age-1)
	}
	return out
}

// tier orders lists that can be continued before those that wait, cannot be read or are
// over.
func tier(r *reprise.Run) int {
	if r.State == reprise.NotStarted && len(r.Next) == 0 {
		return 0
	}
	return slices.Index([]reprise.State{reprise.Waiting, reprise.Unreadable, reprise.Stopped, reprise.Complete}, r.State)
}

// agesOf returns for each list how many list changes came after its own. Uncommitted
// changes are newer than every commit.
func agesOf(runs []*reprise.Run, o reprise.Observed) map[string]int {
	ages := map[string]int{}
	moved := map[string]string{}
	for _, r := range runs {
		ages[r.Path], moved[r.Path] = math.MaxInt32, r.Moved
		if r.Moved == reprise.Uncommitted {
			ages[r.Path] = 0
		}
	}
	if o.Git == nil {
		return ages
	}
	age := 1
	for _, c := range o.Git.Changed {
		if _, ok := ages[c.Path]; ok && c.Worktree == "" {
			ages[c.Path] = 0
		}
	}
	for _, c := range o.Git.Commits {
		if c.Merge || !c.OnHead {
			continue
		}
		touched := false
		for _, f := range c.Files {
			if was, ok := ages[f.Path]; ok && (moved[f.Path] == "" || moved[f.Path] == c.Hash) {
				touched = true
				ages[f.Path] = min(was, age)
			}
		}
		if touched {
			age++
		}
	}
	return ages
}
