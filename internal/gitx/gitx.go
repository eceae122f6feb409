// Package gitx asks git about a repository without letting the repository
// answer with code, and without changing a byte of it. What does change it, for
// runs that work in checkouts of their own, is in the files write*.go.
//
// Every call runs the git program with an environment of our own (nothing of
// the caller's GIT_* variables), in a repository of our own that has nothing of the
// project's settings but plain values (standIn), with a time limit, with bounded output, and in a process group
// that is killed as a whole. Locks that git would take only for its own
// convenience are off, so that not even the index is refreshed.
//
// What could not be looked at is said in words beside the answer; it never
// turns into "there is none".
package gitx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"reprise"
)

// AbsPath is an absolute path of this machine.
type AbsPath string

// ErrNone means that the folder is in no repository.
var ErrNone = errors.New("no git repository")

// ErrNoGit means that there is no git program to ask.
var ErrNoGit = errors.New("no git program in PATH")

// RefusedError means that there is a repository and git, or we, will not work
// with it. Reason is one sentence.
type RefusedError struct {
	Dir    AbsPath
	Reason string
	// Bare tells that the folder lies in a bare repository that was not named
	// as one: that is how a repository inside a repository runs code.
	Bare bool
	// Todo is what a person can do about it, where more is known than that git tells more.
	Todo string
}

// Error gives the operation, the folder and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("open repository %s: %s", e.Dir, e.Reason) }

// Absent reports whether an error of Open says that there is nothing to ask: no
// repository, or no git.
func Absent(err error) bool { return errors.Is(err, ErrNone) || errors.Is(err, ErrNoGit) }

// NoAnswerError means that git did not answer: it took too long, was killed, could not
// be started or could not read what it was asked about. That says nothing about what
// the repository holds, not even whether there is one.
type NoAnswerError struct {
	Dir   AbsPath
	Cause error
}

// Error gives the operation, the folder and the cause.
func (e *NoAnswerError) Error() string { return fmt.Sprintf("ask git in %s: %v", e.Dir, e.Cause) }

// Outcome tells that nothing continues before git answers.
func (e *NoAnswerError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// Unwrap gives the cause.
func (e *NoAnswerError) Unwrap() error { return e.Cause }

// Hint says what a person can do.
func (e *NoAnswerError) Hint() string {
	return "`git -C " + reprise.Pasted(string(e.Dir), "FOLDER") + " log -1` shows whether git answers; try again once it does"
}

// Hint says what a person can do.
func (e *RefusedError) Hint() string {
	if e.Bare {
		return "run it in a checkout of the repository"
	}
	return cmp.Or(e.Todo, "`git status` in that folder shows more; `mv .git .git.bad` there lets the work continue without the repository")
}

// Options are the conditions under which git is asked.
type Options struct {
	// Environ is what the environment of git is picked from, by an
	// allow-list; nil stands for the environment of this process.
	Environ []string
	// Timeout limits each call; zero stands for ten seconds.
	Timeout time.Duration
	// Inherit are open files that every git which writes keeps: the lease. One
	// that outlives us is then still seen at work.
	Inherit []*os.File
}

// location is what git says about where a folder lies.
type location struct {
	dir       string // the folder asked about, symbolic links resolved
	top       string // the top of its checkout, "" if bare
	prefix    string // dir below top, as a slash path that is empty or ends in "/"
	gitDir    string // of this checkout
	commonDir string // of the repository
	head      string
	bare      bool
	shallow   bool
}

// Repo is one repository as seen from one folder in it. It holds no open files.
type Repo struct {
	location
	partial   bool // objects may be missing and would have to be fetched
	hasRemote bool
	inherit   []*os.File

	git     runner
	mu      sync.Mutex
	others  map[string]*Repo // checkouts that In opened, by their git folders
	skipped []string         // what could not be looked at, as sentences
	unheard bool             // some of that is for want of an answer, not by our own bounds
}

// Top is the folder at the top of the checkout, empty in a bare repository.
func (r *Repo) Top() AbsPath { return AbsPath(r.top) }

// GitDir is the folder that holds this checkout's HEAD and index.
func (r *Repo) GitDir() AbsPath { return AbsPath(r.gitDir) }

// CommonDir is the folder of the repository, which all its checkouts share.
func (r *Repo) CommonDir() AbsPath { return AbsPath(r.commonDir) }

// Dir is the folder the repository was opened from.
func (r *Repo) Dir() AbsPath { return AbsPath(r.dir) }

func (r *Repo) skip(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped = append(r.skipped, fmt.Sprintf(format, args...))
}

// missed says what is not known where a call of git gave no answer, which is err.
func (r *Repo) missed(what string, err error) {
	if err == nil {
		return
	}
	r.skip("%s: %v", what, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unheard = true
}

// Open finds the repository that dir lies in. The error is, or wraps, ErrNone,
// ErrNoGit, a *RefusedError, a *NoAnswerError or context.Canceled.
//
// Open starts two processes, which read settings only. Where their answers are known and
// still hold, it starts none.
func Open(ctx context.Context, dir string, opts Options) (*Repo, error) {
	r, err := open(ctx, dir, opts)
	var refused *RefusedError
	if err != nil && !Absent(err) && !errors.As(err, &refused) && !errors.Is(err, context.Canceled) {
		err = &NoAnswerError{AbsPath(dir), err}
	}
	return r, err
}

func open(ctx context.Context, dir string, opts Options) (*Repo, error) {
	real, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	if strings.Contains(real, "\n") {
		return nil, &RefusedError{Dir: AbsPath(real), Reason: "the name of the folder contains a line break"}
	}
	place, unread := findGitDir(real)
	if place.kind == placeNone {
		return nil, fmt.Errorf("open repository %s: %w", real, ErrNone)
	}
	git, err := newRunner(real, opts)
	if err != nil {
		return nil, err
	}
	if err := git.readable(real, place); err != nil {
		return nil, err
	}
	r := &Repo{location: location{dir: real}, git: git, inherit: opts.Inherit}
	var (
		wg        sync.WaitGroup
		safe      runner
		settings  []setting
		configErr error
	)
	wg.Go(func() { safe, settings, configErr = git.neutral(ctx, real, place) })
	err = r.find(ctx)
	wg.Wait()
	if errors.Is(err, ErrNone) && place.kind == placeUnknown {
		err = &RefusedError{Dir: AbsPath(real), Reason: unread.Error()}
	}
	if err := cmp.Or(err, configErr); err != nil {
		return nil, err
	}
	r.git = safe
	r.git.ours.gitDir, r.git.ours.commonDir, r.git.ours.top = r.gitDir, r.commonDir, r.top
	r.hasRemote, r.partial = remoteSettings(settings)
	r.checkLink()
	return r, nil
}

// realDir resolves a folder the way git does, which prints real paths.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("not a folder")
	}
	return real, nil
}

