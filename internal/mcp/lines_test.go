package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reprise/internal/mcp"
)

func TestA_line_that_is_no_message_is_answered_and_does_not_end_the_server(t *testing.T) {
	t.Parallel()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	run := func(context.Context, ...string) (string, string, int) { return "", "", 0 }
	go func() {
		ended <- mcp.Serve(t.Context(), in, out, "v0", run, func(context.Context, string) []string { return nil })
	}()
	answers := bufio.NewReader(fromServer)
	for _, c := range []struct{ line, want string }{
		{"garbage", "-32700"}, {"1", "-32600"}, {"{}", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":1,"result"`},
		{`{"jsonrpc":"2.0","id":2`, "-32700"},
		{"[]", "-32600"},
		{`[{"jsonrpc":"2.0","id":4,"method":"ping"}]`, `"id":4,"result"`},
		{`[7]`, "-32600"},
		{`[[{"jsonrpc":"2.0","id":5,"method":"ping"}]]`, "-32600"},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `"id":3,"result"`},
	} {
		if _, err := io.WriteString(toServer, c.line+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := answers.ReadString('\n'); err != nil || !strings.Contains(got, c.want) {
			t.Fatalf("%s: %s, %v", c.line, got, err)
		}
	}
	toServer.Close()
	<-ended
}

func TestEvery_run_and_its_log_is_a_resource(t *testing.T) {
	t.Parallel()
	session := connected(t, func(_ context.Context, args ...string) (string, string, int) {
		if args[0] == "status" {
			return `{"runs": [{"layout": "gsd", "id": "p", "path": "a b/.planning", "title": "Plan"}]}`, "", 0
		}
		return `{"read": "` + args[len(args)-1] + `"}`, "", 0
	})
	list, err := session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, r := range list.Resources[1:] {
		read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI})
		if err != nil || read.Contents[0].Text != `{"read": "gsd:a b/.planning"}` {
			t.Errorf("%s: %+v, %v", r.URI, read, err)
		}
	}
}

// A line that is too long ends only the call that it is, which is told, and takes no memory;
// so does a call with the id of one that is under way.
func TestA_line_without_end_and_a_second_call_of_one_id_are_answered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended, begun, goOn := make(chan error, 1), make(chan struct{}), make(chan struct{})
	run := func(context.Context, ...string) (string, string, int) {
		close(begun)
		<-goOn
		return "looked", "", 0
	}
	go func() {
		ended <- mcp.Serve(ctx, in, out, "v0", run, func(context.Context, string) []string { return nil })
	}()
	answers := bufio.NewReader(fromServer)
	send := func(parts ...string) {
		t.Helper()
		for _, p := range parts {
			if _, err := io.WriteString(toServer, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(texts ...string) {
		t.Helper()
		got, err := answers.ReadString('\n')
		for _, text := range texts {
			if err != nil || !strings.Contains(got, text) {
				t.Fatalf("%.300s, %v; want %q", got, err, texts)
			}
		}
	}
	send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`, "\n")
	want(`"id":0,"result"`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "\n")
	send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"status","arguments":{}}}`, "\n")
	<-begun

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	long := bytes.Repeat([]byte("x"), 1<<20)
	fill := func() {
		if _, err := toServer.Write(long); err != nil {
			t.Fatal(err)
		}
	}
	for first, id := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"`: `"id":1,`,
		`{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":"`:        `"id":"a",`,
		`{"jsonrpc":"2.0","method":"m","params":{"x":"`:                 `"id":null,`,
		`{"method":"m","jsonrpc":"2.0","params":{"id":3,"x":"`:          `"id":null,`,
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"`:          `"id":null,`, // it is that of another call
	} {
		send(first)
		for range 32 {
			fill()
		}
		send(`"}}`, "\n")
		want("-32600", id, "longer than")
	}
	send(`{"method":"m","params":{"x":"`)
	fill()
	send(`"},"jsonrpc":"2.0","id":5}`, "\n")
	want(`"id":5,`, "longer than")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("reading 160 MB takes %d MB of memory", took>>20)
	}

	send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"status","arguments":{}}}`, "\n")
	want("-32600", `"id":null`, "id 7 is under way")

	// The call is answered although nothing more can come.
	toServer.Close()
	select {
	case err := <-ended:
		t.Fatalf("it ended with a call under way: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	want(`"id":7,`, "looked")
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	<-ended
}

// Who leaves with a call that never ends is not waited for, once the work is to stop.
func TestA_call_that_never_ends_does_not_keep_the_server(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	run := func(ctx context.Context, _ ...string) (string, string, int) {
		close(begun)
		<-ctx.Done()
		return "", "", 1
	}
	in, toServer := io.Pipe()
	go func() {
		ended <- mcp.Serve(ctx, in, nowhere{}, "v0", run, func(context.Context, string) []string { return nil })
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"status","arguments":{}}}`,
	} {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	toServer.Close()
	cancel()
	<-ended
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
