package fleetcli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/engine"
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
	for _, line := range []string{"nosuch", "run", "run x --nosuch", "resume", "status --json extra", "stop a b"} {
		var out, errOut bytes.Buffer
		if code := Main(strings.Fields(line), &out, &errOut); code != 2 || errOut.Len() == 0 {
			t.Errorf("%s: exit %d, %s", line, code, errOut.String())
		}
	}
	if code := Main([]string{"--help"}, new(bytes.Buffer), new(bytes.Buffer)); code != 0 {
		t.Errorf("help: exit %d", code)
	}
}
