package examine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
)

// uncommitted reports uncommitted changes in the run's checkout, without those to state
// files, which change with every step.
func uncommitted(r *reprise.Run, o *World) []reprise.Finding {
	out := heldWork(r)
	if o.Git == nil {
		return out
	}
	c, _ := checkoutOf(r, o.Git)
	var conflicts, tracked, untracked []string
	deleted := 0
	for _, ch := range o.Uncommitted(r) {
		switch {
		case ch.Conflict:
			conflicts = append(conflicts, ch.Path)
		case ch.Untracked:
			untracked = append(untracked, ch.Path)
		default:
			tracked = append(tracked, ch.Path)
			if ch.Deleted {
				deleted++
			}
		}
	}
	f := reprise.Finding{
		Source: reprise.Source{File: c.name},
		Hint:   "commit or stash it before you continue; `git status` shows all of it",
	}
	peers, own := o.records(), recordsOf(r)
	if slices.ContainsFunc(untracked, func(p string) bool { return peers.under(p) || own.under(p) }) {
		f.Hint = "commit it before you continue, but do not move it away: it contains run state; `git status` shows all of it"
	}
	names := slices.Concat(tracked, untracked)
	switch {
	case len(conflicts) > 0:
		f.Severity = reprise.Blocking
		f.Message = fmt.Sprintf("%s with unresolved conflicts: %s", plural(len(conflicts), "file"), list(conflicts))
		f.Hint = "resolve the conflicts first; `git status` shows them"
		names = conflicts
	case len(names) == 0:
		return out
	case len(tracked) == 0 && c.name == "" || r.State == reprise.NotStarted:
		// Most projects have a few stray files. Only in the run's own checkout are they
		// certainly its work.
		f.Severity = reprise.Info
		fallthrough
	default:
		f.Message = fmt.Sprintf("%s not committed", plural(len(names), "file"))
		if len(tracked) == 0 {
			f.Message = fmt.Sprintf("%s untracked", plural(len(names), "file"))
		}
		switch {
		case deleted > 0 && deleted == len(names):
			f.Message = fmt.Sprintf("%s deleted, which no commit says", plural(deleted, "file"))
			f.Hint = "bring it back or commit that it is gone before you continue; `git status` shows all of it"
		case deleted > 0:
			f.Message += fmt.Sprintf(", %d of them deleted", deleted)
		}
		if o.Git.ChangedMore > 0 && c.name == "" {
			f.Message = fmt.Sprintf("at least %s, %d more not checked", f.Message, o.Git.ChangedMore)
		}
		f.Message += ": " + list(names)
	}
	if f.Source.File == "" {
		f.Source.File = names[0]
	}
	return append(out, f)
}

// Uncommitted lists the uncommitted changes in the checkout of a run. State files of runs are
// left out, unless they are in conflict.
func (o *World) Uncommitted(r *reprise.Run) (out []reprise.Change) {
	if o.Git == nil {
		return nil
	}
	c, _ := checkoutOf(r, o.Git)
	peers, own := o.records(), recordsOf(r)
	holds := func(p string) bool { return peers.holds(p) || own.holds(p) }
	under := func(p string) bool { return peers.under(p) || own.under(p) }
	for _, ch := range o.Git.Changed {
		switch {
		case !inCheckout(ch, c):
		case c.name == "" && strings.HasPrefix(ch.Path, "../"):
			// Elsewhere in a repository larger than the project.
		case ch.Conflict:
			out = append(out, ch)
		case slices.Contains(r.Left, ch.Path): // a command's own output: nobody commits that
		case slices.Contains(r.Unheld, ch.Path): // told with the steps it belongs to
		case holds(ch.Path), ch.Untracked && hidden(ch.Path) && under(ch.Path):
		default:
			out = append(out, ch)
		}
	}
	return out
}

func inCheckout(ch reprise.Change, c checkout) bool {
	if ch.Worktree == "" || c.name == "" {
		return ch.Worktree == c.name
	}
	return path.Clean(ch.Worktree) == path.Clean(c.name)
}

// records are the files and folders in which runs keep their state, as opposed to their
// work.
type records struct{ files, folders map[string]bool }

// stateDir is our own folder. Git knows it on branches of a fleet, where journals travel.
const stateDir = ".reprise"

// recordsOf collects the records of some runs.
func recordsOf(runs ...*reprise.Run) records {
	rec := records{map[string]bool{}, map[string]bool{stateDir: true}}
	folder := func(p string) {
		if p = path.Clean(p); p != "." {
			rec.folders[p] = true
		}
	}
	for _, r := range runs {
		if r == nil {
			continue
		}
		folder(r.Path)
		rec.files[r.LastActivitySource.File] = true
		for _, d := range r.Dates {
			rec.files[d.Source.File] = true
		}
		if r.Owner != nil {
			rec.files[r.Owner.Source.File] = true
		}
		for _, ref := range r.Also {
			folder(ref.Path)
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			rec.files[s.Source.File] = true
			for _, c := range s.Claims {
				rec.files[c.Source.File] = true
			}
		}
	}
	return rec
}

// holds reports whether a path is one of the records or inside one.
func (rec records) holds(p string) bool {
	if rec.files[p] {
		return true
	}
	for p = path.Clean(p); p != "." && p != "/" && p != ".."; p = path.Dir(p) {
		if rec.folders[p] {
			return true
		}
	}
	return false
}

// under reports whether one of the records is below a folder.
func (rec records) under(dir string) bool {
	for p := range rec.folders {
		if strings.HasPrefix(p, path.Clean(dir)+"/") {
			return true
		}
	}
	return false
}

// hidden reports whether a path is one that programs keep for themselves. Git lists an
// untracked folder as a whole.
func hidden(p string) bool { return strings.HasPrefix(p, ".") && !strings.HasPrefix(p, "..") }

func unpushed(r *reprise.Run, o *World) []reprise.Finding {
	if !o.Git.HasRemote {
		return nil
	}
	branch := r.Branch
	if branch == "" {
		branch = o.Git.Branch
	}
	message := ""
	for _, b := range o.Git.Branches {
		switch {
		case branch == "" || b.Name != branch:
		case b.Ahead > 0:
			message = fmt.Sprintf("%s of branch %s not pushed", plural(b.Ahead, "commit"), name(branch))
		case b.Gone:
			message = fmt.Sprintf("the remote branch of %s was deleted; it may have been merged", name(branch))
		case b.Upstream == "" && o.Git.Unpushed > 0:
			message = fmt.Sprintf("branch %s was never pushed", name(branch))
		}
	}
	if message == "" {
		return nil
	}
	return []reprise.Finding{{
		Message: message, Hint: "this machine has the only copy; push it when convenient",
	}}
}
