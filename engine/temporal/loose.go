package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/engine"
	"reprise/project"
)

// Only whoever works in a checkout can tell what of it is to be seen by others. So the fleet takes
// what is committed there, and keeps its hands off while something of the run is not: a commit that
// the checkout has, too, is one that it can be merged with later.

// uncommitted are the files of a run that a copy has and no commit: its state and that of the runs
// inside it, what their journals say that they wrote or left, and the workflow file that it was begun
// from. What git ignores is not among them.
func (h *handing) uncommitted(ctx context.Context, c *localCopy) (out []string, err error) {
	if c.dir == "" || !c.files {
		return nil, nil
	}
	args := []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".", ":(exclude,literal)" + filepath.Join(h.Folder, stateDir)}
	for _, dir := range h.within(c) {
		args = append(args, ":(exclude,literal)"+dir)
	}
	listed, err := git(ctx, c.dir, nil, args...)
	if err != nil {
		return nil, err
	}
	if c.hidden, err = h.hiddenFlow(ctx, c); err != nil || listed == "" {
		return nil, err
	}
	folders, files, err := h.filesOf(h.root(c))
	if err != nil {
		return nil, fmt.Errorf("hand over %s: see what %s has of it: %w", h.ref.ID, c.dir, err)
	}
	of := map[string]bool{}
	for line := range strings.SplitSeq(listed, "\x00") {
		if len(line) < 4 {
			continue
		}
		name := line[3:] // after two letters that say what is changed
		if i := slices.IndexFunc(folders, func(folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }); i >= 0 {
			of[folders[i]] = true
		} else if files[name] {
			of[name] = true
		}
	}
	return slices.Sorted(maps.Keys(of)), nil
}

// hiddenFlow is the workflow file that a run was begun from, if git ignores it and has it in no
// commit: no worker would have it. It is "" otherwise.
func (h *handing) hiddenFlow(ctx context.Context, c *localCopy) (string, error) {
	flow, _ := engine.Origin(h.root(c), h.ref)
	if flow == "" {
		return "", nil
	}
	flow = path.Join(h.Folder, flow)
	return git(ctx, c.dir, nil, "ls-files", "--others", "--ignored", "--exclude-standard", "--", ":(literal)"+flow)
}

// filesOf are the files of a run and of those inside it, from the top of the repository: the folders
// or files with their state, the workflow file that it was begun from, and the files that are on record.
func (h *handing) filesOf(root string) (state []string, files map[string]bool, err error) {
	var inside []reprise.Ref
	if _, gone := os.Lstat(filepath.Join(root, filepath.FromSlash(h.ref.Path))); gone == nil { // a journal may be all there is
		if inside, err = insideOf(root, h.ref); err != nil {
			return nil, nil, err
		}
	}
	files = map[string]bool{}
	if flow, _ := engine.Origin(root, h.ref); flow != "" {
		if _, gone := os.Lstat(filepath.Join(root, filepath.FromSlash(flow))); gone == nil {
			files[path.Join(h.Folder, flow)] = true
		}
	}
	var note func(reprise.Event)
	note = func(ev reprise.Event) {
		for _, name := range ev.Left {
			files[name] = true
		}
		for _, w := range ev.Work {
			files[w.Path] = true
		}
		for _, e := range ev.Expect {
			files[path.Join(h.Folder, e.Path)] = true
		}
		for _, then := range ev.Then {
			note(then)
		}
	}
	for _, ref := range append(inside, h.ref) {
		if at := path.Join(h.Folder, ref.Path); at != "." {
			state = append(state, at)
		}
		entries, err := recorded(root, ref)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			for _, f := range e.Files {
				files[path.Join(h.Folder, f.Path)] = true
			}
			note(e.Event)
		}
	}
	return state, files, nil
}

// committed checks that nothing of the run is uncommitted in the copy that is handed over.
func (h *handing) committed(best *localCopy) error {
	if best == nil || len(best.loose) == 0 && best.hidden == "" {
		return nil
	}
	gone := func(name string) bool {
		_, err := os.Lstat(filepath.Join(best.dir, filepath.FromSlash(name)))
		return errors.Is(err, fs.ErrNotExist)
	}
	if best.hidden != "" {
		return h.refuse(Uncommitted, fmt.Sprintf("the fleet takes what is committed, and the workflow file that it was begun from is not in %s, where git ignores it: %s", best.dir, best.hidden),
			strings.Replace(project.CommitHint(best.dir, h.ref.ID, []string{best.hidden}, gone), " add -- ", " add -f -- ", 1)+", then this command again")
	}
	return h.refuse(Uncommitted, fmt.Sprintf("the fleet takes what is committed, and this is not in %s: %s", best.dir, strings.Join(best.loose, ", ")),
		project.CommitHint(best.dir, h.ref.ID, best.loose, gone)+", then this command again; nothing else that is not committed leaves the checkout")
}
