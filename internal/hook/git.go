package hook

import (
	"bytes"
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

// What a hook that we make begins with: shebang, and a line that tells that it is ours.
const (
	shebang  = "#!/bin/sh\n"
	madeLine = "# Written by `" + ownFile + " git`.\n"
)

// installLine gives the script of a git hook with a line of ours behind its first. A
// hook that is there runs as before, after ours and with what was given to it. git runs
// a script without a first line with a shell of its own.
func (t Tool) installLine(old []byte, program string) ([]byte, error) {
	line := t.command(program, Start) + "\n"
	old = t.uninstallLine(old)
	if old == nil {
		return []byte(shebang + madeLine + line), nil
	}
	script := string(old)
	if strings.TrimSpace(script) == "" {
		return []byte(line + script), nil
	}
	first, rest, whole := strings.Cut(script, "\n")
	if !whole || !isShell(first) {
		return nil, errors.New("there is a " + gitHook + " hook that is no shell script; call `reprise hook run git start` from it yourself")
	}
	return []byte(first + "\n" + line + rest), nil
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

// uninstallLine gives the script without what we wrote; nil where it was made by us and
// holds nothing else.
func (t Tool) uninstallLine(script []byte) []byte {
	if script == nil {
		return nil
	}
	out := []byte{}
	made := false
	for line := range bytes.Lines(script) {
		switch {
		case string(line) == madeLine:
			made = true
		case !t.wrote(strings.TrimSuffix(string(line), "\n")):
			out = append(out, line...)
		}
	}
	if made && string(out) == shebang {
		return nil
	}
	return out
}
