package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Git commits a repository within another one as a link to a commit that no one else has, or
// not at all. What an agent leaves in one is work like any other: its files are committed, and
// its history is not, whether or not the agent committed the link. A submodule that the project
// names before the attempt begins stays one.

// addAll puts what the files are into the index. What git cannot read is left out, and told
// by unread.
func (c *Checkout) addAll(ctx context.Context) error {
	out, err := c.git(ctx, "add", "-A", "-v", "--", ".")
	if err == nil && !c.adopted && !strings.Contains(out+"\n", "/'\n") {
		return nil // no one added a repository
	}
	known, err := c.git(ctx, "ls-tree", "-r", "-z", c.Base)
	if err != nil {
		return err
	}
	modules, _ := c.git(ctx, "cat-file", "blob", c.Base+":.gitmodules") // most projects have none
	return c.addWithin(ctx, c.where(), c.Dir, func(name, commit string) bool {
		return commit != "" && strings.Contains("\x00"+known, "\x00160000 commit "+commit+"\t"+name+"\x00") ||
			regexp.MustCompile(`(?m)^\s*path\s*=\s*"?`+regexp.QuoteMeta(name)+`"?\s*$`).MatchString(modules)
	})
}

// addWithin puts the files of a folder into an index, and those of repositories within it but
// for the ones that stay.
func (c *Checkout) addWithin(ctx context.Context, where []string, dir string, stays func(name, commit string) bool) error {
	do := func(args ...string) (string, error) { return gitWith(ctx, dir, where, nil, args...) }
	if err := c.heed(do("add", "-A", "--ignore-errors", "--", ".")); err != nil {
		return err
	}
	links, err := do("ls-files", "-s", "-z")
	if err != nil {
		return err
	}
	others, err := do("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var within []string
	for line := range strings.SplitSeq(links, "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		if of := strings.Fields(about); len(of) > 1 && of[0] == "160000" && !stays(name, of[1]) {
			within = append(within, name)
		}
	}
	for name := range strings.SplitSeq(others, "\x00") {
		if name, is := strings.CutSuffix(name, "/"); is && !stays(name, "") {
			within = append(within, name)
		}
	}
	for _, name := range within {
		tree, err := c.treeWithin(ctx, filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			_, err = do("update-index", "--force-remove", "--", name)
		}
		if err == nil {
			_, err = do("read-tree", "--prefix="+name+"/", tree)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// treeWithin is a tree of the files of a repository within the checkout.
func (c *Checkout) treeWithin(ctx context.Context, dir string) (tree string, err error) {
	index, err := os.MkdirTemp(c.mirror.Dir, "work-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(index)) }()
	of := c
	if c.own != nil {
		of = c.own
	}
	where := []string{"GIT_DIR=" + filepath.Join(of.Dir, ".git"), "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + filepath.Join(index, "index")}
	if err := c.addWithin(ctx, where, dir, func(string, string) bool { return false }); err != nil {
		return "", err
	}
	return gitWith(ctx, dir, where, nil, "write-tree")
}

// notRead finds the file in what git says of one that it cannot read.
var notRead = regexp.MustCompile(`open\("(.+)"\): `)

// heed notes which files git could not read. Other errors of it stay.
func (c *Checkout) heed(_ string, err error) error {
	failed, is := errors.AsType[*GitError](err)
	if !is || !isExit(err) {
		return err
	}
	for line := range strings.Lines(failed.Said) {
		name := notRead.FindStringSubmatch(line)
		switch {
		case name != nil && !slices.Contains(c.unread, name[1]):
			c.unread = append(c.unread, name[1])
		case name == nil && strings.HasPrefix(line, "fatal: ") && !strings.Contains(line, "adding files failed"):
			return err
		}
	}
	return nil
}
