package hook

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// Git is the name of git among the tools, and gitHook the one hook of it that calls us.
const (
	Git     = "git"
	gitHook = "post-checkout"
)

// shebang begins a hook that we make.
const shebang = "#!/bin/sh\n"

// installLine gives the script of a git hook with a line of ours behind its first. A
// hook that is there runs as before, after ours and with what was given to it.
func (t Tool) installLine(old []byte, program string) ([]byte, error) {
	script := string(t.uninstallLine(old))
	if script == "" {
		script = shebang
	}
	first, rest, whole := strings.Cut(script, "\n")
	if !whole || !isShell(first) {
		return nil, errors.New("there is a " + gitHook + " hook that is no shell script; call `reprise hook run git start` from it yourself")
	}
	return []byte(first + "\n" + t.command(program, Start) + "\n" + rest), nil
}

// isShell reports whether the first line of a script names a shell of the usual kind,
// directly or by env.
func isShell(first string) bool {
	line, is := strings.CutPrefix(first, "#!")
	words := strings.Fields(line)
	return is && !strings.HasSuffix(first, "\r") && slices.ContainsFunc(words[:min(2, len(words))], func(w string) bool {
		return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(w))
	})
}

// uninstallLine gives the script without our line; nil where it holds nothing else.
func (t Tool) uninstallLine(script []byte) []byte {
	var out strings.Builder
	taken := false
	for line := range strings.Lines(string(script)) {
		if t.wrote(strings.TrimSuffix(line, "\n")) {
			taken = true
			continue
		}
		out.WriteString(line)
	}
	if !taken {
		return script
	}
	if out.String() == shebang {
		return nil
	}
	return []byte(out.String())
}
