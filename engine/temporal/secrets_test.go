package temporal_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"reprise/engine/temporal"
)

// What the server keeps of a run has neither a secret that an agent printed or replied with,
// while it works and afterwards, nor the prompt, however long that is. (issue 19, item 4)
func TestFleet_a_history_has_no_secret_and_no_prompt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"flow.yaml": "name: quiet\nsteps:\n  - {id: a, role: dev, prompt: \"" + strings.Repeat("lighthouse ", 20_000) + "\", outputs: [a.txt], attempts: 2}\n",
		"agent.sh": `cat > prompt.txt
echo "I use $SHOP_TOKEN"
until test -e "$FLEET_LOG.$REPRISE_ATTEMPT"; do sleep 0.1; done
test "$REPRISE_ATTEMPT" = 2 || { echo "refused: $SHOP_TOKEN" >&2; exit 1; }
grep -c lighthouse prompt.txt > a.txt && rm prompt.txt
echo "{\"outcome\": \"done\", \"summary\": \"used $SHOP_TOKEN\"}" > "$REPRISE_RESULT"
`,
		"reprise.yaml": "agents: {dev: {command: [sh, agent.sh]}}\nroles: {default: dev}\nenv: [FLEET_LOG, SHOP_TOKEN]\nbackoff: 1s\n",
	})
	const secret = "hunter2hunter2"
	s.worker("one", "SHOP_TOKEN="+secret)
	if r := s.fleet("run", "flow.yaml", "--id", "quiet", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	kept := func(what string) string {
		t.Helper()
		out := s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), "workflow", what, "-w", temporal.Identity(s.remote)+":quiet", "--output", "json",
			"--address", fmt.Sprintf("127.0.0.1:%d", shared.port)))
		// Payloads are in base64.
		return out + regexp.MustCompile(`"[A-Za-z0-9+/]{8,}=*"`).ReplaceAllStringFunc(out, func(q string) string {
			text, _ := base64.StdEncoding.DecodeString(strings.Trim(q, `"`))
			return string(text)
		})
	}
	clean := func(what string) {
		t.Helper()
		text := kept(what)
		if !strings.Contains(text, "I use ") && what == "describe" {
			t.Errorf("the agent's last line is not there: %s", text)
		}
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s has the secret: …%s…", what, text[max(0, i-300):i+20])
		}
		if strings.Contains(text, "lighthouse") {
			t.Errorf("%s has the prompt", what)
		}
	}
	for n := 1; n <= 2; n++ {
		s.until("the agent's line is told", func() bool { return strings.Contains(kept("describe"), "I use ") })
		clean("describe")
		if err := os.WriteFile(fmt.Sprintf("%s.%d", s.launches, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			s.until("the first attempt fails", func() bool { return strings.Contains(s.fleet("status").out, "a attempt 1 failed") })
		}
	}
	s.until("it ends", func() bool { return strings.Contains(s.fleet("status").out, "quiet  complete") })
	clean("show")
	if got := s.must(exec.Command("cat", s.checkout("quiet")+"/a.txt")); strings.TrimSpace(got) == "0" {
		t.Error("the agent did not get the prompt")
	}
}
