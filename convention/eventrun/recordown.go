package eventrun

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/splice"
)

// maxOwn is the size from which on our log of an hour goes on in a new file:
// every addition to a file takes its hash, which must not grow with the run.
const maxOwn = 256 << 10

func ownFolder(dir string) string { return path.Join(dir, "events", "reprise") }

// hour is what the names of our logs for the hour of the event begin with.
func (rec *recording) hour() string {
	return path.Join(ownFolder(rec.dir), rec.ev.At.UTC().Format("20060102-15")+"00")
}

// open reads our log for the hour of the event.
func (rec *recording) open() error { return rec.openBehind(nil) }

// openBehind reads the log that lines are to be added to once the edits are
// made: the last one of the hour, or a new one if that is full.
func (rec *recording) openBehind(edits []reprise.Edit) error {
	folder := ownFolder(rec.dir)
	for _, dir := range []string{path.Dir(folder), folder} {
		if info, err := fs.Stat(rec.reader.FS(), dir); err == nil && !info.IsDir() {
			return fmt.Errorf("record %s: %s is no folder", rec.ev.Kind, dir)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record %s: %w", rec.ev.Kind, err)
		}
	}
	entries, err := fs.ReadDir(rec.reader.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("record %s: %w", rec.ev.Kind, err)
	}
	last, full := 1, false
	rec.full = nil
	for _, e := range entries {
		n := ownNumber(path.Join(folder, e.Name()), rec.hour())
		if n < last {
			continue
		}
		info, err := e.Info()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record %s: %w", rec.ev.Kind, err)
		}
		last, full = n, err == nil && info.Mode().IsRegular() && info.Size() >= maxOwn
		if full {
			rec.full = append(rec.full, path.Join(folder, e.Name()))
		}
	}
	if full {
		last++
	}
	for slices.ContainsFunc(edits, func(e reprise.Edit) bool { return e.Path == ownName(rec.hour(), last) }) {
		last++
	}
	return rec.read(ownName(rec.hour(), last))
}

func (rec *recording) read(name string) error {
	rec.own = name
	f := rec.reader.Open(rec.own)
	if f.Exists() && !f.OK() {
		why := "it cannot be read"
		if all := rec.reader.Findings(); len(all) > 0 {
			why = all[0].Message
		}
		return fmt.Errorf("record %s: %s: %s", rec.ev.Kind, rec.own, why)
	}
	rec.data, rec.here = f.Data, f.Exists()
	return nil
}

// ownName is the name of the n-th log of an hour, ownNumber its inverse: 0 for
// any other file.
func ownName(hour string, n int) string {
	if n == 1 {
		return hour + ".jsonl"
	}
	return fmt.Sprintf("%s-%03d.jsonl", hour, n)
}

func ownNumber(name, hour string) int {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, ".jsonl"), hour)
	if !ok || !strings.HasSuffix(name, ".jsonl") {
		return 0
	}
	if rest == "" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
	if err != nil || ownName(hour, n) != name {
		return 0
	}
	return n
}

// edit makes the change that lets our log be next, which begins with what it is.
func (rec *recording) edit(next []byte, why string) (reprise.Edit, error) {
	if !rec.here {
		return splice.Create(rec.own, next, why), nil
	}
	return splice.Tail(rec.own, rec.data, next, why)
}

// styleWindow is how much of the end of a log tells how its lines are written.
const styleWindow = 4 << 10

// appendLine adds a line to a log in the style of its last ones, as append does.
func appendLine(log []byte, o splice.Object) ([]byte, error) {
	tail := log[max(0, len(log)-styleWindow):]
	next, err := splice.AppendRecord(tail, o)
	if err != nil {
		return nil, err
	}
	return append(log, next[len(tail):]...), nil
}

// idsIn gives the ids of the whole lines of a log of ours.
func idsIn(log []byte) map[string]bool {
	ids := map[string]bool{}
	for text := range bytes.Lines(log) {
		_, rest, ok := bytes.Cut(text, []byte(`"event_id":"`))
		id, _, ends := bytes.Cut(rest, []byte(`"`))
		if ok && ends && bytes.HasSuffix(text, []byte("}\n")) {
			ids[string(id)] = true
		}
	}
	return ids
}
