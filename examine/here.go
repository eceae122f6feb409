package examine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"reprise"
)

// workNotHere finds finished steps whose work is not where the run continues. What our
// own journal accepted is looked for: the commit that holds it, and in graphs the files
// that an open step needs, or that a finished run left. Files that a finished step wrote or
// names count where they were there when something was last done for the run. Of the commits of a finished run
// only those count of which nothing is left: whoever built on it since has changed it. Of what
// only the files of the run call done, the grader has concluded it (Step.Away).
func workNotHere(r *reprise.Run, o *World) []reprise.Finding {
	if !r.State.Open() && r.State != reprise.Complete {
		return nil
	}
	if r.State.Open() && strings.HasPrefix(r.Path, "../") {
		return nil // it continues in the checkout that has it
	}
	if f := noRepository(r, o); f != nil && r.State.Open() {
		return []reprise.Finding{*f}
	}
	var out []reprise.Finding
	var told map[string]bool // steps that rest on one already reported
	for i := range r.Steps {
		s := &r.Steps[i]
		if told[s.ID] {
			continue
		}
		var f *reprise.Finding
		if s.Accepted != nil {
			f = notInHistory(r, s, o)
			if f != nil && r.State == reprise.Complete && f.Severity != reprise.Blocking {
				f = nil
			}
			if f == nil {
				f = outputGone(r, s)
			}
		}
		if f == nil && s.Accepted != nil {
			f = undone(r, s, o)
		}
		if f == nil {
			f = takenBack(r, s, o)
		}
		if f == nil {
			f = away(r, s, o, out)
		}
		if f == nil {
			f = gone(r, s, o)
		}
		if f == nil {
			continue
		}
		f.Code, f.Subject, f.Source = reprise.CodeWorkNotHere, s.ID, s.Source
		out = append(out, *f)
		if f.Severity != reprise.Blocking {
			continue
		}
		// Repeating it repeats those too: one finding for all of them.
		rests, more, last := r.RestsOn(i), 0, s.Accepted
		for k := i + 1; k < len(r.Steps); k++ {
			if t := &r.Steps[k]; rests[t.ID] && t.Accepted != nil && !told[t.ID] {
				if f := notInHistory(r, t, o); f != nil && f.Severity == reprise.Blocking {
					if told == nil {
						told = map[string]bool{}
					}
					told[t.ID] = true
					more, last = more+1, t.Accepted
				}
			}
		}
		if more > 0 {
			out[len(out)-1].Message += fmt.Sprintf("; the same is true of %s built on it", plural(more, "step"))
			out[len(out)-1].Hint = bringHere(r, o, last)
		}
	}
	for i := range out {
		out[i].Hint += ", or " + doAgain(r, out, i)
	}
	for i := range out {
		if r.State == reprise.Complete {
			out[i].Severity = min(cmp.Or(out[i].Severity, reprise.Warning), reprise.Warning)
		}
	}
	return out
}

// noRepository reports that work was committed here, or was to be, and there is no
// repository now. One that cannot be asked does exist.
func noRepository(r *reprise.Run, o *World) *reprise.Finding {
	if o.Git != nil || o.GitError != "" {
		return nil
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		what := ""
		switch {
		case s.Held != "":
			what = fmt.Sprintf("the work of %s was to be committed here", name(s.ID))
		case s.Accepted != nil && s.Accepted.Commit != "":
			what = fmt.Sprintf("the work of %s is in commit %.12s", name(s.ID), s.Accepted.Commit)
		default:
			continue
		}
		return &reprise.Finding{
			Source:  s.Source,
			Message: what + ", and there is no longer a git repository here",
			Hint:    "restore its .git; if it is gone for good, `git init` and a commit let the run continue with the files that are here",
		}
	}
	return nil
}

