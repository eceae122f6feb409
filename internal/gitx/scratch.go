package gitx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// scratchName begins the names of our folders for temporary files.
const scratchName = "reprise-scratch-"

// maxSwept bounds how many names of a folder for temporary files are looked through.
const maxSwept = 4096

var (
	sweeping sync.Mutex
	swept    = map[string]bool{}
)

// scratch makes a folder for one call of git, in base. held is locked for as long as anyone has it
// open: this process, and every git that inherits it; it is nil where that cannot be. drop removes
// the folder. What processes that were killed left there is removed the first time: folders of ours
// that nobody holds.
func scratch(base string) (dir string, held *os.File, drop func(), err error) {
	sweeping.Lock()
	if !swept[base] {
		swept[base] = true
		sweep(base)
	}
	sweeping.Unlock()
	for range 100 {
		if dir, err = os.MkdirTemp(base, scratchName); err != nil {
			return "", nil, func() {}, err
		}
		var ours bool
		if held, ours = hold(dir); ours {
			return dir, held, func() { os.RemoveAll(dir); held.Close() }, nil // links are not followed
		}
		// Somebody took it for one that was left, in the moment before it was held.
	}
	return "", nil, func() {}, errors.New("make a folder for temporary files: others remove it")
}

// sweep removes the folders of ours in base that nobody holds. What cannot be removed is left.
func sweep(base string) {
	f, err := os.Open(base)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(maxSwept)
	f.Close()
	for _, name := range names {
		if !strings.HasPrefix(name, scratchName) {
			continue
		}
		dir := filepath.Join(base, name)
		if held, left := abandoned(dir); left {
			os.RemoveAll(dir)
			held.Close()
		}
	}
}

// same reports whether an open folder is the one of this name.
func same(f *os.File, dir string) bool {
	is, err := f.Stat()
	at, gone := os.Lstat(dir)
	return err == nil && gone == nil && at.Mode().Type() == fs.ModeDir && os.SameFile(is, at)
}
