package proc

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Find looks a program up in the PATH of an environment, NAME=VALUE of which the last
// counts. Two kinds of places never have it, whatever PATH says: a folder that is
// named relative to where someone stands, and a file inside one of the folders
// without, also where only a link leads there: who can write to a project must not be
// able to say what is run as git or as an agent.
//
// A program that is named by a path is that file. The error is exec.ErrNotFound in an
// *exec.Error.
func Find(program string, env []string, without ...string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) {
		return exec.LookPath(program)
	}
	for _, dir := range Folders(env) {
		at, err := exec.LookPath(filepath.Join(dir, program))
		if err == nil && !slices.ContainsFunc(without, func(w string) bool { return within(at, w) }) {
			return at, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// Folders lists the folders of the PATH of an environment that are the same wherever
// someone stands.
func Folders(env []string) []string {
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
	if dir == "" {
		return false
	}
	for _, real := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		f, errFile := real(file)
		d, errDir := real(dir)
		if rel, err := filepath.Rel(d, f); errFile == nil && errDir == nil && err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
