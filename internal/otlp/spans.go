package otlp

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// Run is a run as its journal tells it.
type Run struct {
	Ref      reprise.Ref
	Timeline reprise.Timeline
	Over     bool // nothing is left to do
}

// The forms of OTLP in JSON, as far as they are used here. Whole numbers are strings there.
type (
	attribute struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
)

// Values of OTLP.
const (
	kindInternal = 1
	statusOK     = 1
	statusError  = 2
)

func text(key, value string) attribute {
	return attribute{key, map[string]string{"stringValue": value}}
}

func number(key string, value int64) attribute {
	return attribute{key, map[string]string{"intValue": strconv.FormatInt(value, 10)}}
}

func amount(key string, value float64) attribute {
	return attribute{key, map[string]float64{"doubleValue": value}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// traceID follows from what is on record of the run, so that all processes that work on
// it, one after the other, write one trace.
func (r Run) traceID() string {
	return r.id("trace")[:32]
}

// spanID is that of a part of the run, likewise.
func (r Run) spanID(parts ...any) string { return r.id(parts...)[:16] }

func (r Run) id(parts ...any) string {
	sum := reprise.HashOf(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%q", r.Ref.Layout, r.Ref.Path, r.Timeline.From.UnixNano(), parts))
	return hex.EncodeToString(sum[:])
}

// part is a span with what it is made of, for the metrics.
type part struct {
	span
	of reprise.TimelineSpan
}

// parts are the spans of everything whose end is on record since a time: attempts and
// waits below their steps, steps that were accepted, and the run once it is over. words
// says whether what agents and people wrote is told.
func (r Run) parts(since time.Time, words bool) (out []part) {
	for _, row := range r.Timeline.Steps {
		first, attempts := 0, 0 // since the step was last accepted
		for i, s := range row.Spans {
			attempts = max(attempts, s.Attempt)
			if !s.Lasts && !s.Recorded.Before(since) {
				out = append(out, part{r.of(row.ID, first, i, s, words), s})
			}
			if s.Accepted.IsZero() {
				continue
			}
			if !s.Accepted.Before(since) {
				step := r.span(r.spanID("step", row.ID, first), r.spanID("run"), "step "+row.ID, row.Spans[first].From, s.Accepted)
				step.Attributes = append(step.Attributes, text("reprise.step.id", row.ID), number("reprise.step.attempts", int64(attempts)))
				step.Status = &status{Code: statusOK}
				out = append(out, part{span: step})
			}
			first, attempts = i+1, 0
		}
	}
	if r.Over {
		whole := r.span(r.spanID("run"), "", "run "+r.Ref.ID, r.Timeline.From, r.Timeline.To)
		whole.Attributes = append(whole.Attributes, text("gen_ai.operation.name", "invoke_workflow"))
		whole.Status = &status{Code: statusOK}
		out = append(out, part{span: whole})
	}
	return out
}

// span is one with what all of them tell.
func (r Run) span(id, parent, name string, from, to time.Time) span {
	return span{
		TraceID: r.traceID(), SpanID: id, Parent: parent, Name: name, Kind: kindInternal, Start: nanos(from), End: nanos(to),
		Attributes: []attribute{text("reprise.run.id", r.Ref.ID), text("reprise.run.layout", r.Ref.Layout), text("reprise.run.kind", string(r.Ref.Kind))},
	}
}

// of is the span of an attempt or of a wait.
func (r Run) of(step string, first, i int, s reprise.TimelineSpan, words bool) span {
	name := "wait for a " + s.Kind.String()
	if s.Attempt > 0 {
		name = strings.TrimSpace("invoke_agent " + s.Actor) // a plain command has no role
	}
	out := r.span(r.spanID("span", step, i), r.spanID("step", step, first), name, s.From, s.To)
	out.Attributes = append(out.Attributes, text("reprise.step.id", step), text("reprise.outcome", s.Kind.String()))
	if s.Attempt > 0 {
		out.Attributes = append(out.Attributes, number("reprise.attempt", int64(s.Attempt)))
		out.Attributes = append(out.Attributes, agentAttributes(s)...)
	}
	if words && s.Text != "" {
		out.Attributes = append(out.Attributes, text("reprise.text", s.Text))
	}
	switch s.Kind {
	case reprise.SpanFailed, reprise.SpanCutOff:
		out.Status = &status{Code: statusError}
		out.Attributes = append(out.Attributes, text("error.type", s.Kind.String()))
		if words {
			out.Status.Message = s.Text
		}
	case reprise.SpanFinished:
		out.Status = &status{Code: statusOK}
	}
	return out
}

// providers are who makes the models of which a name begins like this.
var providers = []struct{ begins, name string }{
	{"claude", "anthropic"}, {"gpt", "openai"}, {"codex", "openai"}, {"gemini", "gcp.gemini"}, {"grok", "x_ai"},
	{"mistral", "mistral_ai"}, {"deepseek", "deepseek"}, {"command", "cohere"},
}

// modelAttributes tell which model answered and who provides it, as far as its name tells
// that.
func modelAttributes(model string) (out []attribute) {
	if model == "" {
		return nil
	}
	out = append(out, text("gen_ai.response.model", model))
	name := model[strings.LastIndexByte(model, '/')+1:]
	for _, p := range providers {
		if strings.HasPrefix(name, p.begins) {
			return append(out, text("gen_ai.provider.name", p.name))
		}
	}
	return out
}

// agentAttributes tell of an attempt what the conventions for generative AI have a name
// for.
func agentAttributes(s reprise.TimelineSpan) []attribute {
	out := []attribute{text("gen_ai.operation.name", "invoke_agent")}
	for key, value := range map[string]string{"gen_ai.agent.name": s.Actor, "gen_ai.conversation.id": s.Agent} {
		if value != "" {
			out = append(out, text(key, value))
		}
	}
	u := s.Usage
	if u == nil {
		return out
	}
	out = append(out, modelAttributes(u.Model)...)
	if u.Tokens != nil {
		out = append(out, number("gen_ai.usage.input_tokens", u.Tokens.Sent()), number("gen_ai.usage.output_tokens", u.Tokens.Output))
	}
	if u.Cost != nil {
		out = append(out, amount("reprise.cost.usd", *u.Cost))
	}
	return out
}
