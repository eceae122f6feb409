package eventrun

import (
	"strconv"

	"reprise"
	"reprise/internal/doc"
)

// damage is what is wrong in one file of events. The first few places are
// kept, the rest is counted: a log may be garbage from end to end.
type damage struct {
	kept    []reprise.Finding
	counts  map[string]int
	nuls    bool   // NUL bytes stand in it
	refused string // why it could not be read, or not wholly; "" if it was
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
