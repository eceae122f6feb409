package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// privateWait is how long a writer waits for the others.
const privateWait = 10 * time.Second

// UpdatePrivate changes a file of the user's own that lies outside of any
// project: what they trust, for one. change gets what stands there, nil if there
// is no file, and returns what shall; if it returns the same, nothing is written.
// Writers of one file wait for each other, so that no change is lost.
//
// Missing folders are made for their owner alone. name is absolute. If the
// process dies here, the file is the old or the new one, whole; once nil is
// returned it outlives a power cut.
func UpdatePrivate(name string, change func(old []byte) ([]byte, error)) error {
	dir := filepath.Dir(name)
	if !filepath.IsAbs(name) {
		return fmt.Errorf("update %s: the path is not absolute", name)
	}
	if err := makePrivate(dir); err != nil {
		return fmt.Errorf("update %s: %w", name, err)
	}
	disk, err := OpenFS(dir)
	if err != nil {
		return fmt.Errorf("update %s: %w", name, err)
	}
	defer disk.(*osFS).close()
	if err := updatePrivate(disk, filepath.Base(name), change); err != nil {
		return fmt.Errorf("update %s: %w", name, err)
	}
	return nil
}

// ReadPrivate reads a private file. One that does not exist gives nil.
func ReadPrivate(name string) ([]byte, error) {
	disk, err := OpenFS(filepath.Dir(name))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer disk.(*osFS).close()
	return readPrivate(disk, filepath.Base(name))
}

func readPrivate(disk FS, name string) ([]byte, error) {
	b, _, err := (&Store{fs: disk}).readFile(name)
	if missing(err) {
		return nil, nil
	}
	return b, err
}

// makePrivate makes a folder and those above it, durably.
func makePrivate(dir string) error {
	if _, err := os.Stat(dir); err == nil || !missing(err) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makePrivate(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(syncFile(f), f.Close())
}

// updatePrivate is UpdatePrivate in a folder that exists.
func updatePrivate(disk FS, name string, change func(old []byte) ([]byte, error)) error {
	lock, err := lockPrivate(disk, name+".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	old, err := readPrivate(disk, name)
	if err != nil {
		return err
	}
	content, err := change(old)
	if err != nil {
		return err
	}
	if old != nil && string(content) == string(old) {
		// Whoever renamed it here may have been killed before it was durable.
		return disk.SyncDir(".")
	}
	// The lock makes the name of the temporary file ours; one that is there was
	// left by a process that died. Whoever takes the lease does not sweep it away.
	temp := tempPrefix + name + privateSuffix
	if err := disk.Remove(temp); err != nil && !missing(err) {
		return err
	}
	f, err := disk.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := finish(f, writeAll(f, content)); err != nil {
		return errors.Join(err, disk.Remove(temp))
	}
	if err := disk.Rename(temp, name); err != nil {
		return err
	}
	return disk.SyncDir(".")
}

// lockPrivate takes the lock beside a file. The lock file stays: one that was
// removed and made again would exclude no one.
func lockPrivate(disk FS, name string) (File, error) {
	f, err := disk.Open(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(privateWait); ; time.Sleep(2 * time.Millisecond) {
		held, err := f.TryLock()
		switch {
		case held:
			return f, nil
		case err == nil && time.Now().Before(end):
			continue
		case err == nil:
			err = fmt.Errorf("lock %s: another process has held it for %v", name, privateWait)
		}
		return nil, errors.Join(err, f.Close())
	}
}
