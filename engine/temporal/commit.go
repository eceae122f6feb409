package temporal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"reprise/internal/durable"
)

// Bring merges a commit into the files, and leaves it to the caller to commit that. It
// returns the files that differ from what was checked out. Where the two conflict it
// names the files and changes nothing. says is what the commit says, as far as known.
func (c *Checkout) Bring(ctx context.Context, name string, says commit) (changed, conflicts []string, err error) {
	tree := says.tree
	if says.parents != c.Base { // else nothing landed since it began
		out, err := c.git(ctx, "merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", "HEAD", name)
		parts := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			if conflicts = slices.DeleteFunc(parts[1:], c.isOwn); len(conflicts) > 0 {
				return nil, conflicts, nil
			}
		} else if err != nil {
			return nil, nil, err
		}
		tree = parts[0]
	}
	if tree == c.tip.tree {
		return nil, nil, nil
	}
	raw, err := c.git(ctx, "diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD", tree)
	if err != nil {
		return nil, nil, err
	}
	changed, links := readRaw(raw)
	if slices.ContainsFunc(changed, c.isOwn) {
		if tree, err = c.mirror.withOwn(ctx, tree, c.Base, c.folder); err != nil {
			return nil, nil, err
		}
		changed = slices.DeleteFunc(changed, c.isOwn)
	}
	if len(changed) == 0 {
		return nil, nil, nil
	}
	c.still.Moved()
	if _, err := c.git(ctx, "read-tree", "-m", "-u", "HEAD", tree); err != nil {
		return nil, nil, err
	}
	_, err = c.git(ctx, "read-tree", "HEAD")
	if err == nil && links != "" { // the folder of a submodule is empty here, and does not tell
		_, err = c.feed(ctx, []byte(links), "update-index", "-z", "--index-info")
	}
	return changed, nil, err
}

// readRaw reads what git says of two trees that differ: the names of the files, and the links
// to commits that the second one has, as `git update-index --index-info` takes them.
func readRaw(raw string) (names []string, links string) {
	parts := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		names = append(names, parts[i+1])
		if of := strings.Fields(parts[i]); len(of) > 3 && of[1] == "160000" {
			links += "160000 " + of[3] + "\t" + parts[i+1] + "\x00"
		}
	}
	return names, links
}

// isOwn reports whether a file is in our own folder. What is there is for turns to say,
// whatever others commit.
func (c *Checkout) isOwn(name string) bool {
	return strings.HasPrefix(name, filepath.ToSlash(filepath.Join(c.folder, stateDir))+"/")
}

// stateDir is where reprise keeps what is of this checkout alone; of that, the journals
// travel.
const (
	stateDir   = ".reprise"
	journalDir = stateDir + "/journal"
)

// Commit commits the files as they are, with the journals in folder where that is wanted,
// but for those in without. It returns "" if nothing differs from what a turn began with.
func (c *Checkout) Commit(ctx context.Context, message string, o CommitOptions) (name string, tip commit, err error) {
	if err := c.stage(ctx, o); err != nil {
		return "", tip, err
	}
	tip.message = message
	if tip.tree, err = c.git(ctx, "write-tree"); err != nil || tip.tree == c.tip.tree {
		return "", tip, err
	}
	args := []string{"commit-tree", tip.tree}
	for _, p := range o.Parents {
		args = append(args, "-p", p)
	}
	name, err = c.feed(ctx, []byte(message), args...)
	return name, tip, err
}

// stage puts into the index what a commit is to have. Of our own folder that is what was
// checked out, and the journals where they are wanted: an agent that commits everything
// commits what is recorded in its checkout, too.
func (c *Checkout) stage(ctx context.Context, o CommitOptions) error {
	own, travels := filepath.Join(o.Folder, stateDir), o.Also
	if o.Journal {
		payloads, err := c.payloads(o)
		if err != nil {
			return err
		}
		travels = slices.Concat(travels, payloads)
	}
	var err error
	if o.Ignored {
		var stays []string
		if stays, err = c.ownBut(own, o.Journal); err == nil {
			_, err = c.git(ctx, append([]string{"add", "-A", "-f", "--", "."}, stays...)...)
		}
	} else {
		if !o.Committed {
			err = c.addAll(ctx)
		}
		if err == nil {
			_, err = c.git(ctx, "reset", "-q", c.Base, "--", own)
		}
		if o.Journal {
			for _, files := range o.journals() {
				found, _ := filepath.Glob(filepath.Join(literal(c.Dir), files))
				for _, file := range found {
					travels = append(travels, strings.TrimPrefix(file, c.Dir+string(filepath.Separator)))
				}
			}
		}
	}
	if err != nil {
		return err
	}
	var also []string
	for _, name := range travels {
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); err == nil {
			also = append(also, name)
		}
	}
	if len(also) > 0 {
		if err := c.heed(c.git(ctx, append([]string{"add", "-A", "-f", "--ignore-errors", "--"}, also...)...)); err != nil {
			return err
		}
	}
	if o.Mark != "" {
		blob, err := c.feed(ctx, []byte(o.Mark), "hash-object", "-w", "--stdin")
		for _, name := range o.Marks {
			if err == nil {
				_, err = c.git(ctx, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+filepath.ToSlash(filepath.Join(o.Folder, durable.FleetMark(name))))
			}
		}
		if err != nil {
			return err
		}
	}
	if len(o.Without) == 0 {
		return nil
	}
	_, err = c.feed(ctx, []byte(strings.Join(o.Without, "\x00")), "reset", "-q", o.Parents[0], "--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// ownBut names what is in our own folder so that git leaves it out, the journals only where
// they do not travel.
func (c *Checkout) ownBut(own string, journal bool) (out []string, err error) {
	entries, err := os.ReadDir(filepath.Join(c.Dir, own))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !journal || e.Name() != filepath.Base(journalDir) {
			out = append(out, ":(exclude,literal)"+filepath.Join(own, e.Name()))
		}
	}
	return out, err
}

