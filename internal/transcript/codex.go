package transcript

import "cmp"

// codex reads a line of sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl.
func (b *builder) codex(r value) {
	at, p := r.time("timestamp"), r.at("payload")
	b.at(at)
	switch r.text("type") + "/" + p.text("type") {
	case "session_meta/":
		b.about(p.text("id"), p.text("cwd"), p.text("cli_version"))
	case "turn_context/":
		b.about("", p.text("cwd"), "")
	case "event_msg/task_started", "event_msg/turn_started":
		b.prompt()
	case "event_msg/task_complete", "event_msg/turn_complete", "event_msg/turn_aborted":
		b.over = true
	case "response_item/message":
		if p.text("role") == "assistant" {
			b.answer(false)
		}
	case "response_item/function_call", "response_item/custom_tool_call", "response_item/local_shell_call":
		var in value
		for _, name := range []string{"arguments", "input", "action"} {
			if in.any == nil {
				in = p.at(name)
			}
		}
		b.answer(false)
		b.start(Call{ID: p.text("call_id"), Tool: cmp.Or(p.text("name"), "local_shell"), Input: parseInput(in), Started: at})
	case "response_item/function_call_output", "response_item/custom_tool_call_output", "response_item/local_shell_call_output":
		b.over = false
		// A command that outlived its call is ended by a later one that wrote to
		// it; which, only the text could tell: it stays open until its turn ends.
		b.result(p.text("call_id"), p.at("output").said())
	}
}
