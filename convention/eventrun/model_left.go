package eventrun

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise/internal/doc"
)

// Limits on what is kept of one task: enough for every real one, and no more than a
// person would look at.
const (
	maxFiles   = 200
	maxCommits = 20
	maxNote    = 64 << 10
)

// leaves reports whether an event may name what its task left: commits or files. Only
// such events are kept.
func leaves(raw []byte) bool {
	return len(raw) <= maxNote && (quotes(raw, "commit") || quotes(raw, "files_"))
}

// quotes reports whether a word follows a quote. The word is searched first, because
// quotes are everywhere.
func quotes(raw []byte, word string) bool {
	for at := 0; ; {
		i := bytes.Index(raw[at:], []byte(word))
		if i < 0 {
			return false
		}
		if at += i; at > 0 && raw[at-1] == '"' {
			return true
		}
		at++
	}
}

// leave sets the files of a task from the graph and the events, and its commits from the
// events. Anything recorded before the task failed or was reset says nothing about the
// attempt that counts.
func (m *model) leave(s *step) {
	var files []string
	if s.node != nil {
		files = s.node.files
	}
	if s.events != nil && s.events.extra != nil {
		x := s.events.extra
		since := x.back
		if x.failures > 0 && x.recent[0].after(since) {
			since = x.recent[0]
		}
		for _, n := range []*note{&x.made, &x.done} {
			if !n.set || !n.key.after(since) {
				continue
			}
			b := n.body()
			files = append(files, b.texts("files_modified", "files_changed", "files_created")...)
			s.Commits = append(s.Commits, commitsOf(b)...)
		}
	}
	for _, f := range files {
		if f = m.inProject(f); f != "" && len(s.Files) < maxFiles && !slices.Contains(s.Files, f) {
			s.Files = append(s.Files, f)
		}
	}
	slices.Sort(s.Commits)
	s.Commits = slices.Compact(s.Commits)
	s.Commits = s.Commits[:min(len(s.Commits), maxCommits)]
}

// commitsOf returns the hashes an event names; anything else under these keys is a
// message or a branch.
func commitsOf(b body) []string {
	var out []string
	for _, text := range append(b.texts("commits"), b.text("commit", "commit_sha", "commit_hash", "commit_id")) {
		if hash := strings.ToLower(text); isHash(hash) {
			out = append(out, hash)
		}
	}
	return out
}

func isHash(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// inProject converts a path from the graph or an event to a slash path inside the
// project, "" if it is not one. They are relative to the folder that contains
// `.agent-memory/`.
func (m *model) inProject(p string) string {
	p = strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")
	if p == "" || len(p) > 500 || path.IsAbs(p) || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "*?[]{}<>|\"\x00\n:") {
		return ""
	}
	p = path.Join(path.Dir(path.Dir(path.Dir(m.dir))), p)
	if p == "." || !fs.ValidPath(p) {
		return ""
	}
	return p
}

// filesOf reads the files that a graph task is said to touch. Areas are mostly folders:
// one counts only if it has a file's name.
func filesOf(item *doc.Node) []string {
	var out []string
	take := func(list *doc.Node) {
		for _, n := range listOf(list) {
			if text := firstText(n); text != "" && len(out) < maxFiles {
				out = append(out, text)
			}
		}
	}
	take(item.Get("files_likely", "files_modified"))
	files := item.Get("files")
	take(files)
	take(mapOf(files).Get("allowed"))
	for _, n := range listOf(item.Get("area_paths")) {
		if area := firstText(n); path.Ext(area) != "" && len(out) < maxFiles {
			out = append(out, area)
		}
	}
	return out
}

// branch returns the run's git branch: from its manifest, else from the event that
// started it.
func (m *model) branch() string {
	for _, led := range m.states {
		if plainBranch(led.branch) {
			return led.branch
		}
	}
	if n := &m.log.branch; n.set {
		return branchOf(n.body())
	}
	return ""
}

// branchOf returns the branch an event names, or "".
func branchOf(b body) string {
	if name := b.text("branch_name", "work_branch", "branch"); plainBranch(name) {
		return name
	}
	return ""
}

// plainBranch accepts what git would: anything else is prose or a placeholder.
func plainBranch(name string) bool {
	if name == "" || len(name) > 200 || name[0] == '-' || strings.Contains(name, "..") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\<>{}"'`, r) })
}
