package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
)

// A story of an epic is there without the epic: whoever finishes it need not know that the fleet
// has left the epic open. So before the fleet takes a run up, what was finished of it on the
// default branch since its branch was made comes to its branch. Nothing else does: only whoever
// works in a checkout can tell what of it is to be seen by others. What is finished there and was
// not pushed keeps the run from being taken up.

// stand is how runs stand in a project: the paths of those that are there, and the names of the
// steps that are closed, and of those that are not.
type stand struct{ paths, closed, open []string }

// standOf reads how runs stand in a project.
func standOf(root string, refs []reprise.Ref) (s stand, err error) {
	for _, ref := range refs {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(ref.Path))); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r, err := reprise.Load(convention.Find(ref.Layout), os.DirFS(root), ref)
		if err != nil {
			return stand{}, err
		}
		s.paths = append(s.paths, ref.Path)
		for i := range r.Steps {
			name := ref.ID + "/" + r.Steps[i].ID
			if r.Steps[i].Status.Closed() {
				s.closed = append(s.closed, name)
			} else {
				s.open = append(s.open, name)
			}
		}
	}
	return s, nil
}

// without are the names that others do not have.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// at has do work in the project as a commit of the mirror has it.
func (h *handing) at(ctx context.Context, commit string, do func(root string) error) error {
	c, err := h.mirror.Checkout(ctx, commit, "reprise-look")
	if err != nil {
		return err
	}
	return errors.Join(do(filepath.Join(c.Dir, filepath.FromSlash(h.Folder))), c.Close())
}

// standAt is how runs stand in a commit of the mirror, "" for none.
func (h *handing) standAt(ctx context.Context, commit string, refs []reprise.Ref) (s stand, err error) {
	if commit != "" {
		err = h.at(ctx, commit, func(root string) (err error) { s, err = standOf(root, refs); return err })
	}
	return s, err
}

// split is where the histories of two commits part, "" if they have nothing in common.
func (h *handing) split(ctx context.Context, a, b string) (string, error) {
	if a == "" || b == "" {
		return "", nil
	}
	at, err := git(ctx, filepath.Join(h.mirror.Dir, "mirror.git"), nil, "merge-base", a, b)
	if isExit(err) {
		return "", nil
	}
	return at, err
}

// theirs is where the default branch of the remote is, "" if it has none.
func (h *handing) theirs(ctx context.Context) (string, error) {
	found, err := h.mirror.Fetch(ctx, "HEAD")
	return found["HEAD"], err
}

// pushed checks that whatever is finished of a run, or of a run inside it, in a checkout of the
// clone was pushed, to its branch or to the default branch, or is in the copy that is handed over.
// The error is a *NotTakenError.
func (h *handing) pushed(ctx context.Context, best *localCopy) error {
	switch {
	case best == nil:
		return h.at(ctx, h.was, func(root string) error { return h.pushedBut(ctx, root, h.was, nil) })
	case best.dir == "":
		return h.at(ctx, best.base, func(root string) error { return h.pushedBut(ctx, root, best.base, best) })
	}
	return h.pushedBut(ctx, h.root(best), best.base, best)
}

// pushedBut is pushed for a run as a project has it, on top of a commit.
func (h *handing) pushedBut(ctx context.Context, root, tip string, best *localCopy) error {
	inside, err := insideOf(root, h.ref)
	if err != nil {
		return err
	}
	does := append([]reprise.Ref{h.ref}, inside...)
	known, err := standOf(root, does)
	if err != nil {
		return err
	}
	dir := ""
	if best != nil {
		dir = best.dir
	}
	theirs, err := h.theirs(ctx)
	if err != nil {
		return err
	}
	for _, c := range h.copies {
		if c == best || c.dir == "" {
			continue
		}
		done, err := h.onlyIn(ctx, c, does, known, tip, theirs)
		if err != nil {
			return err
		}
		if len(done) > 0 {
			is, err := h.standAt(ctx, c.base, does)
			if err != nil {
				return err
			}
			return h.unpushed(c, done, len(without(done, is.closed)) == 0, dir)
		}
	}
	return nil
}

