package grade_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/evidence/grade"
)

func hash(n int) string { return fmt.Sprintf("%08x%032x", n, n) }

func at(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }

// history is a repository of which everything was seen; commits newest first.
func history(commits ...reprise.Commit) reprise.Observed {
	g := &reprise.Git{Branch: "main", Complete: true, Known: map[string]bool{}}
	for i := range commits {
		c := &commits[i]
		if c.Hash == "" {
			c.Hash = hash(100 + i)
		}
		if c.At.IsZero() {
			c.At = at(50 - i)
		}
		if c.Branch == "" {
			c.Branch, c.OnHead = "main", true
		}
		g.Known[c.Hash] = true
	}
	g.Commits = commits
	return reprise.Observed{Git: g}
}

func withBranch(o reprise.Observed, name, head string) reprise.Observed {
	o.Git.Branches = append(o.Git.Branches, reprise.Branch{Name: name, Head: head})
	return o
}

func TestRun(t *testing.T) {
	t.Parallel()
	trace := func(subject string) []reprise.Trace { return []reprise.Trace{{Subject: subject}} }
	anywhere := func(subject string) []reprise.Trace { return []reprise.Trace{{Subject: subject, Anywhere: true}} }
	feature := func(subject string) reprise.Commit {
		return reprise.Commit{Hash: hash(7), Subject: subject, Branch: "feature"}
	}
	shallow := history()
	shallow.Git.Shallow, shallow.Git.Complete = true, false
	shallow.Git.Known[hash(9)] = false
	missing := history()
	missing.Git.Known["abcdef1"] = false
	unreached := history()
	unreached.Git.Known["abcdef1"] = true
	cut := history()
	cut.Git.Known["abcdef1"], cut.Git.Complete = true, false
	merged := withBranch(history(reprise.Commit{Hash: hash(3), Subject: "tip"}, reprise.Commit{Subject: "feat(1-1): x"}), "feature", hash(3))

	for _, c := range []struct {
		name  string
		step  reprise.Step
		run   reprise.Run
		o     reprise.Observed
		grade reprise.Grade
		text  string // part of the one evidence; "" for none
		away  bool   // it speaks against
	}{
		{"done without anything", reprise.Step{Status: reprise.Done}, reprise.Run{}, history(), reprise.Claimed, "", false},
		{"open without anything", reprise.Step{Status: reprise.Pending}, reprise.Run{}, history(), 0, "", false},
		{"nobody looked at git", reprise.Step{Status: reprise.Done, Commits: []string{"abc1234"}}, reprise.Run{}, reprise.Observed{}, reprise.Claimed, "", false},
		{"commit on record", reprise.Step{Status: reprise.Done, Commits: []string{hash(100)[:7]}}, reprise.Run{}, history(reprise.Commit{Subject: "x"}), reprise.Evidenced, "is on record", false},
		{"commit that only the files name", reprise.Step{Status: reprise.InProgress, Commits: []string{hash(100)}}, reprise.Run{FromFile: true}, history(reprise.Commit{Subject: "x"}), 0, "", false},
		{"commit that the files name and another tool keeps", reprise.Step{Status: reprise.InProgress, Commits: []string{hash(100)}}, reprise.Run{}, history(reprise.Commit{Subject: "x"}), reprise.Evidenced, "is on record", false},
		{"commit on record is missing", reprise.Step{Status: reprise.Done, Commits: []string{"ABCDEF1"}}, reprise.Run{}, missing, reprise.Claimed, "does not have it", true},
		{"commit on record is on no branch", reprise.Step{Status: reprise.Done, Commits: []string{"abcdef1"}}, reprise.Run{}, unreached, reprise.Claimed, "", false},
		{"commit on record may be further back", reprise.Step{Status: reprise.Done, Commits: []string{"abcdef1"}}, reprise.Run{}, cut, reprise.Evidenced, "not in the history", false},
		{"missing in a shallow clone", reprise.Step{Status: reprise.Done, Commits: []string{hash(9)}}, reprise.Run{}, shallow, reprise.Claimed, "", false},
		{"not asked for", reprise.Step{Status: reprise.Done, Commits: []string{"abc1234"}}, reprise.Run{}, history(), reprise.Claimed, "", false},
		{"commit on record on another branch", reprise.Step{Status: reprise.Done, Commits: []string{hash(7)}}, reprise.Run{}, history(feature("x")), reprise.Evidenced, "on branch feature, not on the current one", false},
		{"commit on record is not on the run's branch", reprise.Step{Status: reprise.Done, Commits: []string{hash(100)}}, reprise.Run{Branch: "feature"}, withBranch(history(reprise.Commit{Subject: "x"}), "feature", hash(7)), reprise.Evidenced, "not on the run's branch feature", false},
		{"commit on record is on a third branch", reprise.Step{Status: reprise.Done, Commits: []string{hash(7)}}, reprise.Run{Branch: "own"}, withBranch(history(feature("x")), "own", hash(8)), reprise.Claimed, "it is on branch feature, not on the run's branch own", true},
		{"trailer on a third branch", reprise.Step{Status: reprise.Pending}, reprise.Run{Branch: "own"}, withBranch(history(reprise.Commit{Branch: "feature", Steps: []string{"run/1-1/2"}}), "own", hash(8)), 0, "not on the run's branch own", true},
		{"trailer", reprise.Step{Status: reprise.Pending}, reprise.Run{}, history(reprise.Commit{Steps: []string{"run/1-1/2"}}), reprise.Evidenced, "in its trailer", false},
		{"trailer without an attempt", reprise.Step{Status: reprise.Pending}, reprise.Run{}, history(reprise.Commit{Steps: []string{"run/1-1"}}), reprise.Evidenced, "in its trailer", false},
		{"trailer of another run", reprise.Step{Status: reprise.Pending}, reprise.Run{}, history(reprise.Commit{Steps: []string{"other/1-1/2"}}), 0, "", false},
		{"subject", reprise.Step{Status: reprise.InProgress, Traces: trace("auto-claude: 1-1")}, reprise.Run{}, history(reprise.Commit{Subject: "auto-claude: 1-1 - do it"}), reprise.Evidenced, "in its subject", false},
		{"subject of a longer id", reprise.Step{Status: reprise.InProgress, Traces: trace("auto-claude: 1-1")}, reprise.Run{}, history(reprise.Commit{Subject: "auto-claude: 1-10 - do it"}, reprise.Commit{Subject: "auto-claude: 1-1-2"}), 0, "", false},
		{"subject elsewhere does not begin so", reprise.Step{Traces: trace("(1-1)")}, reprise.Run{}, history(reprise.Commit{Subject: "feat(1-1): x"}), 0, "", false},
		{"subject anywhere", reprise.Step{Traces: anywhere("(1-1)")}, reprise.Run{}, history(reprise.Commit{Subject: "feat(1-1): x"}), reprise.Evidenced, "in its subject", false},
		{"subject anywhere of a longer id", reprise.Step{Traces: anywhere("1.2")}, reprise.Run{}, history(reprise.Commit{Subject: "story 1.2.3"}, reprise.Commit{Subject: "story 11.2"}, reprise.Commit{Subject: "0.1.2"}), 0, "", false},
		{"subject anywhere after a longer id", reprise.Step{Traces: anywhere("1.2")}, reprise.Run{}, history(reprise.Commit{Subject: "1.2.3 and 1.2."}), reprise.Evidenced, "in its subject", false},
		{"case counts", reprise.Step{Traces: anywhere("Story 1")}, reprise.Run{}, history(reprise.Commit{Subject: "story 1"}), 0, "", false},
		{"an empty convention fits nothing", reprise.Step{Traces: trace("")}, reprise.Run{}, history(reprise.Commit{Subject: "x"}), 0, "", false},
		{"older than the run", reprise.Step{Traces: []reprise.Trace{{Subject: "feat(1-1)", Since: at(51)}}}, reprise.Run{}, history(reprise.Commit{Subject: "feat(1-1): x"}), 0, "", false},
		{"as old as the run", reprise.Step{Traces: []reprise.Trace{{Subject: "feat(1-1)", Since: at(50)}}}, reprise.Run{}, history(reprise.Commit{Subject: "feat(1-1): x"}), reprise.Evidenced, "in its subject", false},
		{"another run's commit on the head", reprise.Step{Traces: trace("feat(1-1)")}, reprise.Run{Branch: "feature"}, withBranch(history(reprise.Commit{Subject: "feat(1-1): x"}), "feature", hash(7)), 0, "", false},
		{"on the run's branch", reprise.Step{Traces: trace("feat(1-1)")}, reprise.Run{Branch: "feature"}, withBranch(history(feature("feat(1-1): x")), "feature", hash(7)), reprise.Evidenced, "on branch feature", false},
		{"the run's branch was merged", reprise.Step{Traces: trace("feat(1-1)")}, reprise.Run{Branch: "feature"}, merged, reprise.Evidenced, "in its subject", false},
		{"the run's branch is gone", reprise.Step{Traces: trace("feat(1-1)")}, reprise.Run{Branch: "feature"}, history(reprise.Commit{Subject: "feat(1-1): x"}), reprise.Evidenced, "in its subject", false},
		{"reverted", reprise.Step{Status: reprise.Done, Traces: trace("feat(1-1)")}, reprise.Run{}, history(reprise.Commit{Subject: `Revert "feat(1-1): x"`}, reprise.Commit{Subject: "feat(1-1): x"}), reprise.Claimed, "took it back", true},
		{"reverted and put in again", reprise.Step{Status: reprise.Done, Traces: trace("feat(1-1)")}, reprise.Run{}, history(reprise.Commit{Subject: `Reapply "feat(1-1): x"`}, reprise.Commit{Subject: `Revert "feat(1-1): x"`}, reprise.Commit{Subject: "feat(1-1): x"}), reprise.Evidenced, "in its subject", false},
		{"a revert is not the work", reprise.Step{Traces: anywhere("feat(1-1)")}, reprise.Run{}, history(reprise.Commit{Subject: `Revert "feat(1-1): x"`}), 0, "", false},
		{"artifact there", reprise.Step{Status: reprise.Done, Path: "unit.md"}, reprise.Run{Artifacts: []reprise.Artifact{{Name: "spec", Path: "spec.md", Presence: reprise.Present, MadeBy: "1-1"}}}, history(), reprise.Evidenced, "spec is there", false},
		{"the unit's own file is no evidence", reprise.Step{Status: reprise.Done, Path: "unit.md"}, reprise.Run{Artifacts: []reprise.Artifact{{Name: "plan", Path: "unit.md", Presence: reprise.Present, MadeBy: "1-1"}}}, history(), reprise.Claimed, "", false},
		{"artifact missing", reprise.Step{Status: reprise.Done}, reprise.Run{Artifacts: []reprise.Artifact{{Name: "spec", Path: "spec.md", Presence: reprise.Missing, MadeBy: "1-1"}}}, history(), reprise.Claimed, "spec is not there", true},
		{"artifact missing before the step is done", reprise.Step{Status: reprise.Pending}, reprise.Run{Artifacts: []reprise.Artifact{{Name: "spec", Path: "spec.md", Presence: reprise.Missing, MadeBy: "1-1"}}}, history(), 0, "", false},
		{"a piece of an open step says only that it was begun", reprise.Step{Status: reprise.InProgress, Traces: []reprise.Trace{{Subject: "feat(1-1)", Partial: true}}}, reprise.Run{}, history(reprise.Commit{Subject: "feat(1-1): x"}), 0, "in its subject", false},
		{"a piece of a step called done counts", reprise.Step{Status: reprise.Done, Pieces: true, Commits: []string{hash(100)}}, reprise.Run{}, history(reprise.Commit{Subject: "x"}), reprise.Evidenced, "is on record", false},
		{"a command that was run is kept", reprise.Step{Status: reprise.Done, Evidence: []reprise.Evidence{{Kind: reprise.EvidenceCommand, Text: "make test went through", For: true}}}, reprise.Run{}, history(), reprise.Verified, "make test", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.run
			r.ID, c.step.ID = "run", "1-1"
			r.Steps = []reprise.Step{c.step}
			grade.New(c.o).Run(&r)
			s := r.Steps[0]
			if s.Grade != c.grade {
				t.Errorf("grade %v, want %v", s.Grade, c.grade)
			}
			switch {
			case c.text == "" && len(s.Evidence) > 0:
				t.Errorf("evidence out of nothing: %+v", s.Evidence)
			case c.text != "" && (len(s.Evidence) != 1 || !strings.Contains(s.Evidence[0].Text, c.text) || s.Evidence[0].For == c.away):
				t.Errorf("evidence %+v, want %q", s.Evidence, c.text)
			}
			again := r
			again.Steps = append([]reprise.Step(nil), r.Steps...)
			grade.New(c.o).Run(&again)
			if !reflect.DeepEqual(again, r) {
				t.Errorf("graded again: %+v", again.Steps)
			}
		})
	}
}

