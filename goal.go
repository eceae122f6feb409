package reprise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Begun reports whether a run in this state was begun and can be resumed.
func (s State) Begun() bool { return s.Open() && s != NotStarted }

// Is reports whether a run is about what a person asks for. A goal that says nothing is
// that of any run.
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

// WholeID gives the id of the run of a kind that is listed under a name; a name that
// no run has is that of a new one.
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

// maxText bounds what a person says: it goes into state files and prompts whole.
const maxText = 64 << 10

// CheckText refuses text of a person that must not reach a state file or a prompt: none
// at all, too much, what is no UTF-8, and control characters other than line ends and
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
