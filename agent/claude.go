package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// claudeEvent holds what is used of all its events.
type claudeEvent struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	Session   string          `json:"session_id"`
	Parent    *string         `json:"parent_tool_use_id"`
	Message   json.RawMessage `json:"message"`
	Error     json.RawMessage `json:"error"`
	Status    int             `json:"error_status"`
	Tool      string          `json:"tool_name"`
	RateLimit json.RawMessage `json:"rate_limit_info"`
}

func readClaude(s *stream, raw []byte) string {
	var e claudeEvent
	decode(raw, &e)
	s.in(e.Session)
	if s.wrong {
		return ""
	}
	switch e.Type {
	case "system":
		switch e.Subtype {
		case "init":
			s.begin()
		case "api_retry":
			var name string
			decode(e.Error, &name)
			s.waits = explain(e.Status, name, s.now())
		case "permission_denied":
			s.refused(cmp.Or(e.Tool, "a tool"))
		}
	case "assistant", "user":
		return claudeMessage(s, e)
	case "rate_limit_event":
		claudeLimit(s, e.RateLimit)
	case "result":
		claudeResult(s, raw)
	}
	return ""
}

func claudeMessage(s *stream, e claudeEvent) string {
	var m struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	}
	decode(e.Message, &m)
	var parts []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
		Call  string          `json:"tool_use_id"`
	}
	decode(m.Content, &parts) // words alone, a string, are nothing to note
	show := ""
	for _, p := range parts {
		switch {
		case p.Type == "text" && m.Model == "<synthetic>":
			// The program speaks, not the model: an error on its way to the result.
			var name string
			decode(e.Error, &name)
			s.error = explain(0, strings.TrimSpace(name+" "+p.Text), s.now())
		case p.Type == "text" && e.Type == "assistant":
			s.limit.closed = false // it answers, so it is not closed
			if e.Parent == nil {
				show = s.say(p.Text, false)
			}
		case p.Type == "tool_use":
			show = s.started(p.ID, p.Name, inputSummary(p.Input))
		case p.Type == "tool_result":
			s.finished(p.Call)
		}
	}
	return show
}

// claudeLimit notes the state of the usage windows. The latest end among those
// that are used up counts.
func claudeLimit(s *stream, raw json.RawMessage) {
	type used struct {
		Used   float64 `json:"utilization"`
		Resets float64 `json:"resetsAt"`
	}
	var info struct {
		Status  string          `json:"status"`
		Resets  float64         `json:"resetsAt"`
		Kind    string          `json:"rateLimitType"`
		Overage bool            `json:"isUsingOverage"`
		Windows map[string]used `json:"unifiedWindows"`
	}
	decode(raw, &info)
	s.limit = window{closed: info.Status == "rejected" && !info.Overage, kind: info.Kind}
	last := 0.0
	for _, w := range info.Windows {
		if w.Used >= 1 {
			last = max(last, w.Resets)
		}
	}
	if at := cmp.Or(last, info.Resets); at > 0 {
		until := time.Unix(int64(at), 0).UTC()
		if until.Before(s.now().Add(farthest)) {
			s.limit.until = until
		}
	}
}

func claudeResult(s *stream, raw []byte) {
	var r struct {
		Subtype  string   `json:"subtype"`
		IsError  *bool    `json:"is_error"`
		Terminal string   `json:"terminal_reason"`
		Status   int      `json:"api_error_status"`
		Stop     string   `json:"stop_reason"`
		Text     string   `json:"result"`
		Errors   []string `json:"errors"`
		Denied   []struct {
			Tool  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		} `json:"permission_denials"`
		Deferred json.RawMessage `json:"deferred_tool_use"`
	}
	odd := decode(raw, &r)
	if len(r.Denied) > 0 {
		s.asks = nil // told in full now
	}
	for _, d := range r.Denied {
		s.refused(denied(d.Tool, d.Input))
	}
	said := cmp.Or(strings.Join(r.Errors, "; "), r.Text)
	switch {
	case odd || r.IsError == nil:
		// An end of a shape nobody knows is no end.
		s.ending = ending{Lost, "its end is in a form that is not known", time.Time{}}
	case strings.HasPrefix(r.Terminal, "aborted"):
		s.ending = ending{Killed, "it was interrupted", time.Time{}}
	case r.Terminal == "prompt_too_long":
		s.ending = ending{OutOfContext, firstLine(said), time.Time{}}
	case r.Stop == "refusal":
		s.ending = ending{Refused, firstLine(cmp.Or(said, "the model refused")), time.Time{}}
	case r.Stop == "tool_deferred" || len(r.Deferred) > 0 && string(r.Deferred) != "null":
		s.ending = ending{NeedsPerson, "a tool call waits for a person", time.Time{}}
	case *r.IsError || r.Subtype != "success":
		claudeFailed(s, r.Status, r.Subtype, said)
	case limitNotice(r.Text):
		s.failed(429, r.Text) // some versions call this a success
	case strings.HasPrefix(r.Text, "[API Error"):
		s.failed(statusIn(r.Text), r.Text)
	default:
		s.text = cmp.Or(r.Text, s.text)
		s.ending = ending{outcome: Done}
	}
}

func claudeFailed(s *stream, status int, subtype, said string) {
	if subtype != "success" {
		said = strings.TrimPrefix(said+" ("+subtype+")", " ")
	}
	s.failed(status, said)
	if s.ending.outcome == Failed && s.error.outcome != "" && s.error.outcome != Failed {
		s.ending.outcome = s.error.outcome
	}
	if s.ending.outcome == Failed && s.limit.closed {
		s.ending.outcome = Limited
	}
}

// limitNotice tells whether a text is nothing but the notice of a usage limit.
func limitNotice(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return len(text) < 300 && (strings.HasPrefix(text, "claude ai usage limit reached") ||
		strings.HasPrefix(text, "you've hit your") && strings.Contains(text, "limit"))
}

// statusIn reads the status of "[API Error: 401 …".
func statusIn(text string) int {
	var status int
	_, _ = fmt.Sscanf(text, "[API Error: %d", &status) // zero stands for none
	return status
}

// denied says what a person would have been asked.
func denied(tool string, input json.RawMessage) string {
	var ask struct {
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	decode(input, &ask)
	if len(ask.Questions) > 0 {
		return firstLine(ask.Questions[0].Question)
	}
	return strings.TrimSpace("may it use " + tool + ": " + inputSummary(input))
}
