//go:build unix

// Package world makes worlds, compares and merges them, and moves the project from one to
// another. It reads and merges by git's own commands, and never runs a hook.
//
// Worlds live in an object store of reprise, with the user's store as its alternate: the
// user's repository grows by the commits of the run and by nothing else. A project
// without git has a repository of reprise under the same folder, and no commits are made;
// all the rest is the same.
package world

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"reprise/core"
	"reprise/internal/proc"
)

// Folder is the folder of reprise in a project. Worlds leave it out.
const Folder = ".reprise"

// Repo is the project as git sees it. One process has it at a time.
type Repo struct {
	Top string // the working tree
	// Always are files that are in every world, whether or not git ignores them: those of the
	// convention.
	Always []string

	program   string   // git, as whoever may write here cannot replace it
	environ   []string // with a PATH that has nothing of the project
	gitDir    string
	objects   string // the user's store
	own       string // the folder of reprise for worlds
	private   bool   // the project has no git of its own
	ownDir    string // a repository of our own for looking: no driver or hook of the project's config exists in it
	want      demands
	filters   bool     // what git keeps may differ from what is on disk: line ends
	drivers   []string // the filters that the user himself has, as LFS
	slots     map[string]*Repo
	indexName string
	looking   bool   // nothing is written but in a temporary folder
	idLen     int    // of an object id, in hex digits
	ident     string // name and mail for commits
	lock      *os.File
	batch     *batch
	unsynced  *atomic.Bool    // something was written that a power cut may take; shared with the slots
	fresh     map[string]bool // the objects that we wrote into our store since the last Sync

	seen   core.World // what who looks took first
	last   core.World // the tree of our index; empty if not known
	staged core.World // the tree of the user's index, as long as the file has this stamp
	stamp  string
	unread bool // the index has entries of ours that git has not compared with their files
}

// ErrAtWork is given where another engine has the project.
var ErrAtWork = errors.New("another reprise works in this project")

// ErrTooWide is given for a project that is all of somebody's files.
var ErrTooWide = errors.New("this is a home or a whole disk, not a project")

// Open finds the repository of a project, or makes a private one for it, and locks it as
// long as this process lives.
func Open(ctx context.Context, dir string) (*Repo, error) {
	r := &Repo{unsynced: &atomic.Bool{}, fresh: map[string]bool{}}
	if err := r.find(ctx, dir); err != nil {
		return nil, err
	}
	r.own = filepath.Join(r.Top, Folder, "worlds")
	err := r.claim(ctx)
	if err == nil {
		err = r.begin(ctx)
	}
	if err != nil {
		r.lock.Close()
		return nil, err
	}
	return r, nil
}