// notInHistory reports that a step's commit is not in the history where the run
// continues, unless its changes are present anyway.
func notInHistory(r *reprise.Run, s *reprise.Step, o *World) *reprise.Finding {
	a, ok := o.Astray[s.Accepted.Commit]
	if !ok || a.Here > 0 && a.Undone == 0 {
		return nil
	}
	if o.Git == nil || !o.Git.Known[s.Accepted.Commit] {
		return nil // a commit that the repository lacks altogether is a matter of evidence
	}
	where, hint := "on no branch", bringHere(r, o, s.Accepted)
	if a.Branch != "" {
		where = "on " + name(a.Branch)
	}
	here, there := "here", "here"
	if elsewhere(r) {
		here, there = "in "+name(r.Worktree), "there"
	}
	f := &reprise.Finding{
		Severity: reprise.Blocking, Hint: hint,
		Message: fmt.Sprintf("%s is done in commit %.12s, which is %s and not checked out %s, and none of its changes are %s", name(s.ID), s.Accepted.Commit, where, here, there),
	}
	if a.Here > 0 || a.Other > 0 || a.Undone == 0 {
		f.Severity = reprise.Warning
		f.Message = fmt.Sprintf("%s is done in commit %.12s, which is %s and not checked out %s; its changes are %s in part or in another form", name(s.ID), s.Accepted.Commit, where, here, there)
		f.Hint = fmt.Sprintf("`%s diff %.12s HEAD` shows what is different %s: to merge it would bring back what was replaced", gitIn(r, o), s.Accepted.Commit, there)
	}
	return f
}

// gitIn is the command git for where a run continues.
func gitIn(r *reprise.Run, o *World) string {
	dir := ""
	if o.Git != nil {
		dir, _ = o.Git.PlaceOf(r)
	}
	if dir == "" && elsewhere(r) {
		dir = r.Worktree // which git does not have
	}
	return gitAt(dir)
}

// gitAt is the command git for a folder, "" for this one.
func gitAt(dir string) string {
	if dir == "" {
		return "git"
	}
	return "git -C " + reprise.Pasted(dir, "FOLDER")
}

// maxPasted is how many files a command names.
const maxPasted = 20

// bringHere says how to bring accepted work here, with everything it rests on.
func bringHere(r *reprise.Run, o *World, a *reprise.Acceptance) string {
	if elsewhere(r) {
		return fmt.Sprintf("`%s merge %.12s` brings it there", gitIn(r, o), a.Commit)
	}
	if branch := o.Astray[a.Commit].Branch; branch != "" {
		// It may be checked out elsewhere, in which case git refuses to check it out
		// here.
		return fmt.Sprintf("check out %s, or `git merge %s` brings it here", name(branch), reprise.Pasted(branch, "BRANCH"))
	}
	return fmt.Sprintf("`git merge %.12s` brings it here", a.Commit)
}

// outputGone reports that a file that a step had to leave is missing, was emptied or cannot
// be read, whoever did it and whether it is committed: what has to exist has to exist to the
// end. It blocks if an open step needs the step, unless a step accepted later may have
// removed it. What counts as changed is asked about instead.
func outputGone(r *reprise.Run, s *reprise.Step) *reprise.Finding {
	unasked := func(files []string) []string {
		return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
			return slices.ContainsFunc(s.Accepted.Changed, func(e reprise.Expected) bool { return e.Path == file })
		})
	}
	var lost, ways []string
	for _, of := range []struct {
		files []string
		how   string
	}{{s.Accepted.Gone, "gone"}, {s.Accepted.Emptied, "empty"}, {s.Accepted.Unread, "unreadable"}} {
		if files := unasked(of.files); len(files) > 0 {
			lost, ways = append(lost, files...), append(ways, of.how)
		}
	}
	how, needs := strings.Join(ways, " or "), ""
	if len(lost) == 0 {
		return nil
	}
	open := slices.IndexFunc(r.Steps, func(t reprise.Step) bool { return !t.Status.Closed() && slices.Contains(t.Needs, s.ID) })
	if open >= 0 {
		needs = fmt.Sprintf("; %s needs it", name(r.Steps[open].ID))
	}
	f := &reprise.Finding{
		Severity: reprise.Blocking,
		Message:  fmt.Sprintf("%s is done and left %s, which %s %s%s", name(s.ID), list(lost), isAre(len(lost)), how, needs),
		Hint:     "restore it",
	}
	later := slices.ContainsFunc(r.Steps, func(t reprise.Step) bool { return t.Accepted != nil && t.Accepted.At.After(s.Accepted.At) })
	if later {
		f.Message += "; a later step may have removed it"
	}
	if later || open < 0 {
		f.Severity = reprise.Warning
	}
	return f
}