// onlyIn names what is finished of runs in a checkout of the clone, and neither known nor finished
// in one of some commits or where the checkout and that split: what became of it, the commit says.
func (h *handing) onlyIn(ctx context.Context, c *localCopy, does []reprise.Ref, known stand, commits ...string) ([]string, error) {
	if err := h.idle(ctx, c, does[1:]); err != nil {
		return nil, err
	}
	is, err := standOf(h.root(c), does)
	if err != nil {
		return nil, fmt.Errorf("hand over %s: see what was finished in %s: %w", h.ref.ID, c.dir, err)
	}
	done := without(is.closed, known.closed)
	if len(done) == 0 {
		return nil, nil
	}
	if err := h.fetch(ctx, c.base); err != nil {
		return nil, err
	}
	for _, commit := range commits {
		split, err := h.split(ctx, commit, c.base)
		if err != nil {
			return nil, err
		}
		for _, at := range []string{commit, split} {
			if is, err = h.standAt(ctx, at, does); err != nil {
				return nil, err
			}
			done = without(done, is.closed)
		}
	}
	return done, nil
}

// idle checks that no one works on a run inside the one that is handed over, in a checkout that
// has something of it on record, and keeps it so.
func (h *handing) idle(ctx context.Context, c *localCopy, inside []reprise.Ref) error {
	for _, ref := range inside {
		if has, err := recorded(h.root(c), ref); err != nil {
			return err
		} else if len(has) > 0 && c.store == nil {
			return h.take(ctx, c)
		}
	}
	return nil
}

// catchUp merges into the branch of a run what was finished of it, or of a run inside it, on the
// default branch of the remote. The error is a *NotTakenError if that conflicts, or if
// what the branch has would be lost.
func (h *handing) catchUp(ctx context.Context) error {
	theirs, err := h.theirs(ctx)
	if err != nil || theirs == "" {
		return err
	}
	if has, err := h.mirror.in(ctx, theirs, h.was); err != nil || has {
		return err
	}
	at, err := h.mirror.forTurn(ctx, h.was, Branch(h.ref.ID), h.Folder)
	if err != nil {
		return err
	}
	defer at.Close()
	root := filepath.Join(at.Dir, filepath.FromSlash(h.Folder))
	inside, err := insideOf(root, h.ref)
	if err != nil {
		return err
	}
	does := append([]reprise.Ref{h.ref}, inside...)
	ours, err := standOf(root, does)
	if err != nil {
		return err
	}
	there, err := h.standAt(ctx, theirs, does)
	if err != nil {
		return fmt.Errorf("hand over %s: see what was finished on the default branch of the remote: %w", h.ref.ID, err)
	}
	split, err := h.split(ctx, h.was, theirs)
	if err != nil {
		return err
	}
	before, err := h.standAt(ctx, split, does)
	if err != nil {
		return err
	}
	done := without(without(there.closed, ours.closed), before.closed)
	if len(done) == 0 && !h.anew {
		return nil
	}
	goesOn := h.anew
	if !goesOn {
		goesOn, err = h.goesOn(ctx, theirs, root)
	}
	if err != nil {
		return err
	}
	if !goesOn {
		_, conflicts, err := at.Bring(ctx, theirs, commit{})
		if err != nil {
			return err
		}
		if len(conflicts) > 0 {
			git1, dir := h.aside()
			return h.refuse(Unmerged, fmt.Sprintf("%s was finished on the default branch of the remote, and does not merge with its branch: %s", strings.Join(done, ", "), strings.Join(conflicts, ", ")),
				fmt.Sprintf("merge it: `%s && %s`; settle the conflict and commit, then `%s` and this command again", git1, defaultInto(dir), h.pushFrom(dir)))
		}
		if there, err = standOf(root, does); err != nil {
			return fmt.Errorf("hand over %s: merge the default branch of the remote: %w", h.ref.ID, err)
		}
	}
	if lost := append(without(ours.paths, there.paths), without(ours.closed, there.closed)...); len(lost) > 0 {
		by, err := h.tookBack(ctx, theirs, does, lost)
		if err != nil {
			return err
		}
		return h.takenBack(lost, by)
	}
	merged := theirs
	if !goesOn {
		merged, _, err = at.Commit(ctx, fmt.Sprintf("reprise: %s has %s, finished elsewhere\n", h.ref.ID, strings.Join(done, ", ")), CommitOptions{Parents: []string{h.was, theirs}, Folder: h.Folder})
		if err != nil || merged == "" {
			return err
		}
	}
	if err = at.Push(ctx, merged, h.branch(), h.was); err == nil {
		h.was = merged
	}
	return err
}

