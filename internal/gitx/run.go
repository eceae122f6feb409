package gitx

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"reprise/internal/proc"
)

// runner starts git in one folder with one environment.
type runner struct {
	program string
	dir     string
	environ []string // what the allow-list picks from
	env     []string // what git gets
	timeout time.Duration
	inherit []*os.File // what git keeps open
	ours    *standIn   // what stands in for the repository; nil before its settings are known
	direct  bool       // git is asked in the repository itself
}

func newRunner(dir string, opts Options) (runner, error) {
	environ := opts.Environ
	if environ == nil {
		environ = os.Environ()
	}
	environ = proc.Environ(environ, dir) // for what git itself starts, too
	program, err := proc.Find("git", environ, dir)
	if err != nil {
		return runner{}, ErrNoGit
	}
	return runner{program: program, dir: dir, environ: environ, env: environment(environ, profile), timeout: cmp.Or(opts.Timeout, 10*time.Second)}, nil
}

// neutral gives a runner for a folder in a repository, which stands in for that, with the
// settings that count in that folder. more is set beside the profile. The
// error is a *RefusedError, unless git gave no answer.
func (g *runner) neutral(ctx context.Context, dir string, p place, more ...setting) (runner, []setting, error) {
	out := *g.theirs()
	out.dir, out.env = dir, environment(g.environ, profile)
	if err := out.readable(dir, p); err != nil {
		return out, nil, err
	}
	settings, err := once(&out, "settings", dir, noIncludes, func() ([]setting, error) {
		return query(ctx, out.stream, readSettings, "config", "-z", "--show-scope", "--list")
	})
	if err != nil && exitCode(err) < 0 {
		return out, nil, err
	}
	if err != nil {
		return out, nil, &RefusedError{Dir: AbsPath(dir), Reason: "its settings cannot be listed, so it is not safe to ask it: " + err.Error()}
	}
	if !slices.ContainsFunc(settings, func(s setting) bool { return s.own }) {
		// Git passes over the settings of a repository that it does not trust, and says so only when asked.
		if _, err := out.line(ctx, "rev-parse", "--git-dir"); err != nil {
			return out, nil, (&Repo{location: location{dir: dir}}).refusal(err)
		}
	}
	for _, s := range settings {
		if s.section == "core" && (s.name == "excludesfile" || s.name == "attributesfile") {
			if err := notRead(dir, irregular(out.expand(cmp.Or(p.top, dir), s.value))); err != nil {
				return out, nil, err
			}
		}
	}
	out.env = environment(g.environ, append(slices.Clip(profile), more...))
	out.direct = false
	out.ours = &standIn{p.gitDir, p.commonDir, p.top, carry(settings), map[string]bool{}}
	for _, s := range settings {
		if s.section == "branch" && s.own {
			out.ours.branches[s.middle] = true
		}
	}
	return out, settings, nil
}

// noIncludes reports whether settings come from the usual files alone.
func noIncludes(settings []setting) bool {
	return !slices.ContainsFunc(settings, func(s setting) bool { return s.section == "include" || s.section == "includeif" })
}

// callError is a call of git that did not go well.
type callError struct {
	what   string // the subcommand
	stderr string
	err    error
}

func (e *callError) Error() string {
	if line := e.firstLine(); line != "" {
		return fmt.Sprintf("git %s: %s", e.what, line)
	}
	return fmt.Sprintf("git %s: %v", e.what, e.err)
}

func (e *callError) Unwrap() error { return e.err }

// firstLine is what git complained about, without its prefix: a lock that is in
// its way, as what follows from that is less telling, or else what ended it.
func (e *callError) firstLine() string {
	for _, telling := range []string{"Unable to create '", "fatal: "} {
		for line := range strings.Lines(e.stderr) {
			if strings.Contains(line, telling) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "fatal: ")
				return strings.TrimPrefix(line, "error: ")
			}
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(e.stderr), "\n")
	return line
}

var (
	errTooLong = errors.New("output too long")
	errTimeout = errors.New("took too long")
	// errEnough is returned by a reader that has seen all it wants.
	errEnough = errors.New("enough")
)

// maxOutput bounds what is read of one call in all.
const maxOutput = 256 << 20

