package project

import (
	"io/fs"
	"os"
	"slices"
)

// listed is a file system that reads each folder listing once: in a project with many
// runs side by side, every run looks at all of them.
type listed struct {
	statFS
	lists map[string]listing
	time  *patience
}

// InTime implements what reprise.InTime asks for.
func (l *listed) InTime(do func()) bool { return l.time.within(false, do) }

// statFS is what os.DirFS returns: files are checked before they are opened.
type statFS interface {
	fs.StatFS
	fs.ReadFileFS
}

type listing struct {
	entries []fs.DirEntry
	err     error
}

func listedAt(root string) *listed {
	return &listed{statFS: os.DirFS(root).(statFS), lists: map[string]listing{}}
}

// ReadDir implements fs.ReadDirFS.
func (l *listed) ReadDir(name string) ([]fs.DirEntry, error) {
	list, read := l.lists[name]
	if !read {
		list.entries, list.err = fs.ReadDir(l.statFS, name)
		l.lists[name] = list
	}
	return slices.Clone(list.entries), list.err // the caller may change it
}