// grown reports whether the default branch of the remote has the branch of the run, and steps that
// this does not have and that are to do: someone merged it and wrote more.
func (h *handing) grown(ctx context.Context) (bool, error) {
	theirs, err := h.theirs(ctx)
	if err != nil || theirs == "" || h.was == "" {
		return false, err
	}
	if has, err := h.mirror.in(ctx, h.was, theirs); err != nil || !has {
		return false, err
	}
	ours, err := h.standAt(ctx, h.was, []reprise.Ref{h.ref})
	if err != nil {
		return false, err
	}
	there, err := h.standAt(ctx, theirs, []reprise.Ref{h.ref})
	return len(without(there.open, append(ours.open, ours.closed...))) > 0, err
}

// goesOn reports whether the default branch has the branch of the run, whose checkout is root, and
// all that is recorded there: someone merged it and went on.
func (h *handing) goesOn(ctx context.Context, theirs, root string) (goesOn bool, err error) {
	if has, err := h.mirror.in(ctx, h.was, theirs); err != nil || !has {
		return false, err
	}
	ours, err := recorded(root, h.ref)
	if err != nil {
		return false, err
	}
	err = h.at(ctx, theirs, func(root string) error {
		has, err := recorded(root, h.ref)
		if err == nil && len(has) >= len(ours) {
			goesOn, err = begins(ours, has)
		}
		return err
	})
	return goesOn, err
}

// tookBack is the last commit of the default branch that had before it what is lost of a run, and
// changed that; "" if none is found.
func (h *handing) tookBack(ctx context.Context, theirs string, does []reprise.Ref, lost []string) (string, error) {
	for i, ref := range does {
		gone := slices.DeleteFunc(slices.Clone(lost), func(name string) bool { return name != ref.Path && !strings.HasPrefix(name, ref.ID+"/") })
		if len(gone) == 0 {
			continue
		}
		// With its parent; a merge has several, of which the first is the default branch.
		listed, err := git(ctx, filepath.Join(h.mirror.Dir, "mirror.git"), nil, "log", "--format=%H %P", h.was+".."+theirs, "--", ":(literal)"+path.Join(h.Folder, ref.Path))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(listed) {
			commits := strings.Fields(line)
			if len(commits) < 2 {
				continue
			}
			was, err := h.standAt(ctx, commits[1], does[i:i+1])
			if err == nil && len(without(gone, append(was.paths, was.closed...))) == 0 { // one that cannot be read says nothing
				return commits[0], nil
			}
		}
	}
	return "", nil
}

// aside is the command that checks the branch of the run out in a folder beside the clone.
func (h *handing) aside() (command, dir string) {
	git1, dir := h.beside(Branch(h.ref.ID), "")
	dir = reprise.Pasted(dir, "DIR")
	return fmt.Sprintf("%[1]s fetch origin %[2]s && %[1]s worktree add --detach %[3]s FETCH_HEAD", git1, Branch(h.ref.ID), dir), dir
}

// defaultInto is the command that merges the default branch of the remote in a checkout.
func defaultInto(dir string, options ...string) string {
	return fmt.Sprintf("git -C %[1]s fetch origin HEAD && git -C %[1]s merge --no-ff --no-edit %[2]sFETCH_HEAD", dir, strings.Join(append(options, ""), " "))
}

