package temporal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"reprise/internal/durable"
)

// handed are the subjects of the commits with which a branch comes to the fleet, and leaves it;
// turnNote begins the note of a turn. Git and Go read these patterns alike.
const (
	handed   = "^reprise: (start|hand over|the fleet has left) |^reprise: .* went on in a clone$"
	turnNote = `^\{"Turn":"`
)

var isHanded = regexp.MustCompile(handed)

// isOurs reports whether a commit with this message was pushed by a turn, or as the branch was
// handed over.
func isOurs(message string) bool {
	subject, _, _ := strings.Cut(message, "\n")
	var was turned
	return isHanded.MatchString(subject) || readNote(message, &was) == nil && was.Turn != ""
}

// recorded is the commit that work on a branch begins with: its tip, but while the fleet has
// the run, our own folder is that of the last turn. Others may push to the branch, an agent
// that commits everything among them; of what is recorded, they know nothing. Everyone who
// asks this of a tip gets the same commit.
func (m *Mirror) recorded(ctx context.Context, tip string, run *Run) (string, error) {
	if tip == "" || m.pushedHere(tip) {
		return tip, nil
	}
	read, err := m.about(ctx, tip)
	if err != nil || isOurs(read[tip].message) {
		return tip, err
	}
	dir := filepath.Join(m.Dir, "mirror.git")
	last := func(patterns ...string) (string, error) {
		args := []string{"log", "--first-parent", "-1", "--format=%H", "-E"}
		for _, p := range patterns {
			args = append(args, "--grep", p)
		}
		return git(ctx, dir, nil, append(args, tip)...)
	}
	began, err := last("^reprise: (start|hand over) " + regexp.QuoteMeta(run.Ref.ID) + "$")
	if err != nil || began == "" {
		return tip, err // its history was written anew: its files are all there is
	}
	ours, err := last(turnNote, handed)
	if err != nil {
		return "", err
	}
	journals := func(of string) (string, error) {
		return git(ctx, dir, nil, "ls-tree", "-r", "--name-only", of, "--", filepath.ToSlash(filepath.Join(run.Folder, journalDir)))
	}
	had, err := journals(ours)
	if err != nil {
		return "", err
	}
	has, err := journals(tip)
	if err != nil {
		return "", err
	}
	if read, err = m.about(ctx, tip, ours); err != nil {
		return "", err
	}
	var was turned
	_ = readNote(read[ours].message, &was) // the commit that began the branch has another note
	marked := strings.Contains(had+"\n", path.Ext(durable.FleetMark(""))+"\n")
	if !marked && (was.Journal == "" || has != "") {
		return tip, nil // the fleet has left it: whoever went on with it records that here
	}
	tree, err := m.withOwn(ctx, read[tip].tree, ours, run.Folder)
	if err != nil || tree == read[tip].tree && was.Journal == "" {
		return tip, err
	}
	message, err := withNote("reprise: what is recorded of "+run.Ref.ID, turned{Journal: was.Journal})
	if err != nil {
		return "", err
	}
	at, err := git(ctx, dir, nil, "log", "-1", "--format=%ct +0000", tip)
	if err != nil {
		return "", err
	}
	return gitWith(ctx, dir, []string{"GIT_AUTHOR_DATE=@" + at, "GIT_COMMITTER_DATE=@" + at}, []byte(message), "commit-tree", tree, "-p", tip)
}

// pushedHere reports whether a kept checkout is of a commit that a turn of this worker pushed.
func (m *Mirror) pushedHere(tip string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.kept, func(c *Checkout) bool { return c.Base == tip && isOurs(c.tip.message) })
}

// withOwn is a tree with our own folder as it is in a commit.
func (m *Mirror) withOwn(ctx context.Context, tree, from, folder string) (string, error) {
	dir := filepath.Join(m.Dir, "mirror.git")
	own := filepath.ToSlash(filepath.Join(folder, stateDir))
	gone, err := git(ctx, dir, nil, "ls-tree", "-r", "-z", "--name-only", tree, "--", own)
	if err != nil {
		return "", err
	}
	there, err := git(ctx, dir, nil, "ls-tree", "-r", "-z", from, "--", own)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for name := range strings.SplitSeq(strings.TrimRight(gone, "\x00"), "\x00") {
		if name != "" {
			lines.WriteString("0 " + strings.Repeat("0", len(tree)) + "\t" + name + "\x00")
		}
	}
	lines.WriteString(there)
	index, err := os.MkdirTemp(m.Dir, "work-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(index)
	where := []string{"GIT_INDEX_FILE=" + filepath.Join(index, "index")}
	if _, err := gitWith(ctx, dir, where, nil, "read-tree", tree); err != nil {
		return "", err
	}
	if _, err := gitWith(ctx, dir, where, []byte(lines.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return gitWith(ctx, dir, where, nil, "write-tree")
}

// thereIn reports whether a checkout of its branch has a run: what is recorded of it, once
// something was. Others may move the branch to a commit that knows nothing of it, where every
// step would seem to be left.
func (r *Run) thereIn(root string) (bool, error) {
	if !r.Begun {
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(r.Ref.Path)))
		return !errors.Is(err, fs.ErrNotExist), nil
	}
	has, err := recorded(root, r.Ref)
	return len(has) > 0, err
}
