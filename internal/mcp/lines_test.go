package mcp_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

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
