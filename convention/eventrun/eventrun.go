// Package eventrun reads runs kept as `.agent-memory/runs/<run-id>/`: a graph of tasks,
// the documents it came from, and an append-only log of events.
//
// It guarantees that every complete event of every actor counts, in the order of the
// events' own times; that a line which is torn or not JSON loses only that line, is
// reported, and leaves the task it names unknown; that a log which must have contained
// more blocks the run; that nothing is called done unless a ledger does; and that nothing
// is offered for execution before the approval is on disk.
//
// Which ledger wins. The latest event of a task decides its status, because the log is
// append-only and written by those who did the work. The status word in the task graph
// counts only for a task without events; otherwise it is kept as a losing claim. For the
// run as a whole the artifacts decide how far it can be, since each is made by one step
// and needed by the next: a missing artifact sends the run back to the step that makes
// it, whatever the log says. The latest phase event, workflow-state.json and
// manifest.yaml, in this order unless a later one is newer, are claims about the phase;
// they win over the artifacts only if they send the run back on purpose. A recorded end
// closes the run, unless work was started after it.
package eventrun

import (
	"errors"
	"io/fs"
	"path"
	"sort"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Name is the name of the layout.
const Name = "eventrun"

// Layout reads `.agent-memory/runs/`. The zero value is ready for use.
type Layout struct{}

// New returns the layout.
func New() reprise.Layout { return Layout{} }

// Name implements reprise.Layout.
func (Layout) Name() string { return Name }

const memoryDir = ".agent-memory"

// Find implements reprise.Layout: one run for each folder below `.agent-memory/runs/`
// with at least one artifact of this convention. Many unrelated note systems use the
// folder `.agent-memory/`.
func (Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	var refs []reprise.Ref
	err := doc.Search(fsys, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir // the file system reports what cannot be listed
			}
			return nil
		}
		if !d.IsDir() || d.Name() != memoryDir {
			return nil
		}
		refs = append(refs, runsIn(fsys, path.Join(name, "runs"))...)
		return fs.SkipDir // a run may have a million events; none of them is a run
	})
	sort.Slice(refs, func(i, j int) bool { return refs[i].Path < refs[j].Path })
	return refs, err
}

func runsIn(fsys fs.FS, dir string) []reprise.Ref {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	var refs []reprise.Ref
	for _, e := range entries {
		if p := path.Join(dir, e.Name()); e.IsDir() && isRun(fsys, p) {
			refs = append(refs, reprise.Ref{Layout: Name, ID: e.Name(), Path: p, Kind: reprise.KindGraph})
		}
	}
	return refs
}

// isRun reports whether a folder has an artifact that only a run has. An unreadable one
// counts: a run must not disappear.
func isRun(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	for _, e := range entries {
		if knownArtifact(e.Name()) {
			return true
		}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		sub := path.Join(dir, e.Name())
		switch e.Name() {
		case "artifacts":
			if inner, err := fs.ReadDir(fsys, sub); err == nil {
				for _, e := range inner {
					if knownArtifact(e.Name()) {
						return true
					}
				}
			}
		case "tasks":
			if len(contractsIn(fsys, sub)) > 0 {
				return true
			}
		case "events":
			if hasEvents(fsys, sub) {
				return true
			}
		}
	}
	return false
}

func knownArtifact(name string) bool {
	switch name {
	case "constitution.md", "prd.md", "plan.md", "bootstrap-plan.md", "dependency-report.md", "pr-checklist.md",
		"task-graph.json", "task-graph.yaml", "task-graph.yml", "workflow-state.json", "manifest.yaml", "manifest.yml":
		return true
	}
	return false
}

// hasEvents stops at the first event file.
func hasEvents(fsys fs.FS, dir string) bool {
	found := false
	walkEvents(fsys, dir, func(string) bool {
		found = true
		return false
	})
	return found
}

// walkEvents calls visit for each event file below dir, in path order, until it returns
// false.
func walkEvents(fsys fs.FS, dir string, visit func(name string) bool) {
	// An error here is an unlistable folder, or the requested end.
	_ = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() && name != dir && isEventFile(d.Name()) {
			// A folder with the name of a log is reported when it is opened.
			if !visit(name) {
				return fs.SkipAll
			}
			return fs.SkipDir
		}
		if !d.IsDir() && isEventFile(d.Name()) && !visit(name) {
			return fs.SkipAll
		}
		return nil
	})
}

func isEventFile(name string) bool { return isLog(name) || isSingle(name) }

// isLog recognizes a file with one event per line, isSingle a file with one event.
func isLog(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}

func isSingle(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json")
}

// contractsIn maps task ids to the files that describe them: both `tasks/T001.md` and
// `tasks/T001/contract.md`. Work notes beside a contract (`T001-work.md`) are not
// contracts.
func contractsIn(fsys fs.FS, dir string) map[string]string {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			for _, inner := range []string{"contract.md", "contract.yaml", "contract.yml"} {
				if _, err := fs.Stat(fsys, path.Join(name, inner)); err == nil {
					out[e.Name()] = path.Join(name, inner)
					break
				}
			}
			continue
		}
		ext := path.Ext(e.Name())
		if ext != ".md" && ext != ".yaml" && ext != ".yml" {
			continue
		}
		id := strings.TrimSuffix(e.Name(), ext)
		if strings.HasSuffix(id, "-work") || strings.EqualFold(id, "readme") || id == "" {
			continue
		}
		out[id] = name
	}
	return out
}
