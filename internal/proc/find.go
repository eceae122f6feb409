package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Find looks a program up in the PATH of an environment, NAME=VALUE of which the last
// counts. Two kinds of places never have it, whatever PATH says: a folder that is
// named relative to where someone stands, and a file inside the grounds of one of the folders
// without, also where only a link leads there: who can write to a project must not be
// able to say what is run as git or as an agent.
//
// A program that is named by a path is that file. The error is exec.ErrNotFound in an
// *exec.Error.
func Find(program string, env []string, without ...string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) {
		return exec.LookPath(program)
	}
	without = grounds(without)
	for _, dir := range folders(env) {
		at, err := exec.LookPath(filepath.Join(dir, program))
		if err == nil && !slices.ContainsFunc(without, func(w string) bool { return within(at, w) }) {
			return at, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// Environ is an environment whose PATH has only what Find would look into, for what is started
// by us and starts programs itself.
func Environ(env []string, without ...string) []string {
	without = grounds(without)
	list := slices.DeleteFunc(folders(env), func(dir string) bool {
		return slices.ContainsFunc(without, func(w string) bool { return within(dir, w) })
	})
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
	return append(env, "PATH="+strings.Join(list, string(os.PathListSeparator)))
}

// folders lists the folders of the PATH of an environment that are the same wherever
// someone stands.
func folders(env []string) []string {
	list := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			list = value
		}
	}
	return slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// within reports whether a file is inside a folder, by its name or by where it really
// is.
func within(file, dir string) bool {
	for _, real := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		f, errFile := real(file)
		d, errDir := real(dir)
		if rel, err := filepath.Rel(d, f); errFile == nil && errDir == nil && err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func grounds(dirs []string) (out []string) {
	for _, dir := range dirs {
		if dir != "" {
			out = append(out, ground(dir)...)
		}
	}
	return out
}

// ground lists the folders that whoever can write to a project may have filled: its own, and
// of the repository it lies in the top, the folder that all checkouts share, the one around
// that, and every checkout. A home or a whole disk that is a repository is its owner's: of that
// the folder alone counts.
func ground(dir string) []string {
	out := []string{dir}
	for _, real := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		at, err := real(dir)
		for err == nil {
			if lies(filepath.Join(at, ".git")) {
				out = append(out, repository(at)...)
				break
			}
			up := filepath.Dir(at)
			if up == at {
				break
			}
			at = up
		}
	}
	home, _ := os.UserHomeDir()
	wide := func(at string) bool {
		return at == filepath.Dir(at) || home != "" && within(home, at)
	}
	slices.Sort(out[1:])
	return append(out[:1:1], slices.DeleteFunc(slices.Compact(out[1:]), wide)...)
}

// repository lists the folders of the repository that has a .git in a folder.
func repository(top string) []string {
	git := filepath.Join(top, ".git")
	if to, ok := strings.CutPrefix(word(git), "gitdir: "); ok {
		git = from(top, to)
	}
	common := git
	if to := word(filepath.Join(git, "commondir")); to != "" {
		common = from(git, to)
	}
	out := []string{top, git}
	if !lies(filepath.Join(common, "objects")) {
		return out // it may name any folder, /usr/bin too
	}
	out = append(out, common)
	for at := common; at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.Base(at) == ".git" {
			out = append(out, filepath.Dir(at)) // the main checkout, or what a submodule is part of
		}
	}
	checkouts, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, c := range checkouts {
		record := filepath.Join(common, "worktrees", c.Name())
		if to := word(filepath.Join(record, "gitdir")); to != "" && lies(from(record, to)) {
			out = append(out, filepath.Dir(from(record, to)))
		}
	}
	return out
}

func lies(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// word is what a file of one line says, "" if there is no such file.
func word(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return ""
	}
	text, _ := os.ReadFile(file) // what cannot be read names no folder
	return strings.TrimRight(string(text), "\r\n")
}

// from gives a path that may be relative to a folder.
func from(dir, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	return filepath.Clean(p)
}
