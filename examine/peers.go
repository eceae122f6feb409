package examine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// concurrent reports another open workflow on the same story. An epic and its stories'
// workflows belong together, as do a story's file and the state about it; those do not
// conflict.
func concurrent(r *reprise.Run, o *World) []reprise.Finding {
	mine := storiesOf(r)
	if len(mine) == 0 {
		return nil
	}
	var out []reprise.Finding
	for _, p := range o.Peers {
		if p == nil || same(r, p) || !isBegun(p) || together(r, p) {
			continue
		}
		shared := firstShared(mine, storiesOf(p))
		if shared == "" {
			continue
		}
		f := reprise.Finding{
			Severity: reprise.Info, Subject: p.Path, Source: reprise.Source{File: p.Path},
			Message: fmt.Sprintf("an older %s (%s) on the same story %s is also open", string(p.Kind), name(p.ID), name(shared)),
			Hint:    "archive the one that is no longer needed",
		}
		life, _ := lifeOf(p, o)
		switch {
		case life.Life == reprise.Alive || p.State == reprise.Running:
			f.Severity = reprise.Blocking
			f.Message = fmt.Sprintf("a %s (%s) is working on the same story %s", string(p.Kind), name(p.ID), name(shared))
			f.Hint = "wait until it ends"
		case p.LastActivity.After(r.LastActivity):
			f.Severity = reprise.Blocking
			f.Message = fmt.Sprintf("a %s (%s) was started on the same story %s and was active later than this run", string(p.Kind), name(p.ID), name(shared))
			f.Hint = "resume the later one, or archive its state first"
		}
		out = append(out, f)
	}
	return out
}

// together reports whether two runs are views of one piece of work.
func together(a, b *reprise.Run) bool {
	if x, y := a.Kind.Facts(), b.Kind.Facts(); x.Stories != y.Stories || x.Document || y.Document {
		return true
	}
	names := func(x, y *reprise.Run) bool {
		return slices.ContainsFunc(x.Also, func(ref reprise.Ref) bool { return ref.Layout == y.Layout && ref.Path == y.Path })
	}
	return names(a, b) || names(b, a)
}

// storiesOf lists the files of the stories a run is working on: those an epic has begun
// and not closed, or the one that another workflow names.
func storiesOf(r *reprise.Run) []string {
	var out []string
	stories := r.Kind.Facts().Stories
	for i := range r.Steps {
		s := &r.Steps[i]
		if stories && s.Path != "" && s.Path != r.Path && !s.Status.Closed() && s.Status != reprise.Pending {
			out = append(out, s.Path)
		}
	}
	for _, ref := range r.Also {
		if !stories && ref.Kind.Facts().Document && ref.Path != "" {
			out = append(out, ref.Path)
		}
	}
	return out
}

func firstShared(a, b []string) string {
	for _, p := range a {
		if slices.Contains(b, p) {
			return p
		}
	}
	return ""
}

// superseded reports that the same task was begun again in a later run. It compares only
// kinds in which every try is a run of its own.
func superseded(r *reprise.Run, o *World) []reprise.Finding {
	if !r.Kind.Facts().Tries || told(r, reprise.CodeSuperseded, "") {
		return nil
	}
	var best *reprise.Run
	for _, p := range o.Peers {
		if p == nil || same(r, p) || p.Layout != r.Layout || p.Kind != r.Kind || !o.sameTask(r, p) || !later(p, r) {
			continue
		}
		if best == nil || p.State == reprise.Complete && best.State != reprise.Complete ||
			(p.State == reprise.Complete) == (best.State == reprise.Complete) && later(p, best) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	f := reprise.Finding{
		Source:  reprise.Source{File: best.Path},
		Message: fmt.Sprintf("the same task was begun again as %s, which is not finished either", name(best.ID)),
		Hint:    "look at the later one first",
	}
	if best.State == reprise.Complete {
		f.Severity = reprise.Warning
		f.Message = fmt.Sprintf("the same task was begun again as %s and finished there", name(best.ID))
		f.Hint = "continuing here would do it twice; archive this one"
	}
	return []reprise.Finding{f}
}

// sameTask compares titles, and slugs only if a title is missing: slugs are truncated, so
// different tasks can share one.
func (o *World) sameTask(a, b *reprise.Run) bool {
	x, y := o.title(a), o.title(b)
	if x != "" && y != "" {
		return x == y && len(x) >= 8
	}
	_, x = cutNumber(a.ID)
	_, y = cutNumber(b.ID)
	return x == y && len(x) >= 8
}

// title returns a run's title, normalized for comparison.
func (o *World) title(r *reprise.Run) string {
	folded, known := o.titles[r]
	if !known {
		folded = fold(r.Title)
		o.titles[r] = folded
	}
	return folded
}

// cutNumber splits an id like 004-title; the slug is empty for other ids.
func cutNumber(id string) (number int, slug string) {
	digits, slug, ok := strings.Cut(id, "-")
	if !ok || digits == "" || len(digits) > 6 {
		return 0, ""
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, ""
		}
		number = number*10 + int(c-'0')
	}
	return number, slug
}

// later reports whether a was begun after b: by number if both have one, otherwise by
// activity.
func later(a, b *reprise.Run) bool {
	x, sx := cutNumber(a.ID)
	y, sy := cutNumber(b.ID)
	if sx != "" && sy != "" && x != y {
		return x > y
	}
	return a.LastActivity.After(b.LastActivity)
}
