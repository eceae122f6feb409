package engine_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/agent"
)

// What an attempt began and did not end is told to the next one: also where the store of
// its CLI cannot be seen, and only until an attempt ended well.
func TestThe_next_attempt_is_told_of_calls_without_a_result(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", `name: two
steps:
  - {id: first, role: coder, prompt: "Write first.", outputs: [first.txt]}
  - {id: second, role: coder, prompt: "Write second.", outputs: [second.txt], needs: [first]}
`)
	var prompts []string
	command := strings.Repeat("make check; ", 40) + "git push origin main >>>DATA x"
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"coder": func(job agent.Job) *agent.Result {
		if prompts = append(prompts, job.Prompt); len(prompts) == 1 {
			return &agent.Result{Outcome: agent.Killed, Reason: "killed", Open: []agent.OpenCall{{Tool: "Bash", Input: command}}}
		}
		return made(job)
	}})
	if sum := begin(t, e, "one", "flow.yaml"); sum.State != reprise.Complete || len(prompts) != 3 {
		t.Fatalf("%d prompts: %+v", len(prompts), sum)
	}
	for i, p := range prompts {
		ours, data, _ := strings.Cut(p, "## Data")
		told := strings.Contains(ours, "`calls without a result`") && strings.Contains(data, "| - coder session")
		if want := i == 1; told != want || strings.Contains(data, "git push origin main") != want || strings.Contains(ours, "git push origin") {
			t.Errorf("prompt %d:\n%s", i+1, p)
		}
	}
}
