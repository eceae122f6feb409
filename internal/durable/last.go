package durable

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
)

// LastRecords gives, by name, the last record of every log that is not one of the
// log's own, as far as the ends of its files show it. Nothing before it is
// looked at, so it tells which logs are worth reading and no more than that. A log
// whose end cannot be read is left out.
func (s *Store) LastRecords() (map[string]Record, error) {
	entries, err := s.fs.List(journalDir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]Record{}
	for _, e := range slices.Backward(entries) {
		// They are sorted: the last file of a log comes first, and those before
		// it only where it holds none yet.
		name, _ := segmentOf(e.Name)
		if _, found := out[name]; found || !validName(name) || !e.Regular() {
			continue
		}
		for _, reach := range []int64{4 << 10, 2 * MaxRecord} {
			if rec, ok := s.lastRecord(name, e, reach); ok {
				out[name] = rec
				break
			}
			if e.Size <= reach {
				break
			}
		}
	}
	return out, nil
}

// lastRecord looks for it in the last bytes of a file.
func (s *Store) lastRecord(name string, file Info, reach int64) (Record, bool) {
	at := path.Join(journalDir, file.Name)
	f, err := s.fs.Open(at, 0, 0)
	if err != nil {
		return Record{}, false
	}
	defer f.Close()
	b := make([]byte, min(reach, file.Size))
	n, err := f.ReadAt(b, file.Size-int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return Record{}, false
	}
	lines := bytes.Split(b[:n], []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		fr, err := parseFrame(lines[i])
		if err != nil || fr.kind[0] == '_' {
			continue
		}
		payload, err := s.resolve(name, at, 0, fr.payload)
		return Record{Seq: fr.seq, Gen: fr.gen, Kind: fr.kind, Payload: payload}, err == nil
	}
	return Record{}, false
}
