// Package link holds the one rule by which links in a project are read, for
// whoever looks at it (internal/tree) and for whoever works on it
// (internal/durable): a link is read as what it leads to, if that is a file or a
// folder of the project. Whatever else a link leads to is an error that says so, and
// never that nothing is there. The package opens nothing itself.
package link

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// StateDir is the folder of our own state: links do not lead in there.
const StateDir = ".reprise"

var (
	// ErrNotRegular is the cause for folders, FIFOs, sockets and devices where a
	// file was expected.
	ErrNotRegular = errors.New("not a regular file")
	// ErrOutside is the cause for links that leave the project, or lead into what
	// is no part of it.
	ErrOutside = errors.New("link leads out of the project")
	// ErrNowhere is the cause for links that lead to nothing.
	ErrNowhere = errors.New("link leads to nothing")
	// ErrMoved tells that a link was changed while it was followed; it may be
	// tried again.
	ErrMoved = errors.New("a link on the way is being changed")
)

const maxLinks = 40 // on one way, as the kernel has it

// Names is what links are resolved over. Neither call follows a link; where one is
// on the way, the cause of the error is syscall.ELOOP.
type Names interface {
	Lstat(name string) (fs.FileMode, error)
	Readlink(name string) (string, error)
}

// Resolve gives the name of what a name leads to: one without a link on the way.
// The causes of errors are ErrOutside, fs.ErrNotExist where no link is to blame for
// it, ErrNowhere where one is, syscall.ELOOP, and ErrMoved.
func Resolve(n Names, op, name string) (string, error) {
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
			return fail(ErrOutside)
		case part == "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, part)
		mode, err := n.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && ofLink:
			return fail(ErrNowhere)
		case errors.Is(err, fs.ErrNotExist):
			return fail(syscall.ENOENT)
		case errors.Is(err, syscall.ELOOP):
			return fail(ErrMoved) // what was a folder is a link by now
		case err != nil:
			return "", err
		case mode&fs.ModeSymlink == 0 && !mode.IsDir() && len(rest) > 0:
			return fail(syscall.ENOTDIR)
		case mode&fs.ModeSymlink == 0:
			real = next
			continue
		}
		if links++; links > maxLinks {
			return fail(syscall.ELOOP)
		}
		target, err := n.Readlink(next)
		if err != nil {
			return fail(ErrMoved)
		}
		if path.IsAbs(target) {
			return fail(ErrOutside)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if own := private(real); links > 0 && own != "" && private(name) == "" {
		return fail(fmt.Errorf("%w: %s is no part of it", ErrOutside, own))
	}
	return real, nil
}

// private gives the part of a name that is a folder of git's or of our own, ""
// if there is none: links do not lead in there.
func private(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		if part == StateDir || strings.EqualFold(part, ".git") {
			return part
		}
	}
	return ""
}

// Listed reports whether a link to a folder is shown as a folder when its own folder is
// listed. in is the name of that folder and real its location; link is the link's own
// name and target the folder it leads to. This applies only in hidden folders, where
// tools keep their state, and to such folders themselves: elsewhere a folder is listed
// only at its own place. A walk terminates: it follows at most one such link, and none
// upwards. other is set if the link is another name of its neighbour.
func Listed(in, real, link, target string) (shown, other bool) {
	inside := Hidden(in)
	switch {
	case !inside && !Hidden(link):
		return false, false
	case path.Dir(target) == real && target != "." && (inside || Hidden(path.Base(target))):
		return false, true
	case in != real || target == "." || target == real || strings.HasPrefix(real, target+"/"):
		return false, false
	}
	return true, false
}

// Hidden reports whether a name is that of a hidden folder, or below one.
func Hidden(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || strings.Contains(name, "/."))
}
