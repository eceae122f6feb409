package checklist_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
	"reprise/convention/playtest"
	pick "reprise/internal/sample"
)

// sample is a list of a family that the tests work on.
type sample struct {
	archive string // of the scenarios
	list    string
	file    string // with before and after, if that is another one
	run     string
	open    []string // tasks in the order in which they are started
	before  string   // what stands in the list where the second open task is not done
	after   string   // and where it is
	begins  bool     // a list has a word for what is begun
	left    bool     // an open box that is no task is left for a person
	review  string   // the task that is done, but not accepted yet
	person  string   // the task that only a person can do
	// ours matches what makes a text a list of the family; every text is one if nil.
	ours *regexp.Regexp
}

var samples = map[string]sample{
	"speckit": {
		archive: "speckit-under-way", list: "specs/004-export/tasks.md", run: "004-export", open: []string{"T004", "T005", "T006"},
		before: "- [ ] **T005**", after: "- [x] **T005**", left: true,
		ours: regexp.MustCompile(`(?m)^# Tasks:|^\s*- \[.\] \**T\d+\S* +\S|\x00|\A\s*\z`),
	},
	"kiro": {
		archive: "kiro-under-way", list: ".kiro/specs/search/tasks.md", run: "search", open: []string{"2.3", "2.4", "3"},
		before: "- [ ] 2. Query it\n", after: "- [x] 2. Query it\n", begins: true,
	},
	"openspec": {
		archive: "openspec-under-way", list: "openspec/changes/add-export/tasks.md", run: "add-export", open: []string{"1.2", "1.3", "2.1"},
		before: "- [ ] 1.3", after: "- [x] 1.3",
	},
	"bmad": {
		archive: "bmad-under-way", list: "_bmad-output/implementation-artifacts/sprint-status.yaml", run: "sprint-status",
		open:   []string{"1-2-empty-cart", "1-3-share-cart", "2-1-pay-by-card"},
		before: "  1-3-share-cart: backlog\n", after: "  1-3-share-cart: done\n", begins: true, review: "1-2-empty-cart",
		ours: regexp.MustCompile(`development_status|\x00|\A\s*\z`),
	},
	"taskmaster": {
		archive: "taskmaster-under-way", list: ".taskmaster/tasks/tasks.json", run: "tasks",
		open:   []string{"master:2.1", "master:2.2", "master:3", "later:1"},
		before: `{"id": 2, "title": "Check it", "dependencies": [1], "status": "pending"}`,
		after:  `{"id": 2, "title": "Check it", "dependencies": [1], "status": "done"}`, begins: true,
		ours: regexp.MustCompile(`tasks`),
	},
	"ralph": {
		archive: "ralph-under-way", list: "scripts/ralph/prd.json", run: "prd", open: []string{"US-003", "US-002", "US-004"},
		before: `"priority": 3, "passes": false`, after: `"priority": 3, "passes": true`,
		ours: regexp.MustCompile(`userStories`),
	},
	"conductor": {
		archive: "conductor-under-way", list: "conductor/tracks/export_20260102/plan.md", run: "export_20260102",
		open:   []string{"2.task-add-the-button", "2.task-name-the-file", "2.task-conductor-user-manual-verification-phase-2"},
		before: "- [ ] Task: Name the file", after: "- [x] Task: Name the file", begins: true,
		person: "2.task-conductor-user-manual-verification-phase-2",
	},
	"agentos": {
		archive: "agentos-under-way", list: ".agent-os/specs/2026-01-02-export/tasks.md", run: "2026-01-02-export", open: []string{"2.2", "3.1", "3.2"},
		before: "- [ ] 2. Offer it", after: "- [x] 2. Offer it",
	},
	"superpowers": {
		archive: "superpowers-under-way", list: "docs/plans/2026-01-02-export.md", run: "2026-01-02-export", open: []string{"2.2", "3.1", "3.2"},
		before: "- [ ] **Step 2: Add the button**", after: "- [x] **Step 2: Add the button**",
		ours: regexp.MustCompile(`(?m)^\s*- \[.\] \**Step \d+:?\S* +\S|\x00|\A\s*\z`),
	},
	"planfiles": {
		archive: "planfiles-under-way", list: "task_plan.md", run: "task_plan", open: []string{"2.add-the-button", "3.test-it", "3.show-it"},
		before: "- [ ] Add the button", after: "- [x] Add the button",
		ours: regexp.MustCompile(`(?m)^# Task Plan|^\s*- \[.\] +\S|\x00|\A\s*\z`),
	},
	"features": {
		archive: "features-under-way", list: "feature_list.json", run: "feature_list", open: []string{"f-4", "f-3", "f-2"},
		before: `"title": "Pay", "status": "not_started"`, after: `"title": "Pay", "status": "passing"`, begins: true,
		ours: regexp.MustCompile(`features`),
	},
	"backlog": {
		archive: "backlog-under-way", list: "backlog/config.yml", file: "backlog/tasks/task-10.1 - Print-the-label.md", run: "backlog",
		open: []string{"task-3", "task-10.1", "task-10"}, before: `status: "To Do"`, after: `status: "Done"`, begins: true,
		ours: regexp.MustCompile(`statuses|\x00|\A\s*\z`),
	},
	"beads": {
		archive: "beads-under-way", list: ".beads/issues.jsonl", run: "issues", open: []string{"shop-b2.2", "shop-c3", "shop-b2.1"},
		before: `"title":"Pay","status":"open"`, after: `"title":"Pay","status":"closed"`, begins: true,
	},
}

