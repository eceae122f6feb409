package briefing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"reprise"
	"reprise/report"
)

// cli is what differs between the programs that can read a briefing.
type cli struct {
	name   string
	reads  string // the files it reads by itself
	resume string // how a person resumes a session of it
}

var clis = []cli{
	{"claude", "`CLAUDE.md`", "claude --resume %s"},
	{"codex", "`AGENTS.md`", "codex resume %s"},
	{"gemini", "`GEMINI.md`", "gemini --resume %s"},
	{"opencode", "`AGENTS.md`", "opencode --session %s"},
	{"qwen", "`QWEN.md`", "qwen --resume %s"},
	{"copilot", "`AGENTS.md` and `.github/copilot-instructions.md`", "copilot --resume=%s"},
}

// CLIs are the programs a briefing can be for.
func CLIs() []string {
	return report.Each(clis, func(c cli) string { return c.name })
}

// id is the form of a session's id that can stand in a command.
var id = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{5,79}$`) })

// notes are for the CLI that reads the briefing.
func (g *gathering) notes() []string {
	at := slices.IndexFunc(clis, func(c cli) bool { return c.name == g.For })
	if at < 0 {
		return nil
	}
	c := clis[at]
	out := []string{fmt.Sprintf("%s reads %s of the project automatically; its rules apply and are not repeated here.", c.name, c.reads)}
	if s := g.session(); s != nil {
		out = append(out, fmt.Sprintf("Instead of a new session, the one that was interrupted can be resumed: `"+c.resume+"` (source: %s transcript).", s.ID, c.name))
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
		if s.CLI != g.For || s.Caller || lost[s.ID] || !id().MatchString(s.ID) {
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
