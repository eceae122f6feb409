package link_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"reprise/internal/link"
)

// tree is a project in memory: a name that ends with a slash is a folder, and one
// with a text is a link.
type tree map[string]string

func (t tree) Lstat(name string) (fs.FileMode, error) {
	target, found := t[name]
	switch {
	case target != "":
		return fs.ModeSymlink, nil
	case found:
		return 0, nil
	}
	if _, found := t[name+"/"]; found {
		return fs.ModeDir, nil
	}
	return 0, fs.ErrNotExist
}

func (t tree) Readlink(name string) (string, error) {
	if t[name] == "moved" {
		return "", syscall.EINVAL
	}
	return t[name], nil
}

// X9: where each name leads to, or why it leads nowhere.
func TestX9_a_name_leads_to_one_place(t *testing.T) {
	t.Parallel()
	project := tree{
		"a/": "", "a/file": "", ".git/": "", ".git/config": "", ".reprise/": "", ".reprise/lock": "",
		"file": "a/file", "chain": "./file", "dir": "a//", "a/up": "../a/file", "a/top": "..", "through": "a/top/chain",
		"out": "../a", "back": "../project/a", "abs": "/a", "dead": "none", "deep": "a/none/x", "loop": "loop", "over": "file/x",
		"git": ".git/config", "own": "a/../.reprise", "swapped": "moved",
	}
	for name, want := range map[string]any{
		".": ".", "a": "a", "a/file": "a/file", "file": "a/file", "chain": "a/file", "dir": "a", "dir/file": "a/file",
		"a/up": "a/file", "a/top": ".", "a/top/a/top/file": "a/file", "through": "a/file",
		"none": fs.ErrNotExist, "a/none/x": fs.ErrNotExist, "dir/none": fs.ErrNotExist,
		"out": link.ErrOutside, "back": link.ErrOutside, "abs": link.ErrOutside, "git": link.ErrOutside, "own": link.ErrOutside, "own/lock": link.ErrOutside,
		"dead": link.ErrNowhere, "deep": link.ErrNowhere, "loop": syscall.ELOOP, "over": syscall.ENOTDIR, "file/x": syscall.ENOTDIR, "swapped": link.ErrMoved,
		".git/config": ".git/config", ".reprise/lock": ".reprise/lock",
	} {
		got, err := link.Resolve(project, "open", name)
		switch want := want.(type) {
		case error:
			if !errors.Is(err, want) || errors.Is(err, fs.ErrNotExist) != (want == fs.ErrNotExist) {
				t.Errorf("%s: %q %v, want %v", name, got, err, want)
			}
		case string:
			if err != nil || got != want {
				t.Errorf("%s: %q %v, want %q", name, got, err, want)
			}
		}
	}
}
