package agent

import (
	"path/filepath"
	"strings"

	"reprise/internal/proc"
	"reprise/internal/shim"
)

// behind finds the program that a wrapper would start, because a wrapper that is
// killed leaves it at work. hint is the name of the wrapper's file and patterns,
// relative to its folder, for where the program is. Where nothing is found it is the
// program as it was named.
func behind(program string, hint, env []string, without ...string) string {
	if len(hint) == 0 {
		return program
	}
	at, err := proc.Find(program, env, without...)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
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

// outside replaces the name of an agent by its file, which is never one of the project:
// what an earlier agent, or whoever wrote the repository, calls claude is not started
// as claude. One that a person names by its path is left as it is.
func outside(program *string, job Job) error {
	if strings.ContainsRune(*program, filepath.Separator) {
		return nil
	}
	at, err := found(*program, job.Env, job.Dir, job.Dir, job.Project)
	if err == nil {
		*program = at
	}
	return err
}

// found looks a program up that is to be started in a folder. The error is a *StartError.
func found(program string, env []string, dir string, without ...string) (string, error) {
	at := program
	if strings.ContainsRune(at, filepath.Separator) && !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	at, err := proc.Find(at, env, without...)
	if err != nil {
		missing := &shim.NotFoundError{Text: err.Error()}
		return "", &StartError{Command: program, Cause: missing, Advice: advice(missing, dir)}
	}
	return at, nil
}

// CanStart tells why the program of an agent could not be started in a project, nil if
// it is there or none is named. It starts nothing.
func CanStart(o Options, env []string, project string) error {
	p, err := presetOf(o)
	if err != nil {
		return err
	}
	program, without := p.Program, []string{project}
	if len(o.Command) > 0 {
		program = o.Command[0]
	}
	if p.Name == Command {
		without = nil // a person's own command may be one of the project
	}
	if program == "" {
		return nil
	}
	_, err = found(program, env, project, without...)
	return err
}
