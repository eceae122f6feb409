package project

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// How much of an attempt's last output is kept.
const (
	tailLines = 8
	tailBytes = 16 << 10
	allBytes  = 64 << 20
)

// tellFailed adds the failed attempts at steps that have not succeeded since, with the
// end of their output.
func (v *View) tellFailed(dir string, hide func(string) string) {
	r, hist := v.Run, v.History
	if !r.State.Open() {
		return
	}
	for step, h := range hist.Steps {
		if h.LastFailure == nil {
			continue
		}
		f := reprise.Failure{Step: step, Attempt: h.LastFailure.Attempt, At: h.LastFailure.At, Reason: h.LastFailure.Text}
		f.Log, f.Output = OutputOf(dir, r.Ref, hist.Began, step, f.Attempt, hide)
		r.Failures = append(r.Failures, f)
	}
	slices.SortStableFunc(r.Failures, func(a, b reprise.Failure) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Step, b.Step)) })
}

// tellNotReady adds the steps that an agent could not work on as configured: the next
// attempt will end the same way until someone fixes that.
func (v *View) tellNotReady() {
	if !v.Run.State.Open() {
		return
	}
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		if s.Status.Closed() {
			continue
		}
		if end := v.History.Step(s.ID).Owed; end != nil && (end.Outcome == journal.NotReady || end.Outcome == journal.NotAllowed) {
			says, hint := reprise.NotReady("the agent of "+s.ID, end.Text, end.Outcome == journal.NotAllowed)
			v.Run.Report(reprise.Finding{
				Code: reprise.CodeNotReady, Severity: reprise.Warning, Subject: s.ID, Source: reprise.Source{File: v.Run.Path},
				Message: says, Hint: hint,
			})
		}
	}
}

// OutputOf returns the log of an attempt, as a path in the project, and its last lines;
// "" if there is none. hide removes secrets from a text; nil removes none.
func OutputOf(dir string, ref reprise.Ref, began time.Time, step string, attempt int, hide func(string) string) (name string, tail []string) {
	return output(dir, ref, began, step, attempt, hide, tailBytes, tailLines)
}

// PrintedAt returns when an attempt last printed something, or zero if unknown.
func PrintedAt(dir string, ref reprise.Ref, began time.Time, step string, attempt int) time.Time {
	_, f, err := OpenOutput(dir, ref, began, step, attempt)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// AllOutputOf is OutputOf for everything that is kept, up to 64 MiB.
func AllOutputOf(dir string, ref reprise.Ref, began time.Time, step string, attempt int, hide func(string) string) (name string, lines []string) {
	return output(dir, ref, began, step, attempt, hide, allBytes, math.MaxInt)
}

func output(dir string, ref reprise.Ref, began time.Time, step string, attempt int, hide func(string) string, bytes int64, most int) (name string, tail []string) {
	name, f, err := OpenOutput(dir, ref, began, step, attempt)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return name, []string{fmt.Sprintf("it cannot be read: %v", err)}
	}
	defer f.Close()
	text, err := lastOf(f, bytes)
	if err != nil {
		return name, []string{fmt.Sprintf("it cannot be read: %v", err)}
	}
	if hide != nil {
		text = hide(text)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			tail = append(tail, line)
		}
	}
	return name, tail[max(0, len(tail)-most):]
}

// OpenOutput opens the log of an attempt, a regular file in the project, and returns its
// path there. The caller closes it.
func OpenOutput(dir string, ref reprise.Ref, began time.Time, step string, attempt int) (name string, f *os.File, err error) {
	name = logOf(ref, began, step, attempt)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return name, nil, err
	}
	defer root.Close()
	at := filepath.FromSlash(name)
	info, err := root.Lstat(at)
	if err != nil {
		return name, nil, err
	}
	if !info.Mode().IsRegular() {
		return name, nil, &durable.NotRegularError{Path: name, Mode: info.Mode()}
	}
	f, err = root.Open(at)
	return name, f, err
}

// logOf returns where the output of an attempt is kept.
func logOf(ref reprise.Ref, began time.Time, step string, attempt int) string {
	return durable.StateDir + "/logs/" + ref.AttemptName(began, step, attempt) + ".log"
}

// lastOf reads the end of a file.
func lastOf(f *os.File, bytes int64) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-bytes), bytes))
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}
