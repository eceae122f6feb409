package hook

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// branchOnly keeps a line of ours from being run where git checked out files, not a branch:
// it says 0 then with its third word.
const branchOnly = `test "$3" = 0 || `

// installLine gives the script of a git hook with a line of ours behind its first, or
// before it where that names no program: git runs such a script with a shell. A hook that
// is there runs as before, after ours and with what was given to it.
func (t Tool) installLine(old []byte, program string) ([]byte, error) {
	line := branchOnly + t.command(program, Start) + "\n"
	old = t.uninstallLine(old)
	if old == nil {
		return []byte(shebang + madeLine + line), nil
	}
	script := string(old)
	first, rest, whole := strings.Cut(script, "\n")
	switch {
	case isText(script) && !strings.HasPrefix(script, "#!"):
		return []byte(line + script), nil
	case !whole || !isShell(first):
		return nil, errors.New("there is a " + gitHook + " hook that is no shell script; call `reprise hook run git start` from it yourself")
	}
	return []byte(first + "\n" + line + rest), nil
}

// isText reports whether a shell can read a script: a binary has control characters.
func isText(script string) bool {
	return utf8.ValidString(script) && !strings.ContainsFunc(script, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
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
		case !t.wrote(strings.TrimPrefix(strings.TrimSuffix(string(line), "\n"), branchOnly)):
			out = append(out, line...)
		}
	}
	if made && string(out) == shebang {
		return nil
	}
	return out
}
