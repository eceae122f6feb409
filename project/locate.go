package project

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/tree"
)

// Locate returns the folder to read, given the folder a person is in: the one containing
// the state folder they are inside, else the nearest folder at or above dir that holds
// state, else the top of the repository unless there are runs below dir. below is the
// part of root that was meant, or "" for all. A path that leads nowhere or to a file that
// is not state is returned as it is: opening it says what is wrong.
func Locate(dir string) (root, below string) {
	root, below = Holder(dir)
	if info, err := os.Stat(dir); err != nil || below == "" && !info.IsDir() {
		return dir, ""
	}
	abs, err := filepath.Abs(dir)
	if below != "" || err != nil {
		return root, below
	}
	top := checkoutTop(abs)
	for p := abs; ; p = filepath.Dir(p) {
		switch {
		case holdsState(p) && p != abs:
			return p, ""
		case holdsState(p):
			return dir, ""
		case p == top || top == "" && !private(filepath.Dir(p)):
			if _, within := split(strings.TrimPrefix(abs, top), isMark); top == "" || top == abs || within == "" && hasRuns(abs) {
				return dir, ""
			}
			return top, ""
		}
	}
}

// Holder returns the folder containing the state folder that dir is in, and the part of
// it that was meant; dir itself and "" if dir is in none.
func Holder(dir string) (root, below string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, ""
	}
	root, below = split(abs, isStateFolder)
	if below == "" {
		return dir, ""
	}
	return root, below
}

// isMark reports whether a folder of this name may hold state, isStateFolder whether that
// is its only purpose.
func isMark(name string) bool        { return slices.Contains(convention.Marks(), name) }
func isStateFolder(name string) bool { return strings.HasPrefix(name, ".") && isMark(name) }

// split splits a path before the first folder for which counts is true.
func split(path string, counts func(name string) bool) (top, below string) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	i := slices.IndexFunc(parts, counts)
	if i < 0 {
		return path, ""
	}
	return filepath.FromSlash(cmp.Or(strings.Join(parts[:i], "/"), "/")), strings.Join(parts[i:], "/")
}

// holdsState reports whether the folder itself holds state.
func holdsState(dir string) bool {
	for _, name := range append(convention.Marks(), durable.StateDir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() && strings.HasPrefix(name, ".") && (name != durable.StateDir || keepsRuns(dir)) {
			return true
		}
	}
	return false
}

// keepsRuns reports whether a state folder is that of a project. The one at the top of a repository
// may have only the worlds of projects below it.
func keepsRuns(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(dir, durable.StateDir))
	return err != nil || len(entries) == 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "worlds" && e.Name() != ".gitignore" })
}

// private reports whether a folder can be part of a project without a repository to say
// so. A home folder and a world-writable folder cannot.
func private(dir string) bool {
	home, _ := os.UserHomeDir()
	info, err := os.Stat(dir)
	return err == nil && dir != filepath.Dir(dir) && dir != home && info.Mode().Perm()&0o002 == 0
}

// hasRuns reports whether there is a run at or below a folder.
func hasRuns(dir string) bool {
	fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks(), Time: newPatience(quickly).within})
	if err != nil {
		return false
	}
	defer fsys.Close()
	for _, e := range convention.All() {
		var refs []reprise.Ref
		if !fsys.Search(func() { refs, _ = e.Find(fsys) }) || len(refs) > 0 {
			return true // reading the folder tells of what could not be searched
		}
	}
	return false
}

// Under returns the runs in one part of the state, or all of them if below is "" or there
// are none: a run's checkout is part of it.
func Under(runs []*reprise.Run, below string) []*reprise.Run {
	if below == "" {
		return runs
	}
	within := func(path string) bool {
		return path != "" && (path == below || strings.HasPrefix(path, below+"/") || strings.HasPrefix(below, path+"/"))
	}
	var out []*reprise.Run
	for _, r := range runs {
		if within(r.Path) || within(r.Worktree) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return runs
	}
	return out
}

// placed sets for each run which of several projects below root it is in: the nearest
// folder around its state that is the top of a checkout or has been worked in, else the
// one above the first folder with a mark. What root describes itself is its own.
func placed(root string, runs []*reprise.Run) {
	described := map[string]bool{}
	for _, e := range convention.All() {
		described[e.Name()] = e.Described
	}
	isTop := tops(root)
	for _, r := range runs {
		if !filepath.IsLocal(filepath.FromSlash(r.Path)) || described[r.Layout] {
			continue
		}
		first, _ := split(path.Dir(r.Path), isMark)
		r.Project = filepath.ToSlash(first)
		around, _ := split(path.Dir(r.Path), isStateFolder)
		for p := filepath.ToSlash(around); p != "." && p != "/"; p = path.Dir(p) {
			if isTop(p) {
				r.Project = p
				break
			}
		}
		if r.Project == "." || r.Project == "/" { // root's own
			r.Project = ""
		}
	}
}

