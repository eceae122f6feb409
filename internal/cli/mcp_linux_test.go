package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// T14, T16: the server is its standard input and output, and nothing else reaches it.
func TestMCP_is_served_on_standard_input_and_output_without_a_socket(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "mcp", "-C", examplesCopy(t))
	cmd.Env = append(os.Environ(), append(fixedNow, "REPRISE_TEST_PROGRAM=1")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReaderSize(out, 1<<20)
	ask := func(request string, answered bool) string {
		t.Helper()
		fmt.Fprintln(in, request)
		if !answered {
			return ""
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, true)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, false)
	for request, want := range map[string]string{
		`{"name":"status","arguments":{}}`:             "11 runs in examples",
		`{"name":"check","arguments":{"run":"004"}}`:   "CAUTION: it can be resumed",
		`{"name":"brief","arguments":{"run":"004"}}`:   "Remove secrets from the configuration",
		`{"name":"log","arguments":{"run":"004"}}`:     "has no record of 004",
		`{"name":"preview","arguments":{"run":"004"}}`: "subtask-2-3",
		`{"name":"check","arguments":{"run":"nope"}}`:  "no run is called",
	} {
		if got := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+request+`}`, true); !strings.Contains(got, want) {
			t.Errorf("%s: %s does not say %q", request, got, want)
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if to, _ := os.Readlink(f); strings.HasPrefix(to, "socket:") {
			t.Errorf("it has a socket: %s", f)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v when the client leaves", err)
	}
}
