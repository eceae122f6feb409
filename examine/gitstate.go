package examine

import (
	"fmt"
	"path"
	"strings"

	"reprise"
)

// elsewhere reports whether a run works in a checkout of its own rather than the one
// looked at.
func elsewhere(r *reprise.Run) bool { return r.Worktree != "" && path.Clean(r.Worktree) != "." }

func gitOperation(r *reprise.Run, o *World) []reprise.Finding {
	if o.Git.Operation == "" {
		return nil
	}
	f := reprise.Finding{
		Source:  reprise.Source{File: ".git"},
		Message: fmt.Sprintf("git is in the middle of a %s here", plainWord(o.Git.Operation)),
		Hint:    fmt.Sprintf("finish or abort it first: `git status` shows where it stands, `git %s --abort` aborts it", abortOf(o.Git.Operation)),
	}
	if o.Git.Operation == "bisect" {
		f.Hint = "finish it first: `git bisect reset` returns to where it began"
	}
	if elsewhere(r) {
		f.Severity = reprise.Warning
		f.Message += ", though this run works in " + name(r.Worktree)
	}
	return []reprise.Finding{f}
}

// plainWord returns the name of an operation. The name is ours rather than from a file,
// but may be new in a future git.
func plainWord(s string) string {
	if q := quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func abortOf(operation string) string {
	switch operation {
	case "merge", "rebase", "cherry-pick", "revert", "am":
		return operation
	}
	return "merge"
}

func indexLock(r *reprise.Run, o *World) []reprise.Finding {
	l := o.Git.IndexLock
	if l == nil {
		return nil
	}
	f := reprise.Finding{Source: reprise.Source{File: l.Path}}
	what := "git's " + strings.TrimSuffix(path.Base(l.Path), ".lock")
	if _, branch, ok := strings.Cut(l.Path, "refs/heads/"); ok {
		what = "git's branch " + quote(strings.TrimSuffix(branch, ".lock"))
	}
	what += " is locked (" + name(l.Path) + ")"
	if !l.Since.IsZero() {
		what += " since " + l.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	remove := "remove the file " + name(l.Path)
	if file := reprise.Pasted(l.Path, ""); file != "" {
		remove = "`rm " + file + "` removes it"
	}
	switch l.Life {
	case reprise.Alive:
		f.Message = what + " by a live process"
		if l.Holder != "" {
			f.Message += " (" + quote(l.Holder) + ")"
		}
		f.Hint = "wait until that process ends"
	case reprise.Dead:
		f.Message = what + ", and its owner is gone"
		f.Hint = remove + "; until then nothing can be committed"
	default:
		f.Message = what + " by an unknown owner"
		f.Hint = "make sure that no git command is running; then " + remove
	}
	if l.Reason != "" {
		f.Message += ": " + l.Reason
	}
	if elsewhere(r) { // it has an index and a head of its own
		f.Severity = reprise.Warning
	}
	return []reprise.Finding{f}
}

func gitUnavailable(r *reprise.Run, o *World) []reprise.Finding {
	if o.Git != nil && len(o.Git.Broken) == 0 {
		for _, checkout := range []string{".", path.Clean(r.Worktree)} {
			if why := o.Git.Untold[checkout]; why != "" {
				return []reprise.Finding{untold(checkout, why)}
			}
		}
	}
	if o.GitError == "" {
		return nil
	}
	f := reprise.Finding{
		Message: "git could not be asked, so its evidence is missing: " + o.GitError,
		Hint:    "commits, branches and changes were not checked",
	}
	switch {
	case o.GitTodo != "":
		f.Severity, f.Hint = reprise.Blocking, o.GitTodo
	case o.Git == nil || o.Git.Unheard:
		f.Severity = reprise.Warning
	}
	return []reprise.Finding{f}
}

// untold blocks a run in a checkout where git cannot list uncommitted changes: nothing
// could be saved or committed there either.
func untold(checkout, why string) reprise.Finding {
	in := ""
	if checkout != "." {
		in = " in " + name(checkout)
	}
	return reprise.Finding{
		Severity: reprise.Blocking,
		Source:   reprise.Source{File: path.Join(checkout, ".git")},
		Message:  "git cannot list uncommitted changes" + in + ": " + why,
		Hint: "`git status`" + in + " shows what is wrong; `git read-tree HEAD` rebuilds a damaged index " +
			"and leaves your files as they are; an unreadable one needs `chmod u+rw`",
	}
}
