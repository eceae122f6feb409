package evidence

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
)

// astray finds the commits that hold what was accepted here and that are not in the
// history of where their run continues: it was set back, or another branch is checked
// out. One that was made again with its trailer is there, as rebase, amend and
// cherry-pick do it: stands holds, for each that is there, the commit that has it. A commit
// with nothing but state shows that a step was ticked, not that its work is there. For the others it checks whether their content is there all the same:
// work that was squashed, or is no longer committed, is not lost.
func astray(ctx context.Context, repo *gitx.Repo, root string, runs []*reprise.Run, git *reprise.Git) (out map[string]reprise.Astray, stands map[string]string, problem string) {
	stands = map[string]string{}
	reached, keys := map[string]*reprise.Commit{}, map[string][]*reprise.Commit{}
	var asked map[string][]string // by checkout
	var again []remade
	for _, r := range runs {
		if r == nil || !r.State.Open() && r.State != reprise.Complete {
			continue
		}
		for i := range r.Steps {
			l := r.Steps[i].Accepted
			if l == nil || l.Commit == "" {
				continue
			}
			if asked == nil {
				asked = map[string][]string{}
				for i := range git.Commits {
					c := &git.Commits[i]
					reached[c.Hash] = c
					for _, value := range c.Steps {
						keys[value] = append(keys[value], c)
					}
				}
			}
			is := git.Holds(r)
			if c := reached[l.Commit]; c != nil && is(c) {
				stands[l.Commit] = l.Commit
				continue
			}
			m := remade{of: l.Commit, at: l.At, in: is, top: string(repo.Top())}
			if r.Worktree != "" {
				m.top = filepath.Join(root, filepath.FromSlash(r.Worktree))
			}
			for _, c := range append(slices.Clone(keys[l.Key]), keys[l.Key+reprise.TrailerAccepted]...) {
				if is(c) {
					m.by = append(m.by, c)
				}
			}
			again = append(again, m)
		}
	}
	works, problem := working(ctx, repo, runs, again)
	since := began(runs, git)
	work, err := edits(ctx, repo, runs, again, since)
	if err != nil {
		problem = cmp.Or(problem, "what became of finished work was not fully looked at: "+err.Error())
	}
	brought, missed := brought(ctx, repo, git, again, work)
	problem = cmp.Or(problem, missed)
	for of, by := range brought {
		stands[of] = by[0]
	}
	for _, m := range again {
		if stands[m.of] != "" {
			continue
		}
		if i := slices.IndexFunc(m.by, func(c *reprise.Commit) bool { return c.Merge || works[c.Hash] || git.Known[m.of] && !works[m.of] }); i >= 0 {
			stands[m.of] = m.by[i].Hash
			continue
		}
		asked[m.top] = append(asked[m.top], m.of)
	}
	var made map[string]bool
	if len(asked) > 0 {
		made = newFiles(ctx, repo, stands)
	}
	for top, commits := range asked {
		slices.Sort(commits)
		commits = slices.Compact(commits)
		then := func(e gitx.Edited, is string) bool {
			return slices.ContainsFunc(work[e.Commit][e.Name].then, func(v version) bool { return v.is == is })
		}
		remains, err := repo.Remains(ctx, top, commits, since, then, made, lists(repo, runs), ledgers(repo, runs))
		if err != nil {
			problem = "whether finished work is still there was not fully looked at: " + err.Error()
		}
		for _, hash := range commits {
			a := remains[hash]
			for _, e := range work[hash] {
				// That a file is not there tells of this one only where the one that took it away is here.
				if by := e.last(); e.passing() && by.of != "" && remains[by.of].Undone > 0 && a.Here > 0 {
					a.Here, a.Undone = a.Here-1, a.Undone+1
				}
			}
			if c := reached[hash]; c != nil {
				a.Branch = c.Branch
			}
			if out == nil {
				out = map[string]reprise.Astray{}
			}
			out[hash] = a
		}
	}
	return out, stands, problem
}

// remade is an accepted commit that is not where its run continues, in a checkout, and the
// commits there that carry its trailer.
type remade struct {
	of, top string
	at      time.Time // when it was accepted
	in      func(c *reprise.Commit) bool
	by      []*reprise.Commit
}

