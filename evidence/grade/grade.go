// Package grade holds what ledgers claim of steps against what was observed.
// It is pure: it gets a run and an Observed and touches nothing else, so the
// same two give the same grades.
//
// The rules:
//
//   - A step that is marked done is Claimed. It is Evidenced if at least one
//     fact supports it, and Verified only if a command was run.
//   - A step that is not marked done has no grade, unless a fact supports it:
//     then it is Evidenced, and must not be done again unseen.
//   - Facts are: a commit on record that the repository has, in the files or as reprise accepted it; a commit whose
//     trailer names run and step, in this life of the run; a commit whose subject follows the layout's
//     convention; an artifact of the step that is there. The engine's trailer
//     tells of the whole step if it says accepted, and unless the step was
//     finished and opened again since; else of a piece of it.
//   - What the files of a run name that was started here is no fact for an open step:
//     anything can write a line there.
//   - Facts against a step are: a commit on record that the repository does not
//     have, a commit that was reverted, a commit that is neither on the run's
//     branch nor on the current one, an artifact of a step marked done that
//     is not there. In a shallow clone a missing commit proves nothing, and
//     neither does one that the repository has and no branch reaches.
//   - A commit that the checkout of the run does not have says of an open step that
//     it may be done elsewhere, and marks nothing.
//   - A step that is marked done is away where what tells of it says so: a commit of it was
//     taken back and none came since; its commits are elsewhere and none of their changes are
//     here; or none of the files that it leaves is here or ever was. Nothing that is
//     elsewhere supports it then, and where it is not away nothing that was replaced
//     contradicts it.
//   - A part of a step that is left to do is graded as a step. A commit that is
//     on record for the step is none of its open parts', one that is the whole
//     of a part is no piece of another, and one that is not checked out shows
//     no more than a piece.
//   - Steps have the same ids in many runs. A subject alone counts only on the
//     run's own branch, as long as that branch exists, and only if the commit is
//     younger than a run that was started here. A commit whose trailer names
//     another run is none of a run with a branch of its own.
package grade

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise"
)

// maxListed bounds how many commits of one convention are listed for a step.
const maxListed = 3

// Grader grades runs against one Observed. It is safe for concurrent use as
// long as the Observed is not changed.
type Grader struct {
	git      *reprise.Git
	byHash   []int // positions in git.Commits, sorted by hash
	bySubj   []int // the same, sorted by subject, newest first among equals
	byStep   map[string][]int
	byWord   map[string][]ours // the engine's own trailers
	byFile   func() map[string][]int
	branches map[string]string // name to head
	peers    []*reprise.Run
	absent   map[string]bool
	astray   map[string]reprise.Astray
	mu       sync.Mutex
	in       map[*reprise.Run]func(c *reprise.Commit) bool // what is where a run continues
}

// ours is a commit that the engine asked for or made.
type ours struct {
	at       int
	accepted bool
}

// New prepares for grading: one pass over the history, whatever the number of
// runs.
func New(o reprise.Observed) *Grader {
	g := &Grader{git: o.Git, peers: o.Peers, byStep: map[string][]int{}, byWord: map[string][]ours{}, branches: map[string]string{}, absent: o.Absent, astray: o.Astray, in: map[*reprise.Run]func(c *reprise.Commit) bool{}}
	if g.git == nil {
		return g
	}
	commits := g.git.Commits
	g.byFile = sync.OnceValue(func() map[string][]int { return changing(commits) })
	for i := range commits {
		g.byHash, g.bySubj = append(g.byHash, i), append(g.bySubj, i)
		for _, value := range commits[i].Steps {
			if run, step, _, accepted, ok := reprise.TrailerStep(value); ok {
				g.byWord[run+"/"+step] = append(g.byWord[run+"/"+step], ours{i, accepted})
			}
			for _, key := range stepKeys(value) {
				g.byStep[key] = append(g.byStep[key], i)
			}
		}
	}
	slices.SortStableFunc(g.byHash, func(a, b int) int { return strings.Compare(commits[a].Hash, commits[b].Hash) })
	slices.SortStableFunc(g.bySubj, func(a, b int) int {
		return cmp.Or(strings.Compare(commits[a].Subject, commits[b].Subject), cmp.Compare(a, b))
	})
	for _, b := range g.git.Branches {
		g.branches[b.Name] = b.Head
	}
	return g
}

