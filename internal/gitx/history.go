package gitx

import (
	"cmp"
	"slices"
	"strings"

	"reprise"
)

// commits tells of each commit of the log whether the head reaches it, which other
// checkouts do and which branch it belongs to, and adds the files it changed.
//
// A commit the current branch reaches belongs to that. Any other belongs to the
// smallest of the branches asked for that reach it, where small is by the
// number of commits that the head does not reach: of branches that were stacked
// on each other the lowest made it. The rest belong to the branch git came from.
func (r *Repo) commits(git *reprise.Git, ask Ask, a *answers) []reprise.Commit {
	a.log = newestFirst(a.log)
	at := make(map[string]int, len(a.log))
	for i, e := range a.log {
		at[e.Hash] = i
	}
	// walk visits the commits that one reaches, but those that were seen and what is behind them.
	walk := func(from string, seen []bool, visit func(i int)) {
		stack := []string{from}
		for len(stack) > 0 {
			hash := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if i, ok := at[hash]; ok && !seen[i] {
				seen[i] = true
				visit(i)
				stack = append(stack, a.log[i].parents...)
			}
		}
	}
	onHead := make([]bool, len(a.log))
	walk(git.Head, onHead, func(int) {})

	git.Adrift = git.Detached && git.Head != ""
	passed := make([]bool, len(a.log))
	for _, ref := range a.refs.list {
		if !git.Adrift {
			break
		}
		git.Adrift = ref.hash != git.Head && !a.refs.more
		walk(ref.hash, passed, func(i int) { git.Adrift = git.Adrift && a.log[i].Hash != git.Head })
	}

	// reach is what a branch has and the head has not.
	type reach struct {
		branch  string
		commits []int
	}
	var reaches []reach
	names := make(map[string]bool, len(git.Branches))
	for _, b := range git.Branches {
		names[b.Name] = true
		if !slices.Contains(ask.Branches, b.Name) {
			continue
		}
		of := reach{branch: b.Name}
		walk(b.Head, slices.Clone(onHead), func(i int) { of.commits = append(of.commits, i) })
		reaches = append(reaches, of)
	}
	names[strings.TrimPrefix(a.upstream.name, remotes)] = true
	slices.SortStableFunc(reaches, func(x, y reach) int { return len(x.commits) - len(y.commits) })
	owner := make([]string, len(a.log))
	for _, of := range reaches {
		for _, i := range of.commits {
			owner[i] = cmp.Or(owner[i], of.branch)
		}
	}

	in := make([][]string, len(a.log))
	for _, w := range git.Worktrees {
		if w.Gone || !slices.Contains(ask.Worktrees, w.Path) && !slices.Contains(ask.Branches, w.Branch) {
			continue
		}
		walk(w.Head, make([]bool, len(a.log)), func(i int) { in[i] = append(in[i], w.Path) })
	}

	out := make([]reprise.Commit, len(a.log))
	for i, e := range a.log {
		c := e.Commit
		c.OnHead, c.In, c.Branch, c.Files = onHead[i], in[i], owner[i], a.files[e.Hash]
		c.Edge = git.Shallow && len(e.parents) == 0
		if c.OnHead {
			c.Branch = git.Branch
		}
		if c.Branch == "" {
			c.Branch = sourceBranch(names, e.source)
		}
		out[i] = c
	}
	return out
}

// sourceBranch reads git's word for where it came from: the shortest form that
// is not ambiguous, or a hash.
func sourceBranch(names map[string]bool, source string) string {
	for _, prefix := range []string{"", "heads/", "refs/heads/", remotes} {
		if name, ok := strings.CutPrefix(source, prefix); ok && names[name] {
			return name
		}
	}
	return ""
}

// newestFirst puts children before their parents and keeps the order else.
// Agents commit more than once in a second, and clocks are wrong: git goes by
// the time alone where it comes from several branches.
func newestFirst(log []entry) []entry {
	at := make(map[string]int, len(log))
	for i, e := range log {
		at[e.Hash] = i
	}
	children := make([]int, len(log))
	wrong := false
	for i, e := range log {
		for _, p := range e.parents {
			if k, ok := at[p]; ok {
				children[k]++
				wrong = wrong || k < i
			}
		}
	}
	if !wrong {
		return log
	}
	// Of those that have no child left to wait for, the first in git's order:
	// ready is sorted.
	var ready []int
	for i, n := range children {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	out := make([]entry, 0, len(log))
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		out = append(out, log[i])
		for _, p := range log[i].parents {
			k, ok := at[p]
			if !ok {
				continue
			}
			if children[k]--; children[k] == 0 {
				place, _ := slices.BinarySearch(ready, k)
				ready = slices.Insert(ready, place, k)
			}
		}
	}
	return out
}
