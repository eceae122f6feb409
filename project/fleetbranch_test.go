//go:build unix

package project_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/gitx/gittest"
	"reprise/journal"
	"reprise/project"
)

// A clone that has fetched the branch of a run knows that the fleet has it, or what was done
// there, although its own files say that nothing was begun. (issue 19)
func TestA_run_that_the_fleet_has_is_known_by_its_branch(t *testing.T) {
	t.Parallel()
	const tasks = "specs/003-z/tasks.md"
	open := "# Tasks\n\n- [ ] T001 Make one\n- [ ] T002 Make two\n"
	markOf := func(id string) string {
		return durable.FleetMark(journal.Name(reprise.Ref{Layout: "speckit", ID: id, Path: "specs/" + id + "/tasks.md"}))
	}
	mark, other := markOf("003-z"), markOf("004-y")
	for name, c := range map[string]struct {
		there map[string]string // files of the branch
		then  [][]string        // calls of git
		code  string
		want  reprise.Action
	}{
		"not begun": {nil, nil, "", reprise.Start},
		"the fleet has it": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has it, and its branch was fetched alone": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"branch", "reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has left it since": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"branch", "reprise/003-z", "side"}, {"update-ref", "refs/remotes/origin/reprise/003-z", "main"},
		}, "", reprise.Start},
		"the fleet has another run": {map[string]string{other: "reprise/004-y 004-y\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/004-y", "side"},
		}, "", reprise.Start},
		"the fleet has a run around it": {map[string]string{mark: "reprise/004-y 004-y\n", other: "reprise/004-y 004-y\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/004-y", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has a run around it, and its branch is merged": {map[string]string{mark: "reprise/004-y 004-y\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/004-y", "side"}, {"merge", "-q", "--ff-only", "side"}, {"rm", "-q", mark},
		}, "", reprise.Start},
		"the fleet has finished it": {map[string]string{tasks: strings.ReplaceAll(open, "[ ]", "[x]")}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has done something that is no step": {map[string]string{tasks: open + "\nWhich one? The first.\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"another branch has changed it": {map[string]string{tasks: open + "\nWhich one? The first.\n"}, [][]string{
			{"branch", "topic", "side"},
		}, "", reprise.Start},
		"the fleet has finished it, and that is merged": {map[string]string{"one.txt": "one\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"}, {"merge", "-q", "--ff-only", "side"},
		}, "", reprise.Start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, dir, tasks, open)
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			for file, text := range c.there {
				gittest.Write(t, dir, file, text)
			}
			if c.there != nil {
				gittest.Commit(t, dir, env, "reprise: start 003-z")
			}
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			for _, call := range c.then {
				gittest.Run(t, dir, env, call...)
			}
			gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			j := judged(t, dir, time.Now())
			i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.ID == "003-z" })
			if i < 0 {
				t.Fatal("the list is not found")
			}
			r, codes := j.Runs[i], ""
			for _, f := range r.Findings {
				if f.Code == reprise.CodeHandedOver || f.Code == reprise.CodeElsewhere {
					codes += f.Code
				}
			}
			if codes != c.code || j.Decisions[r].Action != c.want {
				t.Errorf("%s %q: %+v %+v", j.Decisions[r].Action, codes, r.Ref, r.Findings)
			}
		})
	}
}

