package project

import (
	"cmp"
	"os"
	"path"
	"path/filepath"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// An earlier release could give a run to many machines. Such a run is on a branch of its remote,
// and what is here is an old copy: beginning it would do that work again.

// handedOver reports that a run is on a branch of the remote; "" if its name is not known.
func handedOver(r *reprise.Run, branch, file string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeHandedOver, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: file},
		Message: "it was handed to other machines by an earlier release: its branch " + cmp.Or(branch, reprise.FleetBranch(r.ID)) + " on the remote is the run, and this may be an old copy",
		Hint:    "fetch and merge that branch; then continue the run in its checkout",
	}
}

// fleetMark returns the file in a checkout which says that other machines have a run, "" if
// nothing does. A folder that cannot be looked at blocks by itself: the journal is there as well.
func (j *Judgement) fleetMark(homes map[string]*home, top string, ref reprise.Ref) string {
	h := homeAt(homes, filepath.Join(j.Root, filepath.FromSlash(top)))
	if h == nil {
		return ""
	}
	file := path.Join(top, durable.FleetMark(cmp.Or(h.named(ref), journal.Name(ref))))
	if _, err := os.Lstat(filepath.Join(j.Root, filepath.FromSlash(file))); err != nil {
		return ""
	}
	return file
}
