package durable

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"reprise"
)

// SealForTest frames a line of any version.
func SealForTest(version, text string) []byte { return append(seal(version, text), '\n') }

// ForgeLog writes a long log without an fsync per record.
func ForgeLog(dir, name string, records, size int) error {
	var prev chainHash
	seg, buf := 1, []byte(nil)
	flush := func() error {
		file := filepath.Join(dir, filepath.Base(segmentPath(name, seg)))
		seg++
		b := buf
		buf = nil
		return os.WriteFile(file, b, 0o600)
	}
	body := []byte(`"` + strings.Repeat("x", size) + `"`)
	for i := 1; i <= records; i++ {
		line := frame{seq: uint64(i), gen: 1, prev: prev, kind: "step", payload: body}.encode()
		prev = hashLine(line)
		buf = append(append(buf, line...), '\n')
		if len(buf) > defaultBlock-MaxRecord {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Undo is UndoRuns for a snapshot without checkouts of runs.
func (s *Store) Undo(ctx context.Context, id string) (*UndoReport, error) {
	return s.UndoRuns(ctx, id, UndoOptions{})
}

// Replace writes one file anew: temporary file in the same folder, fsync,
// rename, fsync of the folder. base must be the hash of what it holds now, zero
// if it does not exist. The mode of an existing file is kept.
func (s *Store) Replace(name string, base reprise.Hash, content []byte) error {
	return s.Apply(context.Background(), []reprise.Edit{{Path: name, Base: base, Content: content}})
}

// Archived lists what the archive holds: the boxes, oldest name first. One that a
// process made and died before it put something there holds nothing, and is none.
func (s *Store) Archived() ([]string, error) {
	entries, err := s.fs.List(archiveDir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		box := path.Join(archiveDir, e.Name)
		if e.Mode.IsDir() {
			inside, err := s.fs.List(box)
			if err != nil {
				return nil, err
			}
			if len(inside) == 0 {
				continue
			}
		}
		out = append(out, box)
	}
	return out, nil
}

// Free tells how much room the project's file system has for us, in bytes and
// in files. It returns errors.ErrUnsupported where that cannot be told.
func (s *Store) Free() (bytes, files uint64, err error) {
	if s.dir == "" {
		return 0, 0, errors.ErrUnsupported
	}
	return freeSpace(s.dir)
}

// Denied is denied.
func Denied(info Info, user int) bool { return denied(info, user) }
