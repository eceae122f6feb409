package hook

import (
	"errors"
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
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	shell := len(words) > 0 && strings.HasSuffix(words[len(words)-1], "sh")
	if !whole || !strings.HasPrefix(first, "#!") || !shell || strings.HasSuffix(first, "\r") {
		return nil, errors.New("there is a " + gitHook + " hook that is no shell script; call `reprise hook run git start` from it yourself")
	}
	return []byte(first + "\n" + t.command(program, Start) + "\n" + rest), nil
}

// uninstallLine gives the script without our line; nil where it holds nothing else.
func (t Tool) uninstallLine(script []byte) []byte {
	var out strings.Builder
	taken := false
	for line := range strings.Lines(string(script)) {
		if strings.Contains(line, t.call()) {
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