// came reports whether a commit is there and was made after the work was accepted.
func (m *remade) came(c *reprise.Commit) bool {
	return m.in(c) && !c.At.Before(m.at.Truncate(time.Second))
}

// maxBrought bounds how many commits are looked at for accepted work that came with them.
const maxBrought = 200

// edit is what accepted work did to a file: was and is as in gitx.Edited, first what was there
// before the first of the accepted work that it builds on, and then what later accepted work
// made of what it left, oldest first.
type edit struct {
	was, is, first string
	then           []version
}

// version is what one accepted commit left of a file.
type version struct{ of, is string }

// gone reports whether a file is not there, by the name of its content.
func gone(is string) bool { return strings.Trim(is, "0") == "" }

// last is how the last of the accepted work left the file.
func (e edit) last() version {
	if len(e.then) == 0 {
		return version{is: e.is}
	}
	return e.then[len(e.then)-1]
}

// passing reports whether accepted work made the file and accepted work took it away again:
// nothing is left to look for.
func (e edit) passing() bool { return gone(e.first) && gone(e.last().is) }

// edits tells by commit and file what accepted work did beside the state of runs, and what
// became of it by the accepted work that was done on top of it.
func edits(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, again []remade, since map[string]string) (map[string]map[string]edit, error) {
	order := slices.Clone(again)
	slices.SortStableFunc(order, func(a, b remade) int { return a.at.Compare(b.at) })
	var of []string
	for _, m := range order {
		if !slices.Contains(of, m.of) {
			of = append(of, m.of)
		}
	}
	state, work := states(repo, runs), map[string]map[string]edit{}
	err := repo.EditsSince(ctx, of, since, func(e gitx.Edited) {
		if state(e.Name) {
			return
		}
		if work[e.Commit] == nil {
			work[e.Commit] = map[string]edit{}
		}
		work[e.Commit][e.Name] = edit{was: e.Was, is: e.Is, first: e.Was}
	})
	at := map[string][]string{} // by file, the commits so far
	for _, m := range of {
		for name, e := range work[m] {
			for _, o := range at[name] {
				if on := work[o][name]; on.last().is == e.was {
					e.first, on.then = on.first, append(on.then, version{m, e.is})
					work[o][name] = on
				}
			}
			work[m][name] = e
			at[name] = append(at[name], m)
		}
	}
	return work, err
}

// brought finds, for accepted commits that are not where their run continues, the commits there,
// newest first, that made every file of the work as it left it, or as a later one of them did:
// it was squashed, picked or rebased under other names. Work of which later work left nothing
// came with that.
func brought(ctx context.Context, repo *gitx.Repo, git *reprise.Git, again []remade, work map[string]map[string]edit) (out map[string][]string, problem string) {
	out = map[string][]string{}
	var ask []string
	var asked []*reprise.Commit
	names := map[string]bool{}
	for _, all := range work {
		for name := range all {
			names[strings.TrimPrefix(name, repo.Prefix())] = true
		}
	}
	for i := range git.Commits {
		c := &git.Commits[i]
		may := func(m remade) bool { return m.came(c) }
		if !c.Merge && len(ask) < maxBrought && slices.ContainsFunc(c.Files, func(f reprise.FileChange) bool { return names[f.Path] }) && slices.ContainsFunc(again, may) {
			asked, ask = append(asked, c), append(ask, c.Hash)
		}
	}
	made := map[string]map[string]string{} // by commit and file
	missed := repo.Edits(ctx, ask, func(e gitx.Edited) {
		if made[e.Commit] == nil {
			made[e.Commit] = map[string]string{}
		}
		made[e.Commit][e.Name] = e.Is
	})
	latest := slices.Clone(again)
	slices.SortStableFunc(latest, func(a, b remade) int { return b.at.Compare(a.at) })
	for _, m := range latest {
		by, all := map[string]bool{}, true
		var passed []string
		for name, e := range work[m.of] {
			at := slices.IndexFunc(asked, func(c *reprise.Commit) bool {
				got, there := made[c.Hash][name]
				return there && m.came(c) && (got == e.is || slices.ContainsFunc(e.then, func(v version) bool { return v.is == got }))
			})
			switch {
			case at >= 0:
				by[ask[at]] = true
			case !e.passing():
				all = false
			case len(e.then) > 0:
				passed = append(passed, e.last().of)
			}
		}
		if !all {
			continue
		}
		for _, o := range passed {
			all = all && len(out[o]) > 0
			for _, hash := range out[o] {
				by[hash] = true
			}
		}
		if !all {
			continue
		}
		for i, hash := range ask {
			if by[hash] {
				out[m.of] = append(out[m.of], hash)
				for name := range work[m.of] {
					asked[i].Brought = append(asked[i].Brought, strings.TrimPrefix(name, repo.Prefix()))
				}
			}
		}
	}
	if missed != nil {
		problem = "whether finished work came here under other commits was not fully looked at: " + missed.Error()
	}
	return out, problem
}

