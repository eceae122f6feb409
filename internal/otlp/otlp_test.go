package otlp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if key, value, _ := strings.Cut(p, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestNothing_is_sent_unless_a_collector_is_named(t *testing.T) {
	t.Parallel()
	for want, pairs := range map[string][]string{
		"": nil, " ": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_SDK_DISABLED=true"}, "  ": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
		"grpc":                {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"console":             {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=none"},
		"no metrics are sent": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=prometheus,console"},
	} {
		said := ""
		e := Open(env(pairs...), "v0", time.Time{}, nil, func(err error) { said = err.Error() })
		if e != nil || !strings.Contains(said, strings.TrimSpace(want)) || want == "" && said != "" {
			t.Errorf("%v: %v, said %q", pairs, e, said)
		}
		e.Flush() // nil sends nothing
		e.Close(true)
	}
	for want, pairs := range map[string][]string{
		"http://m":            {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c/", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://m"},
		"http://c/v1/metrics": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c/", "OTEL_METRICS_EXPORTER=console, otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json"},
	} {
		if got, err := endpoint(env(pairs...), "metrics"); got != want || err != nil {
			t.Error(got, err)
		}
	}
}

func TestTokens_money_and_words_are_told_as_the_conventions_name_them(t *testing.T) {
	t.Parallel()
	at, cost := time.Unix(1000, 0), 0.5
	r := Run{Ref: reprise.Ref{Layout: "l", ID: "t", Path: "p"}, Timeline: reprise.TimelineOf([]reprise.Event{
		{Kind: reprise.RunStarted, At: at}, {Kind: reprise.StepStarted, Step: "a", Attempt: 1, Actor: "coder", At: at},
		{Kind: reprise.StepFailed, Step: "a", Attempt: 1, Text: "a secret", At: at.Add(time.Second), Usage: &reprise.Usage{Model: "claude-m-1", Tokens: &reprise.Tokens{Input: 10, CacheRead: 5, Output: 7}, Cost: &cost}},
		{Kind: reprise.StepStarted, Step: "a", Attempt: 2, At: at.Add(2 * time.Second)},
	}, true, at.Add(time.Minute))}
	parts := r.parts(time.Time{}, false)
	bare := Run{Ref: r.Ref, Timeline: reprise.TimelineOf([]reprise.Event{
		{Kind: reprise.StepStarted, Step: "b", Attempt: 1, At: at}, {Kind: reprise.StepFailed, Step: "b", Attempt: 1, At: at},
	}, true, at)}
	if name := bare.parts(time.Time{}, false)[0].Name; name != "invoke_agent" {
		t.Errorf("the span of a plain command is called %q", name)
	}
	doc, err := json.Marshal([]any{parts[0].span, metrics(parts)})
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	for _, want := range []string{
		`"name":"invoke_agent coder"`, `{"key":"gen_ai.usage.input_tokens","value":{"intValue":"15"}}`, `{"key":"gen_ai.usage.output_tokens","value":{"intValue":"7"}}`,
		`{"key":"gen_ai.response.model","value":{"stringValue":"claude-m-1"}}`, `{"key":"gen_ai.provider.name","value":{"stringValue":"anthropic"}}`, `{"key":"reprise.cost.usd","value":{"doubleValue":0.5}}`, `"reprise.cost"`, `"endTimeUnixNano":"1001000000000"`,
	} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("%s is not in %s", want, doc)
		}
	}
	if strings.Contains(string(doc), "secret") {
		t.Error("words are told unasked")
	}
	if doc, _ = json.Marshal(r.parts(time.Time{}, true)[0].span); !strings.Contains(string(doc), "a secret") {
		t.Error("words are not told though they are asked for")
	}
	if len(r.parts(at.Add(time.Hour), true)) != 0 {
		t.Error("what was recorded before is sent again")
	}
}

func TestA_collector_that_fails_is_told_of_once_and_one_that_hangs_keeps_nobody(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" {
			<-hang
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	defer close(hang)
	var mu sync.Mutex
	var said []error
	at := time.Now()
	e := Open(env("OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=200"), "v0", time.Time{}, func() (Run, error) {
		return Run{Timeline: reprise.TimelineOf([]reprise.Event{{Kind: reprise.StepStarted, Step: "a", Attempt: 1, At: at}, {Kind: reprise.StepFinished, Step: "a", Attempt: 1, At: at}}, true, at)}, nil
	}, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, err)
	})
	e.Flush()
	e.Close(true)
	e.Flush()
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.Contains(errors.Join(said...).Error(), "418") {
		t.Errorf("said %v", said)
	}
}
