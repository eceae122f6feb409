//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrRefused is given for a commit that a hook of the project, or who signs, did not let pass.
// Nothing of it was made: the next Make asks again, and finds it done where a person has
// committed it.
var ErrRefused = errors.New("the commit was refused")

// demands is what a project, or its user, wants of every commit.
type demands struct {
	hooks string   // the folder of its hooks
	sign  []string // how a commit is signed; nil if it is not
}

// demanded reads what is wanted from the settings that git sees in the project: hooks where git
// would look for them, and signatures. Which program signs is the user's own setting, never the
// project's; with which key may be either's.
func (r *Repo) demanded(settings string) (d demands) {
	d.hooks = filepath.Join(filepath.Dir(r.objects), "hooks")
	sign := false
	for setting := range strings.SplitSeq(settings, "\x00") {
		key, value, given := strings.Cut(setting, "\n")
		switch key {
		case "core.hookspath":
			if below, ok := strings.CutPrefix(value, "~/"); ok {
				home, _ := os.UserHomeDir()
				value = filepath.Join(home, below)
			}
			if d.hooks = value; !filepath.IsAbs(value) {
				d.hooks = filepath.Join(r.Top, value)
			}
		case "commit.gpgsign":
			sign = !given || !slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(value))
		case "user.signingkey", "gpg.format":
			d.sign = append(d.sign, "-c", key+"="+value)
		}
	}
	if !sign {
		d.sign = nil
	} else {
		d.sign = append(d.sign, "commit-tree", "-S")
	}
	return d
}

// say reports whether the project has hooks that have a say in a commit, or are told of it.
func (d demands) say() bool {
	return slices.ContainsFunc([]string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}, func(name string) bool {
		return executable(filepath.Join(d.hooks, name))
	})
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// heard gives the tree and the message of a commit after the hooks of the project have seen it:
// as with git's own commit they may change both. They see an index that has this commit and
// nothing else.
func (r *Repo) heard(ctx context.Context, tree, message, trailer string) (string, string, error) {
	if !r.want.say() {
		return tree, message, nil
	}
	index, text := r.tempIndex()+".commit", r.tempIndex()+".message"
	defer os.Remove(index)
	defer os.Remove(text)
	env := append(r.env(users), "GIT_INDEX_FILE="+index)
	if _, err := r.command(ctx, r.Top, env, nil, append(settings, "read-tree", tree)...); err != nil {
		return "", "", err
	}
	if err := errors.Join(os.WriteFile(text, []byte(message), 0o600), r.hook(ctx, index, "pre-commit")); err != nil {
		return "", "", err
	}
	out, err := r.command(ctx, r.Top, env, nil, append(settings, "write-tree")...)
	if err == nil {
		err = errors.Join(r.hook(ctx, index, "prepare-commit-msg", text, "message"), r.hook(ctx, index, "commit-msg", text))
	}
	if err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(text)
	if message = strings.TrimRight(string(data), "\n") + "\n"; !HasLine(message, trailer) {
		message += "\n" + trailer + "\n"
	}
	return strings.TrimSpace(string(out)), message, err
}

// hook runs a hook as git does, if there is one.
func (r *Repo) hook(ctx context.Context, index, name string, args ...string) error {
	path := filepath.Join(r.want.hooks, name)
	if !executable(path) {
		return nil
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.SysProcAttr = r.Top, ownGroup()
	cmd.Env = append(clean(os.Environ()), "GIT_INDEX_FILE="+index, "GIT_EDITOR=:", "GIT_PREFIX=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w by %s: %v: %s", ErrRefused, name, err, strings.TrimSpace(string(out[max(0, len(out)-600):])))
	}
	return nil
}

// signed makes a commit with a signature, through our own repository: that of the project
// cannot name the program.
func (r *Repo) signed(ctx context.Context, tree, parent, message string, at time.Time) (string, error) {
	name, mail, _ := strings.Cut(r.ident, " <")
	mail, when := strings.TrimSuffix(mail, ">"), fmt.Sprintf("@%d %s", at.Unix(), at.Local().Format("-0700"))
	env := append(r.env(ours), "GIT_OBJECT_DIRECTORY="+r.objects, "GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+mail, "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+mail, "GIT_COMMITTER_DATE="+when)
	args := append([]string{"-c", "core.fsync=loose-object"}, r.want.sign...)
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := r.command(ctx, r.Top, env, []byte(message), append(args, tree)...)
	if err != nil {
		return "", fmt.Errorf("%w: it is to be signed, and was not: %w", ErrRefused, err)
	}
	return strings.TrimSpace(string(out)), nil
}
