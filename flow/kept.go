package flow

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"reprise"
)

// keptForm names the form in which a workflow is kept. It changes with the fields
// of Workflow and Step, which a test holds. What another build of the program kept
// does not count: it may have read the file by other rules.
const keptForm = "reprise-workflow-1"

// build tells one build of the program from another, as far as that is known.
var build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	of := info.GoVersion + " " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			of += " " + s.Value
		}
	}
	sum := reprise.HashOf([]byte(of))
	return hex.EncodeToString(sum[:4])
})

// heading is the first line of what is kept of a file.
func heading(of reprise.Hash, body []byte) string {
	return fmt.Sprintf("%s %s %s %s", keptForm, build(), of, reprise.HashOf(body))
}

// idFirst is how the line of a step begins. Ids need no escapes.
const idFirst = `{"id":"`

// Keep gives a workflow in a form that is read in a fraction of the time its file
// takes: a line with hashes, one about the whole, and one for each step. of is the
// hash of the file. The form is for places that nobody but the person can write
// to: commands are taken from it.
func (w *Workflow) Keep(of reprise.Hash) ([]byte, error) {
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	err := out.Encode(w)
	for _, s := range w.Steps() {
		if err == nil {
			err = out.Encode(s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep workflow %s: %w", w.Name, err)
	}
	return append([]byte(heading(of, body.Bytes())+"\n"), body.Bytes()...), nil
}

// Kept gives the workflow that Keep was asked to keep. It is nil where this is not
// that of a file with this hash, whole and in the present form. Its steps are read
// when they are asked for.
func Kept(data []byte, of reprise.Hash) *Workflow {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	if string(head) != heading(of, body) {
		return nil
	}
	whole, rest, _ := bytes.Cut(body, []byte("\n"))
	w := &Workflow{}
	if json.Unmarshal(whole, w) != nil {
		return nil
	}
	n := bytes.Count(rest, []byte("\n"))
	w.kept, w.steps, w.place = make([][]byte, 0, n), make([]Step, n), make(map[string]int, n)
	for line := range bytes.Lines(rest) {
		after, ok := bytes.CutPrefix(line, []byte(idFirst))
		id, _, ended := bytes.Cut(after, []byte(`"`))
		if !ok || !ended {
			return nil
		}
		w.place[string(id)] = len(w.kept)
		w.kept = append(w.kept, line)
	}
	return w
}

// FromKept reports whether the workflow was given by Kept.
func (w *Workflow) FromKept() bool { return w.kept != nil }

// step gives a step by its place, nil if what is kept of it cannot be read.
func (w *Workflow) step(i int) *Step {
	if w.kept != nil && w.kept[i] != nil {
		if json.Unmarshal(w.kept[i], &w.steps[i]) != nil {
			return nil
		}
		w.kept[i] = nil
	}
	return &w.steps[i]
}
