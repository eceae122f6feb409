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
	at, err := proc.Find(*program, job.Env, job.Dir, job.Project)
	if err != nil {
		missing := &shim.NotFoundError{Text: err.Error()}
		return &StartError{Command: *program, Cause: missing, Advice: advice(missing, job.Dir)}
	}
	*program = at
	return nil
}

// CanStart tells why the program of an agent could not be started in a project, nil if
// it is there or none is named. It starts nothing.
func CanStart(o Options, env []string, project string) error {
	made, err := New(o)
	if err != nil {
		return err
	}
	program, without := made.(*driver).preset.Program, []string{project}
	if len(o.Command) > 0 {
		program = o.Command[0]
	}
	if made.(*driver).preset.Name == Command {
		without = nil // a person's own command may be one of the project
	}
	at := program
	if strings.ContainsRune(at, filepath.Separator) && !filepath.IsAbs(at) {
		at = filepath.Join(project, at)
	}
	if _, err := proc.Find(at, env, without...); err != nil && program != "" {
		missing := &shim.NotFoundError{Text: err.Error()}
		return &StartError{Command: program, Cause: missing, Advice: advice(missing, project)}
	}
	return nil
}