func TestRun_lists_few_of_many(t *testing.T) {
	t.Parallel()
	var commits []reprise.Commit
	for range 50 {
		commits = append(commits, reprise.Commit{Subject: "feat(1-1): again"})
	}
	r := &reprise.Run{Steps: []reprise.Step{{ID: "a", Traces: []reprise.Trace{{Subject: "feat(1-1)"}}}}}
	grade.New(history(commits...)).Run(r)
	if n := len(r.Steps[0].Evidence); n != 3 || r.Steps[0].Evidence[0].Source != hash(100) {
		t.Errorf("%d: %+v", n, r.Steps[0].Evidence)
	}
}

func BenchmarkRun(b *testing.B) {
	var commits []reprise.Commit
	for i := range 20_000 {
		commits = append(commits, reprise.Commit{Hash: hash(i), Subject: fmt.Sprintf("feat(%02d-%02d): change number %d", i%90, i%7, i)})
	}
	o := history(commits...)
	r := &reprise.Run{Ref: reprise.Ref{ID: "r"}}
	for i := range 50 {
		r.Steps = append(r.Steps, reprise.Step{ID: fmt.Sprint(i), Status: reprise.Done, Commits: []string{hash(i)}, Traces: []reprise.Trace{{Subject: fmt.Sprintf("feat(%02d-01)", i)}, {Subject: fmt.Sprintf("(%02d-02)", i), Anywhere: true}}})
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			grade.New(o)
		}
	})
	g := grade.New(o)
	b.Run("one run of 50 steps", func(b *testing.B) {
		for b.Loop() {
			g.Run(r)
		}
	})
}

