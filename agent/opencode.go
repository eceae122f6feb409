package agent

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

type opencodeEvent struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		ID        string `json:"id"`
		Text      string `json:"text"`
		Synthetic bool   `json:"synthetic"`
		Reason    string `json:"reason"`
		Tool      string `json:"tool"`
		Call      string `json:"callID"`
		State     struct {
			Status string          `json:"status"`
			Input  json.RawMessage `json:"input"`
			Error  string          `json:"error"`
		} `json:"state"`
		Metadata struct {
			Continue bool `json:"compaction_continue"`
		} `json:"metadata"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string            `json:"message"`
			Status  int               `json:"statusCode"`
			Headers map[string]string `json:"responseHeaders"`
		} `json:"data"`
	} `json:"error"`
}

func readOpencode(s *stream, raw []byte) string {
	var e opencodeEvent
	odd := decode(raw, &e)
	s.in(e.Session)
	if s.wrong {
		return ""
	}
	switch e.Type {
	case "step_start":
		if !s.folding {
			s.begin()
		}
	case "text":
		switch {
		case e.Part.Metadata.Continue:
			// Its own summary is made; from here on it is the work again.
			s.folding, s.mended = false, true
		case !e.Part.Synthetic && !s.folding:
			return s.say(e.Part.Text, false)
		}
	case "tool_use":
		return opencodeTool(s, e)
	case "step_finish":
		opencodeStep(s, e.Part.Reason, odd)
	case "error":
		opencodeError(s, e)
	}
	return ""
}

func opencodeTool(s *stream, e opencodeEvent) string {
	input := inputSummary(e.Part.State.Input)
	show := s.started(e.Part.Call, e.Part.Tool, input)
	switch e.Part.State.Status {
	case "completed":
		s.finished(e.Part.Call)
	case "error":
		s.finished(e.Part.Call)
		if strings.Contains(strings.ToLower(e.Part.State.Error), "rejected permission") {
			s.refused(strings.TrimSpace("may it use " + e.Part.Tool + ": " + input))
		}
	}
	return show
}

func opencodeStep(s *stream, reason string, odd bool) {
	switch {
	case s.folding || odd:
	case reason == "stop":
		s.ending = ending{outcome: Done}
	case reason == "content-filter":
		s.ending = ending{Refused, "the provider's filter stopped it", time.Time{}}
	case reason == "length":
		s.ending = ending{Failed, "its answer was longer than the model may write", time.Time{}}
	}
}

func opencodeError(s *stream, e opencodeEvent) {
	d := e.Error.Data
	s.failed(d.Status, strings.TrimSpace(cmp.Or(d.Message, e.Error.Name)))
	switch {
	case e.Error.Name == "ContextOverflowError":
		// It makes a summary of its own and goes on after it; until then the
		// session is full.
		s.ending.outcome, s.folding = OutOfContext, true
	case e.Error.Name == "ProviderAuthError":
		s.ending.outcome = NeedsPerson
	case e.Error.Name == "MessageAbortedError":
		s.ending.outcome = Killed
	}
	if n, err := strconv.Atoi(d.Headers["retry-after"]); err == nil && s.ending.outcome == Limited {
		s.ending.until = s.now().Add(time.Duration(n) * time.Second).UTC()
	}
}
