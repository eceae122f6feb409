package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"reprise"
	"reprise/report"
)

// refusal is why a command gave no answer.
type refusal report.Error

// Error implements error.
func (r *refusal) Error() string { return r.Message }

// ask gets the document of a command. Exit codes beside a document are verdicts. names
// come from a browser, and none of them can be taken for a flag.
func ask[T any](ctx context.Context, s *Server, dir string, command []string, names ...string) (doc T, err error) {
	args := append(append(command, "--json", "--"), names...)
	out, told, code := s.Run(ctx, dir, args...)
	if strings.TrimSpace(out) == "" {
		return doc, refused(told, code)
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return doc, fmt.Errorf("read the answer of %s: %w", command[0], err)
	}
	return doc, nil
}

// refused reads what a command says on standard error where it has no answer.
func refused(told string, code int) error {
	why := &refusal{Exit: code}
	at := strings.Index(told, "{")
	if at < 0 || json.Unmarshal([]byte(told[at:]), why) != nil || why.Message == "" {
		why.Message = strings.TrimSpace(told)
	}
	return why
}

// complete completes the commands that findings name, so that each works when it is pasted.
func (s *Server) complete(list []report.Finding, about target) {
	if s.Complete == nil {
		return
	}
	for i := range list {
		list[i].Message = s.Complete(about.Dir, about.Run, list[i].Message)
		list[i].Hint = s.Complete(about.Dir, about.Run, list[i].Hint)
	}
}

// folder is one of the projects that are shown, with the answer of status about it.
type folder struct {
	Index  int
	Name   string
	Status report.Status
	Why    error // it has none
	names  []string
}

// folders asks for the status of every project.
func (s *Server) folders(ctx context.Context) (out []folder) {
	for i, dir := range s.Dirs {
		f := folder{Index: i, Name: filepath.Base(dir)}
		if f.Status, f.Why = ask[report.Status](ctx, s, dir, []string{"status"}); f.Why == nil {
			f.Name = filepath.Base(f.Status.Root)
			f.names = namesOf(f.Status.Runs)
			s.complete(f.Status.Findings, target{Dir: dir})
		}
		out = append(out, f)
	}
	return out
}

// namesOf is what a person calls each of the runs on the command line.
func namesOf(docs []report.Run) (out []string) {
	runs := make([]*reprise.Run, len(docs))
	for i, d := range docs {
		runs[i] = &reprise.Run{Ref: reprise.Ref{Layout: d.Layout, ID: d.ID, Path: d.Path}, Project: d.Project}
	}
	names := reprise.Names(runs)
	for _, r := range runs {
		out = append(out, names[r])
	}
	return out
}

// target is the run that a page is about.
type target struct {
	Index int
	Dir   string
	Run   string // layout:path, which is unambiguous
}

// targetOf reads which run is meant.
func (s *Server) targetOf(r *http.Request) (target, error) {
	query := r.URL.Query()
	t := target{Run: query.Get("run")}
	var err error
	if t.Index, err = strconv.Atoi(query.Get("project")); err != nil || t.Index < 0 || t.Index >= len(s.Dirs) || t.Run == "" {
		return t, &refusal{Message: "no such page", Exit: http.StatusNotFound}
	}
	t.Dir = s.Dirs[t.Index]
	return t, nil
}

// link is the address of a page about the run, with more pairs of names and values.
func (t target) link(page string, more ...string) string {
	query := url.Values{"project": {strconv.Itoa(t.Index)}, "run": {t.Run}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return page + "?" + query.Encode()
}

// attempt is the address of a page about one attempt at a step.
func (t target) attempt(page, step string, attempt int) string {
	return t.link(page, "step", step, "attempt", strconv.Itoa(attempt))
}