func (s sample) tree(t *testing.T, f checklist.Family) fstest.MapFS {
	return conventiontest.LoadFS(t, path.Join("testdata/scenarios", f.Name, s.archive+".txtar"))
}

// each runs a test for every family.
func each(t *testing.T, test func(t *testing.T, f checklist.Family, s sample)) {
	for _, f := range checklist.Families() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s, ok := samples[f.Name]
			if !ok {
				t.Fatal("the family has no sample")
			}
			test(t, f, s)
		})
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f checklist.Family, _ sample) {
		conventiontest.RankedScenarios(t, checklist.New(f), "testdata/scenarios/"+f.Name, checklist.Rank)
	})
}

func TestA_project_describes_families_of_its_own(t *testing.T) {
	t.Parallel()
	conventiontest.RankedScenarios(t, checklist.Own{}, "testdata/scenarios/"+checklist.OwnName, checklist.Rank)
}

func TestA_list_of_an_own_family_is_recorded_and_worked_through(t *testing.T) {
	t.Parallel()
	const list = "work/cart/todo.md"
	tree := conventiontest.LoadFS(t, "testdata/scenarios/families/families-under-way.txtar")
	after := conventiontest.Records(t, checklist.Own{}, tree, "cart",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepFinished, Step: "W3"}, Status: reprise.Done},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepSkipped, Step: "W4"}, Status: reprise.Skipped, State: reprise.Complete},
	)
	want := strings.NewReplacer("[>] W3", "[x] W3", "[ ] W4", "[/] W4").Replace(string(tree[list].Data))
	if got := string(after[list].Data); got != want {
		t.Errorf("got %s", got)
	}
	p := playtest.Player{
		Layout: checklist.Own{}, Book: checklist.OwnPlaybook(),
		Ref:   reprise.Ref{Layout: checklist.OwnName, Kind: reprise.KindTasks, ID: "cart", Path: list},
		Agent: func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} },
	}
	if r := p.Play(t, tree); r.Run.State != reprise.Complete || !slices.Equal(r.Launches, []string{"coder W3", "coder W4"}) {
		t.Errorf("%s %s: started %q", r.Run.State, r.GaveUp, r.Launches)
	}
}

func TestDamaged_lists_are_never_read_as_done(t *testing.T) {
	t.Parallel()
	pick.Drawn(t)
	drawn := map[string]bool{}
	third := pick.Every(t, 3)
	for i, f := range checklist.Families() {
		drawn[f.Name] = third(i)
	}
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		if !drawn[f.Name] {
			t.Skip("another family is damaged this time, and all of them with REPRISE_ALL=1")
		}
		foreign := func(text []byte) bool { return s.ours != nil && !s.ours.Match(text) }
		conventiontest.Conform(t, checklist.New(f), s.tree(t, f), foreign)
	})
}

