package reprise

import (
	"io/fs"
	"testing"
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
		{"a;b/plan.json", "let yourself read it, as `chmod u+r` does, or call reprise as the user it belongs to", OptionDiscard, fs.ErrPermission},
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
