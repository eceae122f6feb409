//go:build unix

package world

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Sync makes all durable that was written to the project before: our store, the commits, and
// the files of the working tree, whoever wrote them. It is one call for a file system, and
// none where nothing was written since the last one. It comes before every record: what that
// names is on the disk, and so is what an agent left.
func (r *Repo) Sync() error {
	if r.looking || !r.unsynced.Swap(false) {
		return nil
	}
	clear(r.fresh)
	seen := map[uint64]bool{}
	for _, dir := range []string{r.own, r.objects, r.Top} {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && !seen[device(info)] {
			seen[device(info)] = true
			err = syncAll(f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			r.unsynced.Store(true)
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// afterCut puts in order what a power cut may have left: at the first start after a boot.
// Between two syncs objects have names before they have a content. Those in our store are
// read, and taken away where they are torn: what no record names can be made again. Locks of
// git commands that no process can hold are taken away, and our indexes are made anew. If
// this dies, the next start does it again.
func (r *Repo) afterCut() error {
	now, booted := Boot()
	mark := filepath.Join(r.own, "boot")
	was, err := os.ReadFile(mark)
	if err == nil && string(was) == now {
		return nil
	}
	old, _ := filepath.Glob(filepath.Join(r.own, "index*"))
	for _, name := range old {
		os.Remove(name)
	}
	for _, path := range r.locks() {
		if err != nil { // of a project that is new to us they are not our business
			break
		}
		// One that was there before the machine was started is nobody's. Of a younger one it is
		// asked for a second, as who is just ending cannot be told.
		for start := time.Now(); time.Since(start) < time.Second; time.Sleep(20 * time.Millisecond) {
			if changed(path).Before(booted) || r.abandoned(path) {
				os.Remove(path)
				break
			}
		}
	}
	store := filepath.Join(r.own, "objects")
	err = filepath.WalkDir(store, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(store, path)
		if id := strings.ReplaceAll(name, string(filepath.Separator), ""); len(id) == r.idLen && r.holds(path, id) || strings.HasPrefix(name, "pack"+string(filepath.Separator)) {
			return nil
		}
		return os.Remove(path)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(now), 0o600)
}

// locks gives the locks that commands which move a branch or stage leave where they are killed.
func (r *Repo) locks() (out []string) {
	dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(r.objects), "worktrees", "*"))
	for _, dir := range append(dirs, r.gitDir) {
		names := []string{"index.lock", "HEAD.lock"}
		if head, err := os.ReadFile(filepath.Join(dir, "HEAD")); err == nil {
			if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
				names = append(names, ref+".lock")
			}
		}
		for _, name := range names {
			if path := filepath.Join(dir, name); exists(path) {
				out = append(out, path)
			}
		}
	}
	return out
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// holds reports whether a loose object has the content that its id says.
func (r *Repo) holds(path, id string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := zlib.NewReader(bufio.NewReader(f))
	if err != nil {
		return false
	}
	sum := r.hash()
	_, err = io.Copy(sum, z)
	return err == nil && fmt.Sprintf("%x", sum.Sum(nil)) == id
}
