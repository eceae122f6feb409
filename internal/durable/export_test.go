package durable

import (
	"os"
	"path/filepath"
	"strings"
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