// What is inside a run that the fleet has is the fleet's with it: a story of an epic, and the QA
// loop of one, in the clone that gave the epic away as in a checkout of its branch. (issue 19)
func TestWhat_is_inside_a_run_that_the_fleet_has_is_the_fleets(t *testing.T) {
	t.Parallel()
	const epic = ".aiox/epic-9-state.yaml"
	files := map[string]string{
		"docs/stories/EPIC-9-EXECUTION.yaml": "epic_id: \"9\"\ntitle: Things\nwaves:\n  - number: 1\n    stories:\n      - {id: \"9.1\", title: T}\n",
		"docs/stories/9.1.story.md":          "# Story 9.1: T\n\n**Status:** Ready\n\n## Acceptance Criteria\n1. x\n\n## Tasks\n- [ ] do\n",
		"docs/stories/9.2.story.md":          "# Story 9.2: T\n\n**Status:** Ready\n\n## Acceptance Criteria\n1. x\n\n## Tasks\n- [ ] do\n",
		epic:                                 "epic_state:\n  epicId: \"9\"\n  execution_plan: docs/stories/EPIC-9-EXECUTION.yaml\n  status: active\n  current_wave: 1\n  total_waves: 1\n  waves:\n    1:\n      status: pending\n      stories:\n        \"9.1\": {status: pending}\n",
	}
	ref := reprise.Ref{Layout: "orchestrate", ID: "9", Path: epic, Kind: reprise.KindEpic}
	for _, given := range []bool{false, true} {
		dir := t.TempDir()
		for name, text := range files {
			gittest.Write(t, dir, name, text)
		}
		if given {
			gittest.Write(t, dir, durable.FleetMark(journal.Name(ref)), reprise.Marked{Run: "9"}.Text())
		}
		j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Runs {
			has := slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
				return f.Code == reprise.CodeHandedOver && strings.Contains(f.Hint, "`reprise-fleet stop 9`")
			})
			if inside := r.ID == "9" || r.ID == "9.1"; has != (given && inside) || has != (j.Decisions[r].Action == reprise.Refuse) {
				t.Errorf("given %v: %s: %s %+v", given, r.ID, j.Decisions[r].Action, r.Findings)
			}
		}
		if len(j.Runs) != 3 {
			t.Errorf("%d runs", len(j.Runs))
		}
	}
}

// A clone that gave a run to the fleet says what came of it, once it has fetched that: whoever
// reads it is told the command that goes on from there. (issue 19)
func TestA_run_that_was_given_to_the_fleet_says_what_came_of_it(t *testing.T) {
	t.Parallel()
	const tasks = "specs/003-z/tasks.md"
	open := "# Tasks\n\n- [ ] T001 Make one\n- [ ] T002 Make two\n"
	ref := reprise.Ref{Layout: "speckit", ID: "003-z", Path: tasks, Kind: reprise.KindTasks}
	for name, c := range map[string]struct {
		there map[string]string
		want  []string
	}{
		"nothing is known yet": {nil, []string{"is the run", "`reprise-fleet stop 003-z`"}},
		"it is at work":        {map[string]string{durable.FleetMark(journal.Name(ref)): reprise.Marked{Run: "003-z"}.Text()}, []string{"is the run", "`reprise-fleet stop 003-z`"}},
		"it was stopped":       {map[string]string{tasks: strings.Replace(open, "[ ]", "[x]", 1)}, []string{"has left it open", "`reprise-fleet stop 003-z`"}},
		"it is finished":       {map[string]string{tasks: strings.ReplaceAll(open, "[ ]", "[x]")}, []string{"has finished it", "`git merge origin/reprise/003-z`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, dir, tasks, open)
			gittest.Commit(t, dir, env, "base")
			if c.there != nil {
				gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
				for file, text := range c.there {
					gittest.Write(t, dir, file, text)
				}
				gittest.Commit(t, dir, env, "reprise: 003-z")
				gittest.Run(t, dir, env, "update-ref", "refs/remotes/origin/reprise/003-z", "side")
				gittest.Run(t, dir, env, "checkout", "-q", "main")
				gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			}
			handOver(t, dir, ref)
			j := judged(t, dir, time.Now())
			r := j.Find(ref)
			at := slices.IndexFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver })
			if at < 0 || j.Decisions[r].Action != reprise.Refuse {
				t.Fatalf("%s: %+v", j.Decisions[r].Action, r.Findings)
			}
			for _, want := range c.want {
				if f := r.Findings[at]; !strings.Contains(f.Message+f.Hint, want) {
					t.Errorf("no %q: %+v", want, f)
				}
			}
			// A quick look does not know what the branch has: it says only what is so in every case.
			quick, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}})
			if err != nil {
				t.Fatal(err)
			}
			if f := quick.Find(ref).Findings; !slices.ContainsFunc(f, func(f reprise.Finding) bool {
				return f.Code == reprise.CodeHandedOver && strings.HasSuffix(f.Message, "its branch reprise/003-z is the run, and this is an old copy")
			}) {
				t.Errorf("a quick look says %+v", f)
			}
		})
	}
}

