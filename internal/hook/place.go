package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"reprise/internal/proc"
)

// Place is where a tool is told about us.
type Place struct {
	Path string      // absolute
	Perm fs.FileMode // of a new file
	// Shared says that the file is part of the project, which others check out: what it
	// calls is not where it is on this machine.
	Shared bool
	// Note is what keeps the tool from reading it, "" if nothing.
	Note string
}

// UserPlace is where the settings of the user are, given their environment.
func (t Tool) UserPlace(ctx context.Context, environ []string, getenv func(string) string) (Place, error) {
	if t.Name == Git {
		return globalGitPlace(ctx, environ)
	}
	dir := getenv(t.variable)
	switch {
	case filepath.IsAbs(dir):
	case dir != "" && !strings.HasPrefix(t.variable, "XDG_"): // of those, relative ones do not count
		return Place{}, fmt.Errorf("%s is %q, which is another folder wherever %s is started; make it absolute", t.variable, dir, t.Name)
	default:
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Place{}, errors.New("no home folder is known")
		}
		dir = filepath.Join(home, t.home)
	}
	return Place{Path: filepath.Join(dir, filepath.FromSlash(t.file)), Perm: 0o600}, nil
}

// ProjectPlace is where those of a project are. A link that leads out of it is refused:
// the project did not come from the person who installs something in it.
func (t Tool) ProjectPlace(ctx context.Context, root string, environ []string) (Place, error) {
	if t.Name == Git {
		return gitPlace(ctx, root, environ)
	}
	name := filepath.Join(root, filepath.FromSlash(t.project))
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Place{}, err
	}
	for at := name; at != root; at = filepath.Dir(at) {
		led, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue // not there yet
		}
		if rel, err := filepath.Rel(top, led); err != nil || !filepath.IsLocal(rel) {
			return Place{}, fmt.Errorf("%s is a link that leads out of the project", at)
		}
		break
	}
	return Place{Path: name, Perm: 0o644, Shared: !t.alone}, nil
}

// gitPlace is the hook in the folder that git looks into, core.hooksPath included. One that
// other repositories have too is refused: it is the user's.
func gitPlace(ctx context.Context, root string, environ []string) (Place, error) {
	out, err := git(ctx, environ, []string{root}, "-C", root, "rev-parse", "--git-path", "hooks", "--git-common-dir", "--show-toplevel")
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) != 3 {
		return Place{}, fmt.Errorf("%s is not a git repository with a working tree", root)
	}
	for i, dir := range lines {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		lines[i] = dir
	}
	hooks, common, top := lines[0], lines[1], lines[2]
	within := func(dir string) bool {
		rel, err := filepath.Rel(real(dir), real(hooks))
		return err == nil && filepath.IsLocal(rel)
	}
	if !within(common) && !within(top) {
		return Place{}, fmt.Errorf("core.hooksPath is %s, which is not this repository's alone; `reprise hook install git --user` installs it there, for all of them", hooks)
	}
	return hookIn(hooks, !within(common)), nil
}

// globalGitPlace is the hook of all repositories of the user, if they have one.
func globalGitPlace(ctx context.Context, environ []string) (Place, error) {
	dir, err := git(ctx, environ, nil, "config", "--global", "--path", "--get", "core.hooksPath")
	if err != nil || !filepath.IsAbs(dir) {
		return Place{}, errors.New("git has hooks of a project only, unless core.hooksPath names a folder for all of them")
	}
	return hookIn(dir, false), nil
}

// hookIn is the hook in a folder of them.
func hookIn(dir string, shared bool) Place {
	p := Place{Path: filepath.Join(dir, gitHook), Perm: 0o755, Shared: shared}
	if info, err := os.Stat(p.Path); err == nil && runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		p.Note = "git passes over " + p.Path + ", because it is not executable. If what it does is wanted: chmod +x"
	}
	return p
}

// real is a folder without links on the way, as far as it is there.
func real(dir string) string {
	if led, err := filepath.EvalSymlinks(dir); err == nil {
		return led
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(real(up), filepath.Base(dir))
	}
	return dir
}

// git gives what git prints, without the last line end. Its program is in none of the
// folders without.
func git(ctx context.Context, environ, without []string, args ...string) (string, error) {
	environ = proc.Environ(environ, without...)
	program, err := proc.Find("git", environ, without...)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environ
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}
