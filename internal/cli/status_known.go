package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/project"
	"reprise/settings"
)

// known returns the existing projects that this user works in, newest first and without
// duplicates, and their folders.
func (a *app) known(remember bool) (dirs []string, here []settings.Seen, err error) {
	list, err := settings.OpenProjects(settings.ProjectsFile(a.env))
	if err != nil {
		return nil, nil, err
	}
	if remember {
		at, err := filepath.Abs(".")
		if err != nil {
			return nil, nil, err
		}
		root, _ := project.Locate(at)
		if err := list.Note(root, a.now()); err != nil {
			return nil, nil, err
		}
		if list, err = settings.OpenProjects(settings.ProjectsFile(a.env)); err != nil {
			return nil, nil, err
		}
	}
	if !list.Kept() {
		return nil, nil, fail(exitNothing, "`reprise status --known --remember` starts the list with this project; every project you look at from then on is added", "no list of projects is kept")
	}
	seen := map[string]bool{}
	for _, s := range list.List() {
		at := resolved(s.Path)
		info, err := os.Stat(s.Path)
		switch {
		case err != nil || !info.IsDir():
			fmt.Fprintf(a.err, "reprise: %s is no longer here\n", plain(s.Path))
		case !seen[at]:
			dirs, here = append(dirs, s.Path), append(here, s)
		}
		seen[at] = true
	}
	if len(here) == 0 {
		return nil, nil, fail(exitNothing, "`reprise status --known --remember` adds this one", "none of the listed projects exists")
	}
	return dirs, here, nil
}

// projects lists projects with their numbers of runs.
func (p *page) projects(list []settings.Seen, found *project.Judgement) {
	shown := func(s settings.Seen) string { return fit(plain(shortPath(s.Path)), p.columns/2) }
	wide := widest(list, shown)
	p.line("%s", p.paint(bold, "Projects, newest first"))
	for _, s := range list {
		runs := slices.DeleteFunc(slices.Clone(found.Runs), func(r *reprise.Run) bool {
			rel, err := filepath.Rel(resolved(s.Path), resolved(filepath.Join(found.Root, filepath.FromSlash(r.Project))))
			return err != nil || !filepath.IsLocal(rel)
		})
		text := pad(shown(s), wide) + "  " + pad(reprise.Age(p.now, s.At), 10) + "  " + cmp.Or(tally(states(found, runs)), "no runs")
		p.line("  %s", fit(text, p.columns-2))
	}
	p.gap()
}

// resolved returns a folder with every link resolved, so that two names of one folder
// compare equal; the name itself if that fails.
func resolved(dir string) string {
	at, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		return real
	}
	return at
}

// shortPath returns a folder as seen from here, if that is shorter.
func shortPath(path string) string {
	here, err := filepath.Abs(".")
	if rel, no := filepath.Rel(here, path); err == nil && no == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// noted adds a project to the list, if one is kept. A failure is reported but does not
// stop a command that only reads; an unreadable list is reported by --known.
func (a *app) noted(root string) {
	list, err := settings.OpenProjects(settings.ProjectsFile(a.env))
	if err != nil || !list.Kept() {
		return
	}
	if root, err = filepath.Abs(root); err == nil {
		err = list.Note(root, a.now())
	}
	if err != nil {
		fmt.Fprintf(a.err, "reprise: %s\n", plain(err.Error()))
	}
}
