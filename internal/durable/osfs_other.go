//go:build !unix

package durable

import (
	"errors"
	"io/fs"
	"os"
)

const openNonblock = 0

func infoOf(info fs.FileInfo) Info {
	return Info{Name: info.Name(), Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), Links: 1}
}

func keeps(error) bool { return false }

func writeOnce(f *os.File, p []byte) (int, error) { return f.Write(p) }

// tryLock is missing here, so that no lease can be taken and nothing is written.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func openWay(*os.Root) (*os.File, error) { return nil, nil }

// atOnce can tell nothing here.
func (d *osFS) atOnce(string, uint64) (*os.File, error) { return nil, nil }

const lookFlags, folderFlags = 0, 0

func isFullErrno(error) bool { return false }

func mayWrite(string) error { return errors.ErrUnsupported }

// excludes cannot be tried without changing something on this system.
func excludes(string) (bool, error) { return true, nil }

func freeSpace(string) (bytes uint64, files uint64, err error) { return 0, 0, errors.ErrUnsupported }

func syncFile(f *os.File) error { return f.Sync() }

func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

func fileSystemKind(string) (kind string, network bool, err error) {
	return "", false, errors.ErrUnsupported
}

func self() Holder {
	host, _ := os.Hostname()
	return Holder{Host: host, PID: os.Getpid()}
}
