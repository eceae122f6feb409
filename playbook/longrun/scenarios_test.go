package longrun_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/layout/layouttest"
	layout "reprise/layout/longrun"
	"reprise/playbook/longrun"
	"reprise/playbook/playbooktest"
)

// Whatever state the layout knows is carried on until it is over, waits or
// cannot go on, and comes to rest in a bounded number of turns.
func TestX2_every_scenario_of_the_layout_comes_to_rest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../layout/longrun/testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		switch filepath.Base(name) {
		case "lr2-broken-checkpoint.txtar", "lr1-history-broken.txtar", "gsd-state-stacked.txtar":
			continue // files that cannot be read are not written to: an error that names them
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			tree := layouttest.LoadFS(t, name)
			refs, err := layout.New().Find(tree)
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range refs {
				p := playbooktest.Player{Layout: layout.New(), Book: patient{longrun.New()}, Ref: ref, Turns: 80, Attempts: 1}
				said := 0
				p.Answer = func(reprise.Question) (string, bool) { said++; return "accept", said < 20 }
				p.Agent = func(j playbooktest.Job) reprise.Reply {
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

func (b patient) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	units := b.Playbook.Pick(r, d, busy)
	if len(units) > 0 {
		if _, err := b.Assign(fstest.MapFS{}, r, units[0]); err != nil {
			return nil
		}
	}
	return units
}
