package examine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// missingArtifact reports missing or damaged files that a run refers to, with the phase
// that needs each and what must run again to recreate it. A file that its step has yet to
// make is not missing. A file named twice is reported once, at its highest severity.
func missingArtifact(r *reprise.Run, _ *World) []reprise.Finding {
	named := map[string]bool{"": true}
	for i := range r.Artifacts {
		named[r.Artifacts[i].Path], named[r.Artifacts[i].Name] = true, true
	}
	var out []reprise.Finding
	var weights []reprise.Severity // of out, before the reader's own severity
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		if a.Presence != reprise.Missing && a.Presence != reprise.Damaged || a.Path == "" && a.Name == "" {
			continue
		}
		maker := r.Step(a.MadeBy)
		if maker != nil && !maker.Status.Closed() {
			continue
		}
		heavy := weight(r, a, maker != nil)
		f := absent(r, a, maker != nil, named)
		f.Severity = max(f.Severity, heavy)
		switch twin := slices.IndexFunc(out, func(g reprise.Finding) bool { return g.Subject == f.Subject }); {
		case twin < 0:
			out, weights = append(out, f), append(weights, heavy)
		case heavy > weights[twin]:
			out[twin], weights[twin] = f, heavy
		}
	}
	return out
}

// absent returns the finding about one artifact. It replaces what the reader said about
// it, at no lower severity.
func absent(r *reprise.Run, a *reprise.Artifact, made bool, named map[string]bool) reprise.Finding {
	f := reprise.Finding{
		Subject: a.Path,
		Message: absence(a, made), Source: a.Source, Hint: remedy(r, a, made),
	}
	if f.Subject == "" {
		f.Subject = a.Name
	}
	if old := toldMissing(r, a, named); old != nil {
		named[old.Subject] = true
		f.Subject, f.Source, f.Severity = old.Subject, old.Source, old.Severity
		if old.Hint != "" && !made && !r.Restorable(a.Path) {
			f.Hint = old.Hint
		}
	}
	return f
}

func weight(r *reprise.Run, a *reprise.Artifact, made bool) reprise.Severity {
	switch {
	case a.Critical && !made && wanted(r, a.NeededBy):
		return reprise.Blocking
	case a.Critical, made:
		// What a closed step made can be made again, and the plan says so.
		return reprise.Warning
	}
	return reprise.Info
}

// wanted reports whether open work needs what a phase or step needs. An unknown phase
// counts as wanted: better to ask than to lose something.
func wanted(r *reprise.Run, by string) bool {
	if by == "" || by == r.Phase {
		return true
	}
	for _, u := range r.Next {
		if by == u.ID || by == u.Phase {
			return true
		}
	}
	known := false
	for i := range r.Steps {
		if s := &r.Steps[i]; by == s.ID || by == s.Phase {
			known = true
			if !s.Status.Closed() {
				return true
			}
		}
	}
	return !known
}

func absence(a *reprise.Artifact, made bool) string {
	var b strings.Builder
	if a.Name != "" && a.Name != a.Path {
		fmt.Fprintf(&b, "%s (%s)", name(a.Name), name(a.Path))
	} else {
		b.WriteString(name(a.Path))
	}
	if a.Presence == reprise.Damaged {
		b.WriteString(" is damaged")
	} else {
		b.WriteString(" is missing")
	}
	if a.NeededBy != "" {
		fmt.Fprintf(&b, "; %s needs it", name(a.NeededBy))
	}
	if made {
		fmt.Fprintf(&b, ", and %s, which creates it, must run again", name(a.MadeBy))
	}
	return b.String()
}

// repairs is what to do about a file that exists but cannot be used, where nothing else is
// known.
const (
	restores = "`reprise repair` restores an earlier version if there is one"
	repairs  = restores + "; otherwise look for another copy or a backup"
)

// orRepair adds to what a finding says to do that its file can be restored, unless it says so.
func orRepair(hint string) string {
	switch {
	case hint == "":
		return repairs
	case strings.Contains(hint, "`reprise repair"):
		return hint
	}
	return hint + "; " + restores
}

func remedy(r *reprise.Run, a *reprise.Artifact, made bool) string {
	switch {
	case r.Restorable(a.Path):
		return repairs
	case slices.Contains(r.Unread, a.Path):
		return "make it readable; nothing else seems wrong with it"
	case made:
		return "restore it from version control, or run the step that creates it again"
	case a.Critical:
		return "restore it from version control; without it this run cannot continue"
	}
	return "the run can continue without it; restore it if it was removed by mistake"
}

// toldMissing returns the recorded finding about a missing artifact: the one that names
// it, else one from the same place about nothing that has a name of its own.
func toldMissing(r *reprise.Run, a *reprise.Artifact, named map[string]bool) *reprise.Finding {
	var near *reprise.Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.Code != reprise.CodeMissingArtifact || f.Subject == "":
		case f.Subject == a.Path || f.Subject == a.Name:
			return f
		case near == nil && !named[f.Subject] && ((f.Source.Line > 0 && f.Source == a.Source) || (a.Path != "" && f.Source.File == a.Path)):
			near = f
		}
	}
	return near
}
