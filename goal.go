package reprise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Begun reports whether a run in this state has begun and can be resumed.
func (s State) Begun() bool { return s.Open() && s != NotStarted }

// Is reports whether a run matches the goal. An empty goal matches every run.
func (g Goal) Is(r *Run) bool {
	switch {
	case g.ID != "":
		return r.ID == g.ID
	case g.Path != "":
		return r.Path == g.Path || strings.HasPrefix(g.Path, r.Path+"/") || slices.ContainsFunc(r.Also, func(also Ref) bool { return also.Path == g.Path })
	case g.Text != "":
		return strings.EqualFold(strings.TrimSpace(r.Title), strings.TrimSpace(g.Text))
	}
	return true
}

// WholeID returns the id of the run of a kind that is listed under a name, or the name
// itself, as the id of a new run, if there is none.
func WholeID(runs []*Run, kind Kind, name string) string {
	if slices.ContainsFunc(runs, func(r *Run) bool { return r.Kind == kind && r.ID == name }) {
		return name
	}
	for r, short := range Names(runs) {
		if r.Kind == kind && short == name {
			return r.ID
		}
	}
	return name
}

// maxText bounds what a person may say: the text goes into state files and prompts in
// full.
const maxText = 64 << 10

// CheckText rejects a person's text that must not reach a state file or a prompt: empty
// text, too much text, invalid UTF-8, and control characters other than newlines and
// tabs.
func CheckText(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("is empty")
	case len(s) > maxText:
		return fmt.Errorf("has %d bytes, more than %d", len(s), maxText)
	case !utf8.ValidString(s):
		return errors.New("is not UTF-8 text")
	}
	for i, r := range s {
		if r != '\n' && r != '\t' && unicode.Is(unicode.C, r) {
			return fmt.Errorf("holds the control character U+%04X at byte %d; only line ends and tabs are taken", r, i+1)
		}
	}
	return nil
}