func TestAC6_a_subject_makes_a_recorded_piece_the_whole(t *testing.T) {
	t.Parallel()
	hash := "0123456789abcdef0123456789abcdef01234567"
	o := reprise.Observed{Git: &reprise.Git{Complete: true, Commits: []reprise.Commit{{Hash: hash, Subject: "auto-claude: s1 - add it", OnHead: true}}}}
	r := &reprise.Run{Ref: reprise.Ref{ID: "x"}, State: reprise.Interrupted, Steps: []reprise.Step{{
		ID: "s1", Status: reprise.InProgress, Commits: []string{hash}, Pieces: true, Traces: []reprise.Trace{{Subject: "auto-claude: s1"}},
	}}}
	grade.New(o).Run(r)
	if e := r.Steps[0].Evidence; len(e) != 1 || e[0].Kind != reprise.EvidenceCommit {
		t.Errorf("%+v", e)
	}
	r.Steps[0].Traces = nil
	grade.New(o).Run(r)
	if e := r.Steps[0].Evidence; len(e) != 1 || e[0].Kind != reprise.EvidencePartial {
		t.Errorf("%+v", e)
	}
}

// A run that was started here, or started afresh, has nothing of what is older.
func TestX4_commits_of_an_earlier_life_are_no_evidence(t *testing.T) {
	t.Parallel()
	life := reprise.TrailerLife(at(30))
	trace := []reprise.Trace{{Subject: "feat(1-1)"}}
	for name, c := range map[string]struct {
		commit reprise.Commit
		grade  reprise.Grade
	}{
		"of this life":                        {reprise.Commit{Steps: []string{"run/1-1#1@" + life + "+accepted"}}, reprise.Evidenced},
		"of this life, by a clock that slips": {reprise.Commit{At: at(10), Steps: []string{"run/1-1#1@" + life + "+accepted"}}, reprise.Evidenced},
		"of an earlier life":                  {reprise.Commit{Steps: []string{"run/1-1#1@abc+accepted"}}, 0},
		"of an earlier life, by its subject":  {reprise.Commit{Subject: "feat(1-1): x", Steps: []string{"run/1-1#1@abc+accepted"}}, 0},
		"a subject since":                     {reprise.Commit{Subject: "feat(1-1): x"}, reprise.Evidenced},
		"a subject before":                    {reprise.Commit{At: at(10), Subject: "feat(1-1): x"}, 0},
		"a subject in that second":            {reprise.Commit{At: at(30), Subject: "feat(1-1): x"}, 0},
		"a trailer before":                    {reprise.Commit{At: at(10), Steps: []string{"run/1-1/2"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reprise.Run{Ref: reprise.Ref{ID: "run"}, Life: life, Began: at(30), Steps: []reprise.Step{{ID: "1-1", Status: reprise.Pending, Traces: trace}}}
			if grade.New(history(c.commit)).Run(r); r.Steps[0].Grade != c.grade {
				t.Errorf("%v, %v", r.Steps[0].Evidence, r.Steps[0].Grade)
			}
		})
	}
}

// Lists in several folders may have one name, and a list may get other tasks: what the
// engine committed of a task is in the list that was committed with it, and there only as
// long as nobody committed something else.
func TestA_commit_of_another_list_with_the_same_name_is_no_evidence(t *testing.T) {
	t.Parallel()
	const list = "api/specs/001-x/tasks.md"
	touch := func(names ...string) (out []reprise.FileChange) {
		for _, name := range names {
			out = append(out, reprise.FileChange{Path: name})
		}
		return out
	}
	for name, c := range map[string]struct {
		with    []reprise.FileChange // what was committed with the task
		began   []reprise.FileChange // what was committed before
		changed []reprise.Change
		grade   reprise.Grade
	}{
		"the tick was lost since":       {touch("src/a", list), nil, []reprise.Change{{Path: list}}, reprise.Evidenced},
		"opened again in a commit":      {touch("src/a", list), nil, nil, 0},
		"the list of another folder":    {touch("src/a", "web/specs/001-x/tasks.md"), touch(list), []reprise.Change{{Path: list}}, 0},
		"a list that git does not know": {touch("src/a"), nil, []reprise.Change{{Path: list, Untracked: true}}, reprise.Evidenced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reprise.Run{Ref: reprise.Ref{ID: "001-x", Kind: reprise.KindTasks, Path: list}, Steps: []reprise.Step{{ID: "T002", Status: reprise.Pending}}}
			o := history(reprise.Commit{Steps: []string{"001-x/T002#1@a1ddf11e14+accepted"}, Files: c.with}, reprise.Commit{Files: c.began})
			o.Git.Changed = c.changed
			if grade.New(o).Run(r); r.Steps[0].Grade != c.grade {
				t.Errorf("%v, %v", r.Steps[0].Evidence, r.Steps[0].Grade)
			}
		})
	}
}

