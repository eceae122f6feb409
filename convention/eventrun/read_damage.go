package eventrun

import (
	"fmt"
	"path"
	"strconv"

	"reprise"
	"reprise/internal/doc"
)

// damage is what is wrong in one event file. The first few places are kept, the rest is
// counted: a log may be garbage from end to end.
type damage struct {
	kept   []reprise.Finding
	counts map[string]int
	nuls   bool // it contains NUL bytes
	// told says that a line has the type, the task or the time of an event.
	told    bool
	refused string // why it could not be read, or not completely; "" if it was
}

// lost says why a log's content is unknown, if it is: whoever begins a log writes an
// event, and NUL bytes may have replaced any number of them.
func (d *damage) lost(size int64) {
	switch {
	case d.refused != "":
	case d.told && d.nuls:
		d.refused = "it contains NUL bytes, as after a power cut: how many events they replaced is unknown"
	case d.told:
	case d.nuls:
		d.refused = "contains no event, only what a power cut leaves"
	case size > 0:
		d.refused = "contains no event: something else was written in its place"
	default:
		d.refused = "is empty, although a log begins with an event"
	}
}

// keptPerCode leaves room for the closing line within what a Reader lists.
const keptPerCode = 9

func (d *damage) add(f reprise.Finding) {
	if d.counts == nil {
		d.counts = map[string]int{}
	}
	d.counts[f.Code]++
	if d.counts[f.Code] <= keptPerCode {
		d.kept = append(d.kept, f)
	}
}

func (d *damage) report(r *doc.Reader, name string) {
	for _, f := range d.kept {
		r.Report(f)
	}
	for _, f := range d.kept {
		if n := d.counts[f.Code] - keptPerCode; n > 0 {
			d.counts[f.Code] = 0
			r.Report(reprise.Finding{
				Code: f.Code, Severity: f.Severity, Subject: f.Subject, Source: reprise.Source{File: name},
				Message: strconv.Itoa(n) + " more lines of this file are like the ones named", Hint: f.Hint,
			})
		}
	}
}

func (lr *logReader) wrong(code string, line int, message, hint string) {
	lr.damage.add(reprise.Finding{
		Code: code, Severity: reprise.Warning, Subject: path.Base(lr.name),
		Message: message, Source: reprise.Source{File: lr.name, Line: line}, Hint: hint,
	})
}

func (lr *logReader) untidy(line int) {
	lr.damage.add(reprise.Finding{
		Code: reprise.CodeSalvaged, Severity: reprise.Info, Subject: path.Base(lr.name),
		Message: "not one event per line; everything was read", Source: reprise.Source{File: lr.name, Line: line},
	})
}

// foreign notes an event of another run. It counts anyway: the folder may have been
// renamed, and ids are written by models.
func (lr *logReader) foreign(id string, line int) {
	if lr.damage.counts[reprise.CodeAmbiguous] > 0 {
		return
	}
	lr.wrong(reprise.CodeAmbiguous, line, fmt.Sprintf("an event here names run %q, not %q; it is counted", doc.Clip(id, 60), doc.Clip(lr.runID, 60)),
		"if the file belongs to another run, move it there")
}
