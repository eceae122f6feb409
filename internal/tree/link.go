package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"reprise/internal/doc"
)

// A link is read as what it leads to, if that is a file or a folder of the
// project; internal/durable reads by the same rule, and project/links_test.go
// holds the two to it. Whatever else a link leads to is an error that says so,
// and never that nothing is there.

var (
	errNowhere      = errors.New("link leads to nothing")
	errMoved        = errors.New("a link on the way is being changed")
	errLinkedFolder = errors.New("a link to a folder is not looked into here")
)

const (
	maxLinks = 40 // on one way, as the kernel has it
	maxMoved = 10 // how often a link may change while it is followed
)

// names is what links are resolved over. Neither call follows a link, also not
// on the way.
type names interface {
	lstat(name string) (fs.FileInfo, error)
	readlink(name string) (string, error)
}

// resolve gives the name of what a name leads to: one without a link on the way.
// The causes of errors are doc.ErrOutside, fs.ErrNotExist where no link is to
// blame for it, errNowhere where one is, syscall.ELOOP, and errMoved.
func resolve(n names, op, name string) (string, error) {
	fail := func(err error) (string, error) { return "", &fs.PathError{Op: op, Path: name, Err: err} }
	real, links := ".", 0
	rest := strings.Split(name, "/")
	asked := len(rest) // how many of the rest are of the name itself
	for len(rest) > 0 {
		part, ofLink := rest[0], len(rest) > asked
		if rest = rest[1:]; !ofLink {
			asked--
		}
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && real == ".":
			return fail(doc.ErrOutside)
		case part == "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, part)
		info, err := n.lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && ofLink:
			return fail(errNowhere)
		case errors.Is(err, fs.ErrNotExist):
			return fail(syscall.ENOENT)
		case errors.Is(err, syscall.ELOOP):
			return fail(errMoved) // what was a folder is a link by now
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0 && !info.IsDir() && len(rest) > 0:
			return fail(syscall.ENOTDIR)
		case info.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		}
		if links++; links > maxLinks {
			return fail(syscall.ELOOP)
		}
		target, err := n.readlink(next)
		if err != nil {
			return fail(errMoved)
		}
		if path.IsAbs(target) {
			return fail(doc.ErrOutside)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if own := private(real); links > 0 && own != "" && private(name) == "" {
		return fail(fmt.Errorf("%w: %s is no part of it", doc.ErrOutside, own))
	}
	return real, nil
}

// private gives the part of a name that is a folder of git's or of our own, ""
// if there is none: links do not lead in there.
func private(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		if part == Archive || strings.EqualFold(part, ".git") {
			return part
		}
	}
	return ""
}

// listed reports whether a link to a folder is shown as a folder where its own
// folder is listed. in is the name of that one and real where it is, link the
// link's own name, target the folder. Only in hidden folders, where tools keep
// their state, and for one itself: elsewhere a folder is listed at its own place
// alone. A walk comes to its end: it goes through one such link at most, and none
// up. other is set for one that is another name of its neighbour.
func listed(in, real, link, target string) (shown, other bool) {
	inside := hidden(in)
	switch {
	case !inside && !hidden(link):
		return false, false
	case path.Dir(target) == real && target != "." && (inside || hidden(path.Base(target))):
		return false, true
	case in != real || target == "." || target == real || strings.HasPrefix(real, target+"/"):
		return false, false
	}
	return true, false
}

// hidden reports whether a name is that of a hidden folder, or below one.
func hidden(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || strings.Contains(name, "/."))
}

// shown is a link as what it leads to.
type shown struct {
	fs.FileInfo
	name string
}

// Name implements fs.FileInfo.
func (s shown) Name() string { return s.name }

// through gives a listed link as what it leads to. in is the folder that is
// listed and real where it is. One that is not followed is given as it is, and
// said where state can be.
func (t *FS) through(in, real string, e fs.DirEntry) fs.DirEntry {
	name := path.Join(in, e.Name())
	info, target, err := t.root.stat(path.Join(real, e.Name()))
	other := false
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return e // gone since
	case info.Mode().IsRegular():
		return fs.FileInfoToDirEntry(shown{info, e.Name()})
	case !info.IsDir():
		err = &fs.PathError{Op: "stat", Path: name, Err: doc.ErrNotRegular}
	default:
		var is bool
		if is, other = listed(in, real, e.Name(), target); is {
			return fs.FileInfoToDirEntry(shown{info, e.Name()})
		}
		// Outside of state folders it is listed at its own place.
		if !other && (hidden(name) || t.mark(e.Name())) {
			err = &fs.PathError{Op: "readdir", Path: name, Err: errLinkedFolder}
		}
	}
	if err != nil && t.marked(name) {
		t.note(func() { t.problems = append(t.problems, Problem{Path: name, Err: err}) })
	}
	return e
}

// Real gives the name of what a name leads to, one without a link on the way, and
// the name itself where it leads to nothing that is read.
func (t *FS) Real(name string) string {
	if _, real, err := t.root.stat(name); err == nil {
		return real
	}
	return name
}