// Look opens the project for somebody who only looks: nothing in it is written, no lock is
// taken, and what a world needs is kept in a temporary folder until Close.
func Look(ctx context.Context, dir string) (*Repo, error) {
	r := &Repo{looking: true, unsynced: &atomic.Bool{}, fresh: map[string]bool{}}
	temp, err := os.MkdirTemp("", "reprise-look")
	if err != nil {
		return nil, err
	}
	r.own = temp
	if err = r.find(ctx, dir); err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(temp, "objects"), 0o700), os.Mkdir(filepath.Join(temp, "tmp"), 0o700), r.begin(ctx))
	}
	if err != nil {
		os.RemoveAll(temp)
		return nil, err
	}
	// What the engine's index knows need not be read again.
	if data, err := os.ReadFile(filepath.Join(r.Top, Folder, "worlds", "index")); err == nil {
		if err = os.WriteFile(r.index(), data, 0o600); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// find finds the repository of a project.
func (r *Repo) find(ctx context.Context, dir string) error {
	r.Top, r.idLen, r.ident = dir, 40, "reprise <reprise@localhost>"
	if err := tooWide(dir); err != nil { // before git is asked, or anything is made there
		return err
	}
	r.environ = proc.Environ(os.Environ(), dir)
	var err error
	if r.program, err = proc.Find("git", r.environ, dir); err != nil {
		return err
	}
	r.gitDir = filepath.Join(dir, Folder, "worlds", "repo.git")
	if r.looking {
		r.gitDir = filepath.Join(r.own, "repo.git")
	}
	out, err := r.command(ctx, dir, append(clean(r.environ), "LC_ALL=C"), nil, "rev-parse", "--path-format=absolute",
		"--show-toplevel", "--git-dir", "--git-path", "objects", "--show-object-format")
	if err != nil && !strings.Contains(err.Error(), "not a git repository") {
		return err
	}
	if f := strings.Split(strings.TrimSpace(string(out)), "\n"); err == nil && len(f) == 4 {
		r.Top, r.gitDir, r.objects = f[0], f[1], f[2]
		if f[3] == "sha256" {
			r.idLen = 64
		}
	} else {
		r.private, r.objects = true, filepath.Join(r.gitDir, "objects")
		if _, err := r.command(ctx, dir, clean(r.environ), nil, "init", "-q", "--bare", r.gitDir); err != nil {
			return err
		}
	}
	return tooWide(r.Top)
}

func tooWide(dir string) error {
	if home, _ := os.UserHomeDir(); dir == home || dir == filepath.Dir(dir) {
		return fmt.Errorf("%s: %w", dir, ErrTooWide)
	}
	return nil
}

// claim makes our folder and takes the project's lock.
func (r *Repo) claim(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(r.own, "objects"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.Top, Folder, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return err
	}
	if r.lock, err = os.OpenFile(filepath.Join(r.own, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	// A child of an engine that was killed between fork and exec has the lock for a moment.
	for start := time.Now(); unix.Flock(int(r.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Second {
			r.lock.Close()
			return ErrAtWork
		}
	}
	for range 50 { // a git command of ours that outlived its engine ends soon
		if _, err := os.Lstat(r.index() + ".lock"); err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	os.Remove(r.index() + ".lock")
	tmp := filepath.Join(r.own, "tmp")
	if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o700)); err != nil { // of a dead engine
		return err
	}
	r.dropLock()
	r.unsynced.Store(true)
	if err := r.afterCut(); err != nil {
		return err
	}
	if out, err := r.git(ctx, users, nil, "var", "GIT_COMMITTER_IDENT"); err == nil {
		r.ident = string(out[:bytes.LastIndexByte(out, '>')+1])
	}
	return nil
}

// begin makes our repository, and starts the process that reads objects.
func (r *Repo) begin(ctx context.Context) (err error) {
	if err := r.ownRepo(ctx); err != nil {
		return err
	}
	r.batch, err = startBatch(r)
	return err
}

// Close gives the project back.
func (r *Repo) Close() {
	for _, s := range r.slots {
		s.batch.close()
	}
	r.batch.close()
	if r.looking {
		os.RemoveAll(r.own)
		return
	}
	r.lock.Close()
}

// Looking reports whether nothing may be written.
func (r *Repo) Looking() bool { return r.looking }

// Below gives where a folder is in the working tree, as worlds name it; empty at its top.
func (r *Repo) Below(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	top, err := filepath.EvalSymlinks(r.Top)
	if err != nil || top == dir {
		return "", err
	}
	below, err := filepath.Rel(top, dir)
	return filepath.ToSlash(below), err
}

// Busy says what the user is in the middle of, during which no commit must be made.
func (r *Repo) Busy() string {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(r.gitDir, name)); err == nil {
			return "a merge or a rebase is under way in this project (" + name + "): finish it first"
		}
	}
	return ""
}

func (r *Repo) index() string { return filepath.Join(r.own, cmp.Or(r.indexName, "index")) }

// side is whose index and store a git command uses.
type side int

const (
	users side = iota // the user's repository: for what starts no program
	ours              // our own: our index, and our store in front of the user's
)

var settings = []string{
	"-c", "core.fsmonitor=false", "-c", "core.splitIndex=false", "-c", "core.safecrlf=false", "-c", "gc.auto=0",
	"-c", "core.fsync=reference", "-c", "core.fsyncMethod=fsync", "-c", "core.hooksPath=/dev/null",
}

// git runs a git command. One that has to wait for a lock of another command is tried
// again for five seconds.
func (r *Repo) git(ctx context.Context, s side, stdin []byte, args ...string) (out []byte, err error) {
	r.unsynced.Store(true)
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		out, err = r.command(ctx, r.Top, r.env(s), stdin, append(settings, args...)...)
		var failed *GitError
		if !errors.As(err, &failed) || !strings.Contains(failed.Said, ".lock'") || time.Since(start) > 5*time.Second {
			return out, err
		}
	}
}

func (r *Repo) env(s side) []string {
	env := append(clean(r.environ), "LC_ALL=C", "GIT_WORK_TREE="+r.Top, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
	switch s {
	case users:
		env = append(env, "GIT_DIR="+r.gitDir)
	case ours:
		if env = append(env, "GIT_DIR="+r.ownDir); r.looking { // who looks runs not even the user's own filters
			env = append(without(env, "GIT_CONFIG"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
		}
		env = append(env, r.store()...)
	}
	return env
}

// store gives the variables for our index, and our store in front of the user's.
func (r *Repo) store() []string {
	stores := quoted(r.objects)
	if r.looking {
		stores += string(os.PathListSeparator) + quoted(filepath.Join(r.Top, Folder, "worlds", "objects"))
	}
	return []string{
		"GIT_INDEX_FILE=" + r.index(), "GIT_OBJECT_DIRECTORY=" + filepath.Join(r.own, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + stores,
	}
}

// quoted gives a path for a list of paths, whatever characters it has.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

func without(env []string, prefix string) (out []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, prefix) {
			out = append(out, e)
		}
	}
	return out
}

// clean leaves out what would point git elsewhere.
func clean(env []string) (out []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, "GIT_") || strings.HasPrefix(e, "GIT_AUTHOR_") || strings.HasPrefix(e, "GIT_COMMITTER_") || strings.HasPrefix(e, "GIT_CONFIG_") {
			out = append(out, e)
		}
	}
	return out
}

// command runs git in a process group of its own: what kills the engine's group does not
// kill git while it holds a lock in the user's repository.
func (r *Repo) command(ctx context.Context, dir string, env []string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, env, ownGroup()
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, &GitError{Args: args, Err: err, Said: strings.TrimSpace(stderr.String())}
	}
	return out, nil
}

// GitError is a git command that failed.
type GitError struct {
	Args []string
	Err  error
	Said string // on its standard error
}

// Error implements error.
func (e *GitError) Error() string {
	args := e.Args
	for len(args) > 1 && args[0] == "-c" {
		args = args[2:]
	}
	return fmt.Sprintf("git %s: %v: %s", strings.Join(args[:min(len(args), 3)], " "), e.Err, e.Said)
}

// Unwrap gives the error of the process.
func (e *GitError) Unwrap() error { return e.Err }
