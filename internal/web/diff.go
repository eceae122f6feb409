package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"reprise/report"
)

// previewPage is what resuming a run would do.
type previewPage struct {
	target
	report.Preview
	Name, Back string
	Lines      []diffLine
}

// diffLine is one line of a diff.
type diffLine struct{ Kind, Text string }

// preview shows what resuming a run would change and start, without doing any of it.
func (s *Server) preview(r *http.Request) (frame, error) {
	t, err := s.targetOf(r)
	if err != nil {
		return frame{}, err
	}
	p := previewPage{target: t, Back: t.link("run")}
	p.Preview, err = ask[report.Preview](r.Context(), s, t.Dir, []string{"resume", "--dry-run"}, t.Run)
	p.Lines = diffLines(p.Diff)
	return frame{Title: "What resuming would do", name: "preview.html", content: p}, err
}

// changesPage is what one attempt at a step changed.
type changesPage struct {
	report.Changes
	Step, Back, Output string
	Lines, Uncommitted []diffLine
}

// changes shows what an attempt changed, as `log --diff` does.
func (s *Server) changes(r *http.Request) (frame, error) {
	t, err := s.targetOf(r)
	if err != nil {
		return frame{}, err
	}
	query := r.URL.Query()
	p := changesPage{Step: query.Get("step"), Back: t.link("run")}
	log, err := ask[report.Log](r.Context(), s, t.Dir, []string{"log", "--diff"}, t.Run, p.Step)
	if err != nil {
		return frame{}, err
	}
	attempt, _ := strconv.Atoi(query.Get("attempt"))
	at := slices.IndexFunc(log.Entries, func(e report.LogEntry) bool { return e.Changes != nil && e.Changes.Attempt == attempt })
	if at < 0 {
		return frame{}, &refusal{Message: "no such page", Exit: http.StatusNotFound}
	}
	p.Changes = *log.Entries[at].Changes
	p.Lines, p.Uncommitted = diffLines(p.Diff), diffLines(p.Now)
	p.Output = t.attempt("output", p.Step, attempt)
	return frame{Title: "What " + p.Step + ", attempt " + strconv.Itoa(attempt) + ", changed", name: "changes.html", content: p}, nil
}

// diffLines tells the lines of a unified diff apart.
func diffLines(diff string) (out []diffLine) {
	for text := range strings.Lines(diff) {
		text = strings.TrimRight(text, "\n")
		kind := "same"
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			kind = "file"
		case strings.HasPrefix(text, "@@"):
			kind = "place"
		case strings.HasPrefix(text, "+"):
			kind = "added"
		case strings.HasPrefix(text, "-"):
			kind = "removed"
		}
		out = append(out, diffLine{kind, text})
	}
	return out
}
