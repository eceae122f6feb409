package engine

import (
	"context"
	"fmt"

	"reprise"
	"reprise/briefing"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
)

// takesOver reports whether an attempt is the first of a new session at a step that
// another session worked on.
func (w *work) takesOver(step string, bound binding, resumes bool) bool {
	h := w.hist.Step(step)
	return h.Lost != "" || bound.continues && h.Session != "" && !resumes
}

// brief adds a briefing, from a close look taken now, to the prompt of a session that
// takes over.
func (w *work) brief(ctx context.Context, f *Attempt, t *prompt.Task) error {
	j, err := project.Judge(ctx, w.Dir, w.closely())
	if err != nil {
		return fmt.Errorf("brief a new session: %w", err)
	}
	entries, _, err := journal.Read(w.store, journal.Name(w.ref))
	if err != nil {
		return fmt.Errorf("brief a new session: %w", err)
	}
	in := briefing.Input{Run: w.run, Decision: w.decide(), Observed: j.Observed, Step: f.Step}
	if r := j.Find(w.ref); r != nil {
		in.Run, in.Decision = r, j.Decisions[r]
	}
	for _, e := range entries {
		in.Journal = append(in.Journal, briefing.Recorded{Seq: e.Seq, Event: e.Event})
	}
	if g, ok := w.playbook.(reprise.Goaler); ok {
		in.Goal = g.GoalOf(w.led.Files(), in.Run)
	}
	why := first(w.hist.Step(f.Step).Lost, "an earlier session worked on this and is not continued")
	t.Earlier = append(t.Earlier, fmt.Sprintf("You are new to this: %s. The blocks named `briefing` say what is known of where things stand, each line with its source.", why))
	t.Data = append(t.Data, briefing.Make(in).Data()...)
	return nil
}
