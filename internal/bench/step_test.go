package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention/eventrun"
	"reprise/internal/durable"
	"reprise/journal"
)

var flow = reprise.Ref{Layout: eventrun.Name, ID: "flow", Path: ".agent-memory/runs/flow", Kind: reprise.KindGraph}

// group is how many events the files are told of at once.
const group = 256

// session is a run of a person's own workflow being worked on.
type session struct {
	store *durable.Store
	j     *journal.Journal
	hist  *journal.History
	run   *reprise.Run
	track reprise.Track
	at    time.Time
}

// resume opens a project and comes to where the next step can be started.
func resume(t testing.TB, dir string) *session {
	t.Helper()
	ctx := context.Background()
	store, err := durable.Open(dir, durable.Options{Adopt: true}) // a copy, at times
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(ctx); err != nil {
		t.Fatal(err)
	}
	s := &session{store: store, hist: journal.Fold(nil), at: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	l := eventrun.Layout{}
	if s.j, _, s.run, err = journal.OpenRun(ctx, store, l, flow, func(e *journal.Entry) { s.hist.Add(&e.Event) }); err != nil {
		t.Fatal(err)
	}
	s.run = s.run.Clone()
	s.track = l.Track(s.store, s.run)
	s.at = s.at.Add(time.Duration(s.hist.Events) * time.Millisecond)
	return s
}

// step does the next step, which needs no one.
func (s *session) step(t testing.TB) {
	t.Helper()
	id := s.run.Next[0].ID
	for _, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished} {
		s.at = s.at.Add(time.Millisecond)
		ev := reprise.Event{Kind: kind, At: s.at, Step: id, Attempt: 1, Actor: "reprise"}
		ok, err := s.j.Defer(context.Background(), s.track, ev)
		if !ok || err != nil {
			t.Fatalf("%s of %s: %v %v", kind, id, ok, err)
		}
		s.hist.Add(&ev)
	}
	if s.j.Deferred() >= group {
		if err := s.j.Project(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// begin makes a run of n steps one after the other.
func begin(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(`{"title":"flow","tasks":[`)
	for i := range n {
		if i > 0 {
			fmt.Fprintf(&b, `,{"id":"S%05d","title":"step %d","dependencies":["S%05d"]}`, i, i, i-1)
			continue
		}
		fmt.Fprintf(&b, `{"id":"S%05d","title":"step %d","dependencies":[]}`, i, i)
	}
	b.WriteString("]}")
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(context.Background()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, eventrun.Layout{}, flow)
	if err != nil {
		t.Fatal(err)
	}
	ev := reprise.Event{Kind: reprise.RunStarted, At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Text: b.String()}
	if _, err := j.Record(context.Background(), ev); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// perStep works all steps of a run off but the last, with two raw durable appends
// beside each, and gives the mean time of both.
func perStep(t *testing.T, n int) (ours, raw time.Duration) {
	t.Helper()
	s := resume(t, begin(t, n))
	defer s.store.Release()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 250) + "\n")
	for range n - 1 {
		start := time.Now()
		for range 2 {
			if _, err := f.Write(line); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		raw += time.Since(start)
		start = time.Now()
		s.step(t)
		ours += time.Since(start)
	}
	start := time.Now()
	if err := s.j.Project(context.Background()); err != nil {
		t.Fatal(err)
	}
	ours += time.Since(start)
	return ours / time.Duration(n-1), raw / time.Duration(n-1)
}

// TestBenchStep: a step that starts nothing costs at most six raw durable appends,
// whether the run has a hundred steps or ten thousand.
func TestBenchStep(t *testing.T) {
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("measurements run with `make bench`")
	}
	var ratios []float64
	for _, n := range []int{100, 10_000} {
		// Of the small run several, so that both measure alike.
		var ours, raw time.Duration
		rounds := max(1, 1000/n)
		for range rounds {
			o, r := perStep(t, n)
			ours, raw = ours+o, raw+r
		}
		ratio := 2 * float64(ours) / float64(raw)
		name := map[int]string{100: "a step of 100", 10_000: "a step of 10,000"}[n]
		figure(t, name, ours/time.Duration(rounds), "append and fsync", raw/time.Duration(2*rounds), fmt.Sprintf("at most %d", maxAppends))
		if ratio > maxAppends {
			t.Errorf("a step of %d costs %.2f raw appends", n, ratio)
		}
		ratios = append(ratios, ratio)
	}
	if grow := ratios[1] / ratios[0]; grow > 1.3 {
		t.Errorf("a step costs %.2f times as much in the large run", grow)
	}
}

// The limits of issue 14: what a step may cost in raw appends with fsync, and how long
// a killed run of ten thousand steps may take to its next step.
const (
	maxAppends = 6
	maxRestart = time.Second
)

// TestBenchRestart: a run of ten thousand steps that was killed starts its next step
// within a second; what cat takes for its files stands beside it.
func TestBenchRestart(t *testing.T) {
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("measurements run with `make bench`")
	}
	const steps = 10_000
	dir := begin(t, steps)
	s := resume(t, dir)
	for range steps - 100 {
		s.step(t)
	}
	// As a kill leaves it: what was deferred last is not in the files.
	left := s.j.Deferred()
	if err := s.store.Release(); err != nil {
		t.Fatal(err)
	}
	var ours, cats []time.Duration
	size := int64(0)
	for range 7 {
		copied := filepath.Join(t.TempDir(), "project")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		var files []string
		size = 0
		err := filepath.WalkDir(copied, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Base(p) != "reserve" {
				info, err := d.Info()
				if err != nil {
					return err
				}
				files, size = append(files, p), size+info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		cat := exec.Command("cat", files...)
		start := time.Now()
		if err := cat.Run(); err != nil {
			t.Fatal(err)
		}
		cats = append(cats, time.Since(start))
		start = time.Now()
		s := resume(t, copied)
		s.step(t)
		ours = append(ours, time.Since(start))
		if got := s.run.Progress().Done; got != steps-99 {
			t.Fatalf("%d steps are done", got)
		}
		if err := s.store.Release(); err != nil {
			t.Fatal(err)
		}
	}
	// The best of each: what else the machine does only adds.
	slices.Sort(ours)
	slices.Sort(cats)
	ratio := float64(ours[0]) / float64(cats[0])
	t.Logf("%d events behind, %d MB: next step after %v (wanted %v), cat %v: %.1f times", left, size>>20, ours[0], maxRestart, cats[0], ratio)
	if ours[0] > maxRestart {
		t.Errorf("the next step starts after %v", ours[0])
	}
}
