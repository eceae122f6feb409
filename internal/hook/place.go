package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"reprise/internal/proc"
)

// Place is where a tool is told about us.
type Place struct {
	Path string      // absolute
	Perm fs.FileMode // of a new file
}

// UserPlace is where the settings of the user are, given their environment.
func (t Tool) UserPlace(getenv func(string) string) (Place, error) {
	if t.Name == Git {
		return Place{}, errors.New("git has hooks of a project only")
	}
	dir := getenv(t.variable)
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Place{}, errors.New("no home folder is known")
		}
		dir = filepath.Join(home, t.home)
	}
	return Place{filepath.Join(dir, filepath.FromSlash(t.file)), 0o600}, nil
}

// ProjectPlace is where those of a project are. A link that leads out of it is refused:
// the project did not come from the person who installs something in it.
func (t Tool) ProjectPlace(ctx context.Context, root string, environ []string) (Place, error) {
	if t.Name == Git {
		return gitPlace(ctx, root, environ)
	}
	name := filepath.Join(root, filepath.FromSlash(t.project))
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Place{}, err
	}
	for at := name; at != root; at = filepath.Dir(at) {
		led, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue // not there yet
		}
		if rel, err := filepath.Rel(real, led); err != nil || !filepath.IsLocal(rel) {
			return Place{}, fmt.Errorf("%s is a link that leads out of the project", at)
		}
		break
	}
	return Place{name, 0o644}, nil
}

// gitPlace is the hook in the folder that git looks into, core.hooksPath included.
func gitPlace(ctx context.Context, root string, environ []string) (Place, error) {
	git, err := proc.Find("git", environ, root)
	if err != nil {
		return Place{}, err
	}
	cmd := exec.CommandContext(ctx, git, "-C", root, "rev-parse", "--git-path", "hooks")
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return Place{}, fmt.Errorf("%s is no git repository", root)
	}
	dir := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	return Place{filepath.Join(dir, gitHook), 0o755}, nil
}
