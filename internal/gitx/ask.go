package gitx

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"reprise"
)

// Ask says what is wanted beyond the general state of the repository. Paths
// are slash paths relative to the folder the repository was opened from. All
// of it may come from users' files: what is no hash, no branch name or no path
// inside is left out.
type Ask struct {
	Hashes    []string // commits on record, may be abbreviated
	Paths     []string // files and folders whose changes are listed commit by commit
	Past      []string // files whose latest versions are fetched
	Heads     []string // in a peek, files that are held against the head
	Missing   bool     // in a peek, whether a file of state that git knows is not there
	Changed   bool     // in a peek, what is uncommitted
	Unmerged  []string // files and folders that are fetched from branches that changed them
	Branches  []string // branches that runs work on
	Worktrees []string // other checkouts whose uncommitted changes count

	Then func(*Repo, *reprise.Git) // asks more, once all of this is answered; may be nil

	MaxCommits     int // how far back; zero stands for 20,000
	MaxFileCommits int // how many commits get their files listed; zero stands for 2,000
	MaxChanges     int // uncommitted changes that are listed, the rest is counted; zero stands for 1,000
}

const (
	maxHashes         = 20_000
	maxHeads          = 20_000
	maxPaths          = 200
	maxTracked        = 64 // branches whose distance to their upstream is counted
	maxAskedWorktrees = 8
	maxRefs           = 20_000
)

// shortHash reports whether a text can be an abbreviated object name. Compiled
// patterns would cost every start of the program more than this.
func shortHash(s string) bool { return len(s) >= 4 && len(s) <= 64 && isHex(s) }

// objectName reports whether a text is a whole object name.
func objectName(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// clean leaves what can be asked, with the defaults filled in.
func (a Ask) clean(prefix string) Ask {
	a.MaxCommits, a.MaxFileCommits, a.MaxChanges = cmp.Or(a.MaxCommits, 20_000), cmp.Or(a.MaxFileCommits, 2_000), cmp.Or(a.MaxChanges, 1_000)
	a.Hashes = uniq(a.Hashes, maxHashes, strings.ToLower, shortHash)
	a.Branches = uniq(a.Branches, maxTracked, nil, validBranch)
	a.Worktrees = uniq(a.Worktrees, maxAskedWorktrees, path.Clean, func(s string) bool { return s != "." })
	depth := strings.Count(prefix, "/")
	inside := func(p string) bool {
		up := 0
		for rest := p; rest == ".." || strings.HasPrefix(rest, "../"); up++ {
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".."), "/")
		}
		return p != "" && !path.IsAbs(p) && up <= depth && !strings.Contains(p, "\x00") && len(p) < 4096
	}
	a.Paths = merge(uniq(a.Paths, 0, path.Clean, inside))
	return a
}

// uniq gives the distinct values that pass, at most max of them if max is not 0.
func uniq(in []string, max int, norm func(string) string, pass func(string) bool) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range in {
		if s == "" {
			continue
		}
		if norm != nil {
			s = norm(s)
		}
		if seen[s] || !pass(s) {
			continue
		}
		seen[s] = true
		if out = append(out, s); max > 0 && len(out) == max {
			break
		}
	}
	return out
}

// merge drops paths that lie in others of the list. If there are too many left
// their parents stand for them: more is listed than was asked for, never less.
func merge(paths []string) []string {
	for {
		slices.Sort(paths)
		var out []string
		have := map[string]bool{}
		for _, p := range paths {
			have[p] = true
		}
		for _, p := range slices.Compact(paths) {
			if !covered(have, p) {
				out = append(out, p)
			}
		}
		if len(out) <= maxPaths {
			return out
		}
		for i, p := range out {
			out[i] = path.Dir(p)
		}
		paths = out
	}
}

func covered(have map[string]bool, p string) bool {
	if p != "." && have["."] && p != ".." && !strings.HasPrefix(p, "../") {
		return true
	}
	for at := path.Dir(p); at != "." && at != "/" && at != p; at = path.Dir(at) {
		if have[at] {
			return true
		}
		if at == ".." {
			return false
		}
	}
	return false
}