// find locates the repository, or takes git's word of before and reads the head anew.
func (r *Repo) find(ctx context.Context) error {
	is, err := once(&r.git, "place", r.dir, func(is location) bool { return !is.bare && is.head != "" }, func() (location, error) {
		err := r.locate(ctx)
		return r.location, err
	})
	if err != nil || r.gitDir != "" { // it was asked just now
		return err
	}
	head, plain := plainHead(is, len(is.head))
	if !plain {
		return r.locate(ctx)
	}
	r.location, r.head = is, head
	return nil
}

// locate asks git where the repository is. Each answer is one line; the ones
// that may be missing stand last.
func (r *Repo) locate(ctx context.Context) error {
	out, err := r.git.output(ctx, 1<<20, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
		"--is-bare-repository", "--is-shallow-repository", "--show-prefix", "--show-toplevel", "--revs-only", "HEAD")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case err != nil && exitCode(err) < 0:
		return err // whatever it said until then
	case len(lines) < 5 && err == nil:
		return errors.New("git rev-parse: it says nothing")
	case len(lines) < 5:
		return r.refusal(err)
	}
	r.gitDir, r.commonDir, r.prefix = lines[0], lines[1], lines[4]
	r.bare, r.shallow = lines[2] == "true", lines[3] == "true"
	for _, line := range lines[5:] {
		if objectName(line) {
			r.head = line
		} else {
			r.top = line
		}
	}
	if !filepath.IsAbs(r.gitDir) || !filepath.IsAbs(r.commonDir) {
		return &RefusedError{Dir: AbsPath(r.dir), Reason: "git does not say where the repository is"}
	}
	if r.bare {
		// Asked for the top of a bare repository, git says no more.
		r.top, r.prefix = "", ""
		r.head, err = r.git.line(ctx, "rev-parse", "--revs-only", "HEAD")
		return err
	}
	// core.worktree can name any folder; evidence about another folder than
	// this one would be worse than none.
	if r.top == "" || filepath.Join(r.top, filepath.FromSlash(r.prefix)) != r.dir {
		return &RefusedError{Dir: AbsPath(r.dir), Reason: fmt.Sprintf("its files are said to be in another folder (%s)", cmp.Or(r.top, "none"))}
	}
	return nil
}

// refusal turns git's message into an error. Git has no other way to say why,
// and with LC_ALL=C its words are stable.
func (r *Repo) refusal(err error) error {
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	text := failed.firstLine()
	refused := &RefusedError{Dir: AbsPath(r.dir), Reason: text}
	switch {
	case r.beyond(text):
		return fmt.Errorf("open repository %s: %w", r.dir, ErrNone)
	case strings.Contains(text, "not a git repository (or any"):
		refused.Reason = "its .git is there, and git takes it for no repository"
	case strings.Contains(text, "dubious ownership"), strings.Contains(text, "unsafe repository"):
		refused.Reason = "it belongs to another user and git is not told to trust it (safe.directory)"
		refused.Todo = "`git config --global --add safe.directory " + reprise.Pasted(Top(r.dir), "FOLDER") + "` tells git that you trust it"
	case strings.Contains(text, "cannot use bare repository"):
		return bareRefusal(r.dir)
	case text == "":
		refused.Reason = failed.Error()
	}
	return refused
}

// beyond reports whether git says that it looked no further up than a mount point, and
// the repository that is there by its names lies beyond.
func (r *Repo) beyond(text string) bool {
	boundary := regexp.MustCompile(`\(or any parent up to mount point (.*)\)`).FindStringSubmatch(text)
	if boundary == nil {
		return false
	}
	found, _ := findGitDir(r.dir)
	rel, err := filepath.Rel(boundary[1], cmp.Or(found.top, found.gitDir))
	return err != nil || rel == "." || !filepath.IsLocal(rel)
}

func bareRefusal(dir string) error {
	return &RefusedError{
		Dir: AbsPath(dir), Bare: true,
		Reason: "it is a bare repository, and git is not asked in one that was not named as such (safe.bareRepository)",
	}
}

// checkLink tells when this checkout's record names another folder: the folder
// was moved or copied, or its .git file was pointed at a foreign record.
func (r *Repo) checkLink() {
	if r.bare || r.gitDir == r.commonDir {
		return
	}
	// A submodule or a separate git folder has no such record.
	if link, err := recorded(r.gitDir); err == nil && !sameFile(link, filepath.Join(r.top, ".git")) {
		r.skip("git's record of this worktree names another folder (%s): it was moved or copied", filepath.Dir(link))
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
