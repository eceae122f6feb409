package cli_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"reprise/internal/cli"
)

// fullDisk takes so many bytes and refuses the rest.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return 0, syscall.ENOSPC
	}
	d.room -= len(p)
	return len(p), nil
}

// An answer that could not be written was not given: half a list in a file must not look
// like the whole of it.
func TestOutput_that_cannot_be_written_is_an_error(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want int
	}{{[]string{"checks"}, 1}, {[]string{"checks", "--json"}, 1}, {[]string{"status", dir}, 1}, {[]string{"--help"}, 1}} {
		for _, room := range []int{0, 20} {
			var errOut bytes.Buffer
			code := cli.Main(c.args, &fullDisk{room}, &errOut, func(string) string { return "" })
			if code != c.want || !strings.Contains(errOut.String(), "no space left on device") {
				t.Errorf("%q with room for %d bytes ends with %d, want %d: %s", c.args, room, code, c.want, errOut.String())
			}
		}
	}
}