// A trailer names a run. Where two have that name it tells of neither.
func TestA_commit_for_a_namesake_is_no_evidence(t *testing.T) {
	t.Parallel()
	story := func(path string) *reprise.Run {
		return &reprise.Run{
			Ref:   reprise.Ref{ID: "1.1", Kind: reprise.KindStory, Path: path},
			Steps: []reprise.Step{{ID: "implement", Status: reprise.Pending}},
		}
	}
	for _, c := range []struct {
		peers []string
		grade reprise.Grade
	}{
		{nil, reprise.Evidenced},
		{[]string{"web/docs/stories/1.1.story.md"}, 0},
	} {
		r := story("api/docs/stories/1.1.story.md")
		o := history(reprise.Commit{Steps: []string{"1.1/implement#1@a1ddf11e14+accepted"}})
		o.Peers = []*reprise.Run{r}
		for _, path := range c.peers {
			o.Peers = append(o.Peers, story(path))
		}
		if grade.New(o).Run(r); r.Steps[0].Grade != c.grade {
			t.Errorf("beside %q: %v, %v", c.peers, r.Steps[0].Evidence, r.Steps[0].Grade)
		}
	}
}

// Commits of the engine's own tell of their steps where nothing else does.
func TestOR12_the_engines_own_trailer(t *testing.T) {
	t.Parallel()
	const odd = "Größe & co/two"
	for name, c := range map[string]struct {
		run   string
		step  reprise.Step
		value string
		kind  string // "" for none
		grade reprise.Grade
	}{
		"accepted":                     {"4.2", reprise.Step{ID: "implement"}, "4.2/implement#1@a1ddf11e14+accepted", reprise.EvidenceCommit, reprise.Evidenced},
		"on the way":                   {"4.2", reprise.Step{ID: "implement"}, "4.2/implement#1@a1ddf11e14", reprise.EvidencePartial, 0},
		"finished and opened again":    {"4.2", reprise.Step{ID: "implement", Ended: 7}, "4.2/implement#1@a1ddf11e14+accepted", reprise.EvidencePartial, 0},
		"ids that no trailer can hold": {odd, reprise.Step{ID: "a b"}, reprise.TrailerWord(odd) + "/" + reprise.TrailerWord("a b") + "#12@0+accepted", reprise.EvidenceCommit, reprise.Evidenced},
		"another step":                 {"4.2", reprise.Step{ID: "implement"}, "4.2/qa#1@a1ddf11e14+accepted", "", 0},
		"another run":                  {"4.2", reprise.Step{ID: "implement"}, "4.21/implement#1@a1ddf11e14+accepted", "", 0},
		"no attempt":                   {"4.2", reprise.Step{ID: "implement"}, "4.2/implement#@a1+accepted", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.step.Status = reprise.Pending
			r := &reprise.Run{Ref: reprise.Ref{ID: c.run}, Steps: []reprise.Step{c.step}}
			grade.New(history(reprise.Commit{Steps: []string{c.value}})).Run(r)
			var kind string
			for _, e := range r.Steps[0].Evidence {
				kind = e.Kind
			}
			if kind != c.kind || r.Steps[0].Grade != c.grade {
				t.Errorf("%v, %v", r.Steps[0].Evidence, r.Steps[0].Grade)
			}
		})
	}
}
