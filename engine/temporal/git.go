package temporal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
)

// Git is the shared disk of the fleet. A worker has one bare mirror of the remote. An attempt
// works in a checkout of its own that can read the mirror's objects and is thrown away
// afterwards. A turn, in which no agent works, has one that writes its objects to the mirror
// and is kept for the next turn.

// Mirror is a worker's copy of the remote.
type Mirror struct {
	Remote string // address
	Dir    string // the worker's own folder
	Keep   int    // how many checkouts of turns are kept

	mu      sync.Mutex
	kept    []*Checkout // of turns that are over, the last used first
	fetches int         // since its objects were packed
}

// RejectedError says that someone else moved a ref that was to be pushed.
type RejectedError struct{ Ref, Text string }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("push %s: it has moved meanwhile: %s", e.Ref, e.Text)
}

// RefusedError says that the remote does not take a push: a hook of it or a rule about the
// branch forbids it. To try again does not help.
type RefusedError struct{ Ref, Text string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("push %s: the remote refuses it: %s", e.Ref, e.Text)
}

// Outcome implements the rule that outcomes have exit codes.
func (e *RefusedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// Hint says what a person can do.
func (e *RefusedError) Hint() string {
	return "workers push to refs/heads/reprise/* and refs/reprise/*: allow that on the remote, then `reprise-fleet resume RUN`"
}

// refusal is what a remote says that refuses a push, "" if that is not why it failed. One
// that could not move a ref because someone else moved it refuses nothing.
func refusal(said string) string {
	var why []string
	refused := false
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		_, rejected, is := strings.Cut(line, "[remote rejected]")
		lost := slices.ContainsFunc([]string{"cannot lock ref", "failed to update ref", "reference already exists", "incorrect old value", "atomic"}, func(race string) bool { return strings.Contains(rejected, race) })
		refused = refused || is && !lost
		if is && lost {
			continue
		}
		_, text, told := strings.Cut(line, "remote:")
		if told || is {
			why = append(why, strings.Join(strings.Fields(cmp.Or(text, rejected)), " "))
		}
	}
	if !refused {
		return ""
	}
	return tail(strings.Trim(strings.Join(why, "; "), "; "), 500)
}

// git runs git in a folder and returns what it prints. It never asks for a password, runs
// no hooks and reads no editor.
func git(ctx context.Context, dir string, in []byte, args ...string) (string, error) {
	return gitWith(ctx, dir, "", in, args...)
}

// gitWith is git with an index of its own, "" for that of the folder.
func gitWith(ctx context.Context, dir, index string, in []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "LC_ALL=C",
		"GIT_AUTHOR_NAME=reprise", "GIT_AUTHOR_EMAIL=reprise@localhost", "GIT_COMMITTER_NAME=reprise", "GIT_COMMITTER_EMAIL=reprise@localhost",
	)
	if index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
	}
	if in != nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(tail(errOut.String(), 2000)))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

func tail(text string, n int) string {
	if len(text) > n {
		return text[len(text)-n:]
	}
	return text
}

// Identity names a repository by the address of its remote, without how it is reached and
// who reaches it: clones by ssh and by https are of the same repository.
func Identity(remote string) string {
	name := strings.TrimSuffix(strings.TrimRight(remote, "/"), ".git")
	if filepath.IsAbs(name) || strings.HasPrefix(name, "file://") {
		name = strings.TrimPrefix(name, "file://")
		return fmt.Sprintf("%s-%x", filepath.Base(name), sha256.Sum256([]byte(name)))[:len(filepath.Base(name))+9]
	}
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	} else if host, path, ok := strings.Cut(name, ":"); ok {
		name = host + "/" + path // the short form of ssh
	}
	if i := strings.IndexByte(name, '@'); i >= 0 && i < strings.IndexByte(name+"/", '/') {
		name = name[i+1:]
	}
	host, path, _ := strings.Cut(name, "/")
	return strings.ToLower(host) + "/" + path
}

// Branch is the branch of a run on the remote.
func Branch(id string) string { return "reprise/" + refWord(id) }

// AttemptRef is the ref that an attempt pushes its work to.
func AttemptRef(run string, at engine.Elsewhere) string {
	return fmt.Sprintf("refs/reprise/%s/%s/%d", refWord(run), refWord(keyOf(at)), at.Number)
}

// refWord makes a name that can be a part of a ref. Different names stay different.
func refWord(id string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, reprise.TrailerWord(id))
	if word != id || word == "" {
		word += fmt.Sprintf("-%x", sha256.Sum256([]byte(id)))[:9]
	}
	return word
}

