package engine

import (
	"context"
	"fmt"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/briefing"
	"reprise/project"
	"reprise/prompt"
)

// Air is what is known of the calls without a result that an attempt may meet.
type Air struct {
	// Sessions are those that worked where the run does, as they were last seen.
	Sessions []reprise.Session
	// Again is set once an attempt ended otherwise than well: it may have left more.
	Again bool
	// Open are the calls that the last attempt of a step printed the beginning of and not
	// the end, by step.
	Open map[string][]agent.OpenCall
}

// landed notes how an attempt ended. One that ended well had the chance to look at what
// it was told of.
func (a *Air) landed(step string, r agent.Result) {
	if r.Outcome == agent.Done {
		*a = Air{}
		return
	}
	if a.Open == nil {
		a.Open = map[string][]agent.OpenCall{}
	}
	a.Again, a.Open[step] = true, r.Open
}

// tellInAir adds to a prompt which calls were begun where the attempt works and have no
// result. The look at them that was taken when the run was resumed counts for a step that
// was not tried yet; else it is taken again, with the environment of the agent: that says
// where its sessions are kept.
func (w *work) tellInAir(ctx context.Context, f *Attempt, bound binding, t *prompt.Task) error {
	h := w.hist.Step(f.Step)
	if bound.continues && (w.Air.Again || h.Attempts > 0) {
		look := w.closely()
		look.Environ = bound.env
		j, err := project.Judge(ctx, w.Dir, look)
		if err != nil {
			return fmt.Errorf("look for calls in progress: %w", err)
		}
		w.Air.Sessions, w.Air.Again = j.Observed.SessionsOn(w.run), false
	}
	list := slices.DeleteFunc(slices.Clone(w.Air.Sessions), func(s reprise.Session) bool {
		return s.Owner.Life == reprise.Alive || w.atWorkIn(s.ID) // its calls are its own
	})
	if open := w.Air.Open[f.Step]; !slices.ContainsFunc(w.Air.Sessions, func(s reprise.Session) bool { return s.ID == h.Session }) {
		printed := reprise.Session{CLI: bound.name, ID: h.Session}
		for _, c := range open {
			printed.Calls = append(printed.Calls, reprise.Call{Tool: c.Tool, Whole: c.Input, Effect: reprise.EffectUnknown})
		}
		list = append(list, printed)
	}
	text := briefing.InAir(list)
	if text == "" {
		return nil
	}
	t.Earlier = append(t.Earlier, "Calls were begun where you work and have no result on record: the block named `calls without a result` lists them. Each may have happened, whole, in part or not at all. Before you do anything that would do the same again, find out as its line says; do not repeat what took effect.")
	t.Data = append(t.Data, reprise.Data{Name: "calls without a result", Text: text})
	return nil
}

// atWorkIn reports whether an attempt that is at work now has a session.
func (w *work) atWorkIn(session string) bool {
	for step := range w.atWork {
		if session != "" && w.hist.Step(step).Session == session {
			return true
		}
	}
	return false
}
