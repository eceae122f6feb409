package examine

import (
	"fmt"
	"slices"
	"time"

	"reprise"
)

// filesChanged reports files of the run that commits changed which are not its own.
// Uncommitted changes are reported by uncommitted.
func filesChanged(r *reprise.Run, o *World) []reprise.Finding {
	files := filesOf(r)
	if o.Git == nil || len(files) == 0 {
		return nil
	}
	var out []reprise.Finding
	for _, c := range foreign(r, o.Git) {
		var hit []string
		var weight reprise.Severity
		for _, ch := range c.Files {
			switch {
			case slices.Contains(c.Brought, ch.Path):
			case files[ch.Path] != 0:
				hit = append(hit, ch.Path)
			case files[ch.From] != 0:
				hit = append(hit, ch.From)
			}
			weight = max(weight, files[ch.Path], files[ch.From])
		}
		if len(hit) == 0 {
			continue
		}
		out = append(out, reprise.Finding{
			Subject: hit[0], Severity: weight,
			Message: fmt.Sprintf("commit %s (%s) changed %s of this run and does not belong to it: %s", short(c.Hash), quote(c.Subject), plural(len(hit), "file"), list(hit)),
			Source:  reprise.Source{File: hit[0]},
			Hint:    fmt.Sprintf("`git show %s` shows it; see whether the run's work still fits", short(c.Hash)),
		})
	}
	return few(out)
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

// filesOf lists the files that a run works on or rests on, and how much it weighs that others
// change them: those of finished steps may be. Its own state is excluded: it defines the
// time since which changes are looked for.
func filesOf(r *reprise.Run) map[string]reprise.Severity {
	out := map[string]reprise.Severity{}
	for i := range r.Steps {
		weight := reprise.Warning
		if r.Steps[i].Status.Closed() {
			weight = reprise.Info
		}
		for _, f := range r.Steps[i].Files {
			if f != "" && !reprise.Within(f, r.Path) {
				out[f] = max(out[f], weight)
			}
		}
	}
	for i := range r.Artifacts {
		if p := r.Artifacts[i].Path; p != "" && !reprise.Within(p, r.Path) {
			out[p] = reprise.Warning
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
