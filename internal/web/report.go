package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"html/template"
)

// Report is the page of a run as one file that needs nothing else and runs nothing. Of
// the options the commands, the clock and one folder count.
func Report(ctx context.Context, o Options, run string) ([]byte, error) {
	p, err := New(o).look(ctx, target{Dir: o.Dirs[0], Run: run})
	if err != nil {
		return nil, err
	}
	p.Alone = true
	body, err := render("run.html", p)
	if err != nil {
		return nil, err
	}
	return o.report(p.Name, body)
}

// ReportSessions is the page of a folder without runs: the sessions of agent CLIs in it that a person
// could want back.
func ReportSessions(ctx context.Context, o Options) ([]byte, error) {
	f := New(o).folders(ctx)[0]
	if f.Why != nil {
		return nil, f.Why
	}
	body, err := render("folder", here{f, f.Status.Sessions})
	if err != nil {
		return nil, err
	}
	return o.report("Agent sessions in "+f.Name, body)
}

// report makes a file of a page.
func (o Options) report(title string, body []byte) ([]byte, error) {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return nil, err
	}
	text, err := render("report.html", struct {
		frame
		Style template.CSS
	}{frame{Title: title, At: o.Now(), Body: template.HTML(body)}, template.CSS(style)})
	return sealed(kindReport, text), err
}

// Timeline is the timeline of a run as SVG, nil where nothing is on record.
func Timeline(ctx context.Context, o Options, run string) ([]byte, error) {
	p, err := New(o).look(ctx, target{Dir: o.Dirs[0], Run: run})
	if err != nil || p.Timeline == nil {
		return nil, err
	}
	p.Timeline.Alone = true
	text, err := render("timeline", p.Timeline)
	return sealed(kindTimeline, append(bytes.TrimSpace(text), '\n')), err
}

// The kinds of files that Report and Timeline make.
const (
	kindReport   = "report"
	kindTimeline = "timeline"
)

// sealed ends a file with a line that names its kind and holds the digest of all above it.
func sealed(kind string, text []byte) []byte {
	return fmt.Appendf(text, "<!-- reprise %s, sha256 of all above: %x -->\n", kind, sha256.Sum256(text))
}

// Replaces reports whether old is, from its first byte to its last, what Report or Timeline
// made, and text is of the same kind. What merely holds a report, or was edited since, is
// not: someone may miss the rest.
func Replaces(text, old []byte) bool {
	for _, kind := range []string{kindReport, kindTimeline} {
		if whole(kind, text) {
			return whole(kind, old)
		}
	}
	return false
}

func whole(kind string, text []byte) bool {
	body := text[:max(0, len(text)-len(sealed(kind, nil)))]
	return len(body) > 0 && bytes.Equal(sealed(kind, bytes.Clone(body)), text)
}