// open makes the mirror, if it is not there.
func (m *Mirror) open(ctx context.Context) (string, error) {
	return m.initial(ctx, "mirror.git", "--bare")
}

// initial makes a new repository in the worker's folder, if it is not there.
func (m *Mirror) initial(ctx context.Context, name string, options ...string) (string, error) {
	dir := filepath.Join(m.Dir, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(m.Dir, "work-")
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, half, nil, append(append([]string{"init", "-q", "--template="}, options...), half)...); err != nil {
		return "", errors.Join(err, os.RemoveAll(half))
	}
	return dir, os.Rename(half, dir)
}

// Fetch brings refs of the remote to the mirror and returns their commits; a ref that is
// not there is left out. Git looks at what is here by the refs of the mirror, so that a fetch
// that was killed leaves nothing that counts.
func (m *Mirror) Fetch(ctx context.Context, refs ...string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	m.pack(ctx, dir)
	found, err := m.fetch(ctx, dir, refs)
	if err == nil || !strings.Contains(err.Error(), "couldn't find remote ref") {
		return found, err
	}
	// To list refs costs more than to fetch some: a remote lists all that it has.
	listed, err := git(ctx, dir, nil, append([]string{"ls-remote", m.Remote}, refs...)...)
	if err != nil {
		return nil, err
	}
	var there []string
	for line := range strings.Lines(listed) {
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasSuffix(ref, "^{}") {
			there = append(there, ref)
		}
	}
	if len(there) == 0 {
		return map[string]string{}, nil
	}
	return m.fetch(ctx, dir, there)
}

// packEvery is after how many fetches at the earliest, and manyLoose from how many single
// objects on, the mirror is packed. Git lists the folders of single objects and opens each by
// itself: with 36,000 of them a push took 90 ms of CPU, and 22 ms with one pack.
const (
	packEvery = 100
	manyLoose = 2000
)

// pack packs the single objects of the mirror, and small packs with them. It loses nothing,
// whether a ref has it or not, and git that reads meanwhile finds each object in the old place
// or in the new one. Where it fails the mirror is as good as before, only slower.
func (m *Mirror) pack(ctx context.Context, dir string) {
	if m.fetches++; m.fetches < packEvery {
		return
	}
	m.fetches = 0
	// Names are evenly spread over 256 folders.
	if some, err := os.ReadDir(filepath.Join(dir, "objects", "17")); err == nil && len(some)*256 > manyLoose {
		_, _ = git(ctx, dir, nil, "repack", "-d", "-q", "--geometric=2")
	}
}

// keptBranches bounds how many branches the mirror has refs of: at each fetch, git looks at
// all that its refs reach. Objects stay without a ref, too: the mirror is never collected.
const keptBranches = 16

// fetched is a line of what git notes of a fetch: a commit, and which ref that was.
var fetched = regexp.MustCompile(`(?m)^([0-9a-f]+)\t[a-z-]*\t(?:(branch |tag |)'([^']+)' of )?`)

