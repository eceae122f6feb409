// Package crashfs is a file system in memory that remembers every operation, and
// an explorer that builds from them every state a crash may leave on the disk.
//
// A Scenario is a piece of work that acknowledges facts, and a recovery that
// checks them. Explore runs the recovery from every legal state: every prefix
// of the operations, with anything omitted that was not synced, with torn and
// zero-filled writes, after a kill that is followed by a power cut, after a
// crash inside recovery, and after an operation that failed. From each nothing
// that was acknowledged may be missing, and recovering twice must be recovering
// once.
//
// The package is for tests.
package crashfs

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"reprise/internal/durable"
)

const rootIno = 1

// node is a file, a folder or a link. data is never changed in place.
type node struct {
	mode    fs.FileMode
	data    []byte
	target  string
	entries map[string]uint64
	links   int
}

func (n *node) clone() *node {
	c := *n
	if n.entries != nil {
		c.entries = make(map[string]uint64, len(n.entries)+1)
		for name, ino := range n.entries {
			c.entries[name] = ino
		}
	}
	return &c
}

type opKind uint8

const (
	opCreate opKind = iota + 1
	opRemove
	opRename
	opWrite
	opTruncate
	opSync
	opSyncDir
	opFlush
	opMode
)

var opNames = [...]string{"", "create", "remove", "rename", "write", "truncate", "fsync", "fsync-dir", "flush", "chmod"}

// op is one operation as it went to the disk.
type op struct {
	kind      opKind
	ino       uint64 // the file or folder it concerns
	dir, dir2 uint64
	name, to  string
	off       int64
	data      []byte
	born      *node // what was created
	mode      fs.FileMode
	failed    bool // an fsync that failed and dropped what it should have written
	label     string
}

// FS is a file system in memory. It implements durable.FS.
type FS struct {
	mu     sync.Mutex
	nodes  map[uint64]*node
	next   uint64
	base   *image // what was durable when the trace began
	trace  []op
	locked map[uint64]*file
	inject func(n int, o op) fault
}

var _ durable.FS = (*FS)(nil)

// fault is what an operation meets instead of success.
type fault struct {
	err     error
	partial bool // half of a write is done
	kill    bool // the process ends here
}

// killed is thrown through the process that is killed.
type killed struct{}

// New gives an empty file system.
func New() *FS {
	d := &FS{nodes: map[uint64]*node{rootIno: {mode: fs.ModeDir | 0o755, entries: map[string]uint64{}, links: 1}}, next: rootIno + 1}
	d.Settle()
	return d
}

// Settle makes everything durable and forgets the operations so far.
func (d *FS) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base, d.trace, d.locked = d.snapshot(), nil, map[uint64]*file{}
}

// Restart ends all processes: locks are gone, what is in the cache stays.
func (d *FS) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked, d.inject = map[uint64]*file{}, nil
}

// Put writes a file without recording it, for the state before a scenario. It
// must be followed by Settle.
func (d *FS) Put(name string, content []byte, mode fs.FileMode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := uint64(rootIno)
	parts := strings.Split(name, "/")
	for _, part := range parts[:len(parts)-1] {
		ino, ok := d.nodes[at].entries[part]
		if !ok {
			ino = d.born(at, part, &node{mode: fs.ModeDir | 0o755, entries: map[string]uint64{}})
		}
		at = ino
	}
	base := parts[len(parts)-1]
	if ino, ok := d.nodes[at].entries[base]; ok {
		d.nodes[ino].data = slices.Clone(content)
		return
	}
	d.born(at, base, &node{mode: mode, data: slices.Clone(content)})
}

func (d *FS) born(dir uint64, name string, n *node) uint64 {
	ino := d.next
	d.next++
	n.links = 1
	d.nodes[ino] = n
	d.nodes[dir].entries[name] = ino
	return ino
}

// Files gives all regular files by name, for checks.
func (d *FS) Files() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]string{}
	var walk func(prefix string, ino uint64)
	walk = func(prefix string, ino uint64) {
		for name, child := range d.nodes[ino].entries {
			n := d.nodes[child]
			if n.mode.IsDir() {
				walk(path.Join(prefix, name), child)
			} else {
				out[path.Join(prefix, name)] = string(n.data)
			}
		}
	}
	walk("", rootIno)
	return out
}

func pathErr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// find resolves a name; links on the way are not followed.
func (d *FS) find(name string) (dir uint64, base string, ino uint64, err error) {
	if !fs.ValidPath(name) {
		return 0, "", 0, pathErr("open", name, fs.ErrInvalid)
	}
	if name == "." {
		return 0, "", rootIno, nil
	}
	dir = rootIno
	parts := strings.Split(name, "/")
	for _, part := range parts[:len(parts)-1] {
		next, ok := d.nodes[dir].entries[part]
		if !ok || !d.nodes[next].mode.IsDir() {
			return 0, "", 0, pathErr("open", name, fs.ErrNotExist)
		}
		dir = next
	}
	base = parts[len(parts)-1]
	return dir, base, d.nodes[dir].entries[base], nil
}

// record passes an operation through the injector and notes it.
func (d *FS) record(o op) fault {
	if d.inject != nil {
		if f := d.inject(len(d.trace), o); f.kill || f.err != nil {
			return f
		}
	}
	d.trace = append(d.trace, o)
	return fault{}
}

