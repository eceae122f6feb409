// Package gittest makes real repositories for tests, with plain git run the way
// a person runs it and nothing of the machine's own settings.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Folder is a new folder whose path holds no link. Without git the test is
// skipped.
func Folder(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git program")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Environ is the environment of a user with this home.
func Environ(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
}

// User makes this process, and all that it starts, a user with a home of their own below a
// folder and a name that git commits with: nothing of the machine's own settings counts,
// and none is needed. For TestMain. Go's caches stay where they are.
func User(dir string) error {
	caches, none := os.UserCacheDir()
	if home, err := os.UserHomeDir(); err == nil && none == nil {
		for name, at := range map[string]string{"GOPATH": filepath.Join(home, "go"), "GOCACHE": filepath.Join(caches, "go-build")} {
			if os.Getenv(name) == "" {
				os.Setenv(name, at)
			}
		}
	}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	os.Setenv("HOME", home)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		os.Unsetenv(name)
	}
	return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = A\n\temail = a@example.org\n"), 0o600)
}

// Run runs git in a folder and gives what it says.
func Run(t testing.TB, dir string, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Begin makes a folder a repository, with what is in it as the first commit on
// main.
func Begin(t testing.TB, dir string, environ []string) {
	t.Helper()
	Run(t, dir, environ, "init", "-q", "-b", "main")
	Commit(t, dir, environ, "first")
}

// Commit commits everything there is and gives the commit.
func Commit(t testing.TB, dir string, environ []string, message string) string {
	t.Helper()
	Run(t, dir, environ, "add", "-A")
	Run(t, dir, environ, "commit", "-q", "--allow-empty", "-m", message)
	return Run(t, dir, environ, "rev-parse", "HEAD")
}

// Program writes a program that can be started at once. Nothing is forked meanwhile: a
// child would hold the file open for writing until it is a program of its own, and a file
// that is open for writing cannot be started.
func Program(t testing.TB, file, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Write writes a file below a folder, and the folders it needs.
func Write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
