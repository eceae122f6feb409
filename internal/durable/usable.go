package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// UnusableError tells that something stands in the state folder that no work can be
// done with: a file where a folder belongs or the other way round, or one that this user
// may not use. Nothing was written.
type UnusableError struct {
	Path string
	Mode fs.FileMode // of what stands there
	// Denied tells that it is what belongs there, and may not be used.
	Denied bool
}

// Error implements error.
func (e *UnusableError) Error() string {
	switch {
	case e.Denied:
		return fmt.Sprintf("use %s: permission denied, its mode is %v", e.Path, e.Mode)
	case e.Mode.IsRegular():
		return fmt.Sprintf("use %s: it is a file, and a folder belongs there", e.Path)
	}
	return fmt.Sprintf("use %s: it is a %s, which does not belong there", e.Path, kindOf(e.Mode))
}

// Unwrap gives fs.ErrPermission or a *NotRegularError.
func (e *UnusableError) Unwrap() error {
	if e.Denied {
		return fs.ErrPermission
	}
	return &NotRegularError{Path: e.Path, Mode: e.Mode}
}

// Hint says what a person can do. The names in the state folder are ours.
func (e *UnusableError) Hint() string {
	if e.Denied {
		return fmt.Sprintf("`chmod -R u+rwX %s` lets you use it, or call reprise as the user it belongs to", e.Path)
	}
	return outOfTheWay(e.Path)
}

// outOfTheWay is the hint for a file or folder of our own state that is of no use.
func outOfTheWay(name string) string {
	return fmt.Sprintf("`mv %s %s.bad` moves it out of the way; what is then missing is reported or made anew", name, name)
}

// Usable looks whether work can be recorded in the state folder, without changing it or
// waiting for anything: an *UnusableError names the first place where it cannot. A place
// that is not there is made when it is needed.
func (s *Store) Usable() error {
	for _, dir := range []string{StateDir, journalDir, objectDir, snapshotDir, workDir, logDir} {
		if err := s.usable(dir, true); err != nil {
			return err
		}
	}
	files := []string{lockFile, stampFile, intentFile}
	journals, err := s.fs.List(journalDir)
	if err != nil && !missing(err) {
		return err
	}
	for _, e := range journals {
		if name, _ := segmentOf(e.Name); name != "" || strings.HasSuffix(e.Name, anchorSuffix) {
			files = append(files, path.Join(journalDir, e.Name))
		}
	}
	for _, file := range files {
		if err := s.usable(file, false); err != nil {
			return err
		}
	}
	return nil
}

// explain names what stands in the place of a folder of our own, where that is why
// something could not be read.
func (s *Store) explain(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return cmp.Or(s.Usable(), err)
	}
	return err
}

func (s *Store) usable(name string, folder bool) error {
	info, err := s.fs.Stat(name)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case folder && !info.Mode.IsDir() || !folder && !info.Regular():
		return &UnusableError{Path: name, Mode: info.Mode}
	case s.dir != "" && denied(info, os.Geteuid()):
		return &UnusableError{Path: name, Mode: info.Mode, Denied: true}
	}
	return nil
}

// denied reports whether a user may surely not read and write a file, or enter a folder
// besides. Of what belongs to others it goes by the group too, which the user may be in.
func denied(info Info, user int) bool {
	if user <= 0 { // root, or a system without such users
		return false
	}
	need, have := fs.FileMode(0o6), info.Mode.Perm()>>3|info.Mode.Perm()
	if info.Mode.IsDir() {
		need = 0o7
	}
	if int(info.UID) == user {
		have = info.Mode.Perm() >> 6
	}
	return have&need != need
}
