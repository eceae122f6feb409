package gitx

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"reprise"
)

// maxLooked bounds of how many commits one call compares the files.
const maxLooked = 1000

// bounded gives the names of commits that one call looks at, and an error that says how
// many it leaves out.
func bounded(commits []string) (names []string, err error) {
	names = slices.DeleteFunc(slices.Clone(commits), func(c string) bool { return !objectName(c) })
	if over := len(names) - maxLooked; over > 0 {
		names, err = names[:maxLooked], fmt.Errorf("%d of %d commits were left out: there are too many", over, len(names))
	}
	return names, err
}

// Remains tells of commits, by whole hash, what of them is in a folder that is a
// checkout of this repository, committed or not, or committed under another name. since gives, by commit, the one that its changes are counted from,
// where that is not its parent; then tells whether a file holds what later work made of what a commit left, which
// counts as here. others are files, below the top, that are known to be something else: one with the same
// content is like a lost one by chance. Files that except names do not count, and those that aside names only
// where there are no others. A merge
// tells nothing, and neither does a commit that the repository does not have. What was found
// is returned also with an error, which tells what was not looked at. It changes nothing.
func (r *Repo) Remains(ctx context.Context, top string, commits []string, since map[string]string, then func(e Edited, is string) bool, others map[string]bool, except, aside func(name string) bool) (map[string]reprise.Astray, error) {
	known, over := bounded(commits)
	out := map[string]reprise.Astray{}
	if len(known) == 0 {
		return out, nil
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return out, err
	}
	defer root.Close()
	gone := map[string][]string{} // names, by commit
	beside := map[string]reprise.Astray{}
	tally := func(name string) map[string]reprise.Astray {
		if aside(name) {
			return beside
		}
		return out
	}
	err = r.diffTrees(ctx, spans(known, since), func(e Edited) {
		commit, name, was, is := e.Commit, e.Name, e.Was, e.Is
		if except(name) {
			return
		}
		in := tally(name)
		a := in[commit]
		switch now := blobAt(root, e); {
		case now == is, now != "" && then != nil && then(e, now):
			a.Here++
		case none(now):
			gone[commit] = append(gone[commit], name)
			return
		case now == was, now == empty(len(now)):
			a.Undone++
		default:
			a.Other++
		}
		in[commit] = a
	}, "--root", "--no-renames")
	lost, missed := r.lostIn(ctx, top, slices.Sorted(maps.Keys(gone)), others)
	moved := map[string]bool{} // what some commit left is there, under another name
	for commit, names := range gone {
		for _, name := range names {
			moved[name] = moved[name] || missed == nil && !lost[commit+" "+name]
		}
	}
	for commit, names := range gone {
		for _, name := range names {
			in := tally(name)
			a := in[commit]
			switch {
			case !moved[name]:
				a.Undone++
			case lost[commit+" "+name]:
				a.Other++
			default:
				a.Here++
			}
			in[commit] = a
		}
	}
	for commit, a := range beside {
		if _, more := out[commit]; !more {
			out[commit] = a
		}
	}
	return out, cmp.Or(err, missed, over)
}

// lostIn tells, as "COMMIT NAME", which files of commits the head of a checkout does not
// have, under any name. Only one with the same content is the same file: another may be
// alike by chance, as others are.
func (r *Repo) lostIn(ctx context.Context, top string, commits []string, others map[string]bool) (map[string]bool, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	at := r
	if filepath.Clean(top) != r.top {
		var err error
		if at, err = r.In(ctx, top); err != nil {
			return nil, err
		}
	}
	if !objectName(at.head) {
		return nil, errors.New("nothing is committed in " + top)
	}
	lines, out := slices.Clone(commits), map[string]bool{}
	for i := range lines {
		lines[i] += " " + at.head // what it adds to the head, as if that were its parent
	}
	err := r.diffTrees(ctx, lines, func(e Edited) { out[e.Commit+" "+e.Name] = true }, "--find-renames=100%", "--diff-filter=A")
	if err != nil || len(others) == 0 {
		return out, err
	}
	adds, spare := map[string]string{}, map[string]bool{} // contents by commit and name; what only the head has, by commit and content
	err = r.diffTrees(ctx, lines, func(e Edited) {
		switch {
		case none(e.Was):
			adds[e.Commit+" "+e.Name] = e.Commit + " " + e.Is
		case none(e.Is) && !others[e.Name]:
			spare[e.Commit+" "+e.Was] = true
		}
	}, "--no-renames", "--diff-filter=AD")
	if err != nil {
		return out, nil // too many to say which is which: then alike is the same
	}
	for file, content := range adds {
		if !spare[content] {
			out[file] = true
		}
	}
	return out, nil
}

