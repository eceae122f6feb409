package modelstub

import "encoding/json"

// gemini is Google's format.
type gemini struct{}

func (gemini) tools(body []byte) []tool { return toolsOf(body) }

func (gemini) begin(*sse, answer) {}

func (gemini) chunk(s *sse, u Usage, part object, finish string) {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	s.event("", object{
		"candidates": []any{candidate}, "modelVersion": "stub-model",
		"usageMetadata": object{
			"promptTokenCount": u.prompt(), "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.prompt() + u.Output,
		},
	})
}

func (g gemini) text(s *sse, a answer, piece string) { g.chunk(s, a.usage, object{"text": piece}, "") }

func (g gemini) end(s *sse, a answer) {
	last := object{"text": ""}
	if a.call != nil {
		last = object{"functionCall": object{"name": a.call.name, "args": json.RawMessage(a.call.args)}}
	}
	g.chunk(s, a.usage, last, "STOP")
}

func (gemini) failure(t trouble, status int) object {
	e := object{"code": status, "message": t.say, "status": t.google}
	if t.openai == "insufficient_quota" {
		e["details"] = []any{object{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{object{"quotaId": "GenerateRequestsPerDayPerProject"}},
		}}
	}
	return object{"error": e}
}
