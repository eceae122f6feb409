package agent

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"reprise/internal/loose"
	"reprise/internal/transcript"
)

func readOpencode(s *stream, e loose.Value) string {
	s.in(e.Text("sessionID"))
	if s.wrong {
		return ""
	}
	part := e.At("part")
	switch e.Text("type") {
	case "step_start":
		s.step = true
		if !s.folding {
			s.begin()
		}
	case "text":
		synthetic, _ := part.At("synthetic").Bool()
		if again, _ := part.At("metadata", "compaction_continue").Bool(); again {
			// Its own summary is made; from here on it is the work again.
			s.folding, s.mended = false, true
		} else if !synthetic && !s.folding {
			return s.say(part.Text("text"), false)
		}
	case "tool_use":
		return opencodeTool(s, part)
	case "step_finish":
		s.step = false
		if used, told := transcript.PerStep(part.Apart()); told {
			s.spent = append(s.spent, used)
		}
		switch reason := part.Text("reason"); {
		case s.folding || e.Odd():
		case reason == "stop":
			s.ending = cause{outcome: Done}
		case reason == "content-filter":
			s.ending = cause{outcome: Refused, reason: "the provider's filter stopped it"}
		case reason == "length":
			s.ending = cause{outcome: Failed, reason: "its answer was longer than the model may write"}
		}
	case "error":
		s.step = false
		opencodeError(s, e.At("error"))
	}
	return ""
}

func opencodeTool(s *stream, part loose.Value) string {
	id, tool, state := part.Text("callID"), part.Text("tool"), part.At("state")
	input := inputSummary(state.At("input"))
	show := s.started(id, tool, input)
	switch state.Text("status") {
	case "completed":
		s.finished(id)
	case "error":
		s.finished(id)
		if strings.Contains(strings.ToLower(state.Text("error")), "rejected permission") {
			s.denied(tool, inputText(state.At("input")))
		}
	}
	return show
}

func opencodeError(s *stream, e loose.Value) {
	name, data := e.Text("name"), e.At("data")
	s.failed(int(data.Number("statusCode")), strings.TrimSpace(cmp.Or(data.Text("message"), name)))
	switch name {
	case "ContextOverflowError":
		// It makes a summary of its own and continues after it; until then the
		// session is full.
		s.ending.outcome, s.folding = OutOfContext, true
	case "ProviderAuthError":
		s.ending.outcome = NeedsSetup
	case "MessageAbortedError":
		s.ending.outcome = Killed
	}
	if n, err := strconv.Atoi(data.Text("responseHeaders", "retry-after")); err == nil && s.ending.outcome == Limited {
		s.ending.until = s.now().Add(time.Duration(n) * time.Second).UTC()
	}
}

// opencodeExact begins the words that allow one command: alone it may look like a tool.
const opencodeExact = "bash: "

// opencodePermission is the variable that opencode takes its permissions from. The last
// entry that fits a call counts; what fits none is asked for, which is a refusal here.
func opencodePermission(edits bool, grants, folders []string) []string {
	bash, all := map[string]string{}, map[string]any{}
	if edits {
		all["edit"], bash["*"] = "allow", "ask"
	}
	for _, g := range grants {
		if command, exact := strings.CutPrefix(g, opencodeExact); exact || strings.Contains(g, " ") {
			bash[command] = "allow"
		} else {
			all[g] = "allow"
		}
	}
	outside := map[string]string{}
	for _, dir := range folders {
		outside[dir+"/*"] = "allow"
	}
	for name, rules := range map[string]map[string]string{"bash": bash, "external_directory": outside} {
		if len(rules) > 0 {
			all[name] = rules
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, _ := json.Marshal(all) // the names come sorted, "*" before those of commands
	return []string{"OPENCODE_PERMISSION=" + string(text)}
}
