package project

import (
	"io/fs"
	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// lastFile returns where a run's latest events are: the last file of its journal.
func lastFile(store fs.FS, ref reprise.Ref) reprise.Source {
	names, _ := fs.Glob(store, durable.StateDir+"/journal/"+journal.Name(ref)+"-*.log") // the pattern is good
	if len(names) == 0 {
		return reprise.Source{File: durable.StateDir}
	}
	return reprise.Source{File: names[len(names)-1]}
}
