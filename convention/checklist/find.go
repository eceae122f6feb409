package checklist

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Find implements reprise.Layout. A family's folders are looked for in every folder of
// the tree. Where other files may be, a file without any item and without the heading of
// a list is not one of this family, and neither is one that the project describes itself.
func (l Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	var refs []reprise.Ref
	holding := doc.Index(fsys)
	for _, pattern := range l.family.Lists {
		top, _, _ := strings.Cut(pattern, "/")
		for _, dir := range holding[top] {
			found, err := l.findIn(fsys, dir, pattern)
			if err != nil {
				return nil, err
			}
			refs = append(refs, slices.DeleteFunc(found, func(ref reprise.Ref) bool {
				older := func(o reprise.Ref) bool { return path.Dir(o.Path) == path.Dir(ref.Path) }
				return !strings.Contains(pattern, "*") && slices.ContainsFunc(refs, older)
			})...)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	own, err := Own{}.Find(fsys)
	return slices.DeleteFunc(refs, func(ref reprise.Ref) bool {
		return slices.ContainsFunc(own, func(o reprise.Ref) bool { return o.Path == ref.Path })
	}), err
}

// findIn finds the lists that match a pattern in a folder.
func (l Layout) findIn(fsys fs.FS, dir, pattern string) (refs []reprise.Ref, err error) {
	names, err := glob(fsys, dir, pattern)
	for _, name := range names {
		if e := l.family.Elsewhere; e != "" && doc.NewReader(fsys).Exists(path.Join(path.Dir(name), e)) || ofAnother(name, pattern) {
			continue
		}
		if l.family.Shared && !strings.ContainsAny(pattern[:1], "._") { // such a folder is the tool's own
			r := doc.NewReader(fsys)
			if headed := l.family.Form == Boxes && l.family.heads(r.Open(name).Markdown()); !headed {
				// In a folder that has the tool's name, and below the headings of its tasks, steps
				// without a box are those of a list. One that takes too long to read may be one.
				is := false
				if reprise.InTime(fsys, func() {
					read := l.read(r, name)
					ours := len(read.phases) > 0 || strings.Contains(pattern, "/"+l.family.Name+"/")
					is = read.ours || len(read.items) > 0 || ours && len(read.left()) > 0
				}) && !is {
					continue
				}
			}
		}
		refs = append(refs, l.ref(name, pattern))
	}
	if err != nil || l.family.Shared || l.family.Name == OwnName || !strings.Contains(path.Dir(pattern), "*") {
		return refs, err
	}
	planned, err := l.findPlanned(fsys, dir, pattern)
	return append(refs, planned...), err
}

// findPlanned finds folders that have a list's other files but no list.
func (l Layout) findPlanned(fsys fs.FS, dir, pattern string) (refs []reprise.Ref, err error) {
	for _, beside := range l.family.besides() {
		names, err := glob(fsys, dir, path.Join(path.Dir(pattern), beside))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			same := func(o reprise.Ref) bool { return path.Dir(o.Path) == path.Dir(name) }
			if !doc.NewReader(fsys).Exists(path.Join(path.Dir(name), path.Base(pattern))) && !slices.ContainsFunc(refs, same) {
				refs = append(refs, l.ref(name, pattern))
			}
		}
	}
	return refs, nil
}

// besides returns the files in the folder of a list.
func (f *Family) besides() []string {
	names := append(slices.Clone(f.Inputs), slices.Sorted(maps.Keys(f.Overall))...)
	return slices.DeleteFunc(names, func(name string) bool { return strings.ContainsAny(name, "/{") })
}

// at reports whether the tool's own files show that a list is its. One of them alone does
// not: others have a spec.md, too.
func (f *Family) at(r *doc.Reader, list string) bool {
	home := func(pattern string) bool {
		folder, ok := fits(list, pattern)
		return ok && f.Home != "" && r.Exists(path.Join(folder, f.Home))
	}
	beside := 0
	for _, name := range f.besides() {
		if r.Exists(path.Join(path.Dir(list), name)) {
			beside++
		}
	}
	return beside > 1 || slices.ContainsFunc(f.Lists, home)
}

// planned reports whether a run has no list yet: its path is that of a file next to it.
func (l Layout) planned(ref reprise.Ref) bool {
	return slices.Contains(l.family.besides(), path.Base(ref.Path)) && !slices.ContainsFunc(slices.Concat(l.family.Lists, []string{l.family.Archived}), func(pattern string) bool {
		_, ok := fits(ref.Path, pattern)
		return ok
	})
}

// loadPlanned returns the run of a missing list.
func (l Layout) loadPlanned(fsys fs.FS, ref reprise.Ref) *reprise.Run {
	r := doc.NewReader(fsys)
	read := &list{family: &l.family, file: r.Open(ref.Path)}
	read.readOverall(r)
	name := path.Join(path.Dir(ref.Path), path.Base(l.family.Lists[0]))
	run := &reprise.Run{Ref: ref, State: reprise.NotStarted, Reason: "it has no list of tasks: there is no " + path.Base(name)}
	run.Active(read.file.MTime, read.file.At(0))
	for _, at := range read.overall {
		switch at.status {
		case reprise.Pending:
		case reprise.Skipped:
			run.State, run.Reason = reprise.Stopped, "it was cancelled"
		default:
			run.State = reprise.Waiting
			run.Reason = fmt.Sprintf("%s says %q, and there is no %s", path.Base(at.source.File), doc.Clip(at.word, 40), path.Base(name))
		}
	}
	run.Findings = r.Findings()
	if run.State != reprise.Stopped {
		run.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: ref.ID, Source: read.file.At(0),
			Message: name + " is missing: it was not written yet, or it was removed",
			Hint:    fmt.Sprintf("let its tool write it; `git log --oneline -- %s` shows whether it existed", reprise.Pasted(name, "FILE")),
		})
	}
	return run
}