// working tells which of the commits with a trailer, and of those that they were made from,
// changed more than the state of runs.
func working(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, again []remade) (works map[string]bool, problem string) {
	var ask []string
	for _, m := range again {
		for _, c := range m.by {
			ask = append(ask, c.Hash, m.of)
		}
	}
	slices.Sort(ask)
	works = map[string]bool{}
	state := states(repo, runs)
	err := repo.Edits(ctx, slices.Compact(ask), func(e gitx.Edited) {
		if !state(e.Name) {
			works[e.Commit] = true
		}
	})
	if err != nil {
		problem = "whether finished work is still there was not fully looked at: " + err.Error()
	}
	return works, problem
}

// newFiles are the files that the accepted commits that are there made, rather than moved: they
// are the work of those steps, and of no other whose file had the same content.
func newFiles(ctx context.Context, repo *gitx.Repo, stands map[string]string) map[string]bool {
	commits := slices.Compact(slices.Sorted(maps.Values(stands)))
	type content struct{ commit, is string }
	added, left := map[string]content{}, map[content]bool{}
	err := repo.Edits(ctx, commits, func(e gitx.Edited) {
		if strings.Trim(e.Was, "0") == "" {
			added[e.Name] = content{e.Commit, e.Is}
		}
		if strings.Trim(e.Is, "0") == "" {
			left[content{e.Commit, e.Was}] = true
		}
	})
	if err != nil {
		return nil // whether one was moved is unknown
	}
	out := map[string]bool{}
	for name, is := range added {
		out[name] = !left[is]
	}
	return out
}

// taken finds what others took back of accepted work that is in the history of where its run
// continues: here, or in a checkout of its own.
func taken(ctx context.Context, repo *gitx.Repo, root string, runs []*reprise.Run, o *reprise.Observed, stands map[string]string) (problem string) {
	at := map[string][]*reprise.Run{} // by checkout
	for _, r := range runs {
		if r == nil || !r.State.Open() && r.State != reprise.Complete {
			continue
		}
		dir, known := o.Git.PlaceOf(r)
		var held []string
		for i := range r.Steps {
			if l := r.Steps[i].Accepted; l != nil && stands[l.Commit] != "" {
				held = append(held, stands[l.Commit])
			}
		}
		if !known || len(held) == 0 {
			continue
		}
		if r.State == reprise.Complete && !slices.ContainsFunc(o.Git.Commits, func(c reprise.Commit) bool { return !c.OnHead && slices.Contains(held, c.Hash) }) {
			dir = "" // its checkout no longer counts: it is merged
		}
		at[dir] = append(at[dir], r)
	}
	for _, dir := range slices.Sorted(maps.Keys(at)) {
		if err := takenIn(ctx, repo, root, dir, at[dir], o, stands, states(repo, runs)); err != nil {
			problem = "whether finished work was taken back was not fully looked at: " + err.Error()
		}
	}
	return problem
}

