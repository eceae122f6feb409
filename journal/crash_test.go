package journal_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
	"reprise/journal"
)

var at = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

// whole is a run of each layout from where its example stands to its end.
var whole = []struct {
	layout, example, id string
	events              []reprise.Event
}{
	{"autoclaude", "autoclaude", "004-remove-secrets-from-config", work("subtask-2-3", "subtask-3-1")},
	{"eventrun", "eventrun", "20260212-0915-csv-export-k3f9", work("T004", "T005")},
	{"longrun", "longrun", "checkout", work("02", "03")},
	{"longrun", "gsd", "planning", work("02-02", "02-03")},
	{"orchestrate", "orchestrate", "2.3", []reprise.Event{
		{Kind: reprise.StepFinished, Step: "implement", Actor: "dev"},
		{Kind: reprise.StepStarted, Step: "qa", Actor: "qa", Attempt: 1},
		{Kind: reprise.StepFinished, Step: "qa", Actor: "qa", Outcome: "approved"},
	}},
	{"specloop", "specloop", "012-team-invites", append([]reprise.Event{
		{Kind: reprise.AnswerApplied, Question: "C2.1"},
		{Kind: reprise.StepFinished, Step: "B2"},
	}, work("B3")...)},
}

// work starts and finishes steps one after the other.
func work(steps ...string) []reprise.Event {
	var out []reprise.Event
	for _, s := range steps {
		out = append(out,
			reprise.Event{Kind: reprise.StepStarted, Step: s, Attempt: 1, Agent: "agent-" + s},
			reprise.Event{Kind: reprise.StepFinished, Step: s, Attempt: 1, Agent: "agent-" + s, Commit: "0123456789abcdef0123456789abcdef01234567"})
	}
	return out
}

// names is a source of names that is the same in every process.
type names struct{ n byte }

func (c *names) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

func open(d *crashfs.FS) (*durable.Store, error) {
	s := durable.OpenOn(d, durable.Options{Rand: &names{}, Reserve: -1, Now: func() time.Time { return at }})
	_, err := s.Take(context.Background())
	return s, err
}

func find(name string) reprise.Layout {
	for _, e := range convention.All() {
		if e.Name() == name {
			return e.Layout
		}
	}
	return nil
}

// put lays an example out on the disk that crashes.
func put(d *crashfs.FS, dir string) error {
	fsys := os.DirFS(dir)
	return fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		d.Put(p, data, 0o644)
		return nil
	})
}

// TestD1_O1_X7_every_layout_from_first_to_last_record crashes the recording of a
// whole run at operations of it, in every way, and asks of each state: nothing
// acknowledged is lost, no step is finished twice, the layout's files tell what
// the journal tells, and recovery gives the same answer twice.
func TestD1_O1_X7_every_layout_from_first_to_last_record(t *testing.T) {
	t.Parallel()
	var states atomic.Int64
	t.Run("layouts", func(t *testing.T) {
		for _, w := range whole {
			t.Run(w.example, func(t *testing.T) {
				t.Parallel()
				l := find(w.layout)
				ref, ok := refOf(t, l, "../examples/"+w.example, w.id)
				if !ok {
					t.Fatalf("no run %s", w.id)
				}
				// Crashes inside recovery, and operations that fail, are
				// explored for the store itself; here they multiply by the
				// files of a layout and run with `make crash`, as does every
				// operation of all.
				cfg := crashfs.Config{NoDeep: true, NoFail: true, Kills: sample.Every(t, 600), Cuts: sample.Every(t, 300)}
				if os.Getenv("REPRISE_CRASH") != "" {
					cfg = crashfs.Config{}
				}
				r := crashfs.Explore(scenario(l, ref, "../examples/"+w.example, w.events), cfg)
				t.Log(r)
				for _, bad := range r.Bad {
					t.Error(bad)
				}
				if r.Capped > 0 {
					t.Errorf("%d states were left out", r.Capped)
				}
				states.Add(int64(r.States))
			})
		}
	})
	t.Logf("%d distinct states", states.Load())
}

func refOf(t *testing.T, l reprise.Layout, dir, id string) (reprise.Ref, bool) {
	t.Helper()
	refs, err := l.Find(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		if ref.ID == id {
			return ref, true
		}
	}
	return reprise.Ref{}, false
}

func scenario(l reprise.Layout, ref reprise.Ref, dir string, events []reprise.Event) crashfs.Scenario {
	return crashfs.Scenario{
		Name:  ref.Layout,
		Start: func(d *crashfs.FS) error { return put(d, dir) },
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, err := open(d)
			if err != nil {
				return err
			}
			j, err := journal.Open(s, l, ref)
			if err != nil {
				return err
			}
			for i, ev := range events {
				ev.At = at.Add(time.Duration(i) * time.Minute)
				if _, err := j.Record(context.Background(), ev); err != nil {
					return err
				}
				ack(fmt.Sprint(i + 1))
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, err := open(d)
			if err != nil {
				return "", err
			}
			j, err := journal.Open(s, l, ref)
			if err != nil {
				return "", err
			}
			// A note that something was brought up to date is there the first
			// time only; what is acted on must be the same both times.
			if _, err := j.CatchUp(context.Background()); err != nil {
				return "", err
			}
			return settled(s, l, ref, len(acked))
		},
	}
}

// settled checks what a recovered project must satisfy and describes it.
func settled(s *durable.Store, l reprise.Layout, ref reprise.Ref, acked int) (string, error) {
	entries, _, err := journal.Read(s, journal.Name(ref))
	if err != nil {
		return "", err
	}
	if len(entries) < acked {
		return "", fmt.Errorf("%d events were acknowledged, the journal has %d", acked, len(entries))
	}
	finished := map[string]int{}
	run, err := l.Load(s, ref)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %s %s\n", e.Seq, e.Event.Kind, e.Event.Step)
		if e.Event.Kind == reprise.StepFinished && !e.Nowhere {
			if finished[e.Event.Step]++; finished[e.Event.Step] > 1 {
				return "", fmt.Errorf("%s was finished twice", e.Event.Step)
			}
		}
	}
	if n := len(entries); n > 0 && !entries[n-1].Nowhere {
		edits, err := l.Record(s, run, entries[n-1].Event)
		if err != nil {
			return "", err
		}
		if len(edits) > 0 {
			return "", fmt.Errorf("the files do not tell event %d (%s %s): %s", n, entries[n-1].Event.Kind, entries[n-1].Event.Step, edits[0].Why)
		}
	}
	for id := range finished {
		if step := run.Step(id); step == nil || !step.Status.Closed() && step.Status != reprise.InReview {
			return "", fmt.Errorf("%s was finished, its files say %+v", id, step)
		}
	}
	return b.String() + conventiontest.Describe(run), nil
}