func (m *Mirror) fetch(ctx context.Context, dir string, refs []string) (map[string]string, error) {
	args := []string{"fetch", "-q", "--no-tags", m.Remote}
	for _, ref := range refs {
		// Attempts come to be part of their branch: a ref of each would only be in the way.
		if branch, is := strings.CutPrefix(ref, "refs/heads/"); is {
			ref = fmt.Sprintf("+%s:refs/kept/branch/%d", ref, sha256.Sum256([]byte(branch))[0]%keptBranches)
		} else if strings.HasSuffix(ref, "*") { // git wants a place for them
			ref = "+" + ref + ":refs/kept/last/*"
		}
		args = append(args, ref)
	}
	if _, err := git(ctx, dir, nil, args...); err != nil {
		return nil, err
	}
	noted, err := os.ReadFile(filepath.Join(dir, "FETCH_HEAD"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, line := range fetched.FindAllStringSubmatch(string(noted), -1) {
		ref := map[string]string{"branch ": "refs/heads/", "tag ": "refs/tags/"}[line[2]] + line[3]
		found[cmp.Or(ref, "HEAD")] = line[1]
	}
	return found, nil
}

// commit is what a commit says.
type commit struct{ tree, parents, message string }

// about reads commits of the mirror.
func (m *Mirror) about(ctx context.Context, names ...string) (map[string]commit, error) {
	out, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, append([]string{"log", "--no-walk=unsorted", "--format=%H%n%T%n%P%n%B%x00"}, names...)...)
	if err != nil {
		return nil, err
	}
	read := map[string]commit{}
	for one := range strings.SplitSeq(out, "\x00") {
		if parts := strings.SplitN(strings.TrimPrefix(one, "\n"), "\n", 4); len(parts) == 4 {
			read[parts[0]] = commit{parts[1], parts[2], parts[3]}
		}
	}
	return read, nil
}

// Checkout is a folder with the files of a commit, for one activity.
type Checkout struct {
	Dir    string
	Base   string // the commit that was checked out
	mirror *Mirror
	index  string // in place of the folder's own, "" for that
	branch string
	tip    commit // what Base says; only a turn's
	still  *journal.Still
}

// Checkout makes a folder with the files of a commit of the mirror, which writes nothing to
// the mirror. Close removes it.
func (m *Mirror) Checkout(ctx context.Context, commit, branch string) (*Checkout, error) {
	c, err := m.reader(ctx)
	if err != nil {
		return nil, err
	}
	if near := m.takeKept(commit, branch); near != nil {
		same := copyFiles(near.Dir, c.Dir)
		if same == nil && near.Base == commit && near.branch == branch {
			c.Base, c.branch, c.still = commit, branch, near.still.Copy()
		}
		if err := m.giveBack(near); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if same != nil { // git checks out everything
			if err := c.Close(); err != nil {
				return nil, err
			}
			if c, err = m.reader(ctx); err != nil {
				return nil, err
			}
		}
	}
	if c.Base == "" {
		err = c.checkOut(ctx, commit, branch)
	} else if err = c.point(commit); err == nil {
		err = os.WriteFile(filepath.Join(c.Dir, ".git", "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// reader makes a folder with a repository that has what the mirror has and no files.
func (m *Mirror) reader(ctx context.Context) (*Checkout, error) {
	c, err := m.blank(ctx)
	if err != nil {
		return nil, err
	}
	info := filepath.Join(c.Dir, ".git", "objects", "info")
	err = os.MkdirAll(info, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(info, "alternates"), []byte(m.objects()+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// point moves the branch to a commit and changes nothing else.
func (c *Checkout) point(name string) error {
	ref := filepath.Join(c.Dir, ".git", "refs", "heads", filepath.FromSlash(c.branch))
	if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
		return err
	}
	return os.WriteFile(ref, []byte(name+"\n"), 0o600)
}

func (m *Mirror) objects() string { return filepath.Join(m.Dir, "mirror.git", "objects") }

// blank makes a folder with a repository that has nothing.
func (m *Mirror) blank(ctx context.Context) (*Checkout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, err := m.initial(ctx, "blank")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.Dir, "work-")
	if err != nil {
		return nil, err
	}
	c := &Checkout{Dir: dir, mirror: m}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// checkOut makes the files those of a commit. What else is there stays.
func (c *Checkout) checkOut(ctx context.Context, commit, branch string) error {
	c.Base, c.branch, c.still = commit, branch, &journal.Still{}
	_, err := c.git(ctx, "checkout", "-q", "-f", "-B", branch, commit) // a folder of ours: nothing is lost
	return err
}

// forTurn gives a checkout for a turn, in a project at folder. It is one that an earlier turn
// of this process left, if there is one: that has the files of its commit, and beside them
// nothing but our own folder.
func (m *Mirror) forTurn(ctx context.Context, commit, branch, folder string) (*Checkout, error) {
	c := m.takeKept(commit, branch)
	if c != nil && c.Base == commit && c.branch == branch {
		return c, nil
	}
	var err error
	if c == nil {
		if c, err = m.blank(ctx); err != nil {
			return nil, err
		}
		objects := filepath.Join(c.Dir, ".git", "objects")
		if err = os.RemoveAll(objects); err == nil {
			err = os.Symlink(m.objects(), objects)
		}
	} else {
		for _, own := range []string{filepath.Join(folder, stateDir), ".git/refs/heads", ".git/logs"} {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.Dir, own)))
		}
	}
	if err == nil {
		err = c.checkOut(ctx, commit, branch)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	read, err := m.about(ctx, commit)
	c.tip = read[commit]
	return c, err
}

// takeKept takes the kept checkout that is nearest to a commit of a branch; nil if none is.
func (m *Mirror) takeKept(commit, branch string) *Checkout {
	m.mu.Lock()
	defer m.mu.Unlock()
	best := len(m.kept) - 1
	for i, c := range m.kept {
		if c.branch == branch && (c.Base == commit || m.kept[best].branch != branch) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := m.kept[best]
	m.kept = slices.Delete(m.kept, best, best+1)
	return c
}

// keep leaves the checkout of a turn to the next one, with the files of a commit.
func (c *Checkout) keep(name string, tip commit) error {
	if name != c.Base {
		if err := c.point(name); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	c.Base, c.tip = name, tip
	return c.mirror.giveBack(c)
}

// giveBack keeps a checkout for the next that takes one.
func (m *Mirror) giveBack(c *Checkout) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = slices.Insert(m.kept, 0, c)
	if len(m.kept) <= m.Keep {
		return nil
	}
	last := m.kept[m.Keep]
	m.kept = m.kept[:m.Keep]
	return last.Close()
}

// Close removes the folder.
func (c *Checkout) Close() error { return os.RemoveAll(c.Dir) }

func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	return c.feed(ctx, nil, args...)
}

func (c *Checkout) feed(ctx context.Context, in []byte, args ...string) (string, error) {
	return gitWith(ctx, c.Dir, c.index, in, args...)
}

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
			return nil, parts[1:], nil
		}
		if err != nil {
			return nil, nil, err
		}
		tree = parts[0]
	}
	if tree == c.tip.tree {
		return nil, nil, nil
	}
	names, err := c.git(ctx, "diff", "--name-only", "-z", "--no-renames", "HEAD", tree)
	if err != nil {
		return nil, nil, err
	}
	if names == "" {
		return nil, nil, nil
	}
	c.still.Moved()
	if _, err := c.git(ctx, "read-tree", "-m", "-u", "HEAD", tree); err != nil {
		return nil, nil, err
	}
	_, err = c.git(ctx, "read-tree", "HEAD")
	return strings.Split(strings.TrimRight(names, "\x00"), "\x00"), nil, err
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
		payloads, err := c.payloads(o.Folder)
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
	} else if _, err = c.git(ctx, "add", "-A", "--", "."); err == nil {
		_, err = c.git(ctx, "reset", "-q", c.Base, "--", own)
		if o.Journal {
			travels = append(travels, filepath.Join(o.Folder, journalDir))
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
		if _, err := c.git(ctx, append([]string{"add", "-A", "-f", "--"}, also...)...); err != nil {
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
func (c *Checkout) payloads(folder string) (names []string, err error) {
	logs, err := filepath.Glob(filepath.Join(c.Dir, folder, journalDir, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return nil, err
		}
		for _, name := range durable.Payloads(text) {
			names = append(names, filepath.Join(folder, name))
		}
	}
	return names, nil
}

// CommitOptions say what goes into a commit.
type CommitOptions struct {
	Parents []string
	Folder  string   // of the project in the repository
	Journal bool     // the journals go with it
	Ignored bool     // and what git ignores, too
	Also    []string // files that go with it although git ignores them
	Without []string // files that stay as they are in the first parent
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
// exist, and with it removes refs of commits that this one has. Either all of that is done
// or nothing; a remote that cannot promise it keeps the refs. The error is a *RejectedError
// if a ref is somewhere else, and a *RefusedError if the remote does not take it.
func (c *Checkout) Push(ctx context.Context, commit, ref, was string, had ...heldRef) error {
	args := []string{"push", "-q", "--force-with-lease=" + ref + ":" + was}
	refs := []string{c.mirror.Remote, commit + ":" + ref}
	for _, h := range had {
		args, refs = append(args, "--atomic", "--force-with-lease="+h.name+":"+h.at), append(refs, ":"+h.name)
	}
	_, err := c.git(ctx, append(args, refs...)...)
	switch {
	case err == nil:
	case len(had) > 0 && strings.Contains(err.Error(), "does not support --atomic"):
		return c.Push(ctx, commit, ref, was)
	case refusal(err.Error()) != "":
		return &RefusedError{ref, refusal(err.Error())}
	case slices.ContainsFunc([]string{"stale info", "[rejected]", "cannot lock ref"}, func(said string) bool { return strings.Contains(err.Error(), said) }):
		return &RejectedError{ref, err.Error()}
	}
	return err
}

// heldRef is a ref of the remote and the commit that it is at.
type heldRef struct{ name, at string }

// head is the commit that is checked out now, whoever made it.
func (c *Checkout) head(ctx context.Context) (string, error) {
	ref := "refs/heads/" + c.branch
	at, _ := os.ReadFile(filepath.Join(c.Dir, ".git", "HEAD"))
	is, _ := os.ReadFile(filepath.Join(c.Dir, ".git", filepath.FromSlash(ref)))
	if string(at) == "ref: "+ref+"\n" && string(is) == c.Base+"\n" {
		return c.Base, nil // nobody made any
	}
	return c.git(ctx, "rev-parse", "HEAD")
}