func TestAn_event_changes_the_status_of_its_task_and_nothing_else(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		step := func(kind reprise.EventKind, id string) reprise.Event {
			return reprise.Event{Kind: kind, Step: id, At: conventiontest.Epoch}
		}
		before, one, two := s.tree(t, f), s.open[0], s.open[1]
		after := conventiontest.Records(t, checklist.New(f), before, s.run,
			conventiontest.Recorded{Event: step(reprise.StepFinished, one), Status: reprise.Done},
			conventiontest.Recorded{Event: step(reprise.StepReset, one), Status: reprise.Pending},
			conventiontest.Recorded{Event: step(reprise.StepFinished, one), Status: reprise.Done},
			conventiontest.Recorded{Event: step(reprise.StepStarted, two), Cannot: !s.begins, Status: reprise.InProgress},
			conventiontest.Recorded{Event: step(reprise.StepFinished, two), Status: reprise.Done},
			conventiontest.Recorded{Event: step(reprise.StepFailed, s.open[2]), Cannot: len(f.Words[reprise.Failed]) == 0 || !s.begins, Status: reprise.Failed},
			conventiontest.Recorded{Event: step(reprise.StepFinished, "no such task"), Cannot: true},
			conventiontest.Recorded{Event: step(reprise.RunEnded, ""), Cannot: true},
		)
		file := cmp.Or(s.file, s.list)
		was, is := string(before[file].Data), string(after[file].Data)
		if strings.Count(was, s.before) != 1 || strings.Count(is, s.after) != 1 {
			t.Errorf("%q did not become %q:\n%s", s.before, s.after, is)
		}
		for i, line := range strings.SplitAfter(was, "\n") {
			if now := strings.SplitAfter(is, "\n")[i]; len(now) != len(line) && f.Form == checklist.Boxes && !strings.Contains(line, "**Status:**") {
				t.Errorf("more than a box changed: %q", now)
			}
		}
	})
}

func TestEvery_task_can_be_left_out_and_taken_back(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		before, all := s.tree(t, f), []conventiontest.Recorded{}
		for _, id := range s.open {
			all = append(all, conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepSkipped, Step: id, At: conventiontest.Epoch}, Status: reprise.Skipped})
		}
		back := reprise.Event{Kind: reprise.StepReset, Step: s.open[1], At: conventiontest.Epoch}
		after := conventiontest.Records(t, checklist.New(f), before, s.run, all[1], conventiontest.Recorded{Event: back, Status: reprise.Pending})
		if f.Form == checklist.Boxes && !bytes.Equal(after[s.list].Data, before[s.list].Data) {
			t.Errorf("it is not what it was:\n%s", after[s.list].Data)
		}
		if !s.left {
			all[len(all)-1].State = reprise.Complete
		}
		after = conventiontest.Records(t, checklist.New(f), before, s.run, all...)
		done := conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepFinished, Step: s.open[1], At: conventiontest.Epoch}, Status: reprise.Done}
		after = conventiontest.Records(t, checklist.New(f), after, s.run, done)
		if f.Form == checklist.Boxes && strings.Count(string(after[s.list].Data), " (skipped)\n") != len(s.open)-1 {
			t.Errorf("what is done is still called skipped:\n%s", after[s.list].Data)
		}
	})
}

func TestA_word_of_the_configuration_that_is_known_is_written(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "backlog" })
	tree := conventiontest.LoadFS(t, "testdata/scenarios/backlog/backlog-own-words.txtar")
	start := reprise.Event{Kind: reprise.StepStarted, Step: "task-2", At: conventiontest.Epoch}
	after := conventiontest.Records(t, checklist.New(checklist.Families()[i]), tree, "backlog", conventiontest.Recorded{Event: start, Status: reprise.InProgress})
	if got := string(after["backlog/tasks/task-2 - Build-it.md"].Data); !strings.Contains(got, "status: In Progress\n") {
		t.Errorf("got %s", got)
	}
}

func TestA_task_whose_attempt_was_cut_off_stays_begun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		if !s.begins {
			t.Skip("its lists have no word for that")
		}
		ev := func(kind reprise.EventKind, outcome string) reprise.Event {
			return reprise.Event{Kind: kind, Step: s.open[1], Outcome: outcome, At: conventiontest.Epoch}
		}
		conventiontest.Records(t, checklist.New(f), s.tree(t, f), s.run,
			conventiontest.Recorded{Event: ev(reprise.StepStarted, ""), Status: reprise.InProgress},
			conventiontest.Recorded{Event: ev(reprise.StepReset, "cut-off"), Status: reprise.InProgress},
			conventiontest.Recorded{Event: ev(reprise.StepFinished, ""), Status: reprise.Done},
			conventiontest.Recorded{Event: ev(reprise.StepReset, "cut-off"), Status: reprise.InProgress},
			conventiontest.Recorded{Event: ev(reprise.StepReset, ""), Status: reprise.Pending},
		)
	})
}

