//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plain are the settings of the project and of the user that say what a file is and start no
// program. They are all that our own repository takes over.
var plain = map[string]bool{
	"core.autocrlf": true, "core.eol": true, "core.filemode": true, "core.symlinks": true, "core.ignorecase": true, "core.precomposeunicode": true,
	"core.excludesfile": true, "core.checkstat": true, "core.trustctime": true, "core.sparsecheckout": true, "core.sparsecheckoutcone": true, "core.longpaths": true,
}

// ownRepo makes the repository through which worlds are taken, read and compared: it has a
// config of its own, so that a filter, a driver, a hook or a monitor that the project's
// config names does not exist for it, whatever its name is.
func (r *Repo) ownRepo(ctx context.Context) error {
	r.ownDir = filepath.Join(r.own, "git")
	for _, d := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(r.ownDir, d), 0o700); err != nil {
			return err
		}
	}
	out, err := r.command(ctx, r.Top, r.env(users), nil, "config", "--show-scope", "--list", "-z")
	if err != nil {
		return err
	}
	var settings []string
	words := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		settings = append(settings, words[i+1])
		// A driver that the project's own config names does not exist, and who looks runs none.
		if key, _, _ := strings.Cut(words[i+1], "\n"); words[i] != "local" && words[i] != "worktree" && !r.looking && strings.HasPrefix(key, "filter.") {
			if at := strings.LastIndexByte(key, '.'); at > len("filter.") && (key[at:] == ".clean" || key[at:] == ".process") {
				r.drivers = append(r.drivers, key[len("filter."):at])
			}
		}
	}
	r.filters = len(r.drivers) > 0
	r.want = r.demanded(strings.Join(settings, "\x00"))
	var config strings.Builder
	config.WriteString("[core]\n\tbare = false\n")
	if r.idLen == 64 {
		config.WriteString("\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n[core]\n")
	} else {
		config.WriteString("\trepositoryformatversion = 0\n")
	}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		if plain[key] {
			fmt.Fprintf(&config, "\t%s = %s\n", strings.TrimPrefix(key, "core."), quoted(value))
		}
		r.filters = r.filters || key == "core.autocrlf" || key == "core.eol"
	}
	if _, err := os.Lstat(filepath.Join(r.Top, ".gitattributes")); err == nil {
		r.filters = true
	}
	for name, text := range map[string]string{"config": config.String(), "HEAD": "ref: refs/heads/none\n"} {
		if err := os.WriteFile(filepath.Join(r.ownDir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"exclude", "attributes", "sparse-checkout"} {
		if err := r.takeOver(filepath.Join("info", name)); err != nil {
			return err
		}
	}
	return nil
}

// filtered gives those files that go through a filter that only the project's own config
// can name. It is not run, so that what it would make of them is unknown.
func (r *Repo) filtered(ctx context.Context, paths []string) (out []string, err error) {
	if !r.filters || len(paths) == 0 {
		return nil, nil
	}
	said, err := r.git(ctx, ours, []byte(strings.Join(paths, "\x00")+"\x00"), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	f := strings.Split(string(said), "\x00")
	for ; len(f) > 3; f = f[3:] {
		if value := f[2]; value != "unspecified" && value != "unset" && !slices.Contains(r.drivers, value) {
			out = append(out, f[0])
		}
	}
	return out, nil
}

// takeOver copies a file of the user's git folder.
func (r *Repo) takeOver(name string) error {
	from := filepath.Join(r.gitDir, name)
	if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
		from = filepath.Join(filepath.Dir(r.objects), name) // of the main checkout
	}
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		err = os.Remove(filepath.Join(r.ownDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.ownDir, name), data, 0o600)
}
