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

// Locate finds the folder to read from where a person stands: the one that holds the
// state folder they point into, else the nearest folder at or above dir that holds
// state, else the top of the repository unless there are runs below dir. below is the
// part of it that was meant, "" for all.
func Locate(dir string) (root, below string) {
	root, below = Holder(dir)
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

// Holder gives the folder that holds the state folder a person points into, and the
// part of it that was meant; the folder itself and "" if they point into none.
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

// isMark reports whether a folder of this name may hold state, isStateFolder whether it
// is there for nothing else.
func isMark(name string) bool        { return slices.Contains(convention.Marks(), name) }
func isStateFolder(name string) bool { return strings.HasPrefix(name, ".") && isMark(name) }

// split splits a path before the first of its folders that counts.
func split(path string, counts func(name string) bool) (top, below string) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	i := slices.IndexFunc(parts, counts)
	if i < 0 {
		return path, ""
	}
	return filepath.FromSlash(cmp.Or(strings.Join(parts[:i], "/"), "/")), strings.Join(parts[i:], "/")
}

// holdsState reports whether state lies in the folder itself.
func holdsState(dir string) bool {
	for _, name := range append(convention.Marks(), durable.StateDir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() && strings.HasPrefix(name, ".") {
			return true
		}
	}
	return false
}

// private reports whether a folder can be part of a project where no repository says
// so: not what a person has all their folders in, and not what anybody may write to.
func private(dir string) bool {
	home, _ := os.UserHomeDir()
	info, err := os.Stat(dir)
	return err == nil && dir != filepath.Dir(dir) && dir != home && info.Mode().Perm()&0o002 == 0
}

// hasRuns reports whether there is a run in a folder or below.
func hasRuns(dir string) bool {
	fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks()})
	if err != nil {
		return false
	}
	defer fsys.Close()
	for _, e := range convention.All() {
		if refs, _ := e.Find(fsys); len(refs) > 0 {
			return true
		}
	}
	return false
}

// Under gives the runs in one part of the state, all of them for "" and where there are
// none: the checkout of a run is part of it.
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

// placed tells of each run in which of several projects below the folder it lies: the
// nearest folder around its state that is the top of a checkout or was worked in, else
// the one before the first that bears a mark. What the project describes itself is its own.
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
		if r.Project == "." || r.Project == "/" { // its own
			r.Project = ""
		}
	}
}

// tops reports of folders below a folder, or of "." itself, whether one is the top of a
// checkout or was worked in.
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

// Of gives the project that a run is worked on in, where the folder is none itself and only
// holds projects: the checkout around the run, or the folder below that was worked in. It is
// "" where that is this folder.
func (j *Judgement) Of(r *reprise.Run) string {
	isTop := tops(j.Root)
	if r.Project == "" || len(j.views[r].Events) > 0 || isTop(".") || !isTop(r.Project) {
		return ""
	}
	return r.Project
}

// Split takes the runs out that are for another project to tell about, and gives the
// folders of those projects: what is known of a run is known where it is worked on. A run
// that was worked on from here stays, and so does all of one repository.
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

// Together makes one judgement of several, as seen from a folder. A run that lies in
// another one of them is told about there.
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

// Nothing is the outcome where no run is meant: there is nothing, or that cannot be
// told, since there is no run and a place where one can be is not readable.
func (r *Result) Nothing() reprise.Outcome {
	if len(r.Runs) == 0 && r.Hidden() != "" {
		return reprise.OutcomeUnreadable
	}
	return reprise.OutcomeNothing
}

// Hidden tells why a place where a run can be is not readable, "" if all of them are.
func (r *Result) Hidden() string {
	for _, f := range r.Findings {
		if f.Code == reprise.CodePermission || f.Code == reprise.CodeUnreadable {
			return f.Message
		}
	}
	return ""
}
