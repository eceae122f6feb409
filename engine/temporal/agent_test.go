package temporal_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/agent/agenttest"
)

// A real agent CLI with a scripted model does the steps of a run on the fleet. (issue 19)
func TestFleet_a_real_agent_carries_a_workflow_to_its_end(t *testing.T) {
	t.Parallel()
	all := agent.Presets()
	p := all[slices.IndexFunc(all, func(p agent.Preset) bool { return p.Name == "codex" })]
	rig := agenttest.New(t, p.Name, p.Tested[0], p.Program,
		`{"turns":[{"text":"One.","shell":"echo one > first.txt"},{"text":"Done."},{"text":"Two.","shell":"cat first.txt > second.txt"},{"text":"Done."}]}`)
	env := map[string]string{}
	for _, v := range rig.Environ() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	settings, err := json.Marshal(map[string]any{
		"agents": map[string]any{"real": map[string]any{"preset": p.Name, "command": []string{rig.Program}, "approve": string(agent.ApproveAll), "env": env}},
		"roles":  map[string]string{"default": "real"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, map[string]string{"reprise.yaml": string(settings), "flow.yaml": `name: two
steps:
  - {id: first, role: coder, prompt: Write first.txt., outputs: [first.txt]}
  - {id: second, needs: [first], role: coder, prompt: Write second.txt., outputs: [second.txt]}
`})
	s.worker("w1")
	s.worker("w2")
	r := s.fleet("run", "flow.yaml", "--id", "real", "--json")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete || len(sum.Finished) != 2 || len(sum.Findings) > 0 || !strings.Contains(sum.Next, "git merge FETCH_HEAD") {
		t.Fatalf("%d %+v", r.code, sum)
	}
	s.checkout("real")
	s.git("fetch", "-q", "origin", "reprise/real")
	if got := s.git("show", "FETCH_HEAD:second.txt"); got != "one" {
		t.Errorf("second.txt holds %q", got)
	}
	if got := s.landed("real"); got["first"] != 1 || got["second"] != 1 {
		t.Errorf("accepted: %v", got)
	}
}
