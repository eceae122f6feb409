package flow

import (
	"bytes"
	"encoding/json"
	"fmt"

	"reprise"
)

// keptForm names the form in which a workflow is kept. It changes with the fields
// of Workflow and Step and with what Parse makes of a file: a test holds the former.
const keptForm = "reprise-workflow-1"

// Keep gives a workflow in a form that is read in a fraction of the time its file
// takes. of is the hash of the file. The form is for places that nobody but the
// person can write to: commands are taken from it.
func (w *Workflow) Keep(of reprise.Hash) ([]byte, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("keep workflow %s: %w", w.Name, err)
	}
	return append(fmt.Appendf(nil, "%s %s %s\n", keptForm, of, reprise.HashOf(body)), body...), nil
}

// Kept gives the workflow that Keep was asked to keep. It is nil where this is not
// that of a file with this hash, whole and in the present form.
func Kept(data []byte, of reprise.Hash) *Workflow {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	if string(head) != fmt.Sprintf("%s %s %s", keptForm, of, reprise.HashOf(body)) {
		return nil
	}
	w := &Workflow{}
	if json.Unmarshal(body, w) != nil {
		return nil
	}
	w.index()
	return w
}

// index lets steps be found by their ids.
func (w *Workflow) index() {
	w.place = make(map[string]int, len(w.Steps))
	for i := range w.Steps {
		w.place[w.Steps[i].ID] = i
	}
}