func TestA_list_is_worked_through_whatever_instruction_the_engine_dies_at(t *testing.T) {
	t.Parallel()
	pick.Drawn(t)
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		p := playtest.Player{
			Layout: checklist.New(f), Book: checklist.NewPlaybook(f), Ref: reprise.Ref{Layout: f.Name, Kind: reprise.KindTasks, ID: s.run, Path: s.list},
			Agent: func(j playtest.Job) reprise.Reply {
				if j.Role == "reviewer" {
					return reprise.Reply{Outcome: "done", Verdict: "approved"}
				}
				j.Write("src/"+j.Step, "made")
				return reprise.Reply{Outcome: "done"}
			},
			Answer: func(q reprise.Question) (string, bool) { return q.Options[0], len(q.Options) == 1 },
		}
		r := p.Play(t, s.tree(t, f))
		end := reprise.Complete
		if s.left {
			end = reprise.Waiting
		}
		if r.Run.State != end || r.GaveUp != "" {
			t.Fatalf("%s (%s): %s", r.Run.State, r.Run.Reason, r.GaveUp)
		}
		var want []string
		for _, id := range s.open {
			switch id {
			case s.person:
			case s.review:
				want = append(want, "reviewer "+id)
			default:
				want = append(want, "coder "+id)
			}
		}
		if len(r.Launches) < len(want) || !slices.Equal(r.Launches[:len(want)], want) {
			t.Errorf("started %q", r.Launches)
		}
		for kill := 1; kill <= r.Ticks; kill++ {
			p.Kill = kill
			if again := p.Play(t, s.tree(t, f)); again.Run.State != end {
				t.Errorf("killed at %d: %s (%s): %s", kill, again.Run.State, again.Run.Reason, again.GaveUp)
			}
		}
	})
}

func TestA_list_that_is_not_there_is_not_begun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f checklist.Family, s sample) {
		book, tree := checklist.NewPlaybook(f), s.tree(t, f)
		if ref, events, err := book.Begin(tree, reprise.Goal{Path: path.Dir(s.list)}); err != nil || ref.Path != s.list || len(events) != 0 {
			t.Errorf("%+v %v %v", ref, events, err)
		}
		if ref, _, err := book.Begin(tree, reprise.Goal{Text: "make one"}); err == nil {
			t.Errorf("began %+v", ref)
		}
	})
}

func TestA_list_that_is_a_copy_of_a_database_is_not_written_to(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "beads" })
	f := checklist.Families()[i]
	layout := checklist.New(f)
	for file, c := range map[string]struct {
		content string
		copied  bool
	}{
		"embeddeddolt/noms": {"a table", true}, "dolt/noms": {"a table", true},
		"metadata.json": {`{"backend": "dolt"}`, true}, "beads.db": {"a table", false}, "metadata.json/": {`{"backend": "sqlite"}`, false},
	} {
		tree := samples["beads"].tree(t, f)
		tree[path.Join(".beads", file)] = &fstest.MapFile{Data: []byte(c.content)}
		refs, err := layout.Find(tree)
		if err != nil || len(refs) != 1 {
			t.Fatal(refs, err)
		}
		run, err := layout.Load(tree, refs[0])
		if err != nil {
			t.Fatal(err)
		}
		if copied := run.Worst() == reprise.Blocking; copied != c.copied {
			t.Errorf("%s: what is started could be recorded or not, and that is not said: %v", file, run.Findings)
		}
		edits, err := layout.Record(tree, run, reprise.Event{Kind: reprise.StepFinished, Step: "shop-c3", At: conventiontest.Epoch})
		if refused := errors.Is(err, reprise.ErrCannotRecord) && strings.Contains(err.Error(), "run `bd close shop-c3`"); refused != c.copied || (len(edits) == 0) != c.copied {
			t.Errorf("%s: %d edits, %v", file, len(edits), err)
		}
	}
}

func TestThe_list_that_git_saw_changed_last_comes_first(t *testing.T) {
	t.Parallel()
	run := func(id string, state reprise.State) *reprise.Run {
		return &reprise.Run{Ref: reprise.Ref{ID: id, Path: "specs/" + id + "/tasks.md"}, State: state, Next: []reprise.Unit{{ID: "T001"}}}
	}
	commit := func(paths ...string) (c reprise.Commit) {
		c.OnHead = true
		for _, p := range paths {
			c.Files = append(c.Files, reprise.FileChange{Path: "specs/" + p})
		}
		return c
	}
	runs := []*reprise.Run{
		run("a", reprise.Interrupted), run("b", reprise.Complete), run("c", reprise.NotStarted), run("d", reprise.Interrupted),
	}
	checklist.Rank(runs, reprise.Observed{Git: &reprise.Git{Commits: []reprise.Commit{
		commit("b/tasks.md"), commit("c/tasks.md"), commit("a/tasks.md", "d/tasks.md"), commit("d/tasks.md"),
	}}})
	var got bytes.Buffer
	for _, r := range runs {
		got.WriteString(r.ID)
	}
	if got.String() != "cadb" {
		t.Error(got.String())
	}
}

