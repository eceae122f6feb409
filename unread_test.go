package reprise

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

type oneFile struct {
	Layout
	fs.FS
	err error
}

func (l oneFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: l.err}
}

func (l oneFile) Load(fsys fs.FS, ref Ref) (*Run, error) {
	_, _ = fsys.Open(ref.Path)
	return &Run{Ref: ref, State: Unreadable, Options: []Option{{OptionDiscard, "Discard"}}}, nil
}

// A file that may not be read is made readable, one that is damaged is repaired: giving
// the run up is never what is offered first. (issue 15, rows 5 and 11)
func TestABlockedFileIsMadeReadableOrRepairedFirst(t *testing.T) {
	for _, c := range []struct {
		path, hint, first string
		err               error
	}{
		{"specs/004/plan.json", "`chmod u+rX specs/004/plan.json` in the project folder lets you read it, or call reprise as the user it belongs to", OptionDiscard, fs.ErrPermission},
		{"a;b/it's.json", "`chmod u+rX 'a;b/it'\\''s.json'` in the project folder lets you read it, or call reprise as the user it belongs to", OptionDiscard, fs.ErrPermission},
		{"a*b/plan.json", "let yourself read it, as `chmod u+r` does, or call reprise as the user it belongs to", OptionDiscard, fs.ErrPermission},
		{"plan.json", "check its permissions and what kind of file it is", OptionRepair, fs.ErrClosed},
	} {
		l := oneFile{err: c.err}
		r, err := Load(l, l, Ref{Path: c.path})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Findings[0].Hint; got != c.hint {
			t.Errorf("%s: hint %q, want %q", c.path, got, c.hint)
		}
		d := Next(r, Observed{}, Policy{})
		if got := d.Options(r); len(got) == 0 || got[0].Key != c.first {
			t.Errorf("%s: options %v, want %s first", c.path, got, c.first)
		}
	}
}

type stepFile struct {
	Layout
	fs.FS
}

func (l stepFile) Open(name string) (fs.File, error) {
	if name == "tasks/T004.md" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.FS.Open(name)
}

func (l stepFile) Load(_ fs.FS, ref Ref) (*Run, error) {
	return &Run{Ref: ref, State: Interrupted, Steps: []Step{
		{ID: "T001", Status: Done, Path: "tasks/T001.md"}, {ID: "T003", Status: Pending, Path: "tasks/T003.md"},
		{ID: "T004", Status: Pending, Path: "tasks/T004.md"}, {ID: "T005", Status: Pending, Path: "tasks/T005.md"},
	}}, nil
}

// The file of a step that is still to be done is opened, though its layout needs nothing
// of it: what cannot be read is unknown, and one that is missing is another matter.
// (issue 15, row 1)
func TestTheFileOfAnOpenStepThatCannotBeOpenedMakesTheStepUnknown(t *testing.T) {
	files := fstest.MapFS{"tasks/T003.md": {}, "tasks/T004.md": {}}
	l := stepFile{FS: files}
	r, err := Load(l, l, Ref{Path: "run"})
	if err != nil {
		t.Fatal(err)
	}
	r.Doubt()
	if len(r.Unread) != 1 || r.Unread[0] != "tasks/T004.md" || len(r.Findings) != 1 || r.Findings[0].Severity != Blocking {
		t.Errorf("unread %q, findings %+v", r.Unread, r.Findings)
	}
	for i, want := range []Status{Done, Pending, Unknown, Pending} {
		if got := r.Steps[i].Status; got != want {
			t.Errorf("%s is %s, want %s", r.Steps[i].ID, got, want)
		}
	}
}

func TestDoubt_counts_nothing_without_what_was_not_read(t *testing.T) {
	r := &Run{State: Interrupted, Reason: "1 of 2 tasks done", Steps: []Step{{ID: "a", Status: Done}, {ID: "b", Status: Pending}}, Unread: []string{"events.jsonl"}}
	if r.Doubt(); r.Reason != "events.jsonl cannot be read, so what is done is unknown" {
		t.Errorf("the reason still counts: %q", r.Reason)
	}
}

func TestDoubt_takes_a_run_whose_only_folder_was_not_read_for_unreadable(t *testing.T) {
	r := &Run{State: NotStarted, Reason: "the list has no tasks", Unread: []string{"backlog/tasks"}}
	if r.Doubt(); r.State != Unreadable {
		t.Errorf("it counts as %s", r.State)
	}
}

type lostStory struct{ oneFile }

func (l lostStory) Load(fsys fs.FS, ref Ref) (*Run, error) {
	_, _ = fs.ReadDir(fsys, "docs/stories")
	return &Run{Ref: ref, State: Interrupted, Artifacts: []Artifact{{Name: "story", Path: "docs/stories/1.1.md", Presence: Missing, Critical: true}}}, nil
}

func TestWhatIsInAFolderThatMayNotBeReadIsNotGone(t *testing.T) {
	for err, want := range map[error]Presence{fs.ErrPermission: Unchecked, fs.ErrNotExist: Missing} {
		l := lostStory{oneFile{err: err}}
		if r, _ := Load(l, l, Ref{Path: "run"}); r.Artifacts[0].Presence != want {
			t.Errorf("%v: %v", err, r.Artifacts[0].Presence)
		}
	}
}
