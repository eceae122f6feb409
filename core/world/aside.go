//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What a step may add to a commit without being asked.
const (
	commitFiles = 500
	commitBytes = 50 << 20
)

// Aside gives those files of a step's difference that are never committed without being
// asked, and says why in a sentence for each reason: what git ignores, names of secrets, and
// folders that make the step larger than anybody would look at.
func (r *Repo) Aside(ctx context.Context, changes []Change) (files, why []string, err error) {
	var ignored, secrets, large []string
	sizes := map[string][]string{} // new files by the first folder below which all is new
	for _, c := range changes {
		switch {
		case r.always(c.Path):
			ignored = append(ignored, c.Path)
		case c.Old.none() && secret(c.Path):
			secrets = append(secrets, c.Path)
		case c.New.large():
			large = append(large, c.Path)
		case c.Old.none():
			folder, _, _ := strings.Cut(c.Path, "/")
			sizes[folder] = append(sizes[folder], c.Path)
		}
	}
	if ignored, err = r.ignores(ctx, ignored); err != nil {
		return nil, nil, err
	}
	for folder, list := range sizes {
		size := int64(0)
		for _, p := range list {
			size += r.size(p)
		}
		if len(list) > commitFiles || size > commitBytes {
			files = append(files, list...)
			why = append(why, fmt.Sprintf("%s has %d new files, %d MB", folder, len(list), size>>20))
		}
	}
	var names []string
	for _, c := range changes {
		if c.New.regular() {
			names = append(names, c.Path)
		}
	}
	filtered, err := r.filtered(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	inside, err := r.inside(ctx)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(why)
	if len(inside) > 0 {
		why = append(why, fmt.Sprintf("these are repositories of their own, and work in them is not committed there: %q", inside))
	}
	if len(filtered) > 0 {
		why = append(why, fmt.Sprintf("these go through a filter of this repository's own settings, which is not run: %q", filtered))
	}
	if len(secrets) > 0 {
		why = append(why, fmt.Sprintf("by their names these may hold secrets: %q", secrets))
	}
	if len(large) > 0 {
		why = append(why, fmt.Sprintf("these are too large: %q", large))
	}
	files = slices.Concat(files, filtered, ignored, secrets, large)
	slices.Sort(files)
	return files, why, nil
}

// inside gives the submodules that have work which is not committed in them. They are looked at
// through our own repository: their settings start no program.
func (r *Repo) inside(ctx context.Context) (out []string, err error) {
	data, err := os.ReadFile(filepath.Join(r.Top, ".gitmodules"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		key, name, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.TrimSpace(key) != "path" || err != nil {
			continue
		}
		name = strings.TrimSpace(name)
		dir := filepath.Join(r.Top, filepath.FromSlash(name))
		git := filepath.Join(dir, ".git")
		if link, rerr := os.ReadFile(git); rerr == nil {
			if git = strings.TrimSpace(strings.TrimPrefix(string(link), "gitdir:")); !filepath.IsAbs(git) {
				git = filepath.Join(dir, git)
			}
		}
		index, rerr := os.ReadFile(filepath.Join(git, "index"))
		if rerr != nil || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue // it is not checked out
		}
		temp := filepath.Join(r.own, "tmp", "inside")
		if err = os.WriteFile(temp, index, 0o600); err != nil {
			break
		}
		env := append(r.env(ours), "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+temp, "GIT_OBJECT_DIRECTORY="+filepath.Join(git, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=")
		var said []byte
		if said, err = r.command(ctx, dir, env, nil, append(settings, "ls-files", "--modified", "--deleted", "--others", "--exclude-standard")...); err == nil && len(said) == 0 {
			_, err = r.command(ctx, dir, append(r.env(users), "GIT_DIR="+git, "GIT_WORK_TREE="+dir), nil, append(settings, "diff-index", "--cached", "--quiet", "HEAD")...)
			if status, failed := ended(err); failed && status == 1 {
				said, err = []byte("staged"), nil
			}
		}
		if len(said) > 0 {
			out = append(out, name)
		}
	}
	return out, err
}

// ignores gives those files that git ignores and does not know.
func (r *Repo) ignores(ctx context.Context, names []string) (out []string, err error) {
	staged, err := r.Staged(ctx)
	if err != nil || r.private {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		e, failed := r.Entry(staged, name)
		err = errors.Join(err, failed)
		return !e.none()
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	said, err := r.git(ctx, users, []byte(strings.Join(names, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	if failed, ok := ended(err); ok && failed == 1 {
		return nil, nil
	}
	return strings.FieldsFunc(string(said), func(c rune) bool { return c == 0 }), err
}

// secret reports whether a file is one that people keep passwords and keys in.
func secret(name string) bool {
	switch base := path.Base(name); {
	case base == ".env" || strings.HasPrefix(base, ".env.") && !strings.HasSuffix(base, ".example") && !strings.HasSuffix(base, ".sample"),
		strings.HasPrefix(base, "id_rsa"), strings.HasPrefix(base, "id_ed25519"), base == ".netrc", base == ".npmrc", base == ".pypirc", base == "credentials.json",
		strings.HasSuffix(base, ".pem"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".p12"), strings.HasSuffix(base, ".pfx"), strings.HasSuffix(base, ".jks"):
		return true
	}
	return false
}

// ended gives the exit status of a git command that failed.
func ended(err error) (status int, ok bool) {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode(), true
	}
	return 0, false
}

func (r *Repo) size(name string) int64 {
	info, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(name)))
	if err != nil {
		return 0
	}
	return info.Size()
}
