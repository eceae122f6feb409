package gitx

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxLoose bounds how many refs are looked at: git packs them long before.
const maxLoose = 10_000

// BrokenBranches lists the branches whose ref holds nothing, which git calls broken: a
// power cut can leave a ref that was not flushed empty or full of zeros. A branch that is
// checked out and has a log and no ref counts too: its mend was cut off.
func (r *Repo) BrokenBranches() []string {
	var out []string
	looked, home := 0, filepath.Join(r.commonDir, "refs", "heads")
	_ = filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLoose {
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(home, p)
		if err == nil && relErr == nil && d.Type().IsRegular() && blankRef(p) && validBranch(filepath.ToSlash(rel)) {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil // what cannot be listed cannot be mended either
	})
	for _, l := range r.Linked() {
		if validBranch(l.Branch) && refFile(r.commonDir, l.Branch) == "" && exists(r.logOf(l.Branch)) && !slices.Contains(out, l.Branch) {
			out = append(out, l.Branch)
		}
	}
	return out
}

// blankRef reports whether a loose ref says nothing at all.
func blankRef(file string) bool {
	text, err := readSmall(file)
	return err == nil && strings.Trim(text, "0\x00 \n") == ""
}

// IsHead reports whether a branch is the one that is checked out where the repository was
// opened.
func (r *Repo) IsHead(branch string) bool {
	head, _ := headFile(r.gitDir)
	return head == branch
}

func (r *Repo) refOf(branch string) string {
	return filepath.Join(r.commonDir, "refs", "heads", filepath.FromSlash(branch))
}

func (r *Repo) logOf(branch string) string {
	return filepath.Join(r.commonDir, "logs", "refs", "heads", filepath.FromSlash(branch))
}

// LastOf finds the last commit that a branch is known to have pointed at, and says what
// tells: its log, the log of a checkout that is on it, or base, a commit on record. ok is
// false where none of them names a commit that is there.
func (r *Repo) LastOf(ctx context.Context, branch, base string) (commit, from string, ok bool) {
	if !validBranch(branch) {
		return "", "", false
	}
	if commit, ok := r.lastLogged(ctx, r.logOf(branch)); ok {
		return commit, "its log in git", true
	}
	for _, l := range r.Linked() {
		if l.Branch != branch {
			continue
		}
		if commit, ok := r.lastLogged(ctx, filepath.Join(l.gitDir, "logs", "HEAD")); ok {
			return commit, "the log of its checkout", true
		}
	}
	if objectName(base) {
		if commit, ok, err := r.Resolve(ctx, base); ok && err == nil {
			return commit, "the commit that its checkout was made of, which is on record", true
		}
	}
	return "", "", false
}

// lastLogged gives the last commit in a log of git's that is whole and there.
func (r *Repo) lastLogged(ctx context.Context, file string) (string, bool) {
	data, err := readBounded(file, 16<<20)
	if err != nil {
		return "", false
	}
	const most = 100 // of the last lines
	lines := strings.Split(strings.Trim(string(data), "\x00\n"), "\n")
	for _, line := range slices.Backward(lines[max(0, len(lines)-most):]) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !objectName(fields[1]) || strings.Trim(fields[1], "0") == "" {
			continue
		}
		if commit, ok, err := r.Resolve(ctx, fields[1]); ok && err == nil {
			return commit, true
		}
	}
	return "", false
}

// MendBranch points a broken branch at a commit. A branch that is not broken is refused.
// If the process dies here, the branch is still broken, or it is mended.
func (r *Repo) MendBranch(ctx context.Context, branch, commit string) error {
	if !slices.Contains(r.BrokenBranches(), branch) || !objectName(commit) {
		return fmt.Errorf("mend branch %s: it is not broken", branch)
	}
	git, err := r.main(ctx, "mend a branch in")
	if err != nil {
		return err
	}
	// Git does not write over a ref that it cannot read.
	if err := r.clearBlankRef(branch); err != nil {
		return err
	}
	_, err = git.output(ctx, 4096, "update-ref", "-m", "reprise: mended after a power cut", "--end-of-options", "refs/heads/"+branch, commit)
	return err
}
