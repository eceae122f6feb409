package modelstub

// anthropic is the messages format.
type anthropic struct{}

func (anthropic) tools(body []byte) []tool { return toolsOf(body) }

func (anthropic) begin(s *sse, a answer) {
	s.event("message_start", object{"type": "message_start", "message": object{
		"id": a.id("msg"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{
			"input_tokens": a.usage.Input, "cache_read_input_tokens": a.usage.CacheRead, "cache_creation_input_tokens": a.usage.CacheWrite, "output_tokens": 1,
		},
	}})
	if len(a.pieces) > 0 {
		s.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	}
}

func (anthropic) text(s *sse, _ answer, piece string) {
	s.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": piece}})
}

func (anthropic) end(s *sse, a answer) {
	index, why := 0, "end_turn"
	if len(a.pieces) > 0 {
		s.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
		index = 1
	}
	if a.call != nil {
		why = "tool_use"
		s.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": object{
			"type": "tool_use", "id": a.call.id, "name": a.call.name, "input": object{},
		}})
		s.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{
			"type": "input_json_delta", "partial_json": a.call.args,
		}})
		s.event("content_block_stop", object{"type": "content_block_stop", "index": index})
	}
	s.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil}, "usage": object{"output_tokens": a.usage.Output}})
	s.event("message_stop", object{"type": "message_stop"})
}

func (anthropic) failure(t trouble, _ int) object {
	return object{"type": "error", "error": object{"type": t.anthropic, "message": t.say}}
}