// stepKeys are the forms in which a trailer can name a step: run/step, and with
// the number of the attempt behind it.
func stepKeys(value string) []string {
	keys := []string{value}
	if i := strings.LastIndexByte(value, '/'); i > 0 && strings.Trim(value[i+1:], "0123456789") == "" {
		keys = append(keys, value[:i])
	}
	return keys
}

// Run grades every step of one run. Grading twice gives the same.
func (g *Grader) Run(r *reprise.Run) {
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Evidence = slices.DeleteFunc(s.Evidence, func(e reprise.Evidence) bool { return e.Kind != reprise.EvidenceCommand })
		if g.git != nil {
			tells := g.commits(r, s)
			s.Away = g.away(r, s, tells)
			g.agree(r, s)
		}
		artifacts(r, s)
		s.Grade = grade(s)
		if g.git != nil {
			g.parts(r, s)
		}
	}
}

func grade(s *reprise.Step) reprise.Grade {
	var out reprise.Grade
	if s.Status == reprise.Done {
		out = reprise.Claimed
	}
	for _, e := range s.Evidence {
		switch {
		case !e.For, (e.Kind == reprise.EvidencePartial || e.Elsewhere) && s.Status != reprise.Done:
			// A piece of an open step says only that it was begun, and what is elsewhere
			// is not what this run continues from.
		case e.Kind == reprise.EvidenceCommand:
			out = max(out, reprise.Verified)
		default:
			out = max(out, reprise.Evidenced)
		}
	}
	return out
}

// agree makes the evidence of a step that is called done say what was concluded from it: of
// work that is away nothing elsewhere supports it, and of work that is here nothing that was
// replaced contradicts it.
func (g *Grader) agree(r *reprise.Run, s *reprise.Step) {
	if g.absent == nil || s.Status != reprise.Done || s.Accepted != nil || !r.MayBeAway() {
		return
	}
	if s.Away != nil {
		for i := range s.Evidence {
			e := &s.Evidence[i]
			if at, ok := g.find(e.Source); ok && !g.holds(r)(&g.git.Commits[at]) {
				e.For = false
			}
		}
		s.Evidence = append(s.Evidence, reprise.Evidence{Kind: reprise.EvidenceCommit, Source: cmp.Or(s.Away.Revert, s.Away.Commit), Text: s.Away.Why})
		return
	}
	if slices.ContainsFunc(s.Evidence, func(e reprise.Evidence) bool { return e.For }) || slices.ContainsFunc(s.Leaves(), func(name string) bool { return !g.absent[name] }) {
		s.Evidence = slices.DeleteFunc(s.Evidence, func(e reprise.Evidence) bool { return !e.For && e.Kind != reprise.EvidenceCommand })
	}
}

