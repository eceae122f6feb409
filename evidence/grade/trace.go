package grade

import (
	"slices"
	"strings"

	"reprise"
)

// traced lists the commits that follow a convention, newest first.
func (g *Grader) traced(r *reprise.Run, t reprise.Trace) []int {
	if t.Subject == "" {
		return nil
	}
	var out []int
	take := func(i int) {
		c := &g.git.Commits[i]
		if g.onBranch(r, c) && !g.older(r, i) {
			out = append(out, i)
		}
	}
	if t.Anywhere {
		for i := range g.git.Commits {
			if names(t, &g.git.Commits[i]) {
				take(i)
			}
		}
		return out
	}
	for _, i := range g.withPrefix(t.Subject) {
		if names(t, &g.git.Commits[i]) {
			take(i)
		}
	}
	slices.Sort(out)
	return out
}

// names reports whether the subject of a commit follows a convention.
func names(t reprise.Trace, c *reprise.Commit) bool {
	switch {
	case t.Subject == "" || c.At.Before(t.Since) || isRevert(c.Subject):
		return false
	case t.Ends && t.Anywhere:
		return strings.HasSuffix(c.Subject, t.Subject)
	case t.Anywhere:
		return contains(c.Subject, t.Subject)
	}
	return strings.HasPrefix(c.Subject, t.Subject) && whole(c.Subject, 0, len(t.Subject))
}

// withPrefix lists the commits whose subject begins so.
func (g *Grader) withPrefix(prefix string) []int {
	c := g.git.Commits
	from, _ := slices.BinarySearchFunc(g.bySubj, prefix, func(i int, p string) int { return strings.Compare(c[i].Subject, p) })
	to := from
	for to < len(g.bySubj) && strings.HasPrefix(c[g.bySubj[to]].Subject, prefix) {
		to++
	}
	return g.bySubj[from:to]
}

func contains(subject, part string) bool {
	for from := 0; ; {
		at := strings.Index(subject[from:], part)
		if at < 0 {
			return false
		}
		at += from
		if whole(subject, at, at+len(part)) {
			return true
		}
		from = at + 1
	}
}

// whole reports whether subject[from:to] is not cut out of a longer id: 1-1 is
// not in 1-10, 1.2 not in 1.2.3, and S1 not in CSS1.
func whole(subject string, from, to int) bool {
	return !(joins(subject, from-1, from, -1) || joins(subject, to, to-1, 1))
}

// joins reports whether the byte at outside continues the word or number
// that ends with the byte at inside.
func joins(s string, outside, inside, step int) bool {
	if outside < 0 || outside >= len(s) || !alnum(s[inside]) {
		return false
	}
	if alnum(s[outside]) {
		return true
	}
	next := outside + step
	return digit(s[inside]) && (s[outside] == '.' || s[outside] == '-') && next >= 0 && next < len(s) && digit(s[next])
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
func alnum(b byte) bool { return digit(b) || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80 }

func isRevert(subject string) bool {
	return strings.HasPrefix(subject, `Revert "`) || strings.HasPrefix(subject, `Reapply "`)
}

// reverted finds the commit that took another back, by the subjects git gives
// to such commits. One that was taken back and put in again is not reverted.
func (g *Grader) reverted(i int) (int, bool) {
	c := g.git.Commits
	subject := c[i].Subject
	newest := func(s string) int {
		for _, k := range g.withPrefix(s) {
			if c[k].Subject == s && k < i && (c[k].OnHead == c[i].OnHead || c[k].Branch == c[i].Branch) {
				return k
			}
		}
		return -1
	}
	back := newest(`Revert "` + subject + `"`)
	if back < 0 {
		return 0, false
	}
	for _, again := range []string{`Reapply "` + subject + `"`, `Revert "Revert "` + subject + `""`} {
		if k := newest(again); k >= 0 && k < back {
			return 0, false
		}
	}
	return back, true
}

// artifacts adds what is known of the files of a step.
func artifacts(r *reprise.Run, s *reprise.Step) {
	for _, a := range r.Artifacts {
		if s.ID == "" || a.MadeBy != s.ID {
			continue
		}
		e := reprise.Evidence{Kind: reprise.EvidenceArtifact, Source: a.Path}
		switch {
		case a.Presence == reprise.Present && a.Path != s.Path:
			e.For, e.Text = true, a.Name+" is there"
		case a.Presence == reprise.Missing && s.Status == reprise.Done:
			e.Text = a.Name + " is not there"
		case a.Presence == reprise.Damaged && s.Status == reprise.Done:
			e.Text = a.Name + " is there, but cannot be read"
		default:
			continue
		}
		s.Evidence = append(s.Evidence, e)
	}
}