// gone tells of the files that a finished step names, or made by its ledger, and that are not
// here: never there, or taken back by a revert; deleted after the files of the run last changed; or, as a mere
// notice, deleted before that. What has another name, was edited, or is named by an open step, too, is
// as it should be, and so is what git cannot tell of. That none of the files was ever there counts
// where nothing else shows the work.
func gone(r *reprise.Run, s *reprise.Step, o *World) *reprise.Finding {
	if s.Status != reprise.Done || !r.MayBeAway() {
		return nil
	}
	names := slices.Concat(s.Leaves(), r.Named(s))
	names = slices.DeleteFunc(names, func(name string) bool {
		return reprise.Within(name, r.Path) || slices.ContainsFunc(r.Steps, func(t reprise.Step) bool { return !t.Status.Closed() && mentions(t.Title, name) })
	})
	slices.Sort(names)
	names = slices.Compact(names)
	place := func(hash string) int {
		return slices.IndexFunc(o.Git.Commits, func(c reprise.Commit) bool { return c.Hash == hash })
	}
	never, moved := 0, lastMoved(r, o)
	var least *reprise.Finding
	for _, file := range names {
		f, known := o.Fates[file]
		if !o.Absent[file] {
			f, known = o.Reverted[file]
		}
		if bare := f.Bare && !slices.Contains(s.Leaves(), file) && !strings.Contains(s.Title, "`"+file+"`") && !strings.Contains(file, "/"); !known || f.Ignored || f.Renamed || bare {
			continue
		}
		what, hint, weight := "", "", reprise.Warning
		switch after := f.By != "" && moved(place(f.By)); {
		case f.Loose:
			what, hint = "was deleted without a commit", fmt.Sprintf("`%s checkout HEAD -- %s` brings it back", gitIn(r, o), reprise.Pasted(file, "FILE"))
		case !f.Ever:
			never++
			continue
		case f.By == "", !o.Absent[file] && (!after || moved(place(f.Of))):
			continue // or reverted was what came after the step, or work went on since
		case f.Of != "":
			what, hint = fmt.Sprintf("was taken back by commit %s, which reverts %s", short(f.By), short(f.Of)), fmt.Sprintf("`%s revert %s` brings it back", gitIn(r, o), short(f.By))
		case after:
			what, hint = fmt.Sprintf("was deleted by commit %s, after the last work on the run", short(f.By)), fmt.Sprintf("`%s show %s` shows why; `%s revert %s` brings it back", gitIn(r, o), short(f.By), gitIn(r, o), short(f.By))
		default:
			what, hint, weight = fmt.Sprintf("was deleted by commit %s, and work on the run went on since", short(f.By)), fmt.Sprintf("`%s show %s` shows why", gitIn(r, o), short(f.By)), reprise.Info
		}
		out := &reprise.Finding{Severity: weight, Hint: hint, Message: fmt.Sprintf("%s is done, and %s of it %s", name(s.ID), name(file), what)}
		if weight == reprise.Warning {
			return out
		}
		least = out
	}
	shown := slices.ContainsFunc(s.Evidence, func(e reprise.Evidence) bool { return e.For && e.Kind != reprise.EvidenceArtifact })
	if never == 0 || never < len(names) || s.Accepted != nil || s.Ended > 0 || shown {
		return least
	}
	where, weight := "no commit of any branch has it", reprise.Warning
	if o.Git == nil {
		where, weight = "without git nothing tells whether it has another name now", reprise.Info
	}
	return &reprise.Finding{
		Severity: weight, Hint: "look whether its work is there under another name; if not, do it again",
		Message: fmt.Sprintf("%s is marked done, but %s, which it names, %s not there: %s", name(s.ID), list(names), isAre(len(names)), where),
	}
}