// tops returns a function that reports whether a folder below root, or "." for root, is
// the top of a checkout or has been worked in.
func tops(root string) func(dir string) bool {
	known := map[string]bool{}
	return func(dir string) bool {
		top, ok := known[dir]
		if !ok {
			abs := filepath.Join(root, filepath.FromSlash(dir))
			_, git := os.Lstat(filepath.Join(abs, ".git"))
			_, own := os.Lstat(filepath.Join(abs, durable.StateDir))
			top = git == nil || own == nil
			known[dir] = top
		}
		return top
	}
}

// Of returns the project that a run is worked on in, if this folder is not a project but
// only contains projects: the checkout around the run, or the subfolder that has been
// worked in. It is "" if that is this folder.
func (j *Judgement) Of(r *reprise.Run) string {
	isTop := tops(j.Root)
	if r.Project == "" || len(j.views[r].Events) > 0 || isTop(".") || !isTop(r.Project) {
		return ""
	}
	return r.Project
}

// Split removes the runs that another project has to report, and returns the folders of
// those projects: a run is known best where it is worked on. A run worked on from here
// stays, as does everything in a single repository.
func (j *Judgement) Split() (folders []string) {
	isTop := tops(j.Root)
	apart := map[string]bool{}
	j.Runs = slices.DeleteFunc(j.Runs, func(r *reprise.Run) bool {
		p := r.Project
		if p == "" || len(j.views[r].Events) > 0 || isTop(".") && !isTop(p) {
			return false
		}
		if _, seen := apart[p]; !seen {
			at := filepath.Join(j.Root, filepath.FromSlash(p))
			own, _ := Locate(at)
			if apart[p] = own == at; apart[p] {
				folders = append(folders, p)
			}
		}
		return apart[p]
	})
	j.Findings = slices.DeleteFunc(j.Findings, func(f reprise.Finding) bool {
		return slices.ContainsFunc(folders, func(p string) bool { return strings.HasPrefix(f.Source.File, p+"/") })
	})
	return folders
}

// Together merges several judgements into one, as seen from root. A run that is inside
// another of them is reported there.
func Together(root string, list []*Judgement) *Judgement {
	out := &Judgement{Result: &Result{Root: root}, Decisions: map[*reprise.Run]reprise.Decision{}, views: map[*reprise.Run]*View{}}
	var lists [][]*reprise.Run
	for _, j := range list {
		prefix, err := filepath.Rel(root, j.Root)
		if err != nil {
			prefix = j.Root
		}
		prefix = filepath.ToSlash(prefix)
		j.Runs = slices.DeleteFunc(j.Runs, func(r *reprise.Run) bool {
			at := filepath.Join(j.Root, filepath.FromSlash(r.Path))
			return !filepath.IsLocal(filepath.FromSlash(r.Path)) && slices.ContainsFunc(list, func(o *Judgement) bool { return strings.HasPrefix(at, o.Root+string(filepath.Separator)) })
		})
		for _, r := range j.Runs {
			d := j.Decisions[r]
			if prefix != "." {
				rebase(r, prefix)
				r.Project = path.Join(prefix, r.Project)
				d.Units = slices.Clone(d.Units)
				for i := range d.Units {
					d.Units[i].Path = path.Join(prefix, d.Units[i].Path)
				}
			}
			out.Decisions[r], out.views[r] = d, j.views[r]
		}
		lists = append(lists, j.Runs)
		out.Findings = append(out.Findings, j.Findings...)
		out.Skipped = append(out.Skipped, j.Skipped...)
	}
	out.Runs = reprise.Merge(lists...)
	return out
}

// Nothing is the outcome beside that of the runs that were found: there is no other or, if a
// place that can hold one is unreadable, that is unknown. Where runs were found, that is a
// folder of a convention: others need not have to do with it.
func (r *Result) Nothing() reprise.Outcome {
	marks := convention.Marks()
	for _, f := range r.hidden() {
		if len(r.Runs) == 0 || slices.ContainsFunc(strings.Split(f.Source.File, "/"), func(part string) bool { return slices.Contains(marks, part) }) {
			return reprise.OutcomeUnreadable
		}
	}
	return reprise.OutcomeNothing
}

// Hidden says why a place that can hold a run is unreadable, or "".
func (r *Result) Hidden() string {
	for _, f := range r.hidden() {
		return f.Message
	}
	return ""
}

func (r *Result) hidden() []reprise.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f reprise.Finding) bool {
		return f.Code != reprise.CodePermission && f.Code != reprise.CodeUnreadable
	})
}
