package examine

import (
	"fmt"
	"slices"
	"time"

	"reprise"
)

// filesChanged reports files of the run that other work changed: by commits that are not
// the run's or, for a finished step, by uncommitted changes. Uncommitted changes to
// unfinished work are the run's own and are reported by uncommitted.
func filesChanged(r *reprise.Run, o *World) []reprise.Finding {
	files := filesOf(r)
	if o.Git == nil || len(files) == 0 {
		return nil
	}
	var out []reprise.Finding
	for _, c := range foreign(r, o.Git) {
		var hit []string
		for _, ch := range c.Files {
			switch {
			case slices.Contains(c.Brought, ch.Path):
			case files[ch.Path] != 0:
				hit = append(hit, ch.Path)
			case files[ch.From] != 0:
				hit = append(hit, ch.From)
			}
		}
		if len(hit) == 0 {
			continue
		}
		out = append(out, reprise.Finding{
			Subject: hit[0],
			Message: fmt.Sprintf("commit %s (%s) changed %s of this run and does not belong to it: %s", short(c.Hash), quote(c.Subject), plural(len(hit), "file"), list(hit)),
			Source:  reprise.Source{File: hit[0]},
			Hint:    fmt.Sprintf("`git show %s` shows it; see whether the run's work still fits", short(c.Hash)),
		})
	}
	return append(few(out), changedAfterDone(r, o.Git, files)...)
}

// few keeps weeks of history from burying everything else.
func few(all []reprise.Finding) []reprise.Finding {
	const most = 5
	if len(all) <= most {
		return all
	}
	last := all[most-1]
	last.Message = fmt.Sprintf("%s; so did %d more commits", last.Message, len(all)-most)
	return append(slices.Clone(all[:most-1]), last)
}

// changedAfterDone reports uncommitted changes to files of finished steps. What such a step
// left itself does not count.
func changedAfterDone(r *reprise.Run, g *reprise.Git, files map[string]hold) []reprise.Finding {
	c, _ := checkoutOf(r, g)
	var hit []string
	for _, ch := range g.Changed {
		if inCheckout(ch, c) && files[ch.Path] == heldDone && !slices.Contains(r.Left, ch.Path) {
			hit = append(hit, ch.Path)
		}
	}
	if len(hit) == 0 {
		return nil
	}
	return []reprise.Finding{{
		Subject: hit[0],
		Message: fmt.Sprintf("%s of steps that are done changed without a commit: %s", plural(len(hit), "file"), list(hit)),
		Source:  reprise.Source{File: hit[0]},
		Hint:    "find out who changed them; commit or undo that before you continue",
	}}
}

// hold says how a file belongs to a run.
type hold uint8

const (
	held     hold = iota + 1 // a file of the run
	heldDone                 // a file of finished steps only
)

// filesOf lists the files a run works on or rests on. Its own state is excluded: it
// defines the time since which changes are looked for.
func filesOf(r *reprise.Run) map[string]hold {
	out := map[string]hold{}
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, f := range s.Files {
			switch {
			case f == "" || reprise.Within(f, r.Path):
			case !s.Status.Closed():
				out[f] = held
			case out[f] == 0:
				out[f] = heldDone
			}
		}
	}
	for i := range r.Artifacts {
		if p := r.Artifacts[i].Path; p != "" && !reprise.Within(p, r.Path) {
			out[p] = held
		}
	}
	// Documents whose sections are compared are reported there.
	for i := range r.Steps {
		if r.Steps[i].Path != "" && !slices.Contains(r.Steps[i].Files, r.Steps[i].Path) {
			delete(out, r.Steps[i].Path)
		}
	}
	for _, ref := range r.Also {
		delete(out, ref.Path)
	}
	return out
}

// since returns the time after which changes are not the run's. A day without an hour
// extends to its end.
func since(r *reprise.Run) time.Time {
	t := r.LastActivity
	if !t.IsZero() && t.Equal(t.Truncate(24*time.Hour)) {
		t = t.Add(24 * time.Hour)
	}
	return t
}

// foreign lists the commits since the run was last active that are not its own, newest
// first: those on the current branch or the run's, with no trace of the run. A commit
// that also records the run's state counts as its own.
func foreign(r *reprise.Run, g *reprise.Git) []reprise.Commit {
	from := since(r)
	if from.IsZero() {
		return nil
	}
	var out []reprise.Commit
	for _, c := range g.Commits {
		if c.Merge || !c.At.After(from) || (!c.OnHead && (r.Branch == "" || c.Branch != r.Branch)) || r.Made(c) {
			continue
		}
		out = append(out, c)
	}
	return out
}