// pushFrom is the command that pushes what a checkout has to the branch of the run.
func (h *handing) pushFrom(dir string) string {
	return fmt.Sprintf("git -C %s push origin HEAD:%s", dir, Branch(h.ref.ID))
}

// unpushed says that something is finished in a checkout alone. into is the one that is handed over,
// "" if the branch of the run is all there is.
func (h *handing) unpushed(c *localCopy, done []string, committed bool, into string) error {
	name, run := reprise.Pasted(c.dir, "CHECKOUT"), reprise.Pasted(h.ref.ID, "RUN")
	first, what := "", "pushed"
	if !committed {
		first, what = fmt.Sprintf("commit there what belongs to it (`git -C %s status` lists it); ", name), "committed"
	}
	away := fmt.Sprintf("git clone \"$(git -C %[1]s remote get-url origin)\" ../%[2]s-again && reprise-fleet resume %[2]s -C ../%[2]s-again", name, run)
	if len(h.linked(c)) > 0 {
		away = fmt.Sprintf("mv %[1]s %[1]s.put-away && git -C %[2]s worktree prune", name, reprise.Pasted(h.Clone, "CLONE"))
	}
	merge := fmt.Sprintf("merge --no-edit \"$(git -C %s rev-parse HEAD)\"", name)
	way := fmt.Sprintf("`git -C %s %s`", reprise.Pasted(into, "DIR"), merge)
	if into == "" {
		git1, dir := h.aside()
		way = fmt.Sprintf("`%s && git -C %s %s`, then `%s`", git1, dir, merge, h.pushFrom(dir))
	}
	return h.refuse(Unpushed, fmt.Sprintf("%s is finished in %s, a checkout of this clone, and not %s", strings.Join(done, ", "), c.dir, what),
		fmt.Sprintf("%smerge it: %s and this command again; or push it to the default branch of the remote; if nothing that was done there is to count: `%s`", first, way, away))
}

// takenBack says that the default branch of the remote took back what the branch of the run has, with
// a commit, "" if that is not known, and has something else of the run finished: merged, the first
// would be lost.
func (h *handing) takenBack(lost []string, by string) error {
	git1, dir := h.aside()
	push, with := h.pushFrom(dir), ""
	hint := fmt.Sprintf("to go on with what its branch has alone: `%s && %s && %s`, and this command again", git1, defaultInto(dir, "-s ours"), push)
	if by != "" {
		with = fmt.Sprintf(" with %.12s", by)
		hint = fmt.Sprintf("to have on its branch what each of them has: `%s && %s && git -C %s revert --no-edit %.12s`; settle what conflicts, then `%s` and this command again; %s", git1, defaultInto(dir), dir, by, push, hint)
	}
	return h.refuse(TakenBack, fmt.Sprintf("the default branch of the remote took back%s what its branch has: %s", with, strings.Join(lost, ", ")), hint)
}

// Refusal is why the fleet does not take a run up: whoever went on with its branch would do something
// again, or lose it.
type Refusal string

// The refusals.
const (
	Uncommitted Refusal = "uncommitted" // files of it are not committed in the checkout that is handed over
	Unpushed    Refusal = "unpushed"    // something of it is finished in a checkout of the clone alone
	Unmerged    Refusal = "unmerged"    // something of it was finished on the default branch, and conflicts with its own
	TakenBack   Refusal = "taken back"  // the default branch took back what its branch has
)

// NotTakenError says why the fleet does not take a run up, and what a person can do. Nothing was
// pushed or noted.
type NotTakenError struct {
	Run        string
	Why        Refusal
	text, hint string
}

func (h *handing) refuse(why Refusal, text, hint string) error {
	return &NotTakenError{h.ref.ID, why, text, hint}
}

func (e *NotTakenError) Error() string { return "hand over " + e.Run + ": " + e.text }

// Hint says what a person can do.
func (e *NotTakenError) Hint() string { return e.hint }

// Outcome implements the rule that outcomes have exit codes.
func (e *NotTakenError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
