package autoclaude

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// stateDirs are the names of the folder that holds specs/: today's, and that
// of the first versions, where the program itself lived in the project.
var stateDirs = []string{".auto-claude", "auto-claude"}

// specFiles are the files that make a folder a spec. One of them beside a plan
// tells a spec that was copied elsewhere from a plan an agent misplaced.
var specFiles = []string{
	"spec.md", "requirements.json", "task_metadata.json", "context.json",
	"complexity_assessment.json", "review_state.json", "task_logs.json", "build-progress.txt",
	"qa_report.md", "QA_FIX_REQUEST.md", "memory",
}

// Find lists the spec folders of the tree: the children of .auto-claude/specs
// and auto-claude/specs at any depth, numbered folders elsewhere that hold a
// plan with another file of a spec, and copies in worktrees whose original in
// the project is gone. Anything inside a spec folder or next to the specs is a
// stray, not a run.
func (Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	found := map[string]bool{}
	bases := map[string]bool{".": true}
	err := doc.Search(fsys, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && name != "." {
				return fs.SkipDir
			}
			return nil // the file system reports what it cannot list
		}
		if !d.IsDir() {
			return nil
		}
		base := path.Dir(name)
		switch {
		case d.Name() == ".worktrees":
			bases[base] = true
			return fs.SkipDir
		case d.Name() == "worktrees" && path.Base(base) == stateDirs[0]:
			return fs.SkipDir
		case d.Name() == stateDirs[0]:
			bases[base] = true
		case isSpec(fsys, name):
			found[name] = true
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range orphans(fsys, bases, found) {
		found[name] = true
	}
	refs := make([]reprise.Ref, 0, len(found))
	for name := range found {
		refs = append(refs, reprise.Ref{Layout: layoutName, ID: path.Base(name), Path: name, Kind: reprise.KindBuild})
	}
	slices.SortStableFunc(refs, func(a, b reprise.Ref) int { return strings.Compare(a.Path, b.Path) })
	return refs, nil
}

// isSpec tells a spec folder by its place and its files.
func isSpec(fsys fs.FS, dir string) bool {
	at := path.Dir(dir)
	home := path.Base(at) == "specs" && slices.Contains(stateDirs, path.Base(path.Dir(at)))
	named := numbered(path.Base(dir))
	if !home && !named {
		return false
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		// In its proper place a folder we may not list is still a spec.
		return home && named
	}
	plan, others, any := false, 0, false
	for _, e := range entries {
		switch {
		case e.Name() == planFile:
			plan, any = true, true
		case slices.Contains(specFiles, e.Name()):
			others, any = others+1, true
		case !strings.HasPrefix(e.Name(), "."):
			any = true
		}
	}
	if home {
		return named && any || plan || others > 0
	}
	return plan && others > 0
}

// numbered reports whether a name is that of a spec folder: digits, a dash and
// what was left of the title, which may be nothing.
func numbered(name string) bool {
	i := 0
	for i < len(name) && name[i] >= '0' && name[i] <= '9' {
		i++
	}
	return i > 0 && i < len(name) && name[i] == '-'
}

// orphans finds specs of which only the copy in a worktree is left. A worktree
// is a checkout of the whole project, so it may hold copies of other specs too;
// the copy in the spec's own worktree is preferred.
func orphans(fsys fs.FS, bases, found map[string]bool) map[string]bool {
	type choice struct {
		name string
		own  bool
	}
	best := map[string]choice{} // by the place where the original would be
	for base := range bases {
		for _, wt := range worktrees(fsys, base) {
			for _, state := range stateDirs {
				entries, err := fs.ReadDir(fsys, path.Join(wt, state, "specs"))
				if err != nil {
					continue
				}
				for _, e := range entries {
					name := path.Join(wt, state, "specs", e.Name())
					original := path.Join(base, state, "specs", e.Name())
					if !e.IsDir() || found[original] || !isSpec(fsys, name) {
						continue
					}
					c, had := best[original]
					own := path.Base(wt) == e.Name()
					if !had || own && !c.own || own == c.own && name < c.name {
						best[original] = choice{name, own}
					}
				}
			}
		}
	}
	out := map[string]bool{}
	for _, c := range best {
		out[c.name] = true
	}
	return out
}

// worktrees lists the worktree folders under a project folder. A guarded file
// system leaves linked checkouts out of listings and names them on request.
func worktrees(fsys fs.FS, base string) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	homes := []string{path.Join(base, ".worktrees"), path.Join(base, stateDirs[0], "worktrees", "tasks")}
	for _, home := range homes {
		entries, err := fs.ReadDir(fsys, home)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() {
				add(path.Join(home, e.Name()))
			}
		}
	}
	if c, ok := fsys.(interface{ Checkouts() []string }); ok {
		for _, name := range c.Checkouts() {
			if slices.Contains(homes, path.Dir(name)) {
				add(name)
			}
		}
	}
	add(path.Join(base, ".worktrees", stagingName))
	return out
}

// stagingName is the one worktree all specs shared in the first versions.
const stagingName = "auto-claude"

// location is where one spec lives.
type location struct {
	base     string   // the project folder; "" if the spec stands outside of one
	copies   []string // folders of the spec: the project's first, then those in worktrees
	worktree string   // the spec's worktree, "" if there is none
}

// locate finds the second copies of a spec by probing the known places by
// name, newest convention first, since listings may leave worktrees out.
func locate(fsys fs.FS, dir string) location {
	w := location{copies: []string{dir}}
	state := path.Dir(path.Dir(dir))
	if path.Base(path.Dir(dir)) != "specs" || !slices.Contains(stateDirs, path.Base(state)) {
		return w
	}
	id := path.Base(dir)
	w.base = path.Dir(state)
	if _, ok := worktreeBase(w.base); ok {
		w.worktree = w.base
		return w
	}
	for _, wt := range []string{
		path.Join(w.base, stateDirs[0], "worktrees", "tasks", id),
		path.Join(w.base, ".worktrees", id),
		path.Join(w.base, ".worktrees", stagingName),
	} {
		if !isDir(fsys, wt) {
			continue
		}
		holds := false
		for _, name := range stateDirs {
			if second := path.Join(wt, name, "specs", id); isDir(fsys, second) {
				w.copies = append(w.copies, second)
				holds = true
			}
		}
		// The shared worktree belongs to whichever spec has its copy there.
		if w.worktree == "" && (holds || path.Base(wt) == id) {
			w.worktree = wt
		}
	}
	return w
}

// worktreeBase tells whether a folder is one of Auto-Claude's worktrees, and
// of which project folder.
func worktreeBase(dir string) (base string, ok bool) {
	home := path.Dir(dir)
	switch {
	case path.Base(home) == ".worktrees":
		return path.Dir(home), true
	case path.Base(home) == "tasks" && path.Base(path.Dir(home)) == "worktrees" && path.Base(path.Dir(path.Dir(home))) == stateDirs[0]:
		return path.Dir(path.Dir(path.Dir(home))), true
	}
	return "", false
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}
