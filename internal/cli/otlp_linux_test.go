package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// collector takes what is sent by OTLP.
type collector struct {
	mu    sync.Mutex
	spans []map[string]any
	all   strings.Builder
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.WriteString(r.URL.Path + " " + r.Header.Get("X-Team") + " " + string(body) + "\n")
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []map[string]any }
		}
	}
	if json.Unmarshal(body, &doc) != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	for _, r := range doc.ResourceSpans {
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

func (c *collector) named(prefix string) (out []map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if strings.HasPrefix(s["name"].(string), prefix) {
			out = append(out, s)
		}
	}
	return out
}

// heardOf reports whether the log of an attempt at a step holds a line: what an agent
// printed is on disk a moment after it was printed.
func heardOf(dir, step, line string) bool {
	logs, err := filepath.Glob(filepath.Join(dir, ".reprise/logs/*"+step+"*.log"))
	return err == nil && slices.ContainsFunc(logs, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(text), line)
	})
}

// Issue 17: the collector receives the spans of a run that was killed and resumed, joined
// in one trace.
func TestA_run_that_was_killed_and_resumed_is_one_trace(t *testing.T) {
	t.Parallel()
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	dir, home := shop(t, `
name: release
steps:
  - id: prepare
    command: [sh, -c, "touch prepared"]
    outputs: [prepared]
  - id: build
    needs: [prepare]
    command: [sh, -c, "sleep 0.3; echo begun; while ! test -e go; do sleep 0.05; done; touch built"]
    outputs: [built]
  - id: release
    needs: [build]
    ask: {question: "Release?", options: ["yes", "no"]}
`), t.TempDir()
	start := func(args ...string) *started {
		s := prepared(t, dir, home, args...)
		s.cmd.Env = append(s.cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Team=a%20b")
		s.begin()
		return s
	}
	first := start("run", "flow.yaml", "--trust", "--id", "t")
	eventually(t, func() bool { return heardOf(dir, "build", "begun") && len(c.named("step prepare")) == 1 })
	first.signal(syscall.SIGKILL)
	first.end()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := start("resume", "t", "--mode", "autopilot")
	if code := second.end(); code != 12 {
		t.Fatalf("exit %d\n%s", code, second.text())
	}
	// The answer is given by a process that sends nothing.
	for _, args := range [][]string{{"answer", "t", "--option", "1"}, {"resume", "t", "--mode", "autopilot"}} {
		if next := start(args...); next.end() != 0 {
			t.Fatalf("%s: %s", args, next.text())
		}
	}
	if waits := c.named("wait for a person"); len(waits) != 1 {
		t.Errorf("%d waits for a person:\n%s", len(waits), c.all.String())
	}
	ids, ofSteps := map[any]bool{}, map[any]bool{}
	for _, s := range c.spans {
		ids[s["traceId"]] = true
	}
	roots, steps, attempts := c.named("run t"), c.named("step "), c.named("invoke_agent")
	if len(ids) != 1 || len(roots) != 1 || len(steps) != 3 || len(attempts) != 3 {
		t.Fatalf("%d traces, %d runs, %d steps, %d attempts:\n%s", len(ids), len(roots), len(steps), len(attempts), c.all.String())
	}
	for _, s := range steps {
		ofSteps[s["spanId"]] = true
		if s["parentSpanId"] != roots[0]["spanId"] {
			t.Errorf("a step is not below the run: %v", s)
		}
	}
	for _, s := range append(attempts, c.named("wait for a person")...) {
		if !ofSteps[s["parentSpanId"]] {
			t.Errorf("an attempt, or a wait, is below no step: %v", s)
		}
		if s["status"] == nil { // a wait has no outcome
			continue
		}
		from, _ := strconv.Atoi(s["startTimeUnixNano"].(string))
		to, _ := strconv.Atoi(s["endTimeUnixNano"].(string))
		if s["status"].(map[string]any)["code"] == 2.0 && to-from < 200e6 {
			t.Errorf("an attempt that was cut off after it printed something took %d ns", to-from)
		}
	}
	for _, want := range []string{`/v1/traces a b `, `/v1/metrics`, `"stringValue":"cut-off"`, `"reprise.attempts.cut_off"`, `"gen_ai.client.operation.duration"`} {
		if !strings.Contains(c.all.String(), want) {
			t.Errorf("nothing has %s:\n%s", want, c.all.String())
		}
	}
	if strings.Contains(c.all.String(), "nothing shows that it was finished") {
		t.Error("text is sent though nobody asked for it")
	}
}
