package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/proc"
)

// Scene is the scratch folder a play takes place in. Everything the children
// of the demo read or write is below it: the project, their settings, what they
// trust.
type Scene struct {
	Dir     string // absolute
	Project string // the project in it
}

// Set makes a scene in dir, which must not be there or be empty; "" stands for a
// new folder among the user's temporary ones. Whatever it made when it fails it
// leaves there.
func Set(p Play, dir, program string, pause time.Duration) (*Scene, error) {
	if err := plain(program); err != nil {
		return nil, err
	}
	dir, err := folder(dir)
	if err != nil {
		return nil, err
	}
	s := &Scene{Dir: dir, Project: filepath.Join(dir, "project")}
	files := map[string]string{"reprise.yaml": s.settings(p, program, pause), "NOTES.md": "# A project for the demo\n"}
	for name, text := range p.Files {
		files[name] = text
	}
	for name, text := range files {
		if err := write(filepath.Join(s.Project, filepath.FromSlash(name)), text); err != nil {
			return nil, err
		}
	}
	git, err := proc.Find("git", os.Environ(), ".")
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "demo"}, {"config", "user.email", "demo@example.org"},
		{"add", "-A"}, {"commit", "-q", "-m", "A project for the demo"},
	} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = s.Project, s.Environ(os.Environ())
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return s, nil
}

func folder(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "reprise-demo-")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch list, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return dir, os.MkdirAll(dir, 0o755)
	case err != nil:
		return "", err
	case len(list) > 0:
		return "", &OccupiedError{Dir: dir}
	}
	return dir, nil
}

// OccupiedError is returned for a folder that holds something: the demo plays in
// an empty one only.
type OccupiedError struct{ Dir string }

// Error implements error.
func (e *OccupiedError) Error() string { return "play in " + e.Dir + ": it is not empty" }

// Hint says what to do.
func (e *OccupiedError) Hint() string { return "name a folder that is not there yet" }

// settings binds every role to the actor.
func (s *Scene) settings(p Play, program string, pause time.Duration) string {
	gaps := ""
	if p.Gaps {
		gaps = "\n      DEMO_GAPS: \"1\""
	}
	return fmt.Sprintf(`# The demo's agent is the program itself: it plays every role, without a model.
agents:
  actor:
    command: [%s, %s]
    env:
      DEMO_LAUNCHES: %s
      DEMO_PAUSE: %s
      DEMO_HOLD: %q%s
roles: {default: actor}
backoff: 100ms
%s`, quote(program), Word, quote(s.launchLog()), pause, p.Hold, gaps, p.Settings)
}

// quote gives a text as a YAML scalar on one line.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// plain refuses a path that a line of settings cannot hold.
func plain(name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 }) {
		return fmt.Errorf("start %q: its path holds a control character", name)
	}
	return nil
}

func (s *Scene) launchLog() string { return filepath.Join(s.Dir, "launches") }

// Environ is the environment for the children of the demo: nothing they write
// leaves the scene, and nothing of the user's settings reaches them.
func (s *Scene) Environ(environ []string) []string {
	own := []string{
		"XDG_CONFIG_HOME=" + filepath.Join(s.Dir, "config"), "XDG_STATE_HOME=" + filepath.Join(s.Dir, "state"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
	return append(slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasPrefix(name, "GIT_") || name == "REPRISE_NOW" || name == "XDG_CONFIG_HOME" || name == "XDG_STATE_HOME"
	}), own...)
}

// Held reports whether the step that is to be cut off is halfway.
func (s *Scene) Held() bool {
	_, err := os.Stat(s.launchLog() + heldMark)
	return err == nil
}

// Launch is one start of an agent, as the agent itself tells it.
type Launch struct {
	Run, Step string
	Attempt   int
	Token     string
}

// Launches reads what the agents told so far.
func (s *Scene) Launches() ([]Launch, error) {
	data, err := os.ReadFile(s.launchLog())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Launch
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("read %s: the line %q tells of no launch", s.launchLog(), line)
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.launchLog(), err)
		}
		out = append(out, Launch{Run: f[0], Step: f[1], Attempt: n, Token: f[3]})
	}
	return out, nil
}

// Left are the processes of these launches that live.
func Left(launches []Launch) []proc.Process {
	var tokens []string
	for _, l := range launches {
		tokens = append(tokens, l.Token)
	}
	return proc.Orphans(tokens...)
}

// Remove takes the scene away.
func (s *Scene) Remove() error { return os.RemoveAll(s.Dir) }

// SeesProcesses tells whether Left can see anything on this system.
const SeesProcesses = runtime.GOOS == "linux"