// commits adds what git says of one step, and lists the commits that tell of it, newest first.
func (g *Grader) commits(r *reprise.Run, s *reprise.Step) (tells []told) {
	listed, noted := map[int]int{}, map[int]int{} // a commit to its place in the evidence, and in what tells
	note := func(t told) {
		if at, ok := noted[t.at]; ok {
			tells[at].recorded, tells[at].partial = tells[at].recorded || t.recorded, tells[at].partial && t.partial
			return
		}
		noted[t.at] = len(tells)
		tells = append(tells, t)
	}
	defer func() { slices.SortFunc(tells, func(a, b told) int { return cmp.Compare(a.at, b.at) }) }()
	add := func(i int, why string, partial bool) {
		note(told{i, false, partial})
		e := g.evidence(r, i, why)
		if partial {
			e.Kind = reprise.EvidencePartial
		}
		if at, ok := listed[i]; ok {
			// What is a piece by one record may be the whole by another.
			if !partial && s.Evidence[at].Kind == reprise.EvidencePartial {
				s.Evidence[at] = e
			}
			return
		}
		listed[i] = len(s.Evidence)
		s.Evidence = append(s.Evidence, e)
	}
	recorded := reprise.EvidenceCommit
	if s.Pieces {
		recorded = reprise.EvidencePartial
	}
	named := s.Commits
	if r.FromFile && !s.Status.Closed() {
		named = nil // only its journal says what was done
	}
	for _, hash := range named {
		hash = strings.ToLower(strings.TrimSpace(hash))
		if i, ok := g.find(hash); ok {
			note(told{i, true, s.Pieces})
			add(i, "is on record", s.Pieces)
			continue
		}
		known, looked := g.git.Known[hash]
		switch {
		case !looked, !known && g.git.Shallow: // that proves nothing
		case known && g.git.Complete:
			// On no branch: removed, or there in another form. It says neither.
		case known:
			s.Evidence = append(s.Evidence, reprise.Evidence{
				Kind: recorded, Source: hash, For: true,
				Text: fmt.Sprintf("commit %s is on record and in the repository, but not in the history that was looked at", short(hash)),
			})
		default:
			s.Evidence = append(s.Evidence, reprise.Evidence{
				Kind: recorded, Source: hash,
				Text: fmt.Sprintf("commit %s is on record, but the repository does not have it", short(hash)),
			})
		}
	}
	if a := s.Accepted; a != nil {
		if i, ok := g.find(a.Commit); ok { // what we accepted and committed ourselves
			add(i, "holds the work that was accepted", false)
		}
		for _, c := range g.byWord[reprise.TrailerWord(r.ID)+"/"+reprise.TrailerWord(s.ID)] { // or as it was amended or rebased since
			if c.accepted && a.Key != "" && slices.Contains(g.git.Commits[c.at].Steps, a.Key+reprise.TrailerAccepted) {
				add(c.at, "holds the work that was accepted", false)
			}
		}
	}
	for _, i := range g.byStep[r.ID+"/"+s.ID] {
		if !g.older(r, i) {
			add(i, "names this step in its trailer", false)
		}
	}
	for _, c := range g.byWord[reprise.TrailerWord(r.ID)+"/"+reprise.TrailerWord(s.ID)] {
		if !g.older(r, c.at) {
			add(c.at, "names this step in its trailer", !c.accepted || s.Ended > 0)
		}
	}
	n := 0
	for _, t := range s.Traces {
		for _, i := range g.traced(r, t) {
			if _, ok := listed[i]; !ok {
				if n++; n > maxListed {
					note(told{i, false, t.Partial})
					continue
				}
			}
			add(i, "names this step in its subject", t.Partial)
		}
	}
	return tells
}

// older reports whether a commit cannot hold anything of a run, whatever its subject says:
// it was made before the run was started here, or for another run. Its trailer tells of
// which run of which name it is; without one its time does, which git keeps in whole
// seconds: one of the second in which the run began was made before.
func (g *Grader) older(r *reprise.Run, i int) bool {
	c, named, other := &g.git.Commits[i], false, false
	for _, value := range c.Steps {
		run, _, life, _, ok := reprise.TrailerStep(value)
		switch {
		case !ok:
		case run != reprise.TrailerWord(r.ID):
			other = true
		case r.Life == "":
			return g.hasNamesake(r) || g.ofAnotherList(r, c)
		case life == r.Life:
			return false
		default:
			named = true
		}
	}
	if r.Life == "" {
		// Runs in one checkout may be parts of each other; one with a branch is not.
		return other && r.Branch != ""
	}
	return named || other && r.Branch != "" || !c.At.After(r.Began.Truncate(time.Second))
}

// hasNamesake reports whether another run of the project has the same name: the trailer of
// a commit does not tell which of the two it was made for.
func (g *Grader) hasNamesake(r *reprise.Run) bool {
	return slices.ContainsFunc(g.peers, func(p *reprise.Run) bool {
		return p.Kind == r.Kind && p.ID == r.ID && p.Path != r.Path
	})
}

// ofAnotherList reports whether a commit was made for another list of tasks of the same
// name, or for what stood in this one before. Whoever ends a task commits the list with it,
// if git knows the list: a list that is as the last commit has it, and in which the task is
// open, was opened again since.
func (g *Grader) ofAnotherList(r *reprise.Run, c *reprise.Commit) bool {
	if r.Kind != reprise.KindTasks {
		return false
	}
	_, known := g.git.ContentAt(r.Path)
	with := slices.ContainsFunc(c.Files, func(f reprise.FileChange) bool { return f.Path == r.Path })
	return known && (!with || g.git.Unchanged(r.Path, time.Time{}))
}

