package ledger

import "strings"

// Branch is the name of a git branch as a file has it, "" for what cannot be one.
func Branch(text string) string {
	name := strings.TrimSpace(text)
	if len(name) > 200 || strings.ContainsAny(name, " \t\n\x00~^:?*[\\") || strings.HasPrefix(name, "-") || strings.Contains(name, "..") {
		return ""
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return name
}