// A run that was handed over with an attempt under way is up to date in a clone that has merged what the
// fleet made of it, also once the branch is deleted; until then it is not over here. (issue 19)
func TestA_run_that_the_fleet_has_finished_comes_back_with_the_merge(t *testing.T) {
	t.Parallel()
	const tasks = "specs/003-z/tasks.md"
	ref := reprise.Ref{Layout: "speckit", ID: "003-z", Path: tasks, Kind: reprise.KindTasks}
	journals := filepath.ToSlash(filepath.Dir(durable.FleetMark("")))
	open := "# Tasks\n\n- [ ] T001 Make one\n"
	done := strings.ReplaceAll(open, "[ ]", "[x]")
	for name, c := range map[string]struct {
		over string // the subject of the last commit of the branch
		then []string
		now  string // the list after that, "" for as it is then
		want reprise.Action
		held bool
	}{
		"not merged":               {reprise.OverSubject(ref.ID), nil, "", reprise.Refuse, true},
		"ticked here, not merged":  {reprise.OverSubject(ref.ID), nil, done, reprise.Finish, true},
		"merged":                   {reprise.OverSubject(ref.ID), []string{"merge", "-q", "--ff-only", "side"}, "", reprise.Finish, false},
		"merged, main went on":     {reprise.OverSubject(ref.ID), []string{"merge", "-q", "--no-ff", "side"}, "", reprise.Finish, false},
		"merged, with a new task":  {reprise.OverSubject(ref.ID), []string{"merge", "-q", "--no-ff", "side"}, done + "- [ ] T002 Make two\n", reprise.Start, false},
		"merged while it was open": {"reprise: 003-z", []string{"merge", "-q", "--ff-only", "side"}, "", reprise.Finish, true},
		"another run is over":      {reprise.OverSubject("003"), []string{"merge", "-q", "--ff-only", "side"}, "", reprise.Finish, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, ".gitignore", ".reprise/\n")
			gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, dir, tasks, open)
			gittest.Commit(t, dir, env, "base")
			handOver(t, dir, ref, reprise.Event{Kind: reprise.StepStarted, At: time.Now(), Step: "T001", Attempt: 1, Policy: reprise.Verify})
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			gittest.Write(t, dir, journals+"/of.log", "")
			gittest.Run(t, dir, env, "add", "-f", journals+"/of.log")
			gittest.Write(t, dir, tasks, done)
			gittest.Commit(t, dir, env, "T001: Make one")
			gittest.Run(t, dir, env, "rm", "-q", journals+"/of.log")
			gittest.Run(t, dir, env, "commit", "-q", "-m", c.over)
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			if c.then != nil {
				gittest.Run(t, dir, env, c.then...)
			}
			gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			if c.now != "" {
				gittest.Write(t, dir, tasks, c.now)
				gittest.Commit(t, dir, env, "more")
			}
			quick, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Environ: env})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range []*project.Judgement{judged(t, dir, time.Now()), quick} {
				r := j.Find(ref)
				told := slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver })
				_, kept := project.Elsewhere(dir, []*reprise.Run{r}, time.Now())[r]
				if d := j.Decisions[r]; d.Action != c.want || told != c.held || kept != c.held || (d.Verdict == reprise.BlockedVerdict) != c.held {
					t.Errorf("%s %s, kept %v: %+v %+v", d.Action, d.Verdict, kept, r.Ref, r.Findings)
				}
			}
		})
	}
}

