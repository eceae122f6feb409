package agent

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// behind finds the program that a wrapper would start, because a wrapper that is
// killed leaves it at work. hint is the name of the wrapper's file and patterns,
// relative to its folder, for where the program is. Where nothing is found the
// program is started as it was named.
func behind(program string, hint, env []string) string {
	if len(hint) == 0 {
		return program
	}
	at, err := filepath.EvalSymlinks(find(program, env))
	if err != nil || filepath.Base(at) != hint[0] {
		return program
	}
	for _, pattern := range hint[1:] {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(at), pattern))
		if err == nil && len(found) == 1 {
			return found[0]
		}
	}
	return program
}

// find looks a program up in the PATH it will have.
func find(program string, env []string) string {
	if strings.ContainsRune(program, filepath.Separator) {
		return program
	}
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })
	if i < 0 {
		return program
	}
	for _, dir := range filepath.SplitList(strings.TrimPrefix(env[i], "PATH=")) {
		if p, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return p
		}
	}
	return program
}
