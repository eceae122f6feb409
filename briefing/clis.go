package briefing

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/report"
)

// cli is what differs between the programs that can read a briefing.
type cli struct {
	name  string
	reads string // the files it reads by itself
}

var clis = []cli{
	{"claude", "`CLAUDE.md`"},
	{"codex", "`AGENTS.md`"},
	{"gemini", "`GEMINI.md`"},
	{"opencode", "`AGENTS.md`"},
	{"qwen", "`QWEN.md`"},
	{"copilot", "`AGENTS.md` and `.github/copilot-instructions.md`"},
}

// CLIs are the programs a briefing can be for.
func CLIs() []string {
	return report.Each(clis, func(c cli) string { return c.name })
}

// notes are for the CLI that reads the briefing.
func (g *gathering) notes() []string {
	at := slices.IndexFunc(clis, func(c cli) bool { return c.name == g.For })
	if at < 0 {
		return nil
	}
	c := clis[at]
	out := []string{fmt.Sprintf("%s reads %s of the project automatically; its rules apply and are not repeated here.", c.name, c.reads)}
	if s := g.session(); s != nil {
		out = append(out, fmt.Sprintf("Instead of a new session, the one that was interrupted can be resumed: `%s` (source: %s transcript).", reprise.Resume(c.name, s.ID), c.name))
	}
	return out
}

// session finds the latest session of the CLI that can be resumed, one of
// the run's own before others: those that were found full or gone are not, nor those of
// folders above the project, which no CLI resumes here.
func (g *gathering) session() *reprise.Session {
	lost, ours := map[string]bool{}, map[string]bool{}
	for _, ev := range g.Journal {
		ours[ev.Agent] = true
		if ev.Kind == reprise.StepResolved && ev.Cause == "session-lost" {
			lost[ev.Agent] = true
		}
	}
	var found *reprise.Session
	for i := range g.Observed.Sessions {
		s := &g.Observed.Sessions[i]
		if s.CLI != g.For || s.Caller || lost[s.ID] || s.Broken != "" || reprise.Resume(s.CLI, s.ID) == "" {
			continue
		}
		if ours[s.ID] {
			return s
		}
		if found == nil && !strings.HasSuffix(s.Dir, "..") {
			found = s
		}
	}
	return found
}
