package grade

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// told is a commit that tells of a step.
type told struct {
	at       int
	recorded bool // a ledger names it
	partial  bool // it may be a mere piece, or a mention
}

// Off lists the commits that tell of a step which its files call done, where none that
// tells of its work is in the history of where the run continues: whether their changes are
// here all the same says whether the work is.
func (g *Grader) Off(r *reprise.Run, s *reprise.Step) (hashes []string) {
	if g.git == nil || s.Status != reprise.Done || s.Accepted != nil {
		return nil
	}
	for _, t := range g.tells(r, s) {
		switch c := &g.git.Commits[t.at]; {
		case !g.holds(r)(c):
			hashes = append(hashes, c.Hash)
		case t.recorded || !t.partial:
			return nil
		}
	}
	return hashes
}

// tells lists the commits that tell of a step, newest first.
func (g *Grader) tells(r *reprise.Run, s *reprise.Step) []told {
	step := *s
	step.Evidence = nil
	return g.commits(r, &step)
}

// holds is Git.Holds, found out once for a run.
func (g *Grader) holds(r *reprise.Run) func(c *reprise.Commit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in[r] == nil {
		g.in[r] = g.git.Holds(r)
	}
	return g.in[r]
}

// away tells of a step that its files call done that its work is not here: a commit of it was
// taken back and nothing was done since; none of its commits, and nothing of them, is in the
// history of where the run continues; or another branch, or a commit that was dropped, has the
// files that it leaves. What a later commit deleted or renamed was here. What our journal
// accepted is looked for by its own commit.
func (g *Grader) away(r *reprise.Run, s *reprise.Step, tells []told) *reprise.Away {
	if g.git == nil || g.absent == nil || s.Status != reprise.Done || s.Accepted != nil || !r.MayBeAway() {
		return nil
	}
	c, here := g.git.Commits, g.holds(r)
	var (
		back     *reprise.Away
		off      []reprise.Commit // that tell of it
		last, by = len(c), len(c) // the newest here that stands, and that took one back
		weak     = len(c)         // the newest here that only mentions it
	)
	for _, t := range tells {
		k, taken := g.reverted(t.at)
		switch {
		case !here(&c[t.at]):
			off = append(off, c[t.at])
		case taken && here(&c[k]):
			if k < by {
				by, back = k, &reprise.Away{Commit: c[t.at].Hash, Revert: c[k].Hash, Why: fmt.Sprintf("commit %s took back commit %s, which tells of it", short(c[k].Hash), short(c[t.at].Hash))}
			}
		case t.partial && !t.recorded:
			weak = min(weak, t.at)
		default:
			last = min(last, t.at)
		}
	}
	if by < min(last, weak) {
		return back
	}
	if last < len(c) || weak < len(c) && len(off) == 0 {
		return nil
	}
	leaves := s.Leaves()
	if slices.ContainsFunc(leaves, func(name string) bool { return !g.absent[name] }) {
		return nil
	}
	if i := g.listed(leaves, here); i >= 0 {
		if isRevert(c[i].Subject) {
			return &reprise.Away{Revert: c[i].Hash, Why: fmt.Sprintf("commit %s took back %s, which it leaves", short(c[i].Hash), some(leaves))}
		}
		return nil
	}
	for _, u := range g.git.Undone {
		if g.tellsOf(r, s, u) {
			off = append(off, u)
		}
	}
	var lost *reprise.Commit
	for i := range off {
		a := g.astray[off[i].Hash]
		if a.Here+a.Other > 0 {
			return nil
		}
		if undone := slices.ContainsFunc(g.git.Undone, func(u reprise.Commit) bool { return u.Hash == off[i].Hash }); lost == nil && (undone || a.Undone > 0) {
			lost = &off[i]
		}
	}
	switch {
	case lost != nil:
		return awayIn(lost, "tells of it, and nothing of it is here")
	case weak < len(c):
		return nil
	}
	if names := r.Named(s); len(leaves) == 0 && len(names) > 0 {
		// A title may name what the task reads: only what a commit made counts.
		leaves = names
		if slices.ContainsFunc(names, func(name string) bool { return !g.absent[name] }) || g.listed(names, here) >= 0 {
			return nil
		}
	}
	if i := g.listed(leaves, func(c *reprise.Commit) bool { return !here(c) }); i >= 0 {
		return awayIn(&c[i], "has "+some(leaves)+", and what is checked out does not")
	}
	for i := range g.git.Undone {
		if u := &g.git.Undone[i]; slices.ContainsFunc(u.Files, func(f reprise.FileChange) bool { return slices.Contains(leaves, f.Path) }) {
			return awayIn(u, "has "+some(leaves)+", and what is checked out does not")
		}
	}
	return g.missing(s) // files that no commit had may be ignored, or of another repository
}

// missing tells of a commit on record that the repository does not have, where nothing else
// shows the work: where something contradicts and nothing supports, that is told otherwise.
func (g *Grader) missing(s *reprise.Step) *reprise.Away {
	for _, hash := range s.Commits {
		known, looked := g.git.Known[strings.ToLower(strings.TrimSpace(hash))]
		if looked && !known && !g.git.Shallow {
			return &reprise.Away{Why: fmt.Sprintf("commit %s is on record, but the repository does not have it", short(hash))}
		}
	}
	return nil
}

func awayIn(c *reprise.Commit, why string) *reprise.Away {
	return &reprise.Away{Commit: c.Hash, Branch: c.Branch, Why: fmt.Sprintf("commit %s, %s, %s", short(c.Hash), place(c), why)}
}

// listed is the newest commit of these that changed one of the files, -1 if none did.
func (g *Grader) listed(files []string, of func(c *reprise.Commit) bool) int {
	var at []int
	for _, name := range files {
		at = append(at, g.byFile()[name]...)
	}
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		if of(&g.git.Commits[i]) {
			return i
		}
	}
	return -1
}

// changing gives the positions of commits by the files that they changed, or took from there.
func changing(commits []reprise.Commit) map[string][]int {
	out := map[string][]int{}
	for i := range commits {
		for _, f := range commits[i].Files {
			if out[f.Path] = append(out[f.Path], i); f.From != "" {
				out[f.From] = append(out[f.From], i)
			}
		}
	}
	return out
}

// tellsOf reports whether a commit that no branch has tells of a step.
func (g *Grader) tellsOf(r *reprise.Run, s *reprise.Step, c reprise.Commit) bool {
	if slices.ContainsFunc(s.Commits, func(hash string) bool {
		hash = strings.ToLower(strings.TrimSpace(hash))
		return len(hash) >= 7 && strings.HasPrefix(c.Hash, hash)
	}) {
		return true
	}
	if r.Life != "" && !c.At.After(r.Began) {
		return false
	}
	return slices.ContainsFunc(s.Traces, func(t reprise.Trace) bool { return names(t, &c) })
}

func some(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
}