// Edited is what a commit did to a file: Was and Is are the names of its content, zeros
// where there is none. Module is set if it is a submodule after it.
type Edited struct {
	Commit, Name, Was, Is string
	Module                bool
}

// Edits hands over the changes of commits to files, as Remains looks at them: a merge has
// none. What was found counts also with an error, which tells what was not looked at.
func (r *Repo) Edits(ctx context.Context, commits []string, use func(Edited)) (missed error) {
	known := slices.DeleteFunc(slices.Clone(commits), func(c string) bool { return !objectName(c) })
	for some := range slices.Chunk(known, maxLooked) {
		missed = cmp.Or(missed, r.diffTrees(ctx, some, use, "--root", "--no-renames"))
	}
	return missed
}

// EditsSince is Edits with the changes counted from another commit, where one is given.
func (r *Repo) EditsSince(ctx context.Context, commits []string, since map[string]string, use func(Edited)) error {
	known, over := bounded(commits)
	return cmp.Or(r.diffTrees(ctx, spans(known, since), use, "--root", "--no-renames"), over)
}

// spans gives, for commits, what diffTrees is asked to count their changes from others.
func spans(commits []string, since map[string]string) []string {
	lines := slices.Clone(commits)
	for i, c := range commits {
		if from := since[c]; objectName(from) && from != c {
			lines[i] += " " + from
		}
	}
	return lines
}

// none reports whether a name of a blob says that nothing is there.
func none(blob string) bool { return blob != "" && strings.Trim(blob, "0") == "" }

// empty is the name of a file without content.
func empty(digits int) string {
	if digits == 2*sha256.Size {
		return fmt.Sprintf("%x", sha256.Sum256([]byte("blob 0\x00")))
	}
	return fmt.Sprintf("%x", sha1.Sum([]byte("blob 0\x00")))
}

// diffTrees reads the changes of commits to files. A line of the input is a commit, with
// another one in place of its parents behind it. It is an error if a commit has more changes
// than are looked at; use got the first of them.
func (r *Repo) diffTrees(ctx context.Context, of []string, use func(Edited), args ...string) error {
	if len(of) == 0 {
		return nil
	}
	args = append([]string{"diff-tree", "--stdin", "-r", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color"}, args...)
	var over error
	commit, listed := "", 0
	err := words(ctx, r.git.history, lines(of), func(word string, f *fields) error {
		change, ok := strings.CutPrefix(word, ":")
		if !ok {
			commit, listed = word, 0
			return nil
		}
		name, err := f.need()
		if err != nil {
			return err
		}
		part := strings.Fields(change)
		if len(part) != 5 || !objectName(part[2]) || !objectName(part[3]) {
			return fmt.Errorf("change %q is not understood", word)
		}
		if listed++; listed <= maxFiles {
			use(Edited{commit, name, part[2], part[3], part[1] == "160000"})
		} else {
			over = fmt.Errorf("commit %.12s has changes in more than %d files", commit, maxFiles)
		}
		return nil
	}, args...)
	return cmp.Or(err, over)
}

// blobAt is the name that git would give to what an edited file holds now, as long as its
// others are: zeros where nothing is there, "" where that cannot be told. Of a submodule it is
// the commit that is checked out there; a folder or a pipe in place of a file is no file.
func blobAt(root *os.Root, e Edited) string {
	name, digits := filepath.FromSlash(e.Name), len(e.Is)
	info, err := root.Lstat(name)
	var h hash.Hash = sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !e.Module && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return strings.Repeat("0", digits)
	case err != nil:
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		if err != nil {
			return ""
		}
		fmt.Fprintf(h, "blob %d\x00%s", len(to), to)
	case info.Mode().IsRegular():
		f, err := root.OpenFile(name, openFlags, 0)
		if err != nil {
			return ""
		}
		defer f.Close()
		fmt.Fprintf(h, "blob %d\x00", info.Size())
		if _, err := io.Copy(h, f); err != nil {
			return ""
		}
	case info.IsDir() && !unfilled(root, name):
		at := filepath.Join(root.Name(), name)
		if p, err := findGitDir(at); err == nil && p.top == at {
			branch, commit := headFile(p.gitDir)
			return cmp.Or(commit, refFile(p.commonDir, branch))
		}
		return ""
	default:
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unfilled reports whether a folder has nothing in it but what makes it a repository: a
// submodule that is not checked out.
func unfilled(root *os.Root, name string) bool {
	dir, err := root.OpenFile(filepath.FromSlash(name), openFlags, 0)
	if err != nil {
		return false
	}
	defer dir.Close()
	entries, err := dir.ReadDir(2)
	return len(entries) == 0 && errors.Is(err, io.EOF) || len(entries) == 1 && entries[0].Name() == ".git"
}
