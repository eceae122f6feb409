package crashfs_test

import (
	"fmt"
	"os"
	"testing"

	"reprise/internal/durable/crashfs"
)

// replace writes a file anew; what is left out must be found.
func replace(d *crashfs.FS, content string, syncFile, syncDir bool) error {
	f, err := d.Open("new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	if syncFile {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := d.Rename("new", "file"); err != nil {
		return err
	}
	if syncDir {
		return d.SyncDir(".")
	}
	return nil
}

func scenario(syncFile, syncDir bool) crashfs.Scenario {
	return crashfs.Scenario{
		Name:  "toy",
		Start: func(d *crashfs.FS) error { d.Put("file", []byte("old"), 0o644); return nil },
		Work: func(d *crashfs.FS, ack func(string)) error {
			err := replace(d, "new content", syncFile, syncDir)
			if err == nil {
				ack("new content")
			}
			return err
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			if err := d.Flush(); err != nil {
				return "", err
			}
			got := d.Files()["file"]
			if got != "new content" && (got != "old" || len(acked) > 0) {
				return "", fmt.Errorf("the file holds %q, acknowledged was %v", got, acked)
			}
			return got, nil
		},
	}
}

func TestExplore_finds_what_is_missing(t *testing.T) {
	t.Parallel()
	for _, m := range []crashfs.Model{crashfs.Weak, crashfs.Ordered} {
		for _, c := range []struct{ file, dir bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
			r := crashfs.Explore(scenario(c.file, c.dir), crashfs.Config{Models: []crashfs.Model{m}})
			if right := c.file && c.dir; right != (len(r.Bad) == 0) {
				t.Errorf("%v, fsync of file %v, of folder %v: %v %v", m, c.file, c.dir, r, r.Bad)
			}
			if r.Capped > 0 || r.States < 5 {
				t.Error(r)
			}
		}
	}
}
