package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeSoon takes the lease. A process that another test is just starting has our
// lock for a moment, until it is the program that it is to be.
func takeSoon(t *testing.T, s *durable.Store) {
	t.Helper()
	var err error
	for range 500 {
		if _, err = s.Take(t.Context()); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal(err)
}

// olderJournal writes the journal of a run as an older build did.
func olderJournal(t *testing.T, dir string, ref reprise.Ref, all ...reprise.Event) {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	takeSoon(t, s)
	log, err := s.Log(journal.Name(ref))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute)
	for i, ev := range all {
		ev.At = at.Add(time.Duration(i) * time.Second)
		payload, err := json.Marshal(journal.Entry{Event: ev})
		if err == nil {
			_, err = log.Append("event", payload)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// C19: what an older build began and left open is carried on by its files and by git: nobody is asked
// about the attempt that it did not see the end of, what it did is not done again, and what it
// wrote down stays as it is.
func TestC19_a_run_that_an_older_build_left_open_is_carried_on(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	const file = "specs/001-x/tasks.md"
	put(t, dir, file, "# Tasks: x\n\n- [x] T001 first\n- [ ] T002 second\n- [ ] T003 third\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "list")
	e := newEngine(dir)
	ref := reprise.Ref{Layout: "speckit", ID: "001-x", Path: file, Kind: reprise.KindTasks}
	r, err := reprise.Load(convention.Find("speckit"), os.DirFS(dir), ref)
	if err != nil {
		t.Fatal(err)
	}
	olderJournal(t, dir, ref,
		reprise.Event{Kind: reprise.StepStarted, Step: r.Steps[0].ID, Attempt: 1, Key: "k1"},
		reprise.Event{Kind: reprise.StepFinished, Step: r.Steps[0].ID, Attempt: 1, Key: "k1"},
		reprise.Event{Kind: reprise.StepStarted, Step: r.Steps[1].ID, Attempt: 1, Key: "k2", Policy: reprise.AskWho})
	older := filepath.Join(dir, ".reprise/journal")
	was := treeOf(t, older)
	var did []string
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Began {
			did = append(did, p.Step)
		}
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete || !slices.Equal(did, []string{"T002", "T003"}) {
		t.Fatalf("%+v %v: %q", sum, err, did)
	}
	told := func(f reprise.Finding) bool { return strings.Contains(f.Message, "an older build of reprise began it") }
	if !slices.ContainsFunc(sum.Findings, told) {
		t.Errorf("it is not told: %+v", sum.Findings)
	}
	if diff := cmp.Diff(was, treeOf(t, older)); diff != "" {
		t.Errorf("its journal is another: %s", diff)
	}
	noted := 0
	for _, ev := range events(t, dir, ref) {
		if strings.Contains(ev.Text, "an older build of reprise began it") {
			noted++
		}
	}
	if noted != 1 {
		t.Errorf("noted %d times", noted)
	}
}
