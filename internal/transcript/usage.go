package transcript

import (
	"fmt"
	"path"
	"slices"
	"time"

	"reprise"
	"reprise/internal/loose"
)

// Request is one request to a model, as it is on record.
type Request struct {
	At time.Time
	// Side tells that it is not of the conversation itself but of a helper.
	Side bool
	reprise.Request
}

// used notes what a request used. A second record about the same request of a prompt
// replaces the first.
func (b *builder) used(id string, r Request) {
	if b.requests == nil {
		b.requests = map[string]int{}
	}
	key := fmt.Sprint(b.turn, " ", id)
	if i, ok := b.requests[key]; ok && id != "" {
		b.s.Requests[i] = r
		return
	}
	b.requests[key] = len(b.s.Requests)
	b.s.Requests = append(b.s.Requests, r)
}

// Since are the requests from a time on, with those of helpers.
func Since(sessions []*Session, from time.Time) (out []reprise.Request, pending bool) {
	for _, s := range sessions {
		for _, r := range s.Requests {
			if !r.At.Before(from) {
				out = append(out, r.Request)
			}
		}
		pending = pending || s.Pending
	}
	return out, pending
}

// Context is how much a session sends again when it is resumed: the prompt of its last
// request. It is 0 where none is on record.
func (s *Session) Context() int64 { return s.latest().Sent() }

// Model is the one that got that request, "" where none is on record.
func (s *Session) Model() string { return s.latest().Model }

// latest is the last request of the conversation itself, one of nothing if there was none.
func (s *Session) latest() (last reprise.Request) {
	for _, r := range slices.Backward(s.Requests) {
		if !r.Side {
			return r.Request
		}
	}
	return last
}

// Main is the conversation itself among the sessions found for an id, nil if it is not
// there: helpers write files of their own.
func Main(sessions []*Session) *Session {
	for _, s := range sessions {
		if path.Base(path.Dir(s.Path)) != "subagents" {
			return s
		}
	}
	return nil
}

// count reads a number of tokens.
func count(v loose.Value, names ...string) int64 {
	for _, name := range names {
		if n := v.Number(name); n > 0 && n < 1e15 {
			return int64(n)
		}
	}
	return 0
}

// Anthropic reads figures as anthropic tells them: each token is in one of them.
func Anthropic(u loose.Value) reprise.Tokens {
	return reprise.Tokens{
		Input:     count(u, "input_tokens", "inputTokens"),
		CacheRead: count(u, "cache_read_input_tokens", "cacheReadInputTokens"), CacheWrite: count(u, "cache_creation_input_tokens", "cacheCreationInputTokens"),
		Output: count(u, "output_tokens", "outputTokens"), Reasoning: max(count(u, "thinkingTokens"), count(u.At("output_tokens_details"), "thinking_tokens")),
	}
}

// Inclusive reads figures in which the input has what a cache held, as most others tell
// them. Whether the output has the reasoning, the total tells.
func Inclusive(u loose.Value) reprise.Tokens {
	t := reprise.Tokens{
		Input:      count(u, "input_tokens", "input_token_count", "inputTokens", "input"),
		CacheRead:  count(u, "cached_input_tokens", "cached_content_token_count", "cache_read_input_tokens", "cacheReadTokens", "cached"),
		CacheWrite: count(u, "cache_write_input_tokens", "cacheWriteTokens"),
		Output:     count(u, "output_tokens", "output_token_count", "outputTokens", "output"),
		Reasoning:  count(u, "reasoning_output_tokens", "thoughts_token_count", "reasoningTokens", "thoughts"),
	}
	sent, total := t.Input, count(u, "total_tokens", "total_token_count", "total")
	t.Input = max(0, sent-t.CacheRead-t.CacheWrite)
	switch {
	case t.Reasoning > 0 && sent+t.Output+t.Reasoning <= total:
		t.Output += t.Reasoning
	case t.Reasoning == 0 && sent+t.Output < total: // gemini's stream does not name them
		t.Reasoning = total - sent - t.Output
		t.Output += t.Reasoning
	}
	return t
}

// PerStep reads figures of opencode, in which each token is in one of them. ok is false
// where none are told yet.
func PerStep(v loose.Value) (r reprise.Request, ok bool) {
	u := v.At("tokens")
	r.Model = v.Text("modelID")
	r.Tokens = reprise.Tokens{
		Input: count(u, "input"), CacheRead: count(u.At("cache"), "read"), CacheWrite: count(u.At("cache"), "write"),
		Output: count(u, "output") + count(u, "reasoning"), Reasoning: count(u, "reasoning"),
	}
	// A model that it has no price of costs 0 there.
	if cost := v.Number("cost"); cost > 0 {
		r.Cost = &cost
	}
	return r, r.Total() > 0
}
