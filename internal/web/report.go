package web

import (
	"bytes"
	"context"
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
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return nil, err
	}
	return render("report.html", struct {
		frame
		Style template.CSS
	}{frame{Title: p.Name, At: o.Now(), Body: template.HTML(body)}, template.CSS(style)})
}

// Timeline is the time line of a run as SVG, nil where nothing is on record.
func Timeline(ctx context.Context, o Options, run string) ([]byte, error) {
	p, err := New(o).look(ctx, target{Dir: o.Dirs[0], Run: run})
	if err != nil || p.Timeline == nil {
		return nil, err
	}
	p.Timeline.Alone = true
	text, err := render("timeline", p.Timeline)
	return append(bytes.TrimSpace(text), '\n'), err
}

// IsReport tells what Report and Timeline made from all other files.
func IsReport(text []byte) bool {
	return bytes.Contains(text, []byte("Made by <code>reprise report</code>")) || bytes.HasPrefix(text, []byte(`<svg class="timeline"`))
}
