package evidence

import (
	"slices"
	"strings"

	"reprise"
	"reprise/internal/gitx"
)

// partsOf gives the commits that hold the work of an accepted step, by first: the one that
// was accepted, or what it was made again as. An agent commits as it goes, and only the rest
// is in the accepted commit, which may be nothing but the record. The others are those of
// attempts at the step, by their trailer, and those without a trailer that were made between
// the commit that the attempt began on and the accepted one. commits are newest first.
func partsOf(l *reprise.Acceptance, by string, commits []reprise.Commit, in func(c *reprise.Commit) bool) []string {
	out := []string{by}
	run, step, life, _, ok := reprise.TrailerStep(l.Key)
	until := slices.IndexFunc(commits, func(c reprise.Commit) bool { return c.Hash == by })
	from := slices.IndexFunc(commits, func(c reprise.Commit) bool { return l.Base != "" && c.Hash == l.Base })
	for i := range commits {
		c := &commits[i]
		if c.Hash == by || c.Merge || !in(c) {
			continue
		}
		its := ok && slices.ContainsFunc(c.Steps, func(value string) bool {
			r, s, l, _, ok := reprise.TrailerStep(value)
			return ok && r == run && s == step && l == life
		})
		during := len(c.Steps) == 0 && until >= 0 && until < i && i < from && !strings.HasPrefix(c.Subject, "Revert ")
		if its || during {
			out = append(out, c.Hash)
		}
	}
	return out
}

// together adds up what was taken back of the commits of a step. A revert counts if it came
// after the step was accepted, of which the first of them tells, and nothing of what it
// reverts is here. ok is false if nothing was taken back and nothing is known.
func together(parts []string, found map[string]reprise.Taken, reverted func(commit string) string, commits []reprise.Commit) (t reprise.Taken, ok bool) {
	place := func(hash string) int {
		return slices.IndexFunc(commits, func(c reprise.Commit) bool { return c.Hash == hash })
	}
	for _, part := range parts {
		f, known := found[part]
		if !known {
			continue
		}
		ok = true
		t.Gone, t.Back, t.Open = append(t.Gone, f.Gone...), append(t.Back, f.Back...), append(t.Open, f.Open...)
		t.Left, t.Here = t.Left+f.Left, t.Here+f.Here
		if by := reverted(part); by != "" && t.Revert == "" && f.Here == 0 && place(by) < place(parts[0]) {
			t.Revert, t.Of = by, part
		}
	}
	for _, names := range []*[]string{&t.Gone, &t.Back, &t.Open} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return t, ok
}

// began gives, by accepted commit, the commit that its attempt began on: all that was
// committed since is the work.
func began(runs []*reprise.Run, git *reprise.Git) map[string]string {
	out := map[string]string{}
	for _, r := range runs {
		if r == nil {
			continue
		}
		for i := range r.Steps {
			if l := r.Steps[i].Accepted; l != nil && l.Base != "" && git.Known[l.Base] {
				out[l.Commit] = l.Base
			}
		}
	}
	return out
}

// ledgers reports whether a file of the repository tells of the work of a run: events were
// written to it here.
func ledgers(repo *gitx.Repo, runs []*reprise.Run) func(name string) bool {
	return func(name string) bool {
		inside, ok := strings.CutPrefix(name, repo.Prefix())
		return ok && slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r != nil && r.Recorded[inside] })
	}
}
