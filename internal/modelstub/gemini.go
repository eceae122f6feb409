package modelstub

import "encoding/json"

// gemini is Google's format.
type gemini struct{}

func (gemini) tools(body []byte) []tool { return toolsOf(body) }

func (gemini) begin(*sse, answer) {}

func (gemini) chunk(s *sse, part object, finish string) {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	s.event("", object{
		"candidates": []any{candidate}, "modelVersion": "stub-model",
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
	})
}

func (g gemini) text(s *sse, _ answer, piece string) { g.chunk(s, object{"text": piece}, "") }

func (g gemini) end(s *sse, a answer) {
	last := object{"text": ""}
	if a.call != nil {
		last = object{"functionCall": object{"name": a.call.name, "args": json.RawMessage(a.call.args)}}
	}
	g.chunk(s, last, "STOP")
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
