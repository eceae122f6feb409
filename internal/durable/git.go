package durable

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise/internal/proc"
)

// git runs the few commands that a snapshot needs: rev-parse, ls-files, diff-index,
// fast-import, cat-file, symbolic-ref, update-ref and update-index. None of them runs a
// filter, a diff or a merge driver; hooks and the file system monitor are off.
// The user's index is read and never refreshed.
type git struct {
	program string
	environ []string
	dir     string // the project
	gitDir  string
	common  string // where the refs of all checkouts are
	format  string // sha1 or sha256
	head    string // what was checked out when it was opened, "" if no commit
	on      string // and the branch, with refs/heads/, "" if none
	prefix  string // the project below the top of the checkout, "" or "a/b/"
	at      string // a run's checkout below the project, "" or "a/b/"
}

// errNoGit tells that the project is in no repository that git works with, or there is no git.
var errNoGit = errors.New("no git repository")

// gitLimit is how long one command may take.
const gitLimit = 10 * time.Minute

// gitIn is for lists of the files below a folder: git itself fails outside of a checkout.
func gitIn(dir string) (*git, error) {
	if dir == "" {
		return nil, errNoGit
	}
	environ := proc.Environ(os.Environ(), dir)
	program, err := proc.Find("git", environ, dir)
	if err != nil {
		return nil, errNoGit
	}
	return &git{program: program, environ: environ, dir: dir}, nil
}

func openGit(ctx context.Context, dir string) (*git, error) {
	g, err := gitIn(dir)
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, nil, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-object-format", "--is-inside-work-tree", "--show-prefix", "--show-toplevel",
		"--revs-only", "HEAD", "--symbolic-full-name", "HEAD")
	if code(err) > 0 {
		return nil, fmt.Errorf("%w: %v", errNoGit, err)
	}
	if err != nil {
		return nil, err // it did not come to say whether there is one
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) < 6 || lines[3] != "true" {
		return nil, errNoGit
	}
	g.gitDir, g.common, g.format, g.prefix = lines[0], lines[1], lines[2], lines[4]
	// core.worktree can name any folder; its files are not ours to bring back.
	if filepath.Join(lines[5], filepath.FromSlash(g.prefix)) != dir {
		return nil, fmt.Errorf("open repository %s: its files are said to be in another folder (%s)", dir, lines[5])
	}
	if len(lines) == 8 {
		if g.head = lines[6]; lines[7] != "HEAD" {
			g.on = lines[7]
		}
		return g, nil
	}
	// A branch without a commit is told by this alone.
	if g.on, err = g.branch(ctx); err == nil {
		g.head, err = g.commit(ctx, "HEAD")
	}
	return g, err
}

func (g *git) command(ctx context.Context, args ...string) *exec.Cmd {
	base := []string{
		"--no-pager", "--literal-pathspecs",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
		"-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "core.alternateRefsCommand=false", "-c", "hook.reference-transaction.enabled=false",
	}
	cmd := exec.CommandContext(ctx, g.program, append(base, args...)...)
	cmd.Dir = g.dir
	cmd.Env = []string{
		"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0",
		"GIT_AUTHOR_NAME=reprise", "GIT_AUTHOR_EMAIL=reprise@localhost", "GIT_COMMITTER_NAME=reprise", "GIT_COMMITTER_EMAIL=reprise@localhost",
	}
	for _, entry := range g.environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains([]string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SUDO_UID"}, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// run gives what a command printed.
func (g *git) run(ctx context.Context, input io.Reader, args ...string) ([]byte, error) {
	var out []byte
	err := g.stream(ctx, input, func(pipe io.Reader) (err error) {
		out, err = io.ReadAll(pipe)
		return err
	}, args...)
	return out, err
}

// stream hands what a command prints to read, whose error ends the command.
func (g *git) stream(ctx context.Context, input io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	cmd := g.command(ctx, args...)
	cmd.Stdin = input
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		if err := read(pipe); err != nil {
			cancel() // its output is no longer read, so git would block
			_ = cmd.Wait()
			return err
		}
		// One that ended well and whose output was read to the end has answered.
		if err = cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); err != nil && line != "" {
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(line, "fatal: "), err)
	}
	if err != nil {
		err = fmt.Errorf("git %s: %w", args[0], err)
	}
	return err
}

