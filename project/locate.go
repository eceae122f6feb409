package project

import (
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
)

// Locate finds the folder to read where a person points into a state folder: the one
// that holds it. below is the part of it that was meant, "" for all.
func Locate(dir string) (root, below string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, ""
	}
	parts := strings.Split(filepath.ToSlash(abs), "/")
	i := slices.IndexFunc(parts, func(part string) bool {
		return strings.HasPrefix(part, ".") && slices.Contains(convention.Marks(), part)
	})
	if i < 0 {
		return dir, ""
	}
	top := strings.Join(parts[:i], "/")
	if top == "" {
		top = "/"
	}
	return filepath.FromSlash(top), strings.Join(parts[i:], "/")
}

// Under gives the runs in one part of the state, all of them for "".
func Under(runs []*reprise.Run, below string) []*reprise.Run {
	if below == "" {
		return runs
	}
	var out []*reprise.Run
	for _, r := range runs {
		if r.Path == below || strings.HasPrefix(r.Path, below+"/") || strings.HasPrefix(below, r.Path+"/") {
			out = append(out, r)
		}
	}
	return out
}

// Nothing is the outcome where no run is meant: there is nothing, or that cannot be
// told, since there is no run and a place where one can be is not readable.
func (r *Result) Nothing() reprise.Outcome {
	hidden := func(f reprise.Finding) bool {
		return f.Code == reprise.CodePermission || f.Code == reprise.CodeUnreadable
	}
	if len(r.Runs) == 0 && slices.ContainsFunc(r.Findings, hidden) {
		return reprise.OutcomeUnreadable
	}
	return reprise.OutcomeNothing
}
