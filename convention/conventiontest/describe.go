// Package conventiontest holds what every convention must pass: scenarios written
// as text archives, and a conformance suite that damages state in every way it
// knows and asks that nothing is lost in silence.
package conventiontest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"reprise"
)

// Describe writes a run as text, completely and in a stable order, for goldens
// and for comparing two readings of the same files.
func Describe(r *reprise.Run) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p := r.Progress()
	line("run %s %q (%s) at %s", r.Layout, r.ID, r.Kind, r.Path)
	line("title: %q", r.Title)
	line("state: %s: %s", r.State, r.Reason)
	line("phase: %q progress: %d/%d epic: %q order: %v", r.Phase, p.Done, p.Total, r.Epic, r.Order)
	line("active: %s %s", stamp(r.LastActivity), r.LastActivitySource)
	if !r.Until.IsZero() {
		line("limited until: %s", stamp(r.Until))
	}
	if r.Branch != "" || r.Worktree != "" {
		line("works on branch %q in %q", r.Branch, r.Worktree)
	}
	for _, d := range r.Dates {
		line("dated %s %s", d.At.UTC().Format(time.DateOnly), d.Source)
	}
	for _, s := range r.Steps {
		line("step %q %s phase=%q role=%q path=%q needs=%q attempts=%d commits=%q title=%q %s",
			s.ID, s.Status, s.Phase, s.Role, s.Path, s.Needs, s.Attempts, s.Commits, s.Title, s.Source)
		for _, t := range s.Traces {
			line("  trace %q anywhere=%t partial=%t since=%s", t.Subject, t.Anywhere, t.Partial, stamp(t.Since))
		}
		if len(s.Files) > 0 || s.Pieces {
			line("  files %q pieces=%t", s.Files, s.Pieces)
		}
		for _, c := range s.Claims {
			won := ""
			if c.Won {
				won = " won"
			}
			line("  claim %s: %s %q %s %s%s", c.Ledger, c.Status, c.Word, stamp(c.At), c.Source, won)
		}
	}
	for _, u := range r.Next {
		line("next %q phase=%q role=%q path=%q title=%q: %s", u.ID, u.Phase, u.Role, u.Path, u.Title, u.Reason)
	}
	for _, q := range r.Questions {
		line("question %q subject=%q answered=%t applied=%t answer=%q options=%q asked=%s %s: %q",
			q.ID, q.Subject, q.Answered, q.Applied, q.Answer, q.Options, stamp(q.AskedAt), q.Source, q.Text)
	}
	for _, a := range r.Artifacts {
		made := ""
		if a.MadeBy != "" {
			made = fmt.Sprintf(" made-by=%q", a.MadeBy)
		}
		line("artifact %s %q %s critical=%t needed-by=%q%s %s", a.Name, a.Path, a.Presence, a.Critical, a.NeededBy, made, a.Source)
	}
	for _, a := range r.Also {
		line("also %s %q %s", a.Layout, a.ID, a.Path)
	}
	if o := r.Owner; o != nil {
		line("owner agent=%q host=%q pid=%d since=%s until=%s %s", o.Agent, o.Host, o.PID, stamp(o.StartedAt), stamp(o.Expires), o.Source)
	}
	if r.Resume != nil {
		raw, err := json.Marshal(r.Resume)
		if err != nil {
			panic(err)
		}
		line("resume %s", raw)
	}
	for _, o := range r.Options {
		line("option %s: %s", o.Key, o.Label)
	}
	for _, f := range r.Findings {
		line("finding %s %s %q %s: %s [%s]", f.Severity, f.Code, f.Subject, f.Source, f.Message, f.Hint)
	}
	return b.String()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Read finds and loads every run of a layout, in the order of Find.
func Read(l reprise.Layout, fsys fs.FS) ([]*reprise.Run, error) {
	refs, err := l.Find(fsys)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	runs := make([]*reprise.Run, 0, len(refs))
	for _, ref := range refs {
		r, err := reprise.Load(l, fsys, ref)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", ref.Path, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func describeAll(runs []*reprise.Run) string {
	if len(runs) == 0 {
		return "nothing\n"
	}
	parts := make([]string, len(runs))
	for i, r := range runs {
		parts[i] = Describe(r)
	}
	return strings.Join(parts, "\n")
}