// code is with what a command that ran to its end failed, and -1 for one that did not.
func code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// commit gives what a name of a commit stands for, "" if there is no such.
func (g *git) commit(ctx context.Context, name string) (string, error) {
	return g.line(ctx, "rev-parse", "--verify", "--quiet", name)
}

// branch gives the branch that is checked out, with refs/heads/, "" if there is none.
func (g *git) branch(ctx context.Context) (string, error) {
	return g.line(ctx, "symbolic-ref", "--quiet", "HEAD")
}

// holds reports whether a ref of ours names a commit.
func (g *git) holds(ctx context.Context, ref string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(g.common, filepath.FromSlash(ref)))
	if id, hexErr := hex.DecodeString(strings.TrimSpace(string(text))); err == nil && hexErr == nil && len(id) >= sha1.Size {
		return true, nil
	}
	commit, err := g.commit(ctx, ref) // it may be kept in another way
	return commit != "", err
}

// line gives the one line a command printed, "" if it quietly says that there is none. A git
// that was killed or fails otherwise says nothing of that kind.
func (g *git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, nil, args...)
	if code(err) == 1 {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// list gives the paths a command printed with -z.
func (g *git) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.run(ctx, nil, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// blobs reads objects by name, in one process, and hands them to fn in order.
func (g *git) blobs(ctx context.Context, names []string, fn func(i int, content []byte) error) error {
	if len(names) == 0 {
		return nil
	}
	return g.stream(ctx, strings.NewReader(strings.Join(names, "\n")+"\n"), func(out io.Reader) error {
		return readBlobs(bufio.NewReader(out), len(names), fn)
	}, "cat-file", "--batch")
}

func readBlobs(r *bufio.Reader, n int, fn func(int, []byte) error) error {
	for i := range n {
		header, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		var name, kind string
		var size int64
		if _, err := fmt.Sscanf(header, "%s %s %d", &name, &kind, &size); err != nil || kind != "blob" {
			return fmt.Errorf("git cat-file: %q is no content", strings.TrimSpace(header))
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		if err := fn(i, content[:size]); err != nil {
			return err
		}
	}
	return nil
}

// quoteGit writes a path so that fast-import reads any byte of it.
func quoteGit(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c == '"' || c == '\\' || c < 0x20 || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// stage puts entries back into the index. One that is there already keeps what git noted of
// its file.
func (g *git) stage(ctx context.Context, entries []string) error {
	there, err := g.list(ctx, "ls-files", "--stage", "--full-name", "-z")
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e string) bool { return slices.Contains(there, e) })
	if len(entries) == 0 {
		return nil
	}
	_, err = g.run(ctx, strings.NewReader(strings.Join(entries, "\x00")+"\x00"), "update-index", "-z", "--index-info")
	return err
}

// staged gives what is in the index, and not in HEAD, of files that stay or are as they
// were, in the form of git update-index --index-info: no one but their owner staged it. Who
// does not say what stays wants all of it back.
func (g *git) staged(ctx context.Context, tree *TreeState, o UndoOptions) (out []string, err error) {
	if o.All || o.Keep == nil {
		return nil, nil
	}
	if head, err := g.commit(ctx, "HEAD"); head == "" || err != nil {
		return nil, err
	}
	was := map[string]string{}
	for _, e := range tree.Entries {
		was[string(e.Path)] = e.Blob
	}
	// `:100644 100644 OLD NEW M`, then the path
	list, err := g.list(ctx, "diff-index", "--cached", "--raw", "--no-renames", "-z", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(list); i += 2 {
		fields := strings.Fields(list[i])
		name, here := strings.CutPrefix(list[i+1], g.prefix)
		if len(fields) < 5 || fields[4] == "U" || here && !o.Keep[name] && was[name] != fields[3] {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s 0\t%s", fields[1], fields[3], list[i+1]))
	}
	return out, nil
}
