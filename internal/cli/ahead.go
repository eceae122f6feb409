package cli

import (
	"context"
	"strings"

	"reprise"
	"reprise/engine"
)

// ahead is what resuming a run starts: who does the next step, "" if no one is needed, and
// what resuming its session costs, nil if there is none or that is unknown. refused is why
// resuming would not begin, nil if it would.
type ahead struct {
	who     string
	session *engine.SessionCost
	refused error
}

// first is what has to be done before resuming begins, "" for nothing, or if who says it.
func (n ahead) first() string {
	if n.refused == nil || strings.HasPrefix(n.who, unserved) {
		return ""
	}
	return n.refused.Error() + "; " + reprise.HintOf(n.refused)
}

// command is the command that continues a run: where no agent is configured, resuming it
// would start nothing.
func (n ahead) command(a *app, resume string) string {
	switch {
	case !strings.HasPrefix(n.who, unserved) || !strings.HasPrefix(resume, "reprise resume"):
		return resume
	case strings.Contains(n.who, "`reprise init`"):
		return strings.Trim(a.site.fill("`reprise init`"), "`")
	}
	return "" // what has to be added to the settings is said beside
}

// unserved begins what is said of a step that no agent is configured for.
const unserved = "no agent configured for @"

// looks is a job that changes, starts and asks nothing.
func (a *app) looks(ctx context.Context, root string) *job {
	return a.newJob(ctx, root, "", workFlags{upkeepFlags: upkeepFlags{dry: true}})
}

// ahead returns what resuming a run starts, for every screen by which a person decides.
// Each run is previewed once.
func (s *job) ahead() func(judged) ahead {
	who, known, begins := s.whoDoes(s.root), map[*reprise.Run]ahead{}, s.begins()
	return func(j judged) ahead {
		next, ok := known[j.run]
		if !ok {
			next = ahead{who: who(j)}
			if e := begins(j); e != nil {
				if !strings.HasPrefix(next.who, unserved) { // which says it
					next.refused = e.Refused(s.ctx, j.run.Ref)
				}
				if j.sessions {
					next.session = s.sessionOf(e, j, engine.Choice{Option: reprise.OptionContinue})
				}
			}
			known[j.run] = next
		}
		s.foretold = sessionWords(next.session)
		return next
	}
}

// begins gives the engine that resuming a run would begin with, nil if it would start nothing
// or cannot be known. It only looks, and one does for all runs of a mode.
func (s *job) begins() func(judged) *engine.Engine {
	distrusts, known := s.distrusts(s.root), map[engine.Mode]*engine.Engine{}
	return func(j judged) *engine.Engine {
		starts := j.d.Action == reprise.Start || reprise.Offered(j.d.Options(j.run), reprise.OptionContinue)
		if !starts || distrusts(j.run.Ref) != "" {
			return nil
		}
		mode := s.flags.modeOf(j.run.Mode)
		e, ok := known[mode]
		if !ok {
			if e, _ = s.engine(mode); e != nil { // resuming says why there is none
				e.LookOnce()
			}
			known[mode] = e
		}
		return e
	}
}

// sessionOf compares the session that a choice would resume first with a new one; nil if
// there is none or that is unknown, in which case resuming says why.
func (s *job) sessionOf(e *engine.Engine, j judged, c engine.Choice) *engine.SessionCost {
	preview, err := e.Preview(s.ctx, j.run.Ref, c)
	if err != nil || len(preview.Starts) == 0 {
		return nil
	}
	return preview.Starts[0].Session
}

// foretell says what resuming a session costs before it happens, unless the person has
// just seen that.
func (s *job) foretell(e *engine.Engine, j judged, c engine.Choice) {
	if !j.sessions || !c.Means().Works {
		return
	}
	if says := sessionWords(s.sessionOf(e, j, c)); says != "" && says != s.foretold {
		s.tellBefore(engine.Progress{Kind: engine.Noticed, At: s.clock(), Run: j.run.ID, Text: "session: " + says})
	}
}