// ignored are the files in the index below a path that the project's .gitignore names.
func (c *Checkout) ignored(ctx context.Context, path string) ([]string, error) {
	out, err := c.git(ctx, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", path)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimRight(out, "\x00"), "\x00"), nil
}

// payloads are the files beside the journals that hold a part of them.
func (c *Checkout) payloads(o CommitOptions) (names []string, err error) {
	var logs []string
	for _, files := range o.journals() {
		found, _ := filepath.Glob(filepath.Join(literal(c.Dir), files))
		logs = append(logs, slices.DeleteFunc(found, func(name string) bool { return filepath.Ext(name) != ".log" })...)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return nil, err
		}
		for _, name := range durable.Payloads(text) {
			names = append(names, filepath.Join(o.Folder, name))
		}
	}
	return names, nil
}

// CommitOptions say what goes into a commit.
type CommitOptions struct {
	Parents []string
	Folder  string   // of the project in the repository
	Journal bool     // the journals go with it
	Of      []string // the names of those that do; nil for all that are there
	Mark    string   // what says that the fleet has some from now on, "" if it has not
	Marks   []string // the names of these
	Ignored bool     // and what git ignores, too
	Also    []string // files that go with it although git ignores them
	Without []string // files that stay as they are in the first parent

	Committed bool // of all other files, only what was checked out
}

// journals are patterns for the files of the journals that go with a commit.
func (o *CommitOptions) journals() (out []string) {
	in := filepath.Join(literal(o.Folder), journalDir)
	if o.Of == nil {
		return []string{filepath.Join(in, "*")}
	}
	for _, name := range o.Of { // a name has letters, digits and dashes alone
		out = append(out, filepath.Join(in, name+"-[0-9][0-9][0-9][0-9][0-9][0-9].log"), filepath.Join(in, name+".*"))
	}
	return out
}

// withoutJournal makes a commit on top of another that has none of our own files but those
// that were there before the run: a branch without them can be merged as it is. The note
// says which commit has them. It returns "" if nothing else differs from what was checked
// out.
func (c *Checkout) withoutJournal(ctx context.Context, commit, subject, folder string, note turned) (string, error) {
	before, err := c.git(ctx, "log", "--first-parent", "-1", "--format=%P", "--grep", "^reprise: \\(start\\|hand over\\) ", commit)
	if err != nil {
		return "", err
	}
	if before == "" {
		return commit, nil // it was not begun by us
	}
	if _, err := c.git(ctx, "reset", "-q", before, "--", filepath.Join(folder, stateDir)); err != nil {
		return "", err
	}
	tree, err := c.git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	if tree == c.tip.tree {
		return "", nil
	}
	message, err := withNote(subject, note)
	if err != nil {
		return "", err
	}
	return c.feed(ctx, []byte(message), "commit-tree", tree, "-p", commit)
}

// restoreJournal brings back the journals that a commit has and what belongs to them, to
// the files alone.
func (c *Checkout) restoreJournal(ctx context.Context, folder, commit string) error {
	_, err := c.git(ctx, "restore", "--source", commit, "--worktree", "--", filepath.Join(folder, stateDir))
	return err
}

// Push pushes a commit to a ref of the remote that is at was, "" for a ref that must not
// exist, and with it moves other refs, or removes them, of commits that this one has. What is pushed
// to the branch of a run is kept beside it, too. Either all of that is done or nothing; a remote that
// cannot promise it moves the other refs first and removes none, and what is beside the branch may be
// older. The error is a *RejectedError
// if a ref is somewhere else, and a *RefusedError if the remote does not take it.
func (c *Checkout) Push(ctx context.Context, commit, ref, was string, had ...heldRef) error {
	args := []string{"push", "-q", "--force-with-lease=" + ref + ":" + was}
	refs := []string{c.mirror.Remote, commit + ":" + ref}
	last := lastOf(ref)
	if last != "" {
		args, refs = append(args, "--atomic"), append(refs, "+"+commit+":"+last)
	}
	for _, h := range had {
		args, refs = append(args, "--atomic", "--force-with-lease="+h.name+":"+h.at), append(refs, h.to+":"+h.name)
	}
	_, err := c.git(ctx, append(args, refs...)...)
	if err != nil && strings.Contains(err.Error(), "does not support --atomic") {
		for _, h := range had {
			if h.to == "" {
				continue
			}
			if err := c.Push(ctx, h.to, h.name, h.at); err != nil {
				return err
			}
		}
		if _, err = c.git(ctx, append(args[:3:3], refs[:2]...)...); err == nil && last != "" {
			_, err = c.git(ctx, "push", "-q", c.mirror.Remote, "+"+commit+":"+last)
		}
	}
	switch {
	case err == nil:
	case refusal(err.Error()) != "":
		return &RefusedError{Ref: ref, Text: refusal(err.Error())}
	case raced(err.Error()):
		return &RejectedError{ref, err.Error()}
	}
	return err
}

// heldRef is a ref of the remote, the commit that it is at, and the one that it is moved to, "" if it
// is deleted.
type heldRef struct{ name, at, to string }
