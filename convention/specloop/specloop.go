// Package specloop reads specification loops: one run for each feature folder
// that has a `.workflow/` folder, usually `specs/<NNN-name>/.workflow/`.
//
// Every run that was begun is found and none is called finished without a
// ledger that says so in a word the format knows. Damage costs the damaged part
// and becomes a finding; a state file that cannot be read leaves the run
// unreadable, never empty and never done.
//
// Two families are read. The first keeps everything in `index.md`, Markdown
// tables mapped by their header names. The second keeps YAML front matter in
// `context.md` (earlier `scaffold.md`), `plan-context.md`, `tasks-context.md`
// and graphs in `dags/*.json`.
//
// Which ledger wins:
//
//   - Within index.md the Loop Status decides; the workflow table, the current
//     phase and specify-context.md are shown beside it. The status says where
//     the loop was, gaps, questions, history and files say where in that phase:
//     `validating` and `clarifying` each cover several steps.
//   - What is on disk wins over a status that claims it was made: a spec.md that
//     is still the template was not written, whatever the status says, because
//     the workflow writes the artifact before the status.
//   - In a context file the front matter wins over the body: the workflow
//     updates the one and leaves the other as the template made it.
//   - A graph in dags/ wins over the context file beside it: a program writes
//     the graph after every node, and the context only at the very end.
//   - Where index.md and a context file both speak of the specification, the
//     one with the later recorded time wins, the newer family when the times do
//     not tell.
//   - Of several workflows of a feature (specify, techspec, plan, tasks,
//     implement) the last one that is open decides about the run: a person let
//     the work continue there. An earlier one left open is a finding.
package specloop

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// layoutName is the name in refs.
const layoutName = "specloop"

// stateDir is the folder that holds the state of one feature.
const stateDir = ".workflow"

// Layout reads specification loops. It has no state.
type Layout struct{}

// New returns the layout.
func New() reprise.Layout { return Layout{} }

// Name returns "specloop".
func (Layout) Name() string { return layoutName }

// Reopens gives the steps that the end of a step opens again: B5 begins another round,
// in which the gaps are sorted anew.
func Reopens(step string) []string {
	if step != "B5" {
		return nil
	}
	return []string{"A5", "B1", "B2", "B3", "B4", "B5"}
}

// ownNames are state files that no other tool is known to keep in a .workflow
// folder. sharedNames are too common to prove anything by themselves.
var (
	ownNames    = []string{"specify-context.md", "checklist-context.md", "plan-context.md", "tasks-context.md", "techspec-context.md"}
	sharedNames = []string{"index.md", "context.md", "scaffold.md"}
	// reportNames are what agents leave beside the state. Alone in a folder
	// they show that a state file was lost.
	reportNames = []string{"analyst-report.md", "advocate-report.md", "planner-report.md", "architect-report.md", "techanalyst-report.md", "codebase-inventory.json"}
)

// Find returns one ref for each feature folder with state of this convention.
func (Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	var refs []reprise.Ref
	err := doc.Search(fsys, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() || d.Name() != stateDir {
			return nil
		}
		if ours(fsys, p) {
			refs = append(refs, refOf(fsys, p))
		}
		return fs.SkipDir
	})
	slices.SortStableFunc(refs, func(a, b reprise.Ref) int { return strings.Compare(a.Path, b.Path) })
	return refs, err
}

func refOf(fsys fs.FS, dir string) reprise.Ref {
	ref := reprise.Ref{Layout: layoutName, Kind: reprise.KindSpecLoop}
	if feature := path.Dir(dir); feature != "." {
		ref.ID, ref.Path = path.Base(feature), feature
		return ref
	}
	ref.ID, ref.Path = "workflow", stateDir
	if id := recordedID(fsys, dir); id != "" {
		ref.ID = id
	}
	return ref
}

