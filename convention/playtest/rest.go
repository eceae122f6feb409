package playtest

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
)

// ComesToRest carries every run of a layout's scenarios on, with an agent that
// leaves what is expected and a person who accepts, and asks that each is over,
// waits or cannot continue in a bounded number of turns. Those that leave names are
// left out.
func ComesToRest(t *testing.T, l reprise.Layout, book reprise.Playbook, leave func(scenario string, tree fstest.MapFS, ref reprise.Ref) bool) {
	t.Helper()
	files, err := filepath.Glob("../../convention/" + l.Name() + "/testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := conventiontest.LoadFS(t, file)
			refs, err := l.Find(tree)
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range refs {
				if leave(name, tree, ref) {
					continue
				}
				p := Player{Layout: l, Book: patient{book}, Ref: ref, Turns: 80, Attempts: 1}
				said := 0
				p.Answer = func(reprise.Question) (string, bool) { said++; return "accept", said < 20 }
				p.Agent = func(j Job) reprise.Reply {
					for _, e := range j.Expect {
						j.Write(e.Path, j.Read(e.Path)+"# Made by "+j.Step+"\n")
					}
					return reprise.Reply{Outcome: "done", Verdict: "approved"}
				}
				if r := p.Play(t, tree); t.Failed() {
					t.Log(r.Story()[:min(3000, len(r.Story()))], r.Run.Reason)
				}
			}
		})
	}
}

// patient passes over units that are refused.
type patient struct{ reprise.Playbook }

// Pick implements reprise.Playbook.
func (b patient) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	units := b.Playbook.Pick(r, d, busy)
	if len(units) > 0 {
		if _, err := b.Assign(fstest.MapFS{}, r, units[0]); err != nil {
			return nil
		}
	}
	return units
}
