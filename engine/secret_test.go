package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// The secrets are made of pieces, so that no file of the test holds them whole.
var canaries = map[string]string{
	"API_TOKEN":   "tok" + "-4f9a/" + "+zz=canary one",
	"DB_PASSWORD": "p4ss" + "word&" + "canary\"two",
	"OWN_SECRET":  "own" + "%secret" + "-canary-three",
}

const leaking = `name: leaking
title: Agents that tell secrets
steps:
  - {id: prints, role: leaker, prompt: Print., outputs: [prints.txt]}
  - {id: replies, needs: [prints], role: leaker, prompt: Reply., outputs: [replies.txt]}
  - {id: cutoff, needs: [replies], role: leaker, prompt: Be cut off., outputs: [cutoff.txt]}
  - {id: fails, needs: [cutoff], role: leaker, prompt: Fail., outputs: [fails.txt], attempts: 2}
`

// TestS4_secrets_reach_nothing_that_is_kept lets agents print, write and fail with
// secrets in many forms.
func TestS4_secrets_reach_nothing_that_is_kept(t *testing.T) {
	t.Parallel()
	dir, out := repository(t), t.TempDir()
	put(t, dir, "flow.yaml", leaking)
	put(t, out, "agent.sh", `prompt=$(cat); printf '%s' "$prompt" > "$OUT/prompt.$REPRISE_STEP.$REPRISE_ATTEMPT"
b64() { printf '%s' "$1" | base64 -w0 2> /dev/null || printf '%s' "$1" | base64; }
for s in "$API_TOKEN" "$DB_PASSWORD" "$OWN_SECRET"; do
	[ -n "$s" ] || exit 9
	echo "plain $s"; echo "stderr $s" >&2
	echo "b64 $(b64 "$s") $(b64 "x$s") $(b64 "user:$s:rest")"
	printf '%s' "$s" | od -An -tx1 | tr -d ' \n'; echo
	printf '%s' "$s" | cut -c1-7 | tr -d '\n'; sleep 0.05; printf '%s\n' "$s" | cut -c8-
done
cat "$OUT/forms"
esc() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
all="$(esc "$API_TOKEN") $(esc "$DB_PASSWORD") $(esc "$OWN_SECRET")"
case $REPRISE_STEP in
replies) if [ "$REPRISE_ATTEMPT" = 1 ]; then printf '{"outcome":"question","summary":"%s","questions":[{"text":"Is %s right?","options":["%s"]}]}' "$all" "$all" "$all" > "$REPRISE_RESULT"; exit 0; fi
	printf '{"outcome":"done","summary":"%s","verdict":"%s","issues":["%s"],"gaps":[{"id":"G","priority":"%s","question":"%s"}]}' "$all" "$all" "$all" "$all" "$all" > "$REPRISE_RESULT";;
cutoff) printf '{"outcome":"done","summary":"%s"}' "$all" > "$REPRISE_RESULT"; rm -f "$PROJECT/.reprise/lock";;
fails) printf '{"outcome":"failed","summary":"%s"}' "$all" > "$REPRISE_RESULT"; (setsid sh -c 'sleep 5' "$API_TOKEN" &); exit 1;;
esac
echo made > "$REPRISE_STEP.txt"
`)
	var forms []string
	var needles []string
	for _, s := range canaries {
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, url.QueryEscape(s), url.PathEscape(s), string(quoted))
		needles = append(needles, s, url.QueryEscape(s), url.PathEscape(s), strings.Trim(string(quoted), `"`), hex.EncodeToString([]byte(s)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "=")[:len(s)])
	}
	put(t, out, "forms", strings.Join(forms, "\n")+"\n")
	var mu sync.Mutex
	var told strings.Builder
	make := func() *engine.Engine {
		e := newEngine(dir)
		e.Settings.Env, e.Settings.Secrets = []string{"API_TOKEN", "DB_PASSWORD"}, []string{"DB_PASSWORD", "OWN_SECRET"}
		e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{"sh", filepath.Join(out, "agent.sh")}, Env: map[string]string{"OWN_SECRET": canaries["OWN_SECRET"], "OUT": out, "PROJECT": dir}}
		e.Environ = append(os.Environ(), "API_TOKEN="+canaries["API_TOKEN"], "DB_PASSWORD="+canaries["DB_PASSWORD"])
		e.Tell = func(p engine.Progress) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&told, "%+v\n", p)
		}
		e.Ask = func(_ context.Context, q reprise.Question) (string, bool) {
			fmt.Fprintf(&told, "%+v\n", q)
			return "yes", q.Subject == "replies"
		}
		return e
	}
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := make().BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "leaking"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = make().Resume(t.Context(), ref, engine.Choice{})
	fmt.Fprintln(&told, err)
	if err == nil {
		t.Error("the attempt was not cut off")
	}
	sum, err := make().Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&told, "%+v\n", *sum)
	if !strings.Contains(told.String(), "fails") || len(sum.Failed) == 0 || count(events(t, dir, ref), reprise.StepFinished, "cutoff") != 1 {
		t.Fatalf("it did not get to its end: %+v", sum)
	}
	p, err := make().Preview(t.Context(), ref, engine.Choice{})
	fmt.Fprintf(&told, "%+v %v\n", p, err)

	places := map[string][]byte{"what is told": []byte(told.String())}
	for _, root := range []string{filepath.Join(dir, ".reprise"), filepath.Join(dir, ".agent-memory"), out} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			// The scripts of the test, and what agents left in the place that is
			// theirs alone.
			if err != nil || d.IsDir() || filepath.Base(p) == "forms" || filepath.Base(p) == "result.json" {
				return err
			}
			data, err := os.ReadFile(p)
			places[p] = data
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(places) < 8 {
		t.Errorf("only %d places were looked at", len(places))
	}
	logs, err := filepath.Glob(filepath.Join(dir, ".reprise/logs/eventrun-leaking.*.prints.1.log"))
	if err != nil || len(logs) != 1 || !bytes.Contains(places[logs[0]], []byte("[redacted]")) {
		t.Error("nothing was printed that had to be taken out")
	}
	for where, text := range places {
		for _, needle := range needles {
			if at := bytes.Index(text, []byte(needle)); at >= 0 {
				t.Errorf("%s tells a secret: …%q", where, text[max(0, at-60):min(len(text), at+len(needle)+20)])
			}
		}
	}
}