// stream runs git and hands its output to read. Whatever read has taken in
// stays valid when stream fails later: a caller may keep a part and say so.
// input, if any, is given on stdin.
func (g *runner) stream(ctx context.Context, input []byte, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, errTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--no-pager"}, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	proc.Group(cmd) // what git has started must not outlive it
	cmd.WaitDelay, cmd.ExtraFiles = time.Second, g.inherit
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	stderr := &head{limit: 8 << 10}
	cmd.Stderr = stderr
	what := args[0]
	if what == "-c" {
		what = args[2]
	}
	stands := ""
	fail := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		said := stderr.String()
		if stands != "" {
			said = strings.ReplaceAll(said, stands, g.ours.commonDir)
		}
		return &callError{what: what, stderr: said, err: err}
	}
	if g.ours != nil && !g.direct {
		dir, env, held, drop, err := g.ours.make()
		defer drop()
		if err != nil {
			return fail(err)
		}
		if stands = dir; held != nil {
			cmd.ExtraFiles = append(slices.Clip(cmd.ExtraFiles), held)
		}
		cmd.Env = append(slices.Clip(cmd.Env), env...)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	if g.ours != nil {
		watch := time.AfterFunc(long, func() {
			if odd := g.ours.held(ctx); odd != nil {
				stop(odd)
			}
		})
		defer watch.Stop()
	}
	limited := &io.LimitedReader{R: out, N: maxOutput}
	readErr := read(bufio.NewReaderSize(limited, 64<<10))
	if readErr == nil && limited.N <= 0 {
		readErr = errTooLong
	}
	if readErr != nil {
		cancel() // its output is no longer read, so git would block
	}
	waitErr := cmd.Wait()
	if errors.Is(waitErr, exec.ErrWaitDelay) {
		waitErr = nil // it ended well and its output was read to the end; only its complaints are cut
	}
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case readErr != nil:
		return fail(readErr)
	case waitErr != nil:
		return fail(waitErr)
	}
	return nil
}

// output runs git and returns up to limit bytes of what it printed, also when
// it failed.
func (g *runner) output(ctx context.Context, limit int64, args ...string) ([]byte, error) {
	var out []byte
	err := g.stream(ctx, nil, func(r *bufio.Reader) (err error) {
		out, err = io.ReadAll(io.LimitReader(r, limit+1))
		if int64(len(out)) > limit {
			return errTooLong
		}
		return err
	}, args...)
	return out, err
}

// line runs git and returns the one line it prints, without its end.
func (g *runner) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.output(ctx, 4096, args...)
	return strings.TrimSpace(string(out)), err
}

// yes runs a command of git that answers with its exit code: 0 is yes, 1 is no.
func (g *runner) yes(ctx context.Context, args ...string) (bool, error) {
	_, err := g.output(ctx, 4096, args...)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// names runs git and returns the names it prints with -z.
func (g *runner) names(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.output(ctx, 64<<20, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// feed runs git with names on its standard input.
func (g *runner) feed(ctx context.Context, names []string, args ...string) error {
	input := []byte(strings.Join(names, "\x00") + "\x00")
	return g.stream(ctx, input, func(in *bufio.Reader) error {
		_, err := io.Copy(io.Discard, in)
		return err
	}, args...)
}

// lines is the input of a git that reads line by line.
func lines(of []string) []byte { return []byte(strings.Join(of, "\n") + "\n") }

// words runs git and hands over what it prints with -z, with a way to the words that follow.
func words(ctx context.Context, ask asking, input []byte, use func(word string, f *fields) error, args ...string) error {
	return ask(ctx, input, func(in *bufio.Reader) error {
		f := fields{in, 0}
		return f.each(func(word string) error { return use(word, &f) })
	}, args...)
}

// asking is a way to run git: stream, or history.
type asking func(ctx context.Context, input []byte, read func(*bufio.Reader) error, args ...string) error

// query runs git and reads its output into one value. What was read before an
// error is returned with it.
func query[T any](ctx context.Context, ask asking, read func(*bufio.Reader) (T, error), args ...string) (out T, err error) {
	err = ask(ctx, nil, func(in *bufio.Reader) (err error) {
		out, err = read(in)
		return err
	}, args...)
	return out, err
}

// exitCode is how the program of a failed call ended, -1 if it did not end by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// head keeps the beginning of what is written to it.
type head struct {
	buf   bytes.Buffer
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.limit - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (h *head) String() string { return h.buf.String() }
