package temporal_test

import (
	"os"
	"testing"
	"time"

	"reprise"
)

// A run is stopped while an attempt that has ended waits for the remote, which comes back
// later than a heartbeat may take: stop waits for it, and resume does nothing again. (issue 19)
func TestFleet_stop_waits_for_what_is_finished(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: late
steps:
  - {id: a, command: [sh, -c, 'echo "late a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; echo a > a.txt; dir=$(dirname "$FLEET_LOG"); test "$REPRISE_ATTEMPT" = 1 && mv "$dir/remote.git" "$dir/away.git"; true'], on_crash: rerun}
  - {id: b, needs: [a], command: ["true"]}
`})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "late", "--detach", "--heartbeat", "3s"); r.code != 0 {
		t.Fatal(r)
	}
	away := s.dir + "/away.git"
	s.until("the remote is away", func() bool { _, err := os.Stat(away); return err == nil })
	stopped := make(chan result)
	go func() { stopped <- s.fleet("stop", "late") }()
	time.Sleep(12 * time.Second)
	if err := os.Rename(away, s.remote); err != nil {
		t.Fatal(err)
	}
	if r := <-stopped; r.code != 0 {
		t.Errorf("%+v", r)
	}
	r := s.fleet("resume", "late", "--json", "--heartbeat", "3s")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete {
		t.Errorf("%d %+v", r.code, sum)
	}
	s.eachOnce("late", "a")
}
