// Package modelstub is a scripted model on the loopback interface, for tests:
// the real coding-agent programs are pointed at it and do what a script says.
// It speaks the four wire formats they use and nothing else, and it is no
// judgement of how a real model would answer.
package modelstub

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Script is what the model answers, turn by turn, for every client.
type Script struct {
	Turns []Turn `json:"turns"`
}

// Turn is one answer. Text comes first, then at most one tool call.
type Turn struct {
	Text string `json:"text,omitempty"`
	// Shell is a command line for whatever shell tool is offered; Tool and Args
	// name a tool exactly, one of a namespace as "space/tool".
	Shell string          `json:"shell,omitempty"`
	Tool  string          `json:"tool,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`

	DelayMS int `json:"delay_ms,omitempty"` // before the answer begins
	ChunkMS int `json:"chunk_ms,omitempty"` // between the words of the text
	// Hang sends the text and then nothing, and keeps the connection; Cut breaks
	// it there.
	Hang bool `json:"hang,omitempty"`
	Cut  bool `json:"cut,omitempty"`

	// Error is rate_limit, overflow, overloaded, auth or quota; Status and
	// Headers replace or add to what comes with it.
	Error   string            `json:"error,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	// Repeat answers so from here on, for ever.
	Repeat bool `json:"repeat,omitempty"`

	// Usage is what the answer says it used; nil stands for 100 in and 10 out.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage counts the tokens of an answer. Input is what no cache held, Output includes
// Reasoning.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
}

// prompt is all that was sent.
func (u Usage) prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Parse reads a script; a name it does not know is an error, because a typing
// mistake would otherwise be a test that tests nothing.
func Parse(text string) (Script, error) {
	var s Script
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("read model script: %w", err)
	}
	for i, t := range s.Turns {
		if _, known := troubles[t.Error]; t.Error != "" && !known {
			return s, fmt.Errorf("read model script: turn %d: no error is called %q", i+1, t.Error)
		}
	}
	return s, nil
}

// trouble is an error as providers report it: a status, their own words for it
// in the formats of each, and what it says.
type trouble struct {
	status                         int
	anthropic, openai, google, say string
}

var troubles = map[string]trouble{
	"rate_limit": {429, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "Too many requests for this account. Please try again in 2s."},
	"quota":      {429, "rate_limit_error", "insufficient_quota", "RESOURCE_EXHAUSTED", "You exceeded your current quota, check your plan."},
	"overloaded": {503, "overloaded_error", "server_error", "UNAVAILABLE", "The model is overloaded."},
	"auth":       {401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED", "The API key is not valid."},
	"overflow":   {400, "invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT", "prompt is too long: 213456 tokens > 200000 maximum"},
}
