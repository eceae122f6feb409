package temporal

import (
	"cmp"
	"io/fs"
	"os"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/project"
)

// A step may be done by a run of its own, as an epic has its stories done. What holds for the
// steps of a run holds for those of the runs within it; what a person can name are its own.

// inner are the steps of a run that runs of their own do, and those runs.
func inner(files fs.FS, r *reprise.Run) map[string]reprise.Ref {
	out := map[string]reprise.Ref{}
	book, err := convention.Playbook(r.Layout, r.Kind)
	if err != nil {
		return out // it is of a workflow file, whose steps are its own
	}
	for i := range r.Steps {
		if a, err := book.Assign(files, r, r.Steps[i].Unit("")); err == nil && a.Child != nil {
			out[r.Steps[i].ID] = *a.Child
		}
	}
	return out
}

// outer are the steps of a run by the paths of the runs within it that do them.
type outer map[string]string

func outerOf(root string, judged *project.Judgement, r *reprise.Run) outer {
	out := outer{}
	out.add(os.DirFS(root), judged, r, "")
	return out
}

// add adds the runs within a run that does a step itself, "" for the outermost one. Of several
// steps that one run does, the first that is still to be done counts.
func (o outer) add(files fs.FS, judged *project.Judgement, r *reprise.Run, does string) {
	within := inner(files, r)
	for _, closed := range []bool{false, true} {
		for i := range r.Steps {
			st := &r.Steps[i]
			child, is := within[st.ID]
			if !is || st.Status.Closed() != closed || o[child.Path] != "" {
				continue
			}
			o[child.Path] = cmp.Or(does, st.ID)
			if st.Path != "" { // its review may be a run of its own by now
				o[st.Path] = o[child.Path]
			}
			if c := judged.Find(child); c != nil && c != r {
				o.add(files, judged, c, o[child.Path])
			}
		}
	}
}

// step is the step of the run that a step is part of, as keyOf has it: that step itself, unless a
// run within it has it.
func (o outer) step(key string) string {
	for path, step := range o {
		if strings.HasPrefix(key, path+":") {
			return step
		}
	}
	return key
}
