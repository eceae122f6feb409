package agent

import (
	"cmp"
	"strings"
	"time"

	"reprise"
	"reprise/internal/loose"
	"reprise/internal/transcript"
)

func readClaude(s *stream, e loose.Value) string {
	s.in(e.Text("session_id"))
	if s.wrong {
		return ""
	}
	switch e.Text("type") {
	case "system":
		switch e.Text("subtype") {
		case "init":
			s.begin()
		case "api_retry":
			s.waits = explain(int(e.Number("error_status")), e.Text("error"), s.now())
		case "permission_denied":
			why := denial{never: e.Text("decision_reason_type") == "safetyCheck"}
			if m := elsewhere().FindStringSubmatch(e.Text("message")); m != nil {
				why.path = m[1]
			}
			if s.why == nil {
				s.why = map[string]denial{}
			}
			s.why[e.Text("tool_use_id")] = why
			tool, input := s.opened(e.Text("tool_use_id"))
			s.deniedFor(why, tool, input)
		}
	case "assistant", "user":
		return claudeMessage(s, e)
	case "rate_limit_event":
		claudeLimit(s, e.At("rate_limit_info"))
	case "result":
		claudeResult(s, e)
	}
	return ""
}

// elsewhere is how claude says that a command uses a path outside of its folders.
var elsewhere = lazily(`^(?:Output redirection to|\S+ in) '(/.*)' (?:needs approval|was blocked)\. `)

func claudeMessage(s *stream, e loose.Value) string {
	show := ""
	for _, p := range e.List("message", "content") { // words alone, a string, are nothing to note
		switch kind := p.Text("type"); {
		case kind == "text" && e.Text("message", "model") == "<synthetic>":
			// The program speaks, not the model: an error on its way to the result.
			s.error = explain(0, strings.TrimSpace(e.Text("error")+" "+p.Text("text")), s.now())
		case kind == "text" && e.Text("type") == "assistant":
			s.limit.closed = false // it answers, so it is not closed
			if !e.Has("parent_tool_use_id") {
				show = s.say(p.Text("text"), false)
			}
		case kind == "tool_use":
			show = s.started(p.Text("id"), p.Text("name"), inputText(p.At("input")))
		case kind == "tool_result" && !strings.HasPrefix(p.Text("content"), "[Operation Cancelled]"):
			// qwen ends every call like that when it is stopped, whatever the call did.
			s.finished(p.Text("tool_use_id"))
		}
	}
	return show
}

// claudeLimit notes the state of the usage windows. The latest end among those
// that are used up counts.
func claudeLimit(s *stream, info loose.Value) {
	overage, _ := info.At("isUsingOverage").Bool()
	s.limit = window{closed: info.Text("status") == "rejected" && !overage, kind: info.Text("rateLimitType")}
	last := 0.0
	for _, w := range info.Fields("unifiedWindows") {
		if w.Number("utilization") >= 1 {
			last = max(last, w.Number("resetsAt"))
		}
	}
	if at := cmp.Or(last, info.Number("resetsAt")); at > 0 {
		until := time.Unix(int64(at), 0).UTC()
		if until.Before(s.now().Add(transcript.Farthest)) {
			s.limit.until = until
		}
	}
}

func claudeResult(s *stream, r loose.Value) {
	if s.preset == "qwen" {
		s.usedInAll(r.At("usage").Apart())
	} else {
		s.usedClaude(r)
	}
	denials := r.List("permission_denials")
	if len(denials) > 0 {
		s.asks = nil // told in full now
	}
	for _, d := range denials {
		input := d.At("tool_input").Apart()
		if questions := input.List("questions"); len(questions) > 0 {
			s.refused(reprise.Asked{Text: firstLine(questions[0].Text("question"))})
			continue
		}
		s.deniedFor(s.why[d.Text("tool_use_id")], d.Text("tool_name"), inputText(input))
	}
	isError, known := r.At("is_error").Bool()
	text, subtype, terminal, stop := r.Text("result"), r.Text("subtype"), r.Text("terminal_reason"), r.Text("stop_reason")
	var problems []string
	for _, e := range r.List("errors") {
		problems = append(problems, e.Text())
	}
	said := cmp.Or(strings.Join(problems, "; "), r.Text("error", "message"), text)
	status := int(r.Number("api_error_status"))
	switch {
	case !known || r.Odd():
		// An end of an unknown shape does not count as one.
		s.ending = cause{outcome: Lost, reason: "its end is in a form that is not known"}
	case strings.HasPrefix(terminal, "aborted"):
		s.ending = cause{outcome: Killed, reason: "it was interrupted"}
	case terminal == "prompt_too_long":
		s.ending = cause{outcome: OutOfContext, reason: firstLine(said)}
	case stop == "refusal":
		s.ending = cause{outcome: Refused, reason: firstLine(cmp.Or(said, "the model refused"))}
	case stop == "tool_deferred" || r.Has("deferred_tool_use"):
		s.ending = cause{outcome: NeedsPerson, reason: "a tool call waits for a person"}
	case isError || subtype != "success":
		claudeFailed(s, status, subtype, said)
	case limitNotice(text):
		s.failed(429, text) // some versions call this a success
	case strings.HasPrefix(text, "[API Error"):
		s.failed(0, text)
	default:
		s.text = cmp.Or(text, s.text)
		s.ending = cause{outcome: Done}
	}
}

func claudeFailed(s *stream, status int, subtype, said string) {
	if subtype != "success" {
		said = strings.TrimPrefix(said+" ("+subtype+")", " ")
	}
	s.failed(status, said)
	if s.ending.outcome == Failed && s.error.outcome != "" && s.error.outcome != Failed {
		s.ending.outcome, s.ending.awaits = s.error.outcome, s.error.awaits
	}
	if s.ending.outcome == Failed && s.limit.closed {
		s.ending.outcome, s.ending.awaits = Limited, reprise.AwaitsLimit
	}
}

// limitNotice tells whether a text is nothing but the notice of a usage limit.
func limitNotice(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return len(text) < 300 && (strings.HasPrefix(text, "claude ai usage limit reached") ||
		strings.HasPrefix(text, "you've hit your") && strings.Contains(text, "limit"))
}
