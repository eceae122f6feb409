package specloop_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/playtest"
	"reprise/convention/specloop"
)

var ref = reprise.Ref{Layout: "specloop", ID: "001-team-invites", Path: "specs/001-team-invites", Kind: reprise.KindSpecLoop}

const context = dir + ".workflow/context.md"

func turns(status string) fstest.MapFS {
	return fstest.MapFS{context: file("---\ntype: specify-request\nstatus: " + status + "\niteration: 1\nfeature_id: 001-team-invites\nupdated: 2025-12-30T10:00:00Z\n---\n\n# Context\n\n## User Input\n\nMembers invite others.\n\n## Notes of the team\n\nKim watches.\n")}
}

// The second family: analyst, advocate and person take turns until the advocate
// has nothing left.
func TestSL9_turns_of_a_context_file(t *testing.T) {
	t.Parallel()
	p := player(round)
	p.Ref = ref
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Role == "advocate" && !strings.Contains(j.Read(spec), "C1.") {
			return reprise.Reply{Outcome: "done", Verdict: "rejected", Gaps: []reprise.Gap{{ID: "G-1", Priority: "Critical", Question: "How long?"}, {ID: "G-2", Priority: "Minor", Question: "Colour?"}}}
		}
		reply := (&crew{}).work(j)
		if j.Role == "advocate" {
			reply.Verdict = "approved"
		}
		return reply
	}
	check := func(t testing.TB, r playtest.Result) {
		if r.Run.State != reprise.Complete {
			t.Errorf("%s: %s (%s)\n%s\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Story(), r.Files[context].Data)
		}
		for _, want := range []string{"status: completed", "iteration: 2", "Kim watches.", "How long?", "answer to"} {
			if !strings.Contains(string(r.Files[context].Data), want) {
				t.Errorf("context.md does not say %q:\n%s", want, r.Files[context].Data)
			}
		}
	}
	r := p.Play(t, turns("awaiting-analyst"))
	check(t, r)
	if want := []string{"analyst specify.analyst", "advocate specify.advocate", "analyst specify.analyst", "advocate specify.advocate"}; !slices.Equal(r.Launches, want) {
		t.Errorf("%v\n%s", r.Launches, r.Story())
	}
	p.EveryKill(t, turns("awaiting-analyst"), func(t testing.TB, r playtest.Result) {
		if r.Run.State != reprise.Complete || r.Count(reprise.QuestionAnswered, "") > 2 {
			t.Errorf("%s: %s (%s)\n%s\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Story(), r.Files[context].Data)
		}
	})
	p.Answer = nil
	if r := p.Play(t, turns("awaiting-analyst")); r.Run.State != reprise.Waiting {
		t.Errorf("%s\n%s", r.Run.State, r.Story())
	}
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Role == "advocate" {
			return reprise.Reply{Outcome: "done", Verdict: "rejected"}
		}
		return (&crew{}).work(j)
	}
	if r := p.Play(t, turns("awaiting-analyst")); r.GaveUp == "" || r.Run.State == reprise.Complete {
		t.Errorf("a rejection without a gap counted:\n%s", r.Story())
	}
}

const graphPath = dir + ".workflow/dags/specify-strategy.json"

func graph(nodes string) fstest.MapFS {
	return fstest.MapFS{graphPath: file(`{
  "workflow_id": "specify", "status": "in-progress", "current_pass": 1, "created_at": "2025-12-30T10:00:00Z",
  "passes": [{"pass": 1, "outcome": null}],
  "nodes": [` + nodes + `],
  "edges": [
    {"source": "write", "target": "review", "type": "depends-on"},
    {"source": "review", "target": "decide", "type": "depends-on"},
    {"source": "decide", "target": "ready", "type": "depends-on"}
  ]
}
`)}
}

const nodes = `
    {"id": "write", "type": "task", "name": "Write", "agent": "analyst", "status": "pending"},
    {"id": "review", "type": "gate", "name": "Review", "agent": "advocate", "status": "pending"},
    {"id": "decide", "type": "decision", "name": "Ship it?", "status": "pending"},
    {"id": "ready", "type": "milestone", "name": "Ready", "status": "pending"}`

