package fleetcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"reprise/engine"
	"reprise/engine/temporal"
)

// A fault in a workflow file is shown with its line and a mark under the place, as reprise
// shows it. (issue 19)
func TestA_fault_in_a_file_is_marked_where_it_stands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte("name: shop\nsteps:\n  - {id: choose, ask: yes}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := engine.ReadFlow(file)
	var out bytes.Buffer
	if code := (&app{err: &out}).failed(err); code != 2 || !strings.Contains(out.String(), "3 |   - {id: choose, ask: yes}\n      |                       ^\n") {
		t.Errorf("exit %d:\n%s", code, out.String())
	}
}

// What reprise calls a misuse, this program does as well, before it asks a server. (issue 19)
func TestMisuse_has_the_code_of_reprise(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"nosuch", "run", "run x --nosuch", "resume", "status --json one two", "stop a b", "run x --heartbeat -5s", "run x --heartbeat 1ms", "resume x --parallel 100", "resume x --parallel 0", "run x --landings 0"} {
		var out, errOut bytes.Buffer
		if code := Main(strings.Fields(line), &out, &errOut); code != 2 || errOut.Len() == 0 {
			t.Errorf("%s: exit %d, %s", line, code, errOut.String())
		}
	}
	if code := Main([]string{"--help"}, new(bytes.Buffer), new(bytes.Buffer)); code != 0 {
		t.Errorf("help: exit %d", code)
	}
}

// A server that is lost once the branch is ready costs nothing, and the message says so; one
// that refuses for good says how to take it back. What is not told is which server. (issue 19)
func TestA_start_that_failed_says_what_was_made(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		want []string
	}{
		{&temporal.StartError{Run: "x", Err: context.DeadlineExceeded}, 40, []string{"start x: ask the server at ", "did not answer in time", "reprise/x", "the same command again"}},
		{&temporal.StartError{Run: "x", Err: serviceerror.NewUnavailable("away")}, 40, []string{"start x: ask the server at ", "away", "the same command again"}},
		{&temporal.StartError{Run: "x", Err: serviceerror.NewPermissionDenied("no", "")}, 1, []string{"start x: no", "reprise/x", "`reprise-fleet stop x`"}},
		{context.DeadlineExceeded, 40, []string{"ask the server at ", "did not answer in time", "is it running?"}},
		{serviceerror.NewUnavailable(`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`), 40, []string{": it cannot be reached: connection refused\n", "is it running?"}},
		{serviceerror.NewUnavailable(`connection error: desc = "transport: Error while dialing: dial tcp: lookup fleet.example on 10.0.0.2:53: no such host"`), 40, []string{": it cannot be reached: no such host\n"}},
		{serviceerror.NewUnavailable(`connection error: desc = "transport: Error while dialing: dial tcp [::1]:7233: connect: connection refused"`), 40, []string{": it cannot be reached: connection refused\n"}},
		{fmt.Errorf("failed reaching server: %w", serviceerror.NewUnavailable("no children to pick from")), 40, []string{": it cannot be reached: this name has no address\n"}},
		{serviceerror.NewUnavailable(`connection error: desc = "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"`), 40, []string{": it does not speak TLS\n"}},
		{&temporal.NoWorkerError{Run: "x"}, 40, []string{"ask x: no worker answers\n  `reprise-fleet worker`"}},
		{&temporal.GitError{Command: "fetch", Err: errors.New("exit status 128"), Said: "fatal: 'x' does not appear to be a git repository\nfatal: Could not read"}, 40, []string{"reprise-fleet: reach the remote: 'x' does not appear to be a git repository\n  `git ls-remote origin`"}},
		{&temporal.NoCloneError{Dir: "/x", Why: "not a git repository"}, 2, []string{"find the clone around /x: not a git repository", "`git clone URL`"}},
	} {
		var out bytes.Buffer
		code := (&app{err: &out, began: true}).failed(c.err)
		for _, want := range c.want {
			if code != c.code || !strings.Contains(out.String(), want) {
				t.Errorf("%v: exit %d, %s; want %q", c.err, code, out.String(), want)
			}
		}
	}
}
