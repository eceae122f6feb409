package tree

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// IsWorktreePointer reports whether the content of a .git file belongs to a
// linked worktree (`gitdir: …/worktrees/NAME`).
func IsWorktreePointer(data []byte) bool {
	target, ok := strings.CutPrefix(string(bytes.TrimSpace(data)), "gitdir:")
	if !ok {
		return false
	}
	target = filepath.ToSlash(strings.TrimSpace(target))
	return path.Base(path.Dir(target)) == "worktrees"
}

// maxRules is the largest ignore file whose rules are read, in bytes, and maxPattern the longest of
// them: each is held against every folder.
const maxRules, maxPattern = 256 << 10, 1 << 10

// ignoreRules are the patterns of one ignore file and of those above it. Only
// folders are asked for: a file that git ignores may well be state.
type ignoreRules struct {
	above    *ignoreRules
	base     string // the folder the patterns are relative to
	patterns []pattern
}

type pattern struct {
	parts    []string // split at slashes; "**" spans folders
	negate   bool
	dirOnly  bool
	anchored bool // has a slash before its end: counts from base
}

func (r *ignoreRules) with(base string, data []byte) *ignoreRules {
	next := &ignoreRules{above: r, base: base}
	if len(data) > maxRules {
		return r // what it would hide is searched
	}
	for _, line := range strings.Split(string(data), "\n") {
		if p, ok := parsePattern(line); ok {
			next.patterns = append(next.patterns, p)
		}
	}
	if len(next.patterns) == 0 {
		return r
	}
	return next
}

func parsePattern(line string) (p pattern, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' || len(line) > maxPattern {
		return p, false
	}
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	} else if strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`) {
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, strings.TrimSuffix(line, "/")
	}
	if strings.Contains(line, "/") {
		p.anchored = true
	}
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	p.parts = strings.Split(line, "/")
	return p, true
}

// match reports whether the last pattern that matches ignores the name. The
// caller asks folder by folder from the top, so that a name below an ignored
// folder is not asked for.
func (r *ignoreRules) match(name string, isDir bool) bool {
	for ; r != nil; r = r.above {
		rel := name
		if r.base != "." {
			rel = strings.TrimPrefix(name, r.base+"/")
		}
		parts := strings.Split(rel, "/")
		for i := len(r.patterns) - 1; i >= 0; i-- {
			p := r.patterns[i]
			if p.dirOnly && !isDir {
				continue
			}
			hit := false
			if p.anchored {
				hit = matchParts(p.parts, parts)
			} else {
				hit = matchPart(p.parts[0], parts[len(parts)-1])
			}
			if hit {
				return !p.negate
			}
		}
	}
	return false
}

// matchParts reports whether a pattern fits all of a name. The time grows with the product of their
// parts, however many of them span folders.
func matchParts(pattern, name []string) bool {
	fits := make([]bool, len(name)+1) // by how much of the name is left, what is left of the pattern
	fits[0] = true
	for i, part := range slices.Backward(pattern) {
		next := make([]bool, len(name)+1)
		for left := range next {
			switch {
			case part != "**":
				next[left] = left > 0 && fits[left-1] && matchPart(part, name[len(name)-left])
			case i == len(pattern)-1:
				next[left] = left > 0
			default:
				next[left] = fits[left] || left > 0 && next[left-1]
			}
		}
		fits = next
	}
	return fits[len(name)]
}

func matchPart(pattern, name string) bool {
	// path.Match speaks git's language for one path element, but for the
	// negation of a class.
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return err == nil && ok
}