// lastMoved returns what reports whether a commit, by its place in the history, is newer than the
// last sign of work on a run: a commit that changed its files, or, where these are not as
// git has them or are in none, the time of that.
func lastMoved(r *reprise.Run, o *World) func(place int) bool {
	if o.Git == nil {
		return func(int) bool { return false }
	}
	newest := sync.OnceValue(func() int {
		return slices.IndexFunc(o.Git.Commits, func(c reprise.Commit) bool { return c.OnHead && r.Made(c) })
	})
	dirty := slices.ContainsFunc(o.Git.Changed, func(c reprise.Change) bool { return reprise.Within(c.Path, r.Path) || reprise.Within(r.Path, c.Path) })
	return func(place int) bool {
		if place < 0 {
			return false
		}
		last := newest()
		return last >= 0 && place < last && !dirty || (last < 0 || place < last) && o.Git.Commits[place].At.After(since(r))
	}
}

// undone tells that others took back the work of a finished step, although its commit is in
// the history: they reverted it, or nothing of it is left. In an open run what is not committed is
// not told again.
func undone(r *reprise.Run, s *reprise.Step, o *World) *reprise.Finding {
	t, ok := o.Taken[s.Accepted.Commit]
	if !ok || s.Status != reprise.Done {
		return nil
	}
	open := r.State.Open()
	settled := func(file string) bool {
		return open && slices.Contains(t.Open, file) || slices.ContainsFunc(r.Steps, func(t reprise.Step) bool { return !t.Status.Closed() && mentions(t.Title, file) })
	}
	all := slices.Concat(t.Gone, t.Back)
	lost := slices.DeleteFunc(slices.Clone(all), settled)
	git := gitIn(r, o)
	f := &reprise.Finding{Severity: reprise.Warning, Hint: fmt.Sprintf("`%s show --stat %.12s` shows what it did", git, s.Accepted.Commit)}
	switch {
	case t.Revert != "":
		f.Message = fmt.Sprintf("%s is done in commit %.12s, which commit %.12s reverts", name(s.ID), t.Of, t.Revert)
		f.Hint = fmt.Sprintf("`%s revert %.12s` brings it back", git, t.Revert)
	case t.Left == 0 && len(lost) > 0 && len(lost) == len(all):
		f.Message = fmt.Sprintf("%s is done in commit %.12s, and nothing of it is left: %s %s as before, empty or gone", name(s.ID), s.Accepted.Commit, list(lost), isAre(len(lost)))
		var names []string
		for _, file := range lost {
			if in := reprise.Pasted(file, ""); in != "" && slices.Contains(t.Open, file) {
				names = append(names, in)
			}
		}
		if len(names) == len(lost) && len(names) <= maxPasted {
			f.Hint = fmt.Sprintf("no commit has that: `%s checkout HEAD -- %s` brings it back", gitAt(t.Dir), strings.Join(names, " "))
		}
	default:
		return nil
	}
	return f
}

