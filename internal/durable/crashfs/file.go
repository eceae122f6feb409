package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"reprise/internal/durable"
)

// file is an open file.
type file struct {
	d      *FS
	ino    uint64
	flag   int
	name   string
	off    int64
	closed bool
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	data := f.d.nodes[f.ino].data
	if off >= int64(len(data)) {
		return 0, io.EOF
	}
	n := copy(p, data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		f.off = int64(len(f.d.nodes[f.ino].data))
	}
	n, err := f.write(p, f.off)
	f.off += int64(n)
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return f.write(p, off)
}

func (f *file) write(p []byte, off int64) (int, error) {
	if f.closed || f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, pathErr("write", f.name, fs.ErrClosed)
	}
	o := op{kind: opWrite, ino: f.ino, off: off, data: slices.Clone(p), label: f.name}
	got := f.d.record(o)
	if got.kill {
		panic(killed{})
	}
	if got.err != nil {
		if !got.partial {
			return 0, pathErr("write", f.name, got.err)
		}
		o.data = o.data[:len(p)/2]
		f.d.trace = append(f.d.trace, o)
	}
	n := f.d.nodes[f.ino]
	n.data = overwrite(n.data, off, o.data)
	if got.err != nil {
		return len(o.data), pathErr("write", f.name, got.err)
	}
	return len(p), nil
}

// overwrite gives a new content; a gap is filled with zeros.
func overwrite(data []byte, off int64, p []byte) []byte {
	out := make([]byte, max(int64(len(data)), off+int64(len(p))))
	copy(out, data)
	copy(out[off:], p)
	return out
}

func (f *file) SetLike(of durable.Info) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.nodes[f.ino].mode == of.Mode {
		return nil
	}
	if err := f.d.do(op{kind: opMode, ino: f.ino, mode: of.Mode, label: f.name}); err != nil {
		return pathErr("chmod", f.name, err)
	}
	f.d.nodes[f.ino].mode = of.Mode
	return nil
}

func (f *file) Stat() (durable.Info, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return f.d.info(f.name, f.ino), nil
}

func (f *file) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	got := f.d.record(op{kind: opSync, ino: f.ino, label: f.name})
	if got.kill {
		panic(killed{})
	}
	if got.err != nil {
		// The pages are marked clean and never written: what Linux does.
		f.d.trace = append(f.d.trace, op{kind: opSync, ino: f.ino, failed: true, label: f.name})
		return pathErr("fsync", f.name, got.err)
	}
	return nil
}

func (f *file) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return errors.New("closed twice")
	}
	f.closed = true
	if f.d.locked[f.ino] == f {
		delete(f.d.locked, f.ino)
	}
	return nil
}

func (f *file) TryLock() (bool, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if holder := f.d.locked[f.ino]; holder != nil && holder != f {
		return false, nil
	}
	f.d.locked[f.ino] = f
	return true, nil
}
