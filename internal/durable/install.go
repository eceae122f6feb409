package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Temporary files have names that no one else uses and that can be recognised.
const (
	tempPrefix = ".reprise-"
	tempSuffix = ".tmp"
	// privateSuffix is for those of private files, which are written without the lease.
	privateSuffix = ".new"
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// makeDirs makes a folder and those above it, and makes them durable up to the
// first that existed.
func (s *Store) makeDirs(dir string, perm fs.FileMode) error {
	var made []string
	for _, d := range append([]string{dir}, parents(dir)...) {
		info, err := s.fs.Stat(d)
		if err == nil && !info.Mode.IsDir() {
			// os.Root follows a link to a folder inside the project; the last
			// element of the state folder itself is checked by checkPlace.
			if info.Mode&fs.ModeSymlink == 0 {
				return &NotRegularError{Path: d, Mode: info.Mode}
			}
		}
		if err == nil {
			break
		}
		if !missing(err) {
			return err
		}
		made = append(made, d)
	}
	for i := len(made) - 1; i >= 0; i-- {
		if err := s.fs.Mkdir(made[i], perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return s.fail("make "+made[i], err)
		}
	}
	for _, d := range made {
		if err := s.syncDirs(d); err != nil {
			return err
		}
	}
	return nil
}

// syncDirs makes the entry of a name durable.
func (s *Store) syncDirs(name string) error {
	dir := path.Dir(name)
	return s.fail("sync "+dir, s.fs.SyncDir(dir))
}

// remove removes a file of the state, durably.
func (s *Store) remove(op, name string) error {
	if err := s.fail(op, s.fs.Remove(name)); err != nil {
		return err
	}
	return s.syncDirs(name)
}

// sweep removes temporary files that a dead process left in a folder. Only the
// holder of the lease may call it, once per folder.
func (s *Store) sweep(dir string) error {
	if s.swept[dir] {
		return nil
	}
	entries, err := s.fs.List(dir)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isTemp(e.Name) && e.Regular() {
			if err := s.fs.Remove(path.Join(dir, e.Name)); err != nil && !missing(err) {
				return s.fail("remove "+e.Name, err)
			}
		}
	}
	s.swept[dir] = true
	return nil
}

// temp makes a new temporary file in a folder.
func (s *Store) temp(dir string, flag int, perm fs.FileMode) (File, string, error) {
	if err := s.sweep(dir); err != nil {
		return nil, "", err
	}
	for range 1000 {
		token, err := s.token()
		if err != nil {
			return nil, "", err
		}
		name := path.Join(dir, tempPrefix+token+tempSuffix)
		f, err := s.fs.Open(name, flag|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", s.fail("create "+name, err)
		}
		return f, name, nil
	}
	return nil, "", fmt.Errorf("create a temporary file in %s: no free name", dir)
}

// stage writes content to a new temporary file beside name and makes it
// durable. like, if set, is the file it will replace.
func (s *Store) stage(name string, content []byte, like *Info) (string, error) {
	perm := fs.FileMode(0o644)
	if isState(name) || (like != nil && like.Mode.Perm()&0o077 == 0) {
		perm = 0o600
	}
	f, temp, err := s.temp(path.Dir(name), os.O_WRONLY, perm)
	if err != nil {
		return "", err
	}
	err = writeAll(f, content)
	if err == nil && like != nil {
		err = f.SetLike(*like)
	}
	// crash: temp-written
	if err := finish(f, err); err != nil {
		s.discard(temp)
		return "", s.fail("replace "+name, err)
	}
	return temp, nil
}

// discard removes a temporary file that is not needed; a failure leaves it to
// the next process.
func (s *Store) discard(temp string) { _ = s.fs.Remove(temp) }

// writeAll writes in pieces: a temporary file may be torn, no one reads it.
func writeAll(f File, b []byte) error {
	const piece = 1 << 20
	for len(b) > 0 {
		n := min(len(b), piece)
		if _, err := f.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// finish makes durable what was written to a file, if it was, and closes it.
func finish(f File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// install replaces a file of the state: temporary file, fsync, rename, fsync of
// the folder. If the process dies here, the file is the old or the new one.
func (s *Store) install(name string, content []byte, like *Info) error {
	if err := s.makeDirs(path.Dir(name), 0o700); err != nil {
		return err
	}
	temp, err := s.stage(name, content, like)
	if err != nil {
		return err
	}
	return s.rename(temp, name)
}

// rename puts a file in its place, durably.
func (s *Store) rename(temp, name string) error {
	if err := s.fail("rename to "+name, s.fs.Rename(temp, name)); err != nil {
		return err
	}
	// crash: renamed
	return s.syncDirs(name)
}

func isState(name string) bool {
	return name == StateDir || strings.HasPrefix(name, StateDir+"/")
}

// copyAside keeps a copy of a file that is about to be changed by recovery or
// repair, as NAME.broken-N, and gives its name.
func (s *Store) copyAside(name string, content []byte) (string, error) {
	return s.keepAs(name, ".broken-%d", content)
}

// keepAs keeps a content under the first free of the names that end in a number, and gives
// that. The same content is kept once.
func (s *Store) keepAs(name, numbered string, content []byte) (string, error) {
	for n := 1; n < 10_000; n++ {
		kept := name + fmt.Sprintf(numbered, n)
		have, _, err := s.readFile(kept)
		if err == nil && string(have) == string(content) {
			return kept, nil
		}
		if missing(err) {
			return kept, s.install(kept, content, nil)
		}
	}
	return "", fmt.Errorf("keep a copy of %s: too many copies", name)
}
