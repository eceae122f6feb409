package modelstub

import "strings"

// responses is the newer of the two OpenAI formats.
type responses struct{}

func (responses) tools(body []byte) []tool { return toolsOf(body) }

func (responses) begin(s *sse, a answer) {
	s.event("response.created", object{"type": "response.created", "response": object{"id": a.id("resp")}})
	if len(a.pieces) > 0 {
		s.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": object{
			"type": "message", "id": a.id("msg"), "role": "assistant", "content": []any{},
		}})
	}
}

func (responses) text(s *sse, a answer, piece string) {
	s.event("response.output_text.delta", object{
		"type": "response.output_text.delta", "item_id": a.id("msg"), "output_index": 0, "content_index": 0, "delta": piece,
	})
}

func (responses) end(s *sse, a answer) {
	index := 0
	if len(a.pieces) > 0 {
		s.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": object{
			"type": "message", "id": a.id("msg"), "role": "assistant",
			"content": []any{object{"type": "output_text", "text": a.whole(), "annotations": []any{}}},
		}})
		index = 1
	}
	if a.call != nil {
		item := object{"type": "function_call", "id": a.id("fc"), "call_id": a.call.id, "name": a.call.name, "arguments": a.call.args}
		if space, name, is := strings.Cut(a.call.name, "/"); is {
			item["namespace"], item["name"] = space, name
		}
		s.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": index, "item": item})
	}
	s.event("response.completed", object{"type": "response.completed", "response": object{"id": a.id("resp"), "usage": object{
		"input_tokens": a.usage.prompt(), "input_tokens_details": object{"cached_tokens": a.usage.CacheRead},
		"output_tokens": a.usage.Output, "output_tokens_details": object{"reasoning_tokens": a.usage.Reasoning}, "total_tokens": a.usage.prompt() + a.usage.Output,
	}}})
}

func (responses) failure(t trouble, _ int) object { return openaiFailure(t) }

// chat is the older one, chat completions, which many others speak too.
type chat struct{}

func (chat) tools(body []byte) []tool { return toolsOf(body) }

func (chat) chunk(s *sse, a answer, delta object, finish any) {
	s.event("", object{
		"id": a.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": a.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (c chat) begin(s *sse, a answer) { c.chunk(s, a, object{"role": "assistant", "content": ""}, nil) }

func (c chat) text(s *sse, a answer, piece string) { c.chunk(s, a, object{"content": piece}, nil) }

func (c chat) end(s *sse, a answer) {
	why := "stop"
	if a.call != nil {
		why = "tool_calls"
		c.chunk(s, a, object{"tool_calls": []any{object{
			"index": 0, "id": a.call.id, "type": "function", "function": object{"name": a.call.name, "arguments": a.call.args},
		}}}, nil)
	}
	c.chunk(s, a, object{}, why)
	s.event("", object{
		"id": a.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": []any{},
		"usage": object{
			"prompt_tokens": a.usage.prompt(), "prompt_tokens_details": object{"cached_tokens": a.usage.CacheRead},
			"completion_tokens": a.usage.Output, "completion_tokens_details": object{"reasoning_tokens": a.usage.Reasoning}, "total_tokens": a.usage.prompt() + a.usage.Output,
		},
	})
	s.event("", "[DONE]")
}

func (chat) failure(t trouble, _ int) object { return openaiFailure(t) }

func openaiFailure(t trouble) object {
	return object{"error": object{"type": t.openai, "code": t.openai, "message": t.say, "param": nil}}
}
