package gitx

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reprise"
)

// TakenBack tells of the commits of a run, newest first by whole hash, what others took back
// of their changes: a file is as it was before, empty or gone, and no later one of the
// commits made it so. found gives, by commit, what was so before its attempt began: the
// commit did not make it so. Files that except names do not count, and neither does a merge; one that aside names does
// not show that something is left.
// A file under another name is not gone, and Revert is not set. What was found is returned
// also with an error, which tells what was not looked at: a submodule that is not checked out, too.
func (r *Repo) TakenBack(ctx context.Context, commits []string, changed []reprise.Change, found map[string][]reprise.Expected, except, aside func(name string) bool) (map[string]reprise.Taken, error) {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	edits, order := map[string][]Edited{}, map[string]int{}
	for i, c := range commits {
		order[c] = i
	}
	missed := r.Edits(ctx, commits, func(e Edited) {
		if !except(e.Name) {
			edits[e.Name] = append(edits[e.Name], e)
		}
	})
	out, gone := map[string]reprise.Taken{}, map[string][]string{} // names that are gone, by the last commit that has them
	uncommitted := func(name string) bool {
		return slices.ContainsFunc(changed, func(c reprise.Change) bool { return c.Worktree == "" && !c.Untracked && c.Path == name })
	}
	note := func(of []Edited, use func(t *reprise.Taken)) {
		for _, e := range of {
			t := out[e.Commit]
			use(&t)
			out[e.Commit] = t
		}
	}
	left := func(t *reprise.Taken) { t.Left++ }
	for name, all := range edits {
		left := left
		if aside(name) {
			left = func(*reprise.Taken) {}
		}
		slices.SortStableFunc(all, func(a, b Edited) int { return order[a.Commit] - order[b.Commit] })
		now, back := blobAt(root, all[0]), 0
		all = slices.DeleteFunc(all, func(e Edited) bool { return now == e.Is && r.foundAs(found[e.Commit], name) })
		edits[name] = all
		if now == "" && all[0].Module && unfilled(root, name) {
			missed = cmp.Or(missed, fmt.Errorf("submodule %q is not checked out, and steps that are done worked in it; `git submodule update --init --force %s` checks it out",
				name, reprise.Pasted(relSlash(r.prefix, name), "FOLDER")))
		}
		i := slices.IndexFunc(all, func(e Edited) bool { return now == e.Is || now == e.Was })
		switch {
		case i >= 0 && now == all[i].Is:
			back = i
			if !aside(name) {
				note(all[i:i+1], func(t *reprise.Taken) { t.Here++ })
			}
		case i >= 0:
			back = i + 1
		case none(now), now == empty(len(now)):
			back = len(all)
		}
		note(all[back:], left)
		path := relSlash(r.prefix, name)
		edits[name] = all[:back]
		switch open := uncommitted(path); {
		case back == 0:
		case none(now) && !open:
			gone[all[0].Commit] = append(gone[all[0].Commit], name)
		default:
			note(all[:back], func(t *reprise.Taken) {
				if none(now) {
					t.Gone = append(t.Gone, path)
				} else {
					t.Back = append(t.Back, path)
				}
				if open {
					t.Open = append(t.Open, path)
				}
			})
		}
	}
	bases := slices.Sorted(maps.Keys(gone))
	if len(bases) > 0 && !slices.Contains(bases, commits[0]) {
		bases = append(bases, commits[0]) // the nearer one takes less for a new name
	}
	removed, err := r.Removed(ctx, bases)
	missed = cmp.Or(missed, err)
	for base, names := range gone {
		for _, name := range names {
			path := relSlash(r.prefix, name)
			if !slices.Contains(removed[base], path) && !slices.Contains(removed[commits[0]], path) {
				note(edits[name], left) // it has another name, or is not checked out
				continue
			}
			note(edits[name], func(t *reprise.Taken) { t.Gone = append(t.Gone, path) })
		}
	}
	for commit, t := range out {
		slices.Sort(t.Gone)
		slices.Sort(t.Back)
		out[commit] = t
	}
	return out, missed
}

// TakenOut lists the files that a commit of ours, a merge too, changed and that uncommitted
// changes here made as they were before, or gone.
func (r *Repo) TakenOut(ctx context.Context, commit string) (out []string, err error) {
	changes, err := r.Uncommitted(ctx)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = r.diffTrees(ctx, []string{commit}, func(e Edited) {
		changed := slices.ContainsFunc(changes, func(c reprise.Change) bool { return c.Path == e.Name })
		if now := blobAt(root, e); changed && now != e.Is && (now == e.Was || none(now)) {
			out = append(out, relSlash(r.prefix, e.Name))
		}
	}, "--diff-merges=first-parent", "--no-renames")
	return out, err
}

// foundAs reports whether a file is as it was found, or may be.
func (r *Repo) foundAs(found []reprise.Expected, name string) bool {
	was, ok := reprise.Finds(found, name)
	if !ok || was.Path == reprise.AnyFile {
		return ok
	}
	now, err := r.Print(name)
	return err != nil || now == was.Before
}

var revertOf = regexp.MustCompile(`This reverts commit ([0-9a-f]{7,64})\b`)

// Reverts finds the reverts in the history of the head and returns what gives the one of a
// commit, "" if there is none. A revert that was reverted does not count.
func (r *Repo) Reverts(ctx context.Context) (of func(commit string) string, err error) {
	var names, by []string
	of = func(commit string) string {
		if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(commit, name) }); i >= 0 {
			return by[i]
		}
		return ""
	}
	if !objectName(r.head) {
		return of, nil
	}
	err = words(ctx, r.git.history, nil, func(hash string, f *fields) error { // newest first: what reverts it came before
		text, err := f.need()
		if err != nil || of(hash) != "" {
			return err
		}
		for _, m := range revertOf.FindAllStringSubmatch(text, -1) {
			names, by = append(names, m[1]), append(by, hash)
		}
		return nil
	}, "log", "-z", "--no-show-signature", "--no-mailmap", "--no-decorate", "--no-notes", "--encoding=UTF-8", "--fixed-strings", "--topo-order",
		"--grep=This reverts commit ", "--max-count="+strconv.Itoa(maxLooked), "--format=tformat:%H%x00%B", r.head, "--")
	return of, err
}
