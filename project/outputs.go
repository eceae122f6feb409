package project

import (
	"io/fs"

	"reprise"
	"reprise/convention"
)

// unlanded drops a commit as proof of a step that is not on record as done where something
// that the step is to leave is not there.
func (v *View) unlanded(fsys fs.FS) {
	r := v.Run
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() || !s.Landed() {
			continue
		}
		var leaves []string
		if r.FromFile {
			leaves = s.Files
		} else if book, err := convention.Playbook(r.Layout, r.Kind); err == nil {
			a, _ := book.Assign(fsys, r, s.Unit("")) // what cannot be assigned is to leave nothing
			for _, e := range a.Expect {
				leaves = append(leaves, e.Path)
			}
		}
		for _, name := range leaves {
			if now, err := HashIn(fsys, name); err == nil && now != (reprise.Hash{}) {
				continue
			}
			why := name + ", which " + s.ID + " is to leave, is not there"
			for k := range s.Evidence {
				if e := &s.Evidence[k]; e.For && e.Kind == reprise.EvidenceCommit {
					e.For, e.Text = false, e.Text+", but "+why
				}
			}
			r.Report(reprise.Finding{
				Code: reprise.CodeWorkNotHere, Severity: reprise.Warning, Subject: s.ID, Source: s.Source,
				Message: "git has a commit for " + s.ID + ", but " + why + ": it is not taken for done",
				Hint:    "put it back if " + s.ID + " is done; otherwise it is done again",
			})
			break
		}
	}
}
