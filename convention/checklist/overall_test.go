package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
)

// conductor picks the first track that is not ticked in tracks.md, whatever its plan says.
func TestThe_box_of_a_track_follows_its_plan(t *testing.T) {
	t.Parallel()
	const plan = "# Implementation Plan: Export\n\n## Phase 1: Write it\n\n- [ ] Task: Choose the columns\n- [ ] Task: Write the file\n"
	const one, two = "1.task-choose-the-columns", "1.task-write-the-file"
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "conductor" })
	finished := func(id string) conventiontest.Recorded {
		return conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepFinished, Step: id}, Status: reprise.Done}
	}
	skipped := func(id string) conventiontest.Recorded {
		return conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepSkipped, Step: id}, Status: reprise.Skipped}
	}
	again := conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepReset, Step: one}, Status: reprise.Pending}
	for _, tracks := range []string{
		"# Project Tracks\n\n---\n\n## [x] Track: Import\n*Link: [./conductor/tracks/import/](./conductor/tracks/import/)*\n\n---\n\n## [MARK] Track: Export\n*Link: [./conductor/tracks/export/](./conductor/tracks/export/)*\n",
		"# Project Tracks\r\n\r\n- [ ] **Track: Import**\r\n  *Link: [./tracks/import/](./tracks/import/)*\r\n\r\n- [MARK] **Track: Export** \r\n  *Link: [./tracks/export/](./tracks/export/)*",
	} {
		for _, c := range []struct {
			was, now string
			events   []conventiontest.Recorded
		}{
			{" ", "~", []conventiontest.Recorded{finished(one)}},
			{" ", "x", []conventiontest.Recorded{finished(one), finished(two)}},
			{"~", "x", []conventiontest.Recorded{finished(one), skipped(two)}},
			{"x", "~", []conventiontest.Recorded{finished(one), finished(two), again}},
			{" ", " ", []conventiontest.Recorded{skipped(one), skipped(two)}}, // nothing was made
			{"!", "!", []conventiontest.Recorded{finished(one), finished(two)}},
		} {
			tree := fstest.MapFS{
				"conductor/tracks.md":                   {Data: []byte(strings.Replace(tracks, "MARK", c.was, 1))},
				"conductor/tracks/export/plan.md":       {Data: []byte(plan)},
				"conductor/tracks/export/metadata.json": {Data: []byte(`{"track_id": "export", "status": "new"}`)},
			}
			after := conventiontest.Records(t, checklist.New(checklist.Families()[i]), tree, "export", c.events...)
			if got, want := string(after["conductor/tracks.md"].Data), strings.Replace(tracks, "MARK", c.now, 1); got != want {
				t.Errorf("%q after %d events: %q", c.was, len(c.events), got)
			}
		}
	}
}
