package temporal

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/cli"
	"reprise/project"
)

// A clone that has fetched the branch of a run knows it by its name, and the file that it is of,
// although it has no files of it: the plain program says what it is and the command that goes on
// with it, and begins no second one. (issue 19)
func TestPlain_reprise_knows_a_run_of_which_it_has_the_branch_alone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until string // what the fleet did, "" for nothing yet
		stop  bool
		words string
		way   string
		again bool // another run of the file is begun
	}{
		"at work":   {"a", false, "works on it", "`reprise-fleet resume r`", false},
		"left open": {"a", true, "has left it open", "`reprise-fleet stop r` names the commands", false},
		"finished":  {"abc", false, "has finished it", "`git merge origin/reprise/r`", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t)
			for range c.until {
				s.step()
			}
			if c.stop {
				s.stop()
			} else if c.again {
				if d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run}); err != nil || d.Left == nil {
					t.Fatalf("%+v, %v", d, err)
				}
			}
			s.git(s.clone, "fetch", "-q", "origin")
			plain := func(args ...string) (int, string) {
				var out bytes.Buffer
				home := t.TempDir()
				code := cli.Main(append(args, "-C", s.clone), &out, &out, func(name string) string {
					return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
				})
				return code, strings.Join(strings.Fields(out.String()), " ")
			}
			if code, said := plain("check", "r"); code != 11 || !strings.Contains(said, c.words) || !strings.Contains(said, c.way) {
				t.Errorf("check: exit %d: %s", code, said)
			}
			for _, args := range [][]string{{"check"}, {"resume", "--mode", "autopilot"}, {"status"}} {
				want := map[bool]int{true: 3, false: 11}[c.again] // whoever merged it in another way has the branch for good
				if args[0] == "status" {
					want = 0
				}
				if code, said := plain(args...); code != want || strings.Contains(said, "r is not here: the fleet "+c.words) == c.again || strings.Contains(said, "No workflow state found") != c.again {
					t.Errorf("%s: exit %d: %s", args, code, said)
				}
			}
			for what, own := range map[string]bool{"flow.yaml": true, "graph r": true, "graph something else": false} {
				kind, goal, _ := strings.Cut(what, " ")
				args := []string{"run", kind, "--dry-run", "--trust", "--mode", "autopilot"}
				if goal != "" {
					args = append(args, goal)
				}
				code, said := plain(args...)
				if refused := code == 11 && strings.Contains(said, "r is such a run: the fleet "+c.words) && strings.Contains(said, "--id NAME"); refused == (c.again || !own) {
					t.Errorf("run %s: exit %d: %s", what, code, said)
				}
			}
		})
	}
}

// Whoever goes on with a run in a checkout of its branch is told that the fleet does not know it,
// and what to push, until it is pushed. (issue 19)
func TestWhat_was_done_after_the_fleet_left_is_told_to_be_pushed(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	w := s.aside("w", "-b", Branch("r"))
	told := func() (f reprise.Finding) {
		t.Helper()
		j, err := project.Judge(t.Context(), w, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
		if err != nil {
			t.Fatal(err)
		}
		r := j.Find(s.run.Ref)
		if i := slices.IndexFunc(r.Findings, func(f reprise.Finding) bool {
			return f.Code == reprise.CodeUnpushed && strings.Contains(f.Message, "the fleet")
		}); i >= 0 {
			f = r.Findings[i]
		}
		return f
	}
	later := func() { // git keeps whole seconds
		for now := time.Now().Unix(); time.Now().Unix() == now; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if f := told(); f.Code != "" {
		t.Errorf("nothing was done: %+v", f)
	}
	later()
	if err := s.goOn(w, "b"); err != nil {
		t.Fatal(err)
	}
	if f := told(); f.Severity != reprise.Info || !strings.Contains(f.Hint, "`git push origin HEAD:reprise/r`") {
		t.Errorf("b was done: %+v", f)
	}
	if err := s.goOn(w, ""); err != nil {
		t.Fatal(err)
	}
	if f := told(); f.Severity != reprise.Warning {
		t.Errorf("all was done: %+v", f)
	}
	later()
	s.git(w, "add", "-A")
	s.git(w, "commit", "-q", "-m", "done")
	s.git(w, "push", "-q", "origin", "HEAD:"+Branch("r"))
	if f := told(); f.Code != "" {
		t.Errorf("it was pushed: %+v", f)
	}
}
