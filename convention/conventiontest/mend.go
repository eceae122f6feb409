package conventiontest

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"reprise"
)

// Mended is what mending made of a tree.
type Mended struct {
	Mends []reprise.Mend
	Runs  []*reprise.Run // as they are read afterwards
	Tree  fstest.MapFS
}

// Mends applies what a layout offers for every run of a tree and asks for what
// holds for every mend: it says what it does, fits the bytes, finishes nothing,
// loses no run, takes the damage out of its files and leaves nothing to mend.
// Damage is what cannot be read, and the further codes.
func Mends(t *testing.T, l reprise.Layout, fsys fstest.MapFS, further ...string) Mended {
	t.Helper()
	before, err := Read(l, fsys)
	if err != nil {
		t.Fatal(err)
	}
	out := Mended{Tree: fsys}
	touched := map[string]bool{}
	for _, r := range before {
		mends, err := l.(reprise.Mender).Mend(fsys, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mends {
			if m.What == "" || m.From == "" || len(m.Edits) == 0 {
				t.Errorf("a mend that says too little: %+v", m)
			}
			if out.Tree, err = Apply(out.Tree, m.Edits); err != nil {
				t.Fatal(err)
			}
			for _, e := range m.Edits {
				touched[e.Path] = true
			}
		}
		out.Mends = append(out.Mends, mends...)
	}
	if out.Runs, err = Read(l, out.Tree); err != nil {
		t.Fatal(err)
	}
	damage := append([]string{reprise.CodeUnreadable, reprise.CodeSalvaged}, further...)
	for _, r := range before {
		at := slices.IndexFunc(out.Runs, func(o *reprise.Run) bool { return o.Ref == r.Ref })
		if at < 0 {
			t.Errorf("mending lost %s", r.Path)
			continue
		}
		now := out.Runs[at]
		NotFurther(t, r, now)
		for _, f := range now.Findings {
			if touched[f.Source.File] && slices.Contains(damage, f.Code) {
				t.Errorf("mended, and still: %s: %s", f.Source, f.Message)
			}
		}
		if again, err := l.(reprise.Mender).Mend(out.Tree, now); err != nil || len(again) > 0 {
			t.Errorf("mended, and still to mend: %+v (%v)", again, err)
		}
	}
	return out
}

// NotFurther asks that a run and its steps are not further along than they were.
func NotFurther(t *testing.T, was, now *reprise.Run) {
	t.Helper()
	if now.State == reprise.Complete && was.State != reprise.Complete {
		t.Errorf("mending made %s complete (was %s)", now.Path, was.State)
	}
	for i := range now.Steps {
		s := &now.Steps[i]
		if old := was.Step(s.ID); s.Status.Closed() && (old == nil || !old.Status.Closed()) {
			t.Errorf("mending made step %s %s", s.ID, s.Status)
		}
	}
}

// MendsEvery mends the tree of every archive and asks that some had damage.
func MendsEvery(t *testing.T, archives string, mend func(t *testing.T, fsys fstest.MapFS) []reprise.Mend) {
	t.Helper()
	files, err := filepath.Glob(archives)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			mends := mend(t, LoadFS(t, file))
			count += len(mends)
			for _, m := range mends {
				t.Logf("%s, from %s:\n%s", m.What, m.From, m.Edits[0].Content)
			}
		})
	}
	if count == 0 {
		t.Error("no archive gave a mend")
	}
}