// ours tells state of this convention from a .workflow folder of another tool.
func ours(fsys fs.FS, dir string) bool {
	feature := path.Dir(dir)
	inSpecs := slices.Contains(strings.Split(feature, "/"), "specs")
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return inSpecs // Load says that it cannot be listed
	}
	var shared []string
	report := false
	for _, e := range entries {
		name := e.Name()
		switch {
		case slices.Contains(ownNames, name):
			return true
		case slices.Contains(sharedNames, name):
			shared = append(shared, name)
		case slices.Contains(reportNames, name):
			report = true
		case name == "dags" && e.IsDir() && len(graphNames(fsys, path.Join(dir, name))) > 0:
			return true
		}
	}
	if len(shared) > 0 {
		// Inside specs/ or beside a spec.md the place is proof enough, so that a
		// damaged file is not taken for a stranger's.
		if inSpecs || exists(fsys, path.Join(feature, "spec.md")) {
			return true
		}
		return slices.ContainsFunc(shared, func(name string) bool { return marked(fsys, path.Join(dir, name)) })
	}
	// The scaffold makes the folders first and the state file last, so an empty
	// folder inside specs/NNN-name is what a crash in A1 leaves.
	return inSpecs && numbered(path.Base(feature)) && (report || bare(fsys, dir, entries))
}

// bare reports whether a state folder holds nothing but perhaps an empty dags/.
func bare(fsys fs.FS, dir string, entries []fs.DirEntry) bool {
	for _, e := range entries {
		if e.Name() != "dags" || !e.IsDir() {
			return false
		}
		if inner, err := fs.ReadDir(fsys, path.Join(dir, "dags")); err != nil || len(inner) > 0 {
			return false
		}
	}
	return true
}

// marked reports whether a file with a common name carries marks of this
// convention.
func marked(fsys fs.FS, name string) bool {
	md := doc.NewReader(fsys).Open(name).Markdown()
	if md == nil {
		return false
	}
	if path.Base(name) == "index.md" {
		_, loop := md.Section(titleLoop)
		return loop || strings.HasPrefix(doc.Fold(md.Title()), "feature index")
	}
	return md.Front != nil && md.Front.Kind == doc.Map && md.Front.Has("status") &&
		(md.Front.Has("feature_id") || strings.HasSuffix(md.Front.Get("type").Str(), "-request"))
}

// recordedID is the feature id that the state files name, for a tree whose root
// is the feature folder itself.
func recordedID(fsys fs.FS, dir string) string {
	r := doc.NewReader(fsys)
	for _, name := range []string{"context.md", "scaffold.md", "index.md", "plan-context.md", "tasks-context.md", "techspec-context.md"} {
		md := r.Open(path.Join(dir, name)).Markdown()
		if md == nil {
			continue
		}
		id := ""
		if md.Front != nil && md.Front.Kind == doc.Map {
			id = md.Front.Get("feature_id").Str()
		} else if s, ok := md.Section("Feature Metadata"); ok {
			id = field(s, "ID", "Feature ID").text
		}
		if plainID(id) {
			return id
		}
	}
	return ""
}

// plainID accepts what a branch or folder could be called; anything else in an
// id field is prose, a placeholder or an attack.
func plainID(id string) bool {
	if id == "" || len(id) > 100 {
		return false
	}
	for _, c := range id {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// numbered reports whether a folder is called NNN-name.
func numbered(name string) bool {
	i := 0
	for i < len(name) && name[i] >= '0' && name[i] <= '9' {
		i++
	}
	return i > 0 && i < len(name)-1 && name[i] == '-'
}

// graphNames lists the graph files of a dags/ folder in name order.
func graphNames(fsys fs.FS, dir string) []string {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, "strategy.json") || passNumber(name) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// passNumber reads N from pass-00N.json; 0 for other names.
func passNumber(name string) int {
	if !strings.HasPrefix(name, "pass-") || !strings.HasSuffix(name, ".json") {
		return 0
	}
	if n := doc.Numbers(name); len(n) > 0 {
		return n[0]
	}
	return 0
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}
