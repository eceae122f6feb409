package project

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// How much is kept of what an attempt printed last.
const (
	tailLines = 8
	tailBytes = 16 << 10
)

// tellFailed adds which attempts failed, of steps that did not succeed since, and the
// end of what they printed.
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
	slices.SortFunc(r.Failures, func(a, b reprise.Failure) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Step, b.Step)) })
}

// OutputOf gives the log of an attempt, a path in the project, and the last lines in it;
// "" if there is none. hide takes secrets out of a text; nil stands for none.
func OutputOf(dir string, ref reprise.Ref, began time.Time, step string, attempt int, hide func(string) string) (name string, tail []string) {
	name = logOf(ref, began, step, attempt)
	text, err := lastOf(dir, filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
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
	return name, tail[max(0, len(tail)-tailLines):]
}

// logOf is where the output of an attempt is kept.
func logOf(ref reprise.Ref, began time.Time, step string, attempt int) string {
	return durable.StateDir + "/logs/" + ref.AttemptName(began, step, attempt) + ".log"
}

// lastOf reads the end of a regular file of the project.
func lastOf(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &durable.NotRegularError{Path: name, Mode: info.Mode()}
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailBytes), tailBytes))
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}
