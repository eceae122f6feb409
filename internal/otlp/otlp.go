// Package otlp sends what happens to a run to an OpenTelemetry collector, by OTLP over HTTP
// in JSON, if the usual environment variables name one; else nothing is sent. Prompts,
// answers and what agents say are sent only if that is asked for, too. It never delays or
// fails the work: a goroutine of its own sends, in a bounded time, and the first error is
// told once.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// last is how long is waited for what is under way when the work is over.
const last = 5 * time.Second

// Exporter sends the spans and metrics of a run.
type Exporter struct {
	traces, metrics string // URLs, "" for none
	headers         http.Header
	resource        []attribute
	client          *http.Client
	words           bool
	read            func() (Run, error)
	failed          func(error)

	since   time.Time // what was recorded before is none of ours
	sent    map[string]bool
	mu      sync.Mutex
	closed  bool
	wake    chan struct{}
	done    chan struct{}
	stop    context.CancelFunc
	over    bool // read once wake is closed
	problem sync.Once
}

// Open makes an exporter as the environment says, nil where it names no collector. read
// gives the run as its journal tells it; it is called from another goroutine. failed is told
// what of the environment is not understood, and from that goroutine the first error.
func Open(getenv func(string) string, version string, since time.Time, read func() (Run, error), failed func(error)) *Exporter {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return nil
	}
	where := map[string]string{}
	for _, what := range []string{"traces", "metrics"} {
		to, err := endpoint(getenv, what)
		if where[what] = to; err != nil {
			failed(fmt.Errorf("send telemetry: %w", err))
		}
	}
	if where["traces"] == "" && where["metrics"] == "" {
		return nil
	}
	e := &Exporter{
		traces: where["traces"], metrics: where["metrics"], since: since, read: read, failed: failed, sent: map[string]bool{},
		words: getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") == "true",
	}
	timeout := 10 * time.Second
	if ms, err := strconv.Atoi(getenv("OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		timeout = time.Duration(ms) * time.Millisecond
	}
	e.client = &http.Client{Timeout: timeout}
	e.headers = http.Header{"Content-Type": {"application/json"}}
	for key, value := range pairs(getenv("OTEL_EXPORTER_OTLP_HEADERS")) {
		e.headers.Set(key, value)
	}
	e.resource = []attribute{text("service.name", cmp.Or(getenv("OTEL_SERVICE_NAME"), "reprise")), text("service.version", version)}
	for key, value := range pairs(getenv("OTEL_RESOURCE_ATTRIBUTES")) {
		e.resource = append(e.resource, text(key, value))
	}
	e.begin()
	return e
}

// endpoint is where traces or metrics are sent, "" for nowhere. The error tells what the
// environment asks for and we do not have.
func endpoint(getenv func(string) string, what string) (string, error) {
	upper := strings.ToUpper(what)
	if list := strings.TrimSpace(getenv("OTEL_" + upper + "_EXPORTER")); list != "" {
		exporters := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		switch {
		case slices.Contains(exporters, "otlp"):
		case slices.Equal(exporters, []string{"none"}):
			return "", nil
		default:
			return "", fmt.Errorf("OTEL_%s_EXPORTER is %q; only otlp and none are known here, no %s are sent", upper, list, what)
		}
	}
	to := getenv("OTEL_EXPORTER_OTLP_" + upper + "_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); to == "" && base != "" {
		to = strings.TrimRight(base, "/") + "/v1/" + what
	}
	if to != "" && cmp.Or(getenv("OTEL_EXPORTER_OTLP_"+upper+"_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL")) == "grpc" {
		return "", fmt.Errorf("the protocol that the environment names for %s is grpc; only HTTP is spoken here, no %[1]s are sent", what)
	}
	return to, nil
}

// pairs reads key=value,key=value with escapes as in a URL.
func pairs(list string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			out[strings.TrimSpace(key)] = plain
		}
	}
	return out
}

func (e *Exporter) begin() {
	ctx, stop := context.WithCancel(context.Background())
	e.wake, e.done, e.stop = make(chan struct{}, 1), make(chan struct{}), stop
	go func() {
		defer close(e.done)
		for range e.wake {
			e.flush(ctx, false)
		}
		e.flush(ctx, e.over)
	}()
}

// Flush has sent what was recorded since the last time. It returns at once.
func (e *Exporter) Flush() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	select {
	case e.wake <- struct{}{}:
	default: // it will be, anyway
	}
}

// Close sends the rest, in a few seconds. over tells that nothing is left to do of the run.
// What is flushed afterwards is not sent.
func (e *Exporter) Close(over bool) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.over, e.closed = over, true
	close(e.wake)
	e.mu.Unlock()
	timer := time.AfterFunc(last, e.stop)
	<-e.done
	timer.Stop()
	e.stop()
}

// flush sends what was not sent yet.
func (e *Exporter) flush(ctx context.Context, over bool) {
	run, err := e.read()
	if err != nil {
		e.fail(fmt.Errorf("send telemetry: %w", err))
		return
	}
	run.Over = over
	parts := slices.DeleteFunc(run.parts(e.since, e.words), func(p part) bool { return e.sent[p.SpanID] })
	if len(parts) == 0 {
		return
	}
	spans := make([]span, 0, len(parts))
	for _, p := range parts {
		e.sent[p.SpanID] = true
		spans = append(spans, p.span)
	}
	resource, scope := map[string]any{"attributes": e.resource}, map[string]string{"name": "reprise"}
	e.post(ctx, e.traces, map[string]any{"resourceSpans": []any{map[string]any{
		"resource": resource, "scopeSpans": []any{map[string]any{"scope": scope, "spans": spans}},
	}}})
	if m := metrics(parts); len(m) > 0 {
		e.post(ctx, e.metrics, map[string]any{"resourceMetrics": []any{map[string]any{
			"resource": resource, "scopeMetrics": []any{map[string]any{"scope": scope, "metrics": m}},
		}}})
	}
}

func (e *Exporter) post(ctx context.Context, to string, document any) {
	if to == "" {
		return
	}
	body, err := json.Marshal(document)
	if err != nil {
		e.fail(err)
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		e.fail(fmt.Errorf("send telemetry: %w", err))
		return
	}
	req.Header = e.headers.Clone()
	answer, err := e.client.Do(req)
	if err != nil {
		e.fail(fmt.Errorf("send telemetry: %w", err))
		return
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	if answer.StatusCode/100 != 2 {
		e.fail(fmt.Errorf("send telemetry to %s: %s", to, answer.Status))
	}
}

func (e *Exporter) fail(err error) { e.problem.Do(func() { e.failed(err) }) }
