//go:build linux

package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
)

// A session at the top of the repository can have changed the files of a project in a
// folder of it, so it counts there too: by its transcript, by its registry before it has
// written one, and by its process. One above the repository does not.
func TestA_session_at_the_top_of_the_repository_counts_in_a_folder_of_it(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	web := filepath.Join(d.dir, "pk", "web")
	if err := os.MkdirAll(web, 0o755); err != nil {
		t.Fatal(err)
	}
	d.claude("Bash", `{"command":"git push"}`)
	d.start("gemini", "60")
	p := d.start("something", "60")
	for i, cwd := range []string{"DIR/pk", "DIR/..", "DIR/other"} {
		d.put(fmt.Sprintf(".claude/sessions/%d.json", i), fmt.Sprintf(`{"pid":%d,"sessionId":"r%d","cwd":"%s","procStart":"%s"}`, p.Process.Pid, i, cwd, ticks(t, p.Process.Pid)))
	}
	o := Gather(t.Context(), web, []*reprise.Run{d.run}, time.Now(), Options{Environ: d.environ})
	got := map[string]string{}
	for _, s := range o.SessionsOn(d.run) {
		got[s.ID] = s.Dir
	}
	if len(got) != 3 || got["s1"] != "../.." || got[""] != "../.." || got["r0"] != ".." || len(o.SessionsUnread) > 0 {
		t.Errorf("%q %q", got, o.SessionsUnread)
	}
}
