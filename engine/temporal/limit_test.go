package temporal_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise"
)

// limited is an agent CLI whose first call runs into a usage limit that ends in a while.
const limited = `#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in --session-id|--resume) id=$2 ;; esac
  shift
done
cat > /dev/null
echo "$REPRISE_RUN $REPRISE_STEP $(date +%s)" >> "$FLEET_LOG"
echo '{"type":"system","subtype":"init","session_id":"'$id'"}'
if mkdir "$FLEET_LOG.limited" 2>/dev/null; then
  until=$(( $(date +%s) + 20 ))
  echo $until > "$FLEET_LOG.until"
  echo '{"type":"rate_limit_event","session_id":"'$id'","rate_limit_info":{"status":"rejected","resetsAt":'$until',"rateLimitType":"five_hour"}}'
  echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your limit","session_id":"'$id'"}'
  exit 1
fi
echo made > "$REPRISE_EXPECT"
echo '{"type":"result","subtype":"success","is_error":false,"result":"made it","session_id":"'$id'"}'
`

// A usage limit that one run met closes the account for all runs of the fleet until it
// ends; then both continue. (issue 19)
func TestFleet_a_limit_closes_the_account_for_all_runs(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"reprise.yaml": "agents: {coder: {preset: claude, account: " + strconv.FormatInt(time.Now().UnixNano(), 36) + "}}\nroles: {default: coder}\nenv: [FLEET_LOG]\n",
		"flow.yaml":    "name: limit\nsteps:\n  - {id: a, role: dev, prompt: make a.txt, outputs: [a.txt]}\n",
	})
	bin := filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(limited), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w1", "w2"} {
		s.worker(name, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	for _, id := range []string{"one", "two"} {
		if r := s.fleet("run", "flow.yaml", "--id", id, "--detach"); r.code != 0 {
			t.Fatal(r)
		}
		s.until("the limit is known", func() bool { return strings.Contains(s.fleet("status", "--json").out, `"until"`) })
		if out := s.fleet("status").out; !strings.Contains(out, ", for a limit that ends soon") {
			t.Errorf("the status says nothing of a short limit: %s", out)
		}
	}
	for _, id := range []string{"one", "two"} {
		r := s.fleet("resume", id, "--json")
		if sum := s.summary(r); !ended(r) || sum.State != reprise.Complete {
			t.Fatalf("%d %+v", r.code, sum)
		}
	}
	read := func(name string) string { text, _ := os.ReadFile(name); return strings.TrimSpace(string(text)) }
	until, lines := read(s.launches+".until"), strings.Split(read(s.launches), "\n")
	if len(lines) != 3 {
		t.Fatalf("launched: %q", lines)
	}
	for _, line := range lines[1:] {
		if at := strings.Fields(line)[2]; at < until {
			t.Errorf("launched at %s, before the limit ended at %s", at, until)
		}
	}
}
