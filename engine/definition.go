package engine

// Every agent can write the files of a run. For a run of a workflow file, what it
// consists of and what was done is in the journal first: what only the files say is a
// claim, and a person is asked about it.

// made is what the run consists of, by the journal.
type made struct {
	text    string
	undone  bool
	file    string
	content []byte
	own     bool // no one else is to change it
	stands  bool
}

// definition is what the run consists of, by what is on record now.
func (w *work) definition() *made {
	if m := w.defined; m == nil || m.text != w.hist.Made || m.undone != w.hist.Undone {
		m = &made{text: w.hist.Made, undone: w.hist.Undone}
		m.file, m.content, m.own, m.stands = w.hist.Defined(w.layout, w.ref)
		w.defined = m
	}
	return w.defined
}

// own reports whether only the journal says what was done.
func (w *work) own() bool { return w.definition().own }