// handOver notes in a checkout that a run was handed to the fleet, after what happened to it there.
func handOver(t *testing.T, dir string, ref reprise.Ref, before ...reprise.Event) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{Now: time.Now})
	if err == nil {
		_, err = store.Take(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := journal.Open(store, convention.Find(ref.Layout), ref)
	for i := 0; err == nil && i < len(before); i++ {
		err = log.Note(before[i])
	}
	if err == nil {
		err = log.Note(reprise.Event{Kind: reprise.EngineLeft, At: time.Now(), Actor: "reprise-fleet", Outcome: reprise.HandedOver, Text: reprise.FleetBranch(ref.ID)})
	}
	if err = errors.Join(err, store.Release()); err != nil {
		t.Fatal(err)
	}
}

// A run that went on in a second checkout and was handed to the fleet from there is the fleet's in
// the first one as well: neither is named as the place to go on. (issue 19)
func TestA_run_that_was_given_from_another_checkout_says_what_came_of_it(t *testing.T) {
	t.Parallel()
	const tasks = "specs/003-z/tasks.md"
	open := "# Tasks\n\n- [ ] T001 Make one\n- [ ] T002 Make two\n"
	half := strings.Replace(open, "[ ]", "[x]", 1)
	ref := reprise.Ref{Layout: "speckit", ID: "003-z", Path: tasks, Kind: reprise.KindTasks}
	mark := durable.FleetMark(journal.Name(ref))
	for name, c := range map[string]struct {
		here  bool              // the first checkout has files of it, too
		there map[string]string // on the branch since
		want  []string
	}{
		"it is at work":                 {true, map[string]string{mark: reprise.Marked{Run: "003-z"}.Text()}, []string{"is the run", "`reprise-fleet stop 003-z`"}},
		"it was stopped":                {true, map[string]string{tasks: half + "\nMore.\n"}, []string{"has left it open", "`reprise-fleet stop 003-z`"}},
		"it is finished":                {true, map[string]string{tasks: strings.ReplaceAll(open, "[ ]", "[x]")}, []string{"has finished it", "`git merge origin/reprise/003-z`"}},
		"it is at work, without files":  {false, map[string]string{mark: reprise.Marked{Run: "003-z"}.Text()}, []string{"is the run", "`reprise-fleet stop 003-z`"}},
		"it is finished, without files": {false, map[string]string{tasks: strings.ReplaceAll(open, "[ ]", "[x]")}, []string{"has finished it", "`git merge origin/reprise/003-z`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			second := dir + "-second"
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "base.txt", "base\n")
			if c.here {
				gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
				gittest.Write(t, dir, tasks, open)
			}
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "worktree", "add", "-q", "-b", "reprise/003-z", second)
			gittest.Write(t, second, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, second, tasks, half)
			gittest.Commit(t, second, env, "half of it")
			for file, text := range c.there {
				gittest.Write(t, second, file, text)
			}
			gittest.Commit(t, second, env, "reprise: 003-z")
			gittest.Run(t, second, env, "update-ref", "refs/remotes/origin/reprise/003-z", "HEAD")
			gittest.Run(t, second, env, "reset", "-q", "--hard", "HEAD^")
			if handOver(t, second, ref); c.here {
				handOver(t, dir, ref)
			}
			j := judged(t, dir, time.Now())
			if len(j.Runs) != 1 || j.Decisions[j.Runs[0]].Action != reprise.Refuse {
				t.Fatalf("%+v", j.Runs)
			}
			var said []string
			for _, f := range j.Runs[0].Findings {
				if f.Severity == reprise.Blocking {
					said = append(said, f.Code+": "+f.Message+" "+f.Hint)
				}
			}
			if len(said) != 1 || !strings.HasPrefix(said[0], reprise.CodeHandedOver) {
				t.Errorf("%q", said)
			}
			for _, want := range c.want {
				if !strings.Contains(strings.Join(said, ""), want) {
					t.Errorf("no %q: %q", want, said)
				}
			}
		})
	}
}

// What a branch of the fleet says counts for the folder around the project that it is of, where that
// has no files here: at work, left open, or finished. (issue 19)
func TestA_run_of_a_folder_inside_is_told_as_its_branch_has_it(t *testing.T) {
	t.Parallel()
	in := "svc/app/" + filepath.ToSlash(filepath.Dir(durable.FleetMark("")))
	mark := "svc/app/" + durable.FleetMark("eventrun-r1-00000000")
	for want, has := range map[string][]string{"works on it": {in + "/x.log", mark}, "has left it open": {in + "/x.log"}, "has finished it": nil} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "svc/app/a.txt", "a\n")
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			for _, name := range []string{in + "/x.log", mark} {
				gittest.Write(t, dir, name, reprise.Marked{Run: "r1"}.Text())
				gittest.Run(t, dir, env, "add", "-f", name)
			}
			gittest.Commit(t, dir, env, "reprise: start r1")
			for _, name := range []string{in + "/x.log", mark} {
				if !slices.Contains(has, name) {
					gittest.Run(t, dir, env, "rm", "-q", name)
				}
			}
			gittest.Run(t, dir, env, "commit", "-q", "--allow-empty", "-m", "reprise: r1")
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			gittest.Run(t, dir, env, "update-ref", "refs/remotes/origin/reprise/r1", "side")
			gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			j := judged(t, dir, time.Now())
			var said []string
			for i := range j.Observed.Git.Fleet {
				words, _ := project.OnFleet(&j.Observed.Git.Fleet[i], "r1")
				said = append(said, words)
			}
			told := slices.ContainsFunc(j.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver })
			if len(said) != 1 || !strings.Contains(said[0], want) || told != (has != nil) {
				t.Errorf("%q, told %v", said, told)
			}
		})
	}
}