// do records an operation and stops where the injector says so. It must be
// called with the lock held.
func (d *FS) do(o op) error {
	f := d.record(o)
	if f.kill {
		panic(killed{})
	}
	return f.err
}

// Open implements durable.FS.
func (d *FS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, ino, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if ino == 0 {
		if flag&os.O_CREATE == 0 {
			return nil, pathErr("open", name, fs.ErrNotExist)
		}
		n := &node{mode: perm}
		if err := d.do(op{kind: opCreate, ino: d.next, dir: dir, name: base, born: n, label: name}); err != nil {
			return nil, pathErr("create", name, err)
		}
		ino = d.born(dir, base, n.clone())
		return &file{d: d, ino: ino, flag: flag, name: name}, nil
	}
	n := d.nodes[ino]
	if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
		return nil, pathErr("create", name, fs.ErrExist)
	}
	if !n.mode.IsRegular() {
		return nil, &durable.NotRegularError{Path: name, Mode: n.mode}
	}
	if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
		if err := d.do(op{kind: opTruncate, ino: ino, label: name}); err != nil {
			return nil, pathErr("truncate", name, err)
		}
		n.data = nil
	}
	return &file{d: d, ino: ino, flag: flag, name: name}, nil
}

func (d *FS) info(name string, ino uint64) durable.Info {
	n := d.nodes[ino]
	return durable.Info{Name: path.Base(name), Mode: n.mode, Size: int64(len(n.data)), Ino: ino, Links: uint64(n.links)}
}

// Stat implements durable.FS.
func (d *FS) Stat(name string) (durable.Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _, ino, err := d.find(name)
	if err != nil {
		return durable.Info{}, err
	}
	if ino == 0 {
		return durable.Info{}, pathErr("lstat", name, fs.ErrNotExist)
	}
	return d.info(name, ino), nil
}

// List implements durable.FS.
func (d *FS) List(name string) ([]durable.Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _, ino, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if ino == 0 {
		return nil, pathErr("open", name, fs.ErrNotExist)
	}
	var out []durable.Info
	for entry, child := range d.nodes[ino].entries {
		out = append(out, d.info(entry, child))
	}
	slices.SortStableFunc(out, func(a, b durable.Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (d *FS) create(name string, n *node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, ino, err := d.find(name)
	if err != nil {
		return err
	}
	if ino != 0 {
		return pathErr("create", name, fs.ErrExist)
	}
	if err := d.do(op{kind: opCreate, ino: d.next, dir: dir, name: base, born: n, label: name}); err != nil {
		return pathErr("create", name, err)
	}
	d.born(dir, base, n.clone())
	return nil
}

// Mkdir implements durable.FS.
func (d *FS) Mkdir(name string, perm fs.FileMode) error {
	return d.create(name, &node{mode: fs.ModeDir | perm, entries: map[string]uint64{}})
}

// Symlink implements durable.FS.
func (d *FS) Symlink(target, name string) error {
	return d.create(name, &node{mode: fs.ModeSymlink | 0o777, target: target})
}

// Readlink implements durable.FS.
func (d *FS) Readlink(name string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _, ino, err := d.find(name)
	if err != nil {
		return "", err
	}
	if ino == 0 {
		return "", pathErr("readlink", name, fs.ErrNotExist)
	}
	return d.nodes[ino].target, nil
}

// Rename implements durable.FS.
func (d *FS) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, ino, err := d.find(from)
	if err != nil {
		return err
	}
	dir2, base2, over, err := d.find(to)
	if err != nil {
		return err
	}
	if ino == 0 {
		return pathErr("rename", from, fs.ErrNotExist)
	}
	if over != 0 && d.nodes[over].mode.IsDir() != d.nodes[ino].mode.IsDir() {
		return pathErr("rename", to, syscall.EISDIR)
	}
	if err := d.do(op{kind: opRename, ino: ino, dir: dir, name: base, dir2: dir2, to: base2, label: from + " to " + to}); err != nil {
		return pathErr("rename", to, err)
	}
	if over != 0 {
		d.nodes[over].links--
	}
	delete(d.nodes[dir].entries, base)
	d.nodes[dir2].entries[base2] = ino
	return nil
}

// Remove implements durable.FS.
func (d *FS) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, ino, err := d.find(name)
	if err != nil {
		return err
	}
	if ino == 0 {
		return pathErr("remove", name, fs.ErrNotExist)
	}
	if len(d.nodes[ino].entries) > 0 {
		return pathErr("remove", name, syscall.ENOTEMPTY)
	}
	if err := d.do(op{kind: opRemove, ino: ino, dir: dir, name: base, label: name}); err != nil {
		return pathErr("remove", name, err)
	}
	delete(d.nodes[dir].entries, base)
	d.nodes[ino].links--
	return nil
}

// SyncDir implements durable.FS.
func (d *FS) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _, ino, err := d.find(name)
	if err != nil {
		return err
	}
	if ino == 0 {
		return pathErr("open", name, fs.ErrNotExist)
	}
	if err := d.do(op{kind: opSyncDir, ino: ino, label: name}); err != nil {
		return pathErr("fsync", name, err)
	}
	return nil
}

// Flush implements durable.FS.
func (d *FS) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.do(op{kind: opFlush})
}
