// Package longrun reads plans that agents execute one after the other, in the
// two on-disk families that are kin: `.long-run/` and GSD's `.planning/`.
//
// Nothing a file says is lost: what cannot be read is a finding, what is not
// understood is Unknown, and a plan is done only where a ledger that is
// written after the work says so. Every step keeps the claims of all ledgers.
//
// Which ledger wins for a plan, strongest first:
//
//  1. its SUMMARY, by the status it states (a summary that says failed,
//     partial, skipped or timeout is not a completed plan);
//  2. its checkpoint (all tasks done means made, not yet accepted);
//  3. the latest entry of an agent about it (an agent's own "completed" means
//     made, not yet accepted: the summary is what accepts it);
//  4. STATE.md, which may call a plan begun, failed or skipped but never done;
//  5. the plan file alone: planned.
//
// In `.planning/` there are no checkpoints; there, a plan without a summary
// also counts as done when at least two independent records say so (see
// gsd.classify), because summaries are often left uncommitted.
//
// The two families differ in one word that looks the same: `Plan: X` in
// STATE.md is the plan to do next in `.long-run/` and, as a rule, the plan done
// last in `.planning/`. No code is shared for it.
package longrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

const (
	longRunDir  = ".long-run"
	planningDir = ".planning"
)

// Layout reads `.long-run/` and `.planning/` folders.
type Layout struct{}

// New returns the layout.
func New() reprise.Layout { return Layout{} }

// Name returns "longrun".
func (Layout) Name() string { return "longrun" }

// Find returns one run for each `.long-run/` folder that holds anything of it
// and for each `.planning/` folder that GSD wrote, anywhere in the tree.
func (Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	var refs []reprise.Ref
	err := doc.Search(fsys, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			// A folder that cannot be listed is reported by the file system.
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			return nil
		}
		switch path.Base(name) {
		case longRunDir:
			if holdsLongRun(fsys, name) {
				refs = append(refs, ref(name, "long-run"))
			}
			return fs.SkipDir
		case planningDir:
			if holdsPlanning(fsys, name) {
				refs = append(refs, ref(name, "planning"))
			}
			refs = append(refs, workstreams(fsys, name)...)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortStableFunc(refs, func(a, b reprise.Ref) int { return strings.Compare(a.Path, b.Path) })
	return refs, nil
}

// workstreams finds the streams of work of a `.planning/` folder: each is a
// folder of its own with its own STATE.md, roadmap and phases.
func workstreams(fsys fs.FS, dir string) []reprise.Ref {
	dir = path.Join(dir, "workstreams")
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	var refs []reprise.Ref
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); e.IsDir() && holdsPlanning(fsys, name) {
			refs = append(refs, reprise.Ref{Layout: "longrun", ID: e.Name(), Path: name, Kind: reprise.KindPlans})
		}
	}
	return refs
}

// ref names the run in a state folder after the folder that holds it.
func ref(name, top string) reprise.Ref {
	id := path.Base(path.Dir(name))
	if path.Dir(name) == "." {
		id = top
	}
	return reprise.Ref{Layout: "longrun", ID: id, Path: name, Kind: reprise.KindPlans}
}

// Load reads one run. The error is always nil: what is wrong with the files
// stands in the run's findings.
func (Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	r := doc.NewReader(fsys)
	run := &reprise.Run{Ref: ref}
	if path.Base(ref.Path) == longRunDir {
		loadLongRun(r, run)
	} else {
		loadPlanning(r, run)
	}
	run.Findings = append(gatherSalvaged(r.Findings()), run.Findings...)
	return run, nil
}

// Record tells what an event changes in the files of a run, in the version and
// the spelling they already have. A plan is named by its step id, a task of a
// plan of `.long-run/` by the plan's id, a slash and its number: "02/3".
//
// What it returns has been read back: with the edits in place every other plan
// and question reads as before.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	ref := r.Ref
	ref.Path = cmp.Or(ref.Path, placeOf(ref.ID))
	var edits []reprise.Edit
	var err error
	switch {
	case !fs.ValidPath(ref.Path):
		err = ledger.Cannot("%q is not a place for a run", doc.Clip(ref.ID, 60))
	case path.Base(ref.Path) == longRunDir:
		edits, err = recordLongRun(fsys, ref, ev)
	default:
		edits, err = recordPlanning(fsys, ref, ev)
	}
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, nil
}

// placeOf is where a run that does not exist yet will lie.
func placeOf(id string) string {
	switch id {
	case "planning":
		return planningDir
	case "", "long-run":
		return longRunDir
	}
	return path.Join(id, longRunDir)
}

// loader reads one run again, for what is read back before it counts.
func loader(ref reprise.Ref) ledger.Load {
	return func(fsys fs.FS) *reprise.Run {
		run, _ := Layout{}.Load(fsys, ref)
		return run
	}
}

// gatherSalvaged makes one line of the plan and summary files whose front matter
// breaks a rule of YAML. Models write them by the dozen, and the few fields that
// are used are read line by line all the same.
func gatherSalvaged(findings []reprise.Finding) []reprise.Finding {
	var out []reprise.Finding
	first, count := map[string]int{}, map[string]int{}
	for _, f := range findings {
		name := strings.ToUpper(path.Base(f.Source.File))
		minor := f.Code == reprise.CodeSalvaged || f.Code == reprise.CodeDuplicateKey
		if !minor || !strings.HasSuffix(name, ".MD") || !strings.Contains(name, "PLAN") && !strings.Contains(name, "SUMMARY") {
			out = append(out, f)
			continue
		}
		if count[f.Code]++; count[f.Code] == 1 {
			first[f.Code] = len(out)
			f.Severity = reprise.Info
			out = append(out, f)
		}
	}
	for code, n := range count {
		if n > 1 {
			out[first[code]].Message += fmt.Sprintf("; %d more of this in plan and summary files", n-1)
		}
	}
	return out
}

// longRunNames are the files and folders the convention writes into its folder.
var longRunNames = []string{
	"STATE.md", "ISSUES.md", "agent-history.json", "current-agent-id.txt",
	"clarifications.md", "checkpoint.json", "plans", "summaries",
}

// holdsLongRun reports whether a `.long-run` folder holds anything of a run,
// half-written files included.
func holdsLongRun(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		// It is there and cannot be listed: Load says so.
		return true
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		target, _ := temporary(e.Name())
		return slices.Contains(longRunNames, cmp.Or(target, e.Name()))
	})
}

// temporary recognises the temporary files of an atomic write, NAME.tmp.PID,
// and returns NAME.
func temporary(name string) (target string, ok bool) {
	if m := temporaryForm().FindStringSubmatch(name); m != nil {
		return m[1], true
	}
	return "", false
}

var temporaryForm = doc.Pattern(`(?s)^(.+)\.tmp\.\d+$`)
