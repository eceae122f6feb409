package mcp_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reprise/internal/mcp"
)

// connected serves a command to a client of the same library.
func connected(t *testing.T, run mcp.Command, options ...*sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	meant := func(_ context.Context, name string) []string {
		if name == "00" || name == "" {
			return []string{"001", "002"}
		}
		return nil
	}
	go func() { ended <- mcp.Serve(ctx, in, out, "v0", run, meant) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "v0"}, append(options, nil)[0])
	session, err := client.Connect(ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		<-ended
	})
	return session
}

// A person chooses among runs, and is asked nothing else.
func TestWhere_a_name_means_several_runs_a_person_chooses(t *testing.T) {
	t.Parallel()
	var called []string
	run := func(_ context.Context, args ...string) (string, string, int) {
		called = append(called, strings.Join(args, " "))
		return "said", "", 0
	}
	answer := &sdk.ElicitResult{Action: "accept", Content: map[string]any{"run": "002"}}
	asked := 0
	asking := connected(t, run, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked++
		return answer, nil
	}})
	check := func(session *sdk.ClientSession, name, want string) {
		t.Helper()
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "check", Arguments: map[string]any{"run": name}}); err != nil {
			t.Fatal(err)
		}
		if got := called[len(called)-1]; got != "check -- "+want {
			t.Errorf("%s: it calls %q, want %s", name, got, want)
		}
	}
	check(asking, "00", "002")
	answer = &sdk.ElicitResult{Action: "decline"}
	check(asking, "00", "00")
	check(asking, "004", "004")
	check(connected(t, run), "00", "00") // a client that cannot ask
	answer = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"run": "001"}}
	if _, err := asking.CallTool(t.Context(), &sdk.CallToolParams{Name: "preview"}); err != nil || called[len(called)-1] != "resume --dry-run -- 001" {
		t.Errorf("a preview of no named run calls %q: %v", called[len(called)-1], err)
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

func TestEvery_tool_is_a_command_that_only_looks_but_record(t *testing.T) {
	t.Parallel()
	var called [][]string
	session := connected(t, func(_ context.Context, args ...string) (string, string, int) {
		called = append(called, args)
		return "said\n", "beside\n", 10
	})
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Annotations.ReadOnlyHint == (tool.Name == "record") {
			t.Errorf("%s is not marked as one that only looks", tool.Name)
		}
		if tool.Name == "answer" || tool.Name == "trust" || tool.Name == "resume" || tool.Name == "run" {
			t.Errorf("%s is a person's", tool.Name)
		}
	}
	for _, c := range []struct {
		tool string
		in   map[string]any
		want string
	}{
		{"status", nil, "status"},
		{"status", map[string]any{"all": true}, "status --all"},
		{"check", map[string]any{"run": "--mode"}, "check -- --mode"},
		{"check", map[string]any{"run": "004", "full": true}, "check --full -- 004"},
		{"brief", nil, "brief --"},
		{"log", map[string]any{"run": "004", "step": "a"}, "log -- 004 a"},
		{"log", map[string]any{"step": "a"}, "log --  a"},
		{"preview", map[string]any{"run": "004"}, "resume --dry-run -- 004"},
		{"record", map[string]any{"event": "finished", "what": "--all", "evidence": []string{"a.go", "-C/"}}, "record --evidence=a.go --evidence=-C/ -- finished --all"},
		{"record", map[string]any{"event": "began", "what": ""}, "record -- began "},
	} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.in})
		if err != nil {
			t.Fatal(c.tool, err)
		}
		if got := strings.Join(called[len(called)-1], " "); got != c.want {
			t.Errorf("%s calls %q, want %q", c.tool, got, c.want)
		}
		text := result.Content[0].(*sdk.TextContent).Text
		if result.IsError || text != "said\n\nbeside\n\nexit code 10" {
			t.Errorf("%s: %v %q", c.tool, result.IsError, text)
		}
	}
}

func TestWhat_is_too_long_for_a_model_is_cut_and_that_is_said(t *testing.T) {
	t.Parallel()
	session := connected(t, func(context.Context, ...string) (string, string, int) { return strings.Repeat("ü", 50_000), "", 0 })
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "status"})
	if err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if !strings.HasSuffix(text, "… 30000 more characters are not shown\n\nexit code 0") || len(text) > 41_000 {
		t.Errorf("%d bytes: …%s", len(text), text[len(text)-80:])
	}
}

func TestA_command_that_gives_no_answer_is_an_error(t *testing.T) {
	t.Parallel()
	session := connected(t, func(context.Context, ...string) (string, string, int) {
		return "", "reprise: no run is called that\n", 2
	})
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "check", Arguments: map[string]any{"run": "x"}})
	if err != nil || !result.IsError {
		t.Errorf("%v %v", result, err)
	}
	var wire *jsonrpc.Error
	if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "reprise://run/x"}); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || wire.Message != "read reprise://run/x: reprise: no run is called that" {
		t.Errorf("%v", err)
	}
}

func TestRuns_and_logs_are_resources(t *testing.T) {
	t.Parallel()
	session := connected(t, func(_ context.Context, args ...string) (string, string, int) { return strings.Join(args, " "), "", 10 })
	for uri, want := range map[string]string{
		"reprise://runs":            "status --json",
		"reprise://run/004":         "check --json -- 004",
		"reprise://run/qa-loop-2.2": "check --json -- qa-loop-2.2",
		"reprise://log/a%2Fb":       "log --json -- a/b",
	} {
		got, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		} else if got.Contents[0].Text != want {
			t.Errorf("%s: %q, want %q", uri, got.Contents[0].Text, want)
		}
	}
}
