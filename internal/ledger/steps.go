package ledger

import (
	"cmp"
	"slices"

	"reprise/internal/doc"
)

// Steps describes a list or a map in which a state file keeps steps, each a map
// with a status or the status itself. Load reads by the description and Record
// writes by it.
type Steps struct {
	Keys   []string // spellings of where they stand
	ID     []string // spellings of an entry's own id; one without has its key or its number
	Prefix string   // of the step's id
	Maps   bool     // entries that are no maps are no steps
	// Started and Ended are the keys of times, which are written where one of the
	// entries has them.
	Started, Ended string
}

// Row is one step with its place and that of its status.
type Row struct {
	ID     string
	Name   string // the id without the prefix
	At     Value
	Status Value
}

// Rows reads the steps below a value, in file order.
func (s Steps) Rows(root Value) []Row {
	var out []Row
	for _, e := range root.In(s.Keys...).Entries(0) {
		row := Row{Name: e.Name, At: e.Value, Status: e.Value}
		switch {
		case e.Is(doc.Map):
			row.Status = e.In("status")
			if len(s.ID) > 0 {
				row.Name = cmp.Or(e.In(s.ID...).Plain(), row.Name)
			}
		case s.Maps:
			continue
		}
		row.ID = s.Prefix + row.Name
		out = append(out, row)
	}
	return out
}

// Find gives the row of a step.
func Find(rows []Row, id string) (Row, bool) {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Words are the status words of rows, for SpellWord.
func Words(rows []Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.Status.Plain())
	}
	return out
}