// takenBack tells that a task is marked done while a commit that names it, or that wrote a
// file which it names, is on no branch any more and none of its changes are here: the
// branch was set back, and the list, which git does not know, was not. What the journal
// accepted is looked for by its own commit.
func takenBack(r *reprise.Run, s *reprise.Step, o *World) *reprise.Finding {
	if o.Git == nil || len(o.Git.Undone) == 0 || r.Kind != reprise.KindTasks || s.Status != reprise.Done || s.Accepted != nil {
		return nil
	}
	tells := func(c reprise.Commit) bool {
		return strings.ContainsAny(s.ID, "0123456789") && mentions(c.Subject, s.ID) ||
			slices.ContainsFunc(c.Files, func(f reprise.FileChange) bool { return mentions(s.Title, f.Path) })
	}
	at := slices.IndexFunc(o.Git.Undone, tells)
	if at < 0 || slices.ContainsFunc(o.Git.Commits, func(c reprise.Commit) bool { return c.OnHead && tells(c) }) {
		return nil
	}
	hash := o.Git.Undone[at].Hash
	return &reprise.Finding{
		Severity: reprise.Blocking,
		Message:  fmt.Sprintf("%s is marked done, but the commit %.12s, which tells of it, is on no branch, and none of its changes are here", name(s.ID), hash),
		Hint:     fmt.Sprintf("`git merge %.12s` brings it here", hash),
	}
}

// maxAway is how many steps that are called done and whose work is away are told of each.
const maxAway = 5

// away tells that a step is called done by the files of the run, and its work is not here. The
// last that is told of stands for those after it.
func away(r *reprise.Run, s *reprise.Step, o *World, told []reprise.Finding) *reprise.Finding {
	same := 0
	for _, f := range told {
		if t := r.Step(f.Subject); t != nil && t.Away != nil && t.Accepted == nil {
			same++
		}
	}
	if s.Away == nil || same >= maxAway {
		return nil
	}
	git, hint := gitIn(r, o), "restore it from a backup"
	switch a := s.Away; {
	case a.Revert != "":
		hint = fmt.Sprintf("`%s revert %.12s` brings it back", git, a.Revert)
	case a.Branch != "" && git == "git":
		hint = fmt.Sprintf("check out %s, or `git merge %s` brings it here", name(a.Branch), reprise.Pasted(a.Branch, "BRANCH"))
	case a.Commit != "":
		hint = fmt.Sprintf("`%s merge %.12s` brings it here", git, a.Commit)
	}
	f := &reprise.Finding{
		Severity: reprise.Warning, Hint: hint,
		Message: fmt.Sprintf("%s is marked done, but its work is not here: %s", name(s.ID), s.Away.Why),
	}
	if more := awayAfter(r, s); same == maxAway-1 && more > 0 {
		f.Message += fmt.Sprintf("; the same is true of %s after it", plural(more, "step"))
	}
	return f
}

// awayAfter counts the steps after one whose work is away.
func awayAfter(r *reprise.Run, s *reprise.Step) (n int) {
	for i := range r.Steps {
		switch t := &r.Steps[i]; {
		case t.ID == s.ID:
			n = 0
		case t.Away != nil:
			n++
		}
	}
	return n
}

// mentions reports whether a text names a file by its whole path, or an id.
func mentions(text, file string) bool {
	return slices.Contains(reprise.NamesIn(text), file)
}

// doAgain says how to repeat the step of a finding. Everything else that blocks is
// repeated with it, so it starts at the first of them.
func doAgain(r *reprise.Run, lost []reprise.Finding, at int) string {
	first, what := at, "it"
	for i, f := range lost {
		if f.Severity != reprise.Blocking || i == at {
			continue
		}
		first, what = min(first, i), "all that is gone"
	}
	return fmt.Sprintf("`reprise resume %s --from %s` does %s again", reprise.Pasted(r.ID, "RUN"), reprise.Pasted(lost[first].Subject, "STEP"), what)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// heldWork reports finished work that is not committed.
func heldWork(r *reprise.Run) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Held != "" {
			out = append(out, reprise.Finding{
				Subject: s.ID, Source: s.Source,
				Message: fmt.Sprintf("%s was finished, but its work is not committed: %s", name(s.ID), quote(s.Held)),
				Hint:    "`reprise resume` commits it, once git can, and repeats nothing",
			})
		}
	}
	return out
}