// takenIn is taken for the runs that continue in one checkout.
func takenIn(ctx context.Context, repo *gitx.Repo, root, dir string, runs []*reprise.Run, o *reprise.Observed, stands map[string]string, state func(name string) bool) error {
	in := func(c *reprise.Commit) bool { return c.OnHead }
	changed := o.Git.Changed
	if dir != "" {
		other, err := repo.In(ctx, filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return err
		}
		repo, changed = other, nil
		in = func(c *reprise.Commit) bool { return slices.Contains(c.In, dir) }
		for _, ch := range o.Git.Changed {
			if ch.Worktree == dir {
				ch.Path, ch.Worktree = strings.TrimPrefix(ch.Path, dir+"/"), ""
				changed = append(changed, ch)
			}
		}
	}
	parts, made := map[string][]string{}, map[string]bool{} // by the commit that was accepted: those that hold the work
	before := map[string][]reprise.Expected{}               // by commit: what its attempt found
	for _, r := range runs {
		for i := range r.Steps {
			if l := r.Steps[i].Accepted; l != nil && stands[l.Commit] != "" {
				for _, a := range append([]reprise.Acceptance{*l}, l.Earlier...) {
					some := partsOf(&a, cmp.Or(stands[a.Commit], a.Commit), o.Git.Commits, in)
					parts[l.Commit] = append(parts[l.Commit], some...)
					for _, c := range some {
						made[c] = true
						before[c] = append(before[c], r.Found[a.Key]...)
					}
				}
			}
		}
		for i := range o.Git.Commits {
			if c := &o.Git.Commits[i]; in(c) && r.Made(*c) && (len(c.Steps) > 0 || !strings.HasPrefix(c.Subject, "Revert ")) {
				made[c.Hash] = true
				for _, value := range c.Steps {
					before[c.Hash] = append(before[c.Hash], r.Found[strings.TrimSuffix(value, reprise.TrailerAccepted)]...)
				}
			}
		}
	}
	reverted, err := repo.Reverts(ctx)
	var commits []string // newest first
	for i := range o.Git.Commits {
		if c := &o.Git.Commits[i]; in(c) && made[c.Hash] && !c.Edge {
			commits = append(commits, c.Hash)
		}
	}
	found, missed := repo.TakenBack(ctx, commits, changed, before, state, ledgers(repo, runs))
	for of, all := range parts {
		if t, ok := together(all, found, reverted, o.Git.Commits); ok {
			if o.Taken == nil {
				o.Taken = map[string]reprise.Taken{}
			}
			t.Dir = dir
			o.Taken[of] = t
		}
	}
	return cmp.Or(err, missed)
}

// keepHere tells the dropped commits of which something is left from those whose content is
// gone entirely: dropping these was deliberate, unless something still builds on them.
func keepHere(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, git *reprise.Git) error {
	if len(git.Dropped) == 0 {
		return nil
	}
	var hashes []string
	for i := range git.Dropped {
		hashes = append(hashes, git.Dropped[i].Hash)
	}
	remains, err := repo.Remains(ctx, string(repo.Top()), hashes, nil, nil, nil, lists(repo, runs), ledgers(repo, runs))
	if err != nil {
		return err
	}
	all := git.Dropped
	git.Dropped = nil
	for _, c := range all {
		switch a := remains[c.Hash]; {
		case a.Here+a.Other > 0:
			git.Dropped = append(git.Dropped, c)
		case a.Undone > 0:
			git.Undone = append(git.Undone, c)
		}
	}
	hashes = nil
	for i := range git.Undone {
		hashes = append(hashes, git.Undone[i].Hash)
	}
	wrote, err := repo.Wrote(ctx, hashes)
	for i := range git.Undone {
		for _, name := range wrote[git.Undone[i].Hash] {
			git.Undone[i].Files = append(git.Undone[i].Files, reprise.FileChange{Path: name})
		}
	}
	return err
}

// lists reports whether a file of the repository is the list of a run, which describes
// the work and is not part of it.
func lists(repo *gitx.Repo, runs []*reprise.Run) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(runs, func(r *reprise.Run) bool {
			return r != nil && r.Kind == reprise.KindTasks && repo.Prefix()+r.Path == name
		})
	}
}

// states reports whether a file of the repository is part of the state of a run.
func states(repo *gitx.Repo, runs []*reprise.Run) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(runs, func(r *reprise.Run) bool {
			return r != nil && r.Path != "" && reprise.Within(name, repo.Prefix()+r.Path)
		})
	}
}