func TestSL9_a_graph_to_its_milestone(t *testing.T) {
	t.Parallel()
	p := player(round)
	p.Ref = ref
	p.Agent = func(j playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done", Verdict: "approved"} }
	p.EveryKill(t, graph(nodes), func(t testing.TB, r playtest.Result) {
		if r.Run.State != reprise.Complete || r.Ends("write") != 1 || r.Count(reprise.QuestionAnswered, "") != 1 {
			t.Errorf("%s: %s (%s)\n%s\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Story(), r.Files[graphPath].Data)
		}
	})
	p.Agent = func(j playtest.Job) reprise.Reply {
		return reprise.Reply{Outcome: "done", Verdict: map[string]string{"review": "needs_work"}[j.Step]}
	}
	r := p.Play(t, graph(nodes))
	if r.Run.Step("review").Status != reprise.Failed || r.Run.State == reprise.Complete {
		t.Errorf("%s\n%s", r.Run.State, r.Story())
	}
}

// What only the tool that keeps a graph can do is refused, with what to do.
func TestSL9_the_next_pass_of_a_graph_is_not_ours(t *testing.T) {
	t.Parallel()
	r, err := specloop.New().Load(graph(`{"id": "write", "type": "task", "name": "Write", "status": "completed"}`), ref)
	if err != nil {
		t.Fatal(err)
	}
	_, err = specloop.NewPlaybook().Assign(fstest.MapFS{}, r, r.Next[0])
	if hint, ok := err.(interface{ Hint() string }); !ok || hint.Hint() == "" {
		t.Errorf("%v: %v", r.Next, err)
	}
}

// Later workflows of index.md continue phase by phase.
func TestSL9_a_later_workflow_goes_on(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		spec: file("# Feature Specification: Team invites\n"),
		index: file("# Feature Index: 001-team-invites\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | completed |\n| **Termination Reason** | success |\n| **Last Activity** | 2025-12-30T10:00:00Z |\n\n" +
			"## Workflow Status Table\n\n| Workflow | Status | Last Run |\n|---|---|---|\n| specify | completed | 2025-12-30 |\n| plan | in_progress | 2025-12-30 |\n| tasks | not_started | - |\n\n" +
			"## Plan Phase State\n\n| Field | Value |\n|---|---|\n| **Phase** | 1 |\n| **Phase Name** | Domain Model |\n| **Status** | modeling |\n"),
	}
	p := player(round)
	p.Ref = ref
	p.Agent = func(j playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} }
	r := p.Play(t, tree)
	if r.Run.State != reprise.Complete || len(r.Launches) != 3 {
		t.Errorf("%s: %s (%s) %v\n%s\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Launches, r.Story(), r.Files[index].Data)
	}
}

// Who reviews and says nothing, or a word without a meaning, has approved nothing.
func TestSL9_only_a_known_approval_passes(t *testing.T) {
	t.Parallel()
	tree := graph(nodes)
	gate, err := specloop.New().Load(tree, ref)
	if err != nil {
		t.Fatal(err)
	}
	advocate := &reprise.Run{Ref: ref, State: reprise.Interrupted, Steps: []reprise.Step{{ID: "specify.advocate", Status: reprise.InProgress}}}
	for _, word := range []string{"", "hm", "approved, mostly", "needs_work", "no", "blocked", "concerns"} {
		reply := reprise.Reply{Outcome: "done", Verdict: word}
		if c := specloop.NewPlaybook().Conclude(tree, gate, reprise.Assignment{Step: "review"}, reply); !c.Failed && c.Problem == "" {
			t.Errorf("%q passes the gate: %+v", word, c)
		}
		if c := specloop.NewPlaybook().Conclude(tree, advocate, reprise.Assignment{Step: "specify.advocate"}, reply); c.Problem == "" || c.Outcome == "approved" {
			t.Errorf("%q of the advocate approves: %+v", word, c)
		}
	}
}
