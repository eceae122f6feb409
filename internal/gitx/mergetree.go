package gitx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrCannotForesee tells that this git cannot merge without a checkout: that came
// with 2.38.
var ErrCannotForesee = errors.New("this git is too old to tell what a merge would come to")

// usage is how git ends where it does not know an option.
const usage = 129

// Foresee tells why Merge of a branch would come to nothing, nil if it would not: a
// *ConflictError names the files that do not go together, a *NotReadyError the
// untracked ones that would be overwritten, everything else is what git itself says.
// It is ErrCannotForesee where git is too old to tell.
//
// Checkout, index and refs stay as they are, and no object is added to the
// repository: what the merge is made of goes to a folder outside the project that is
// removed again. Git renews the time of an object that comes out of the merge and is
// there already.
func (r *Repo) Foresee(ctx context.Context, branch string) error {
	c, err := r.at(ctx, "merge in", r.top)
	if err != nil {
		return err
	}
	at, err := r.resolveAll(ctx, "HEAD", branch)
	if err != nil {
		return err
	}
	if err := r.wouldCover(ctx, c, at[1]); err != nil {
		return err
	}
	if ahead, err := r.IsAncestor(ctx, at[0], at[1]); err != nil || ahead {
		return err // what comes of it is the branch as it is
	}
	base, err := c.git.ours.outside()
	if err != nil {
		return err
	}
	dir, held, drop, err := scratch(base)
	if err != nil {
		return err
	}
	defer drop()
	if held != nil {
		c.git.inherit = append(slices.Clip(c.git.inherit), held)
	}
	objects, tree := filepath.Join(dir, "objects"), filepath.Join(dir, "tree")
	if err := errors.Join(os.Mkdir(objects, 0o700), os.Mkdir(tree, 0o700)); err != nil {
		return err
	}
	if slices.ContainsFunc(c.git.ours.settings, func(s setting) bool { return s.section == "merge" && s.name == "driver" }) {
		// Git writes files for a driver, also for one that does nothing, into the
		// checkout.
		if err := r.copyAttributes(ctx, at[0], tree); err != nil {
			return err
		}
		c.git.dir, c.git.ours.top = tree, tree
	}
	// Quoted, as a path may hold what separates several.
	theirs := strconv.Quote(filepath.Join(r.commonDir, "objects"))
	c.git.env = append(c.git.env, "GIT_OBJECT_DIRECTORY="+objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+theirs)
	out, err := c.git.output(ctx, 64<<20, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "--end-of-options", at[0], at[1])
	failed, _ := errors.AsType[*callError](err)
	switch {
	case failed == nil:
		return err
	case exitCode(err) == usage:
		return ErrCannotForesee
	case exitCode(err) != 1:
		// The same message as git merge itself would give.
		return &callError{what: "merge", stderr: failed.stderr, err: failed.err}
	}
	names := bytes.Split(bytes.TrimRight(out, "\x00"), []byte{0})
	if len(names) < 2 || !objectName(string(names[0])) {
		return fmt.Errorf("foresee the merge of %s: git names no file that conflicts", branch)
	}
	conflict := &ConflictError{Branch: branch}
	for _, name := range names[1:] {
		conflict.Files = append(conflict.Files, string(name))
	}
	return conflict
}

// maxAttributes bounds how many files of attributes are looked at, and the size of
// each; git itself reads none that is larger.
const (
	maxAttributes     = 1000
	maxAttributesSize = 1 << 20
)

// copyAttributes gives a folder the files of attributes of a commit.
func (r *Repo) copyAttributes(ctx context.Context, commit, dir string) error {
	files, err := r.Files(ctx, commit)
	if err != nil {
		return err
	}
	n := 0
	for _, name := range files {
		if path.Base(name) != ".gitattributes" || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue // a tree may name anything
		}
		if n++; n > maxAttributes {
			return ErrCannotForesee
		}
		data, err := r.git.output(ctx, maxAttributesSize, "cat-file", "blob", commit+":"+name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