// What the fleet has worked on is not begun anew in a clone that has fetched its branch and not
// merged it. (issue 19)
func TestA_run_that_the_fleet_has_left_is_not_begun_again(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then   [][]string
		begins bool
	}{
		"fetched":            {[][]string{{"update-ref", "refs/remotes/origin/reprise/r1", "side"}}, false},
		"checked out beside": {[][]string{{"branch", "reprise/r1", "side"}}, false},
		"merged":             {[][]string{{"branch", "reprise/r1", "side"}, {"merge", "-q", "--no-ff", "side"}}, true},
		"of another name":    {[][]string{{"branch", "reprise/r10", "side"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "a.txt", "a\n")
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			gittest.Write(t, dir, "b.txt", "b\n")
			gittest.Commit(t, dir, env, "reprise: r1")
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			for _, call := range c.then {
				gittest.Run(t, dir, env, call...)
			}
			j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Environ: env})
			if err != nil {
				t.Fatal(err)
			}
			r := &reprise.Run{Ref: reprise.Ref{Layout: "eventrun", ID: "r1", Path: ".agent-memory/runs/r1", Kind: reprise.KindGraph}, State: reprise.NotStarted, Steps: []reprise.Step{{ID: "a", Status: reprise.Pending}}}
			j.Imagine(r)
			if blocked := r.Worst() == reprise.Blocking; blocked == c.begins {
				t.Errorf("%+v", r.Findings)
			}
		})
	}
}

// What is inside a run that the fleet has left open on a branch is asked about, in a clone that has
// fetched the branch and not merged it: the fleet would do it again. (issue 19)
func TestWhat_is_inside_a_run_that_the_fleet_has_left_open_is_asked_about(t *testing.T) {
	t.Parallel()
	const tasks, log = "specs/003-z/tasks.md", ".reprise/journal/speckit-004-y-000001.log"
	mark := durable.FleetMark(journal.Name(reprise.Ref{Layout: "speckit", ID: "003-z", Path: tasks}))
	for name, c := range map[string]struct {
		left [][]string // calls of git on the branch
		then [][]string // and on the default branch
		want reprise.Action
	}{
		"left open":           {[][]string{{"rm", "-q", mark}}, nil, reprise.Ask},
		"left open, moved on": {[][]string{{"rm", "-q", mark}, {"commit", "-q", "-m", "left"}, {"commit", "-q", "--allow-empty", "-m", "more"}}, nil, reprise.Ask},
		"left open, merged":   {[][]string{{"rm", "-q", mark}}, [][]string{{"merge", "-q", "--ff-only", "origin/reprise/004-y"}}, reprise.Refuse}, // it asks for --adopt
		"over":                {[][]string{{"rm", "-q", mark, log}}, nil, reprise.Start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, dir, tasks, "# Tasks\n\n- [ ] T001 Make one\n")
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			gittest.Write(t, dir, mark, reprise.Marked{Run: "004-y"}.Text())
			gittest.Write(t, dir, log, "")
			gittest.Run(t, dir, env, "add", "-A", "-f")
			gittest.Run(t, dir, env, "commit", "-q", "-m", "reprise: start 004-y")
			for _, call := range append(c.left, []string{"commit", "-q", "--allow-empty", "-m", "reprise: 004-y"}, []string{"update-ref", "refs/remotes/origin/reprise/004-y", "side"}) {
				gittest.Run(t, dir, env, call...)
			}
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			for _, call := range c.then {
				gittest.Run(t, dir, env, call...)
			}
			gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			j := judged(t, dir, time.Now())
			i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.ID == "003-z" })
			if i < 0 {
				t.Fatal("the list is not found")
			}
			r := j.Runs[i]
			told := slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
				return f.Code == reprise.CodeElsewhere && strings.HasPrefix(f.Message, "it is part of 004-y: ") && strings.Contains(f.Hint, "`reprise-fleet resume 004-y`")
			})
			if j.Decisions[r].Action != c.want || told != (c.want == reprise.Ask) {
				t.Errorf("%s: %+v", j.Decisions[r].Action, r.Findings)
			}
		})
	}
}
