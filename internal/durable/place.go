package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is what is known of the file system of a folder.
type Place struct {
	Kind string // its name, or its number where that is not known
	// Network tells that its locks and its durability are another machine's or
	// another program's word.
	Network bool
	// Volatile tells that nothing of it is left after a restart.
	Volatile bool
	// Layered tells that it is laid over another one, as in containers: what is
	// written may be gone with the container.
	Layered bool
	// Locks tells that a lock keeps a second one away.
	Locks bool
	// Refuses is why nothing can be made in the folder, nil if nothing is known
	// against it.
	Refuses error
	// Full tells that there is no room for the state of a run.
	Full bool
}

// leastRoom is what the state of a run needs at the least: what is kept free to record
// a full disk, and as much again.
const leastRoom = 2 * defaultRoom

// Room tells that the disk of a project has no room for what working on a run records; nil
// if it has, or where that cannot be told.
func Room(dir string) error {
	free, _, err := freeSpace(dir)
	if err != nil {
		return nil
	}
	var reserved int64
	if info, err := os.Stat(filepath.Join(dir, reserveFile)); err == nil {
		reserved = info.Size()
	}
	return room(free, reserved)
}

// room is Room for so many bytes that are free, and so many that are kept free already.
func room(free uint64, reserved int64) error {
	if need := uint64(leastRoom - min(reserved, defaultRoom)); free < need {
		return fmt.Errorf("only %d KiB are free on the disk, and %d are needed at the least", free>>10, need>>10)
	}
	return nil
}

// ReadOnlyError tells of a file or folder that has to be written and cannot be.
type ReadOnlyError struct {
	Path  string // below the project or absolute
	Cause error
}

// Error implements error.
func (e *ReadOnlyError) Error() string { return "write " + e.Path + ": " + e.Cause.Error() }

// Unwrap returns why.
func (e *ReadOnlyError) Unwrap() error { return e.Cause }

// Writable asks, without writing, for what working on a run writes: its files, our state
// and git's. The error is a *ReadOnlyError; nil if nothing speaks against it. A file is
// replaced by a new one, so what its mode says does not count: only its folder's does, and
// what keeps a file in its place.
func Writable(root, run string) error {
	if !filepath.IsLocal(filepath.FromSlash(run)) {
		return nil
	}
	at := filepath.Join(root, filepath.FromSlash(run))
	files, folders := []string{at}, []string{filepath.Dir(at), filepath.Join(root, StateDir)}
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		files, folders[0] = nil, at
	}
	if _, err := os.Lstat(folders[1]); errors.Is(err, fs.ErrNotExist) {
		folders = append(folders, root) // it is made there
	}
	ours, _ := os.ReadDir(folders[1]) // what cannot be listed cannot be written either
	for _, e := range ours {
		if e.IsDir() {
			folders = append(folders, filepath.Join(folders[1], e.Name()))
		}
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.IsDir() {
				files = append(files, filepath.Join(git, "index"), filepath.Join(git, "HEAD"))
				for _, name := range []string{"", "objects", "refs/heads", "refs/reprise", "logs", "logs/refs/heads"} {
					folders = append(folders, filepath.Join(git, filepath.FromSlash(name)))
				}
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	refuses := func(path string, err error) error {
		if rel, no := filepath.Rel(root, path); no == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		return &ReadOnlyError{path, err}
	}
	for _, dir := range folders {
		if err := mayWrite(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
			return refuses(dir, err)
		}
	}
	for _, file := range files {
		if err := mayWrite(file); keeps(err) {
			return refuses(file, err)
		}
	}
	return nil
}

// kinds are names of common file systems.
var kinds = map[string]string{
	"type 0xef53": "ext4", "type 0x9123683e": "Btrfs", "type 0x58465342": "XFS", "type 0x2fc12fc1": "ZFS", "type 0xf2f52010": "F2FS",
	"type 0xca451a4e": "bcachefs", tmpfs: "tmpfs", overlay: "overlay",
}

const (
	tmpfs   = "type 0x1021994"
	overlay = "type 0x794c7630"
)

// LookAt tells what is known of the file system of a folder that exists. Nothing
// is changed: the lock that is tried is one on the folder itself.
func LookAt(dir string) (Place, error) {
	kind, network, err := fileSystemKind(dir)
	if err != nil {
		return Place{}, err
	}
	p := Place{Kind: kind, Network: network, Volatile: kind == tmpfs, Layered: kind == overlay}
	if name, ok := kinds[kind]; ok {
		p.Kind = name
	} else if kind == "" {
		p.Kind = "of an unknown kind"
	}
	if refused := mayWrite(dir); !errors.Is(refused, errors.ErrUnsupported) {
		p.Refuses = refused
	}
	if free, _, err := freeSpace(dir); err == nil {
		p.Full = free < leastRoom
	}
	p.Locks, err = excludes(dir)
	return p, err
}