// ofAnother reports whether a list is where another family keeps its own, by a more
// specific pattern: .kiro/specs/a/tasks.md is Kiro's and not Spec Kit's.
func ofAnother(name, pattern string) bool {
	return slices.ContainsFunc(families(), func(f Family) bool {
		return slices.ContainsFunc(f.Lists, func(p string) bool {
			_, ok := fits(name, p)
			return ok && strings.Count(p, "/") > strings.Count(pattern, "/")
		})
	})
}

// fits reports whether a file is where a pattern says, in a folder of the project.
func fits(name, pattern string) (folder string, ok bool) {
	parts := strings.Split(name, "/")
	at := len(parts) - 1 - strings.Count(pattern, "/")
	if at < 0 {
		return "", false
	}
	ok, _ = path.Match(pattern, path.Join(parts[at:]...))
	return path.Join(parts[:at]...), ok
}

// archived reports whether the list is in the archive.
func (l *list) archived() bool {
	_, ok := fits(l.file.Path, l.family.Archived)
	return ok
}

// PutAway returns the archived place of a list that is no longer where it was, or false.
func (l Layout) PutAway(fsys fs.FS, ref reprise.Ref) (reprise.Ref, bool) {
	for _, pattern := range l.family.Lists {
		top, ok := fits(ref.Path, pattern)
		if !ok || l.family.Archived == "" {
			continue
		}
		names, _ := glob(fsys, cmp.Or(top, "."), l.family.Archived) // unreadable folders are not known to have it
		for _, name := range slices.Backward(names) {
			if folder := path.Base(path.Dir(name)); folder == ref.ID || strings.HasSuffix(folder, "-"+ref.ID) {
				return reprise.Ref{Layout: ref.Layout, Kind: reprise.KindTasks, ID: ref.ID, Path: name}, true
			}
		}
	}
	return reprise.Ref{}, false
}

// glob returns the names below a folder that match a pattern, including dangling links.
func glob(fsys fs.FS, top, pattern string) (out []string, err error) {
	below, err := fs.Sub(fsys, top)
	if err != nil {
		return nil, err
	}
	dirs, err := fs.Glob(below, path.Dir(pattern))
	for _, dir := range dirs {
		dir = path.Join(top, dir)
		if info, err := fs.Stat(fsys, dir); err != nil || !info.IsDir() {
			continue
		}
		for _, e := range doc.NewReader(fsys).Dir(dir) {
			if ok, _ := path.Match(path.Base(pattern), e.Name()); ok {
				out = append(out, path.Join(dir, e.Name()))
			}
		}
	}
	return out, err
}

func (l Layout) ref(name, pattern string) reprise.Ref {
	ref := reprise.Ref{Layout: l.family.Name, Kind: reprise.KindTasks, ID: path.Base(path.Dir(name)), Path: name}
	if !strings.Contains(path.Dir(pattern), "*") {
		ref.ID = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	if l.family.Form == Files {
		ref.ID = strings.TrimPrefix(path.Base(path.Dir(name)), ".")
	}
	return ref
}