func TestThe_list_of_the_branch_comes_first_and_says_so(t *testing.T) {
	t.Parallel()
	runs := []*reprise.Run{
		{Ref: reprise.Ref{ID: "001-cart", Path: "specs/001-cart/tasks.md"}, State: reprise.Interrupted},
		{Ref: reprise.Ref{ID: "002-pay", Path: "specs/002-pay/tasks.md"}, State: reprise.NotStarted, Next: []reprise.Unit{{ID: "T001"}}},
	}
	checklist.Rank(runs, reprise.Observed{Git: &reprise.Git{Branch: "002-pay"}})
	if first := runs[0]; first.ID != "002-pay" || first.Placed[0].Term != "named like the branch" || len(runs[1].Placed) != 1 {
		t.Errorf("%s: %+v, then %+v", first.ID, first.Placed, runs[1].Placed)
	}
}

func TestThe_work_continues_behind_the_task_that_was_closed_last(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "speckit" })
	layout := checklist.New(checklist.Families()[i])
	marks := func(s string) []byte {
		var out bytes.Buffer
		for i, mark := range s {
			fmt.Fprintf(&out, "- [%c] T00%d Do it\n", mark, i+1)
		}
		return out.Bytes()
	}
	const name = "specs/001-cart/tasks.md"
	for _, c := range []struct {
		now   string
		past  []string
		next  string
		moved string
	}{
		{"      ", []string{"      "}, "T001", ""},
		{"x  x  ", []string{"x  x  "}, "T005", "0"}, // it was added so
		{"x  x  ", []string{"   x  "}, "T002", reprise.Uncommitted},
		{"x  x  ", []string{"x  x  ", "   x  "}, "T002", "0"},
		{"x  x  ", []string{"x  x  ", "x  x  ", "x     "}, "T005", "1"},
		{"xx x x", []string{"xx x x", "xx x  "}, "T005", "0"}, // nothing open is behind it
	} {
		tree := fstest.MapFS{name: {Data: marks(c.now)}}
		run, err := layout.Load(tree, reprise.Ref{Layout: "speckit", Path: name})
		if err != nil {
			t.Fatal(err)
		}
		var past []reprise.Version
		for i, s := range c.past {
			past = append(past, reprise.Version{Commit: strconv.Itoa(i), Content: marks(s)})
		}
		layout.Aim(tree, run, past)
		if got := run.Next[0].ID; got != c.next || run.Moved != c.moved {
			t.Errorf("%q after %q: %s, moved by %q", c.now, c.past, got, run.Moved)
		}
	}
}

// A phase of planning-with-files is complete with the last of its boxes, and no longer is
// when one is opened again.
func TestThe_status_line_of_a_phase_follows_its_boxes(t *testing.T) {
	t.Parallel()
	family := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "planfiles" })]
	text := func(box, status string) string {
		return "# Task Plan: Export\n\n### Phase 1: Work\n- [x] Write\n- [" + box + "] Show\n- **Status:** " + status + "\n"
	}
	for _, c := range []struct {
		was, want string
		kind      reprise.EventKind
	}{
		{text(" ", "in_progress"), text("x", "complete"), reprise.StepFinished},
		{text("x", "complete"), text(" ", "in_progress"), reprise.StepReset},
	} {
		tree := fstest.MapFS{"task_plan.md": {Data: []byte(c.was)}}
		run := &reprise.Run{Ref: reprise.Ref{Layout: family.Name, Kind: reprise.KindTasks, ID: "task_plan", Path: "task_plan.md"}}
		edits, err := checklist.New(family).Record(tree, run, reprise.Event{Kind: c.kind, Step: "1.show", At: conventiontest.Epoch})
		if err != nil || len(edits) != 1 || string(edits[0].Content) != c.want {
			t.Errorf("%s: %v, %v", c.kind, edits, err)
		}
	}
}
