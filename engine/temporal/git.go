package temporal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/engine"
	"reprise/internal/proc"
)

// RejectedError says that someone else moved a ref at the moment in which it was to be moved. Text is
// what git said.
type RejectedError struct{ Ref, Text string }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("move %s: someone else moves it at the same time", e.Ref)
}

// Hint says what a person can do.
func (e *RejectedError) Hint() string { return "type the same command again, which does nothing twice" }

// Outcome implements the rule that outcomes have exit codes.
func (e *RejectedError) Outcome() reprise.Outcome { return reprise.OutcomeHeld }

// raced reports whether git says that someone else moved a ref.
func raced(said string) bool {
	return slices.ContainsFunc([]string{"stale info", "[rejected]", "cannot lock ref"}, func(race string) bool { return strings.Contains(said, race) })
}

// RefusedError says that the remote does not take a push: a hook of it or a rule about the
// branch forbids it. To try again does not help. Run is whose it is, "" if what a person typed
// can be typed again. Kept is set if it is the work of a finished attempt, which is kept.
type RefusedError struct {
	Ref, Text, Run string
	Kept           bool
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("push %s: the remote refuses it: %s", e.Ref, e.Text)
}

// Outcome implements the rule that outcomes have exit codes.
func (e *RefusedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// Hint says what a person can do.
func (e *RefusedError) Hint() string {
	then := "type the same command again"
	if e.Run != "" {
		then = "`reprise-fleet resume " + reprise.Pasted(e.Run, "RUN") + "`"
	}
	return "the fleet pushes to refs/heads/reprise/*, refs/reprise/*, refs/reprise-begun/* and refs/reprise-last/*: allow that on the remote, then " + then
}

func (e *RefusedError) kept() bool { return e.Kept }

// ofRun says of which run it is that the remote refuses something.
func ofRun(run string, err error) error {
	if refused, is := errors.AsType[*RefusedError](err); is {
		refused.Run = run
	}
	return err
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
	return gitWith(ctx, dir, nil, in, args...)
}

// gitWith is git with variables that say where its own files are.
func gitWith(ctx context.Context, dir string, where []string, in []byte, args ...string) (string, error) {
	environ := proc.Environ(os.Environ(), dir)
	program, err := proc.Find("git", environ, dir)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environ,
		"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "LC_ALL=C",
		"GIT_AUTHOR_NAME=reprise", "GIT_AUTHOR_EMAIL=reprise@localhost", "GIT_COMMITTER_NAME=reprise", "GIT_COMMITTER_EMAIL=reprise@localhost",
	)
	cmd.Env = append(cmd.Env, where...)
	if in != nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		command := args[0]
		if command == "-c" && len(args) > 2 {
			command = args[2]
		}
		return out.String(), &GitError{command, err, strings.TrimSpace(tail(errOut.String(), 2000))}
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// fetchHere fetches from the clone into a repository. Where the clone is shallow, git takes
// from it only what it has the beginnings of: those come from the remote.
func (f *Fleet) fetchHere(ctx context.Context, into, spec string) error {
	shallow, err := git(ctx, f.Clone, nil, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if shallow == "true" {
		if _, err := git(ctx, into, nil, "fetch", "-q", "--no-tags", f.Remote, "+refs/heads/*:refs/kept/heads/*"); err != nil {
			return err
		}
	}
	if _, err := git(ctx, into, nil, "-c", "protocol.version=2", "fetch", "-q", "--no-tags", f.Clone, spec); err != nil {
		return err
	}
	_, ref, _ := strings.Cut(spec, ":")
	if _, err := git(ctx, into, nil, "rev-parse", "--verify", "-q", ref); err != nil && shallow == "true" {
		return &ShallowError{f.Clone}
	}
	return nil
}

// ShallowError says that a clone lacks the beginnings of what is checked out, and the remote
// has no branch with them.
type ShallowError struct{ Clone string }

func (e *ShallowError) Error() string {
	return fmt.Sprintf("read %s: it is a shallow clone, and no branch of the remote has the rest", e.Clone)
}

// Hint says what a person can do.
func (e *ShallowError) Hint() string { return "`git fetch --unshallow` brings what is missing" }

// Outcome implements the rule that outcomes have exit codes.
func (e *ShallowError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// GitError says that git failed.
type GitError struct {
	Command string
	Err     error
	Said    string
}

func (e *GitError) Error() string { return fmt.Sprintf("git %s: %v: %s", e.Command, e.Err, e.Said) }

// Unwrap gives the cause.
func (e *GitError) Unwrap() error { return e.Err }

// cause is the line of what git said that tells why it failed.
func (e *GitError) cause() string {
	for line := range strings.Lines(e.Said) {
		if text, is := strings.CutPrefix(strings.TrimSpace(line), "fatal: "); is {
			return text
		}
	}
	line, _, _ := strings.Cut(e.Said, "\n")
	return cmp.Or(line, e.Err.Error())
}

// RemoteError says that the remote could not be worked with.
type RemoteError struct{ Err *GitError }

func (e *RemoteError) Error() string { return "reach the remote: " + e.Err.cause() }

// Unwrap gives all that git said.
func (e *RemoteError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *RemoteError) Hint() string {
	return "`git ls-remote origin` in the clone shows whether it can be reached"
}

// Told is an error as a person reads it: where git could not work with the remote, that is said
// in place of the words of git. What says where work is kept stays as it is.
func Told(err error) error {
	failed, is := errors.AsType[*GitError](err)
	_, kept := errors.AsType[*KeptError](err)
	_, stuck := errors.AsType[*StuckError](err)
	_, rejected := errors.AsType[*RejectedError](err)
	if _, told := errors.AsType[*RemoteError](err); !is || failed.near() || kept || stuck || rejected || told {
		return err
	}
	return &RemoteError{failed}
}

// near reports whether git failed at something that needs no remote.
func (e *GitError) near() bool {
	return !slices.Contains([]string{"fetch", "push", "ls-remote"}, e.Command)
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
		name = filepath.Clean(strings.TrimPrefix(name, "file://"))
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
	if scheme, _, ok := strings.Cut(remote, "://"); ok {
		host = strings.TrimSuffix(host, usualPort[strings.ToLower(scheme)])
	}
	if host = strings.ToLower(host); foldsCase[host] {
		path = strings.ToLower(path)
	}
	return host + "/" + path
}

// foldsCase are the hosts where names that differ in case alone are of one repository.
var foldsCase = map[string]bool{"github.com": true, "gitlab.com": true, "bitbucket.org": true}

// usualPort is the port that an address means which names none.
var usualPort = map[string]string{"ssh": ":22", "git+ssh": ":22", "https": ":443", "http": ":80", "git": ":9418"}

// absolute is the address of a remote as everyone can use it: git takes a path that is not
// absolute from the top of the clone.
func absolute(top, remote string) string {
	host, _, short := strings.Cut(remote, ":")
	if short && !strings.Contains(host, "/") || filepath.IsAbs(remote) {
		return remote
	}
	return filepath.Join(top, remote)
}

// Branch is the branch of a run on the remote.
func Branch(id string) string { return reprise.FleetBranch(id) }

// AttemptRef is the ref that an attempt pushes its work to.
func AttemptRef(run string, at engine.Elsewhere) string {
	return fmt.Sprintf("refs/reprise/%s/%s/%d", refWord(run), refWord(keyOf(at)), at.Number)
}

func refWord(id string) string { return reprise.RefWord(id) }
