package project

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/journal"
)

// denying is a file system in which a file may not be opened.
type denying struct {
	fs.FS
	file string
}

func (d denying) Open(name string) (fs.File, error) {
	if name == d.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

// Issue 15: what cannot be looked at is unknown, and is asked before the first write.
func TestAn_output_that_may_not_be_looked_at_blocks_the_run(t *testing.T) {
	t.Parallel()
	open := &reprise.Event{Kind: reprise.StepStarted, Step: "two", Expect: []reprise.Expected{{Path: "out/two.txt"}, {Path: "gone.txt"}}}
	for file, want := range map[string]int{"out/two.txt": 1, "other.txt": 0} {
		v := &View{Run: &reprise.Run{}, History: &journal.History{Steps: map[string]*journal.StepHistory{"two": {Open: open}}}}
		v.tellUnseen(denying{fstest.MapFS{}, file})
		if len(v.Run.Findings) != want {
			t.Errorf("%s: %+v", file, v.Run.Findings)
		}
		for _, f := range v.Run.Findings {
			if f.Code != reprise.CodePermission || f.Severity != reprise.Blocking || f.Source.File != file {
				t.Errorf("%+v", f)
			}
		}
	}
}

// A folder of runs that cannot be read is in the outcome, also beside runs that can; another one
// only where no run was found. (issue 15)
func TestA_folder_of_runs_that_cannot_be_read_is_in_the_outcome(t *testing.T) {
	t.Parallel()
	run := []*reprise.Run{{}}
	for _, c := range []struct {
		file string
		runs []*reprise.Run
		want reprise.Outcome
	}{
		{".kiro/specs/log", run, reprise.OutcomeUnreadable},
		{"packages/web/.kiro", run, reprise.OutcomeUnreadable},
		{"data/postgres", run, reprise.OutcomeNothing},
		{"data/postgres", nil, reprise.OutcomeUnreadable},
	} {
		r := &Result{Runs: c.runs, Findings: []reprise.Finding{{Code: reprise.CodePermission, Source: reprise.Source{File: c.file}}}}
		if got := r.Nothing(); got != c.want {
			t.Errorf("%s beside %d runs: %v", c.file, len(c.runs), got)
		}
	}
}