// parts grades what is left of a step.
func (g *Grader) parts(r *reprise.Run, s *reprise.Step) {
	recorded, whole := map[string]bool{}, map[string]bool{}
	for _, hash := range s.Commits {
		if i, ok := g.find(strings.ToLower(strings.TrimSpace(hash))); ok {
			recorded[g.git.Commits[i].Hash] = true
		}
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		p.Evidence = nil
		g.commits(r, p)
		p.Evidence = slices.DeleteFunc(p.Evidence, func(e reprise.Evidence) bool { return recorded[e.Source] })
		for k := range p.Evidence {
			e := &p.Evidence[k]
			if at, ok := g.find(e.Source); e.Kind == reprise.EvidenceCommit && ok && !g.git.Commits[at].OnHead {
				e.Kind = reprise.EvidencePartial
			}
			whole[e.Source] = whole[e.Source] || e.Kind == reprise.EvidenceCommit
		}
	}
	var pieces []reprise.Evidence // of the first part that is not there as a whole
	for i := range s.Parts {
		p := &s.Parts[i]
		all := append(pieces, p.Evidence...)
		p.Evidence, pieces = nil, nil
		for _, e := range all {
			switch {
			case e.Kind != reprise.EvidencePartial:
				p.Evidence = append(p.Evidence, e)
			case !whole[e.Source]:
				pieces = append(pieces, e)
			}
		}
		if p.Grade = grade(p); p.Grade == 0 {
			p.Evidence, pieces = append(p.Evidence, pieces...), nil
		}
	}
}

// evidence tells of one commit, also where it is and whether it was taken back.
func (g *Grader) evidence(r *reprise.Run, i int, why string) reprise.Evidence {
	c := &g.git.Commits[i]
	e := reprise.Evidence{Kind: reprise.EvidenceCommit, Source: c.Hash, For: true}
	where := ""
	switch {
	case !g.onBranch(r, c):
		e.For = c.OnHead // else it is not part of what was built
		where = fmt.Sprintf("; it is %s, not on the run's branch %s", place(c), r.Branch)
	case !c.OnHead:
		_, own := g.branches[r.Branch]
		e.Elsewhere = !own && (r.Worktree == "" || path.Clean(r.Worktree) == ".")
		where = "; it is " + place(c) + ", not on the current one"
	}
	e.Text = fmt.Sprintf("commit %s %s%s", short(c.Hash), why, where)
	if by, ok := g.reverted(i); ok {
		e.For = false
		e.Text = fmt.Sprintf("commit %s %s, but commit %s took it back", short(c.Hash), why, short(g.git.Commits[by].Hash))
	}
	return e
}

func place(c *reprise.Commit) string {
	if c.Branch == "" {
		return "on no branch"
	}
	return "on branch " + c.Branch
}

func short(hash string) string { return hash[:min(len(hash), 8)] }

// find looks a hash up that may be abbreviated. Two commits with the same
// beginning are no answer.
func (g *Grader) find(hash string) (int, bool) {
	if len(hash) < 4 {
		return 0, false
	}
	c := g.git.Commits
	at, _ := slices.BinarySearchFunc(g.byHash, hash, func(i int, h string) int { return strings.Compare(c[i].Hash, h) })
	if at == len(g.byHash) || !strings.HasPrefix(c[g.byHash[at]].Hash, hash) {
		return 0, false
	}
	if at+1 < len(g.byHash) && strings.HasPrefix(c[g.byHash[at+1]].Hash, hash) {
		return 0, false
	}
	return g.byHash[at], true
}

// onBranch reports whether a commit counts as one of the run's branch. Where
// the layout names no branch, or the branch is gone, any will do.
func (g *Grader) onBranch(r *reprise.Run, c *reprise.Commit) bool {
	tip, exists := g.branches[r.Branch]
	if r.Branch == "" || !exists {
		return true
	}
	if r.Branch == g.git.Branch {
		return c.OnHead
	}
	if c.Branch == r.Branch {
		return true
	}
	// A branch that was merged has its commits on the head, among others.
	i, ok := g.find(tip)
	return ok && g.git.Commits[i].OnHead && c.OnHead
}
