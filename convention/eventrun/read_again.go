package eventrun

import (
	"bytes"
	"io"
	"sync"

	"reprise"
)

// A log grows by one line at a time, and all files of it but the last stay as they are. So
// what a file told is kept, and one with the same content is not read line by line again.

// Files of this size are kept: smaller ones are read faster than they are compared.
const (
	minAgain = 32 << 10
	maxAgain = 1 << 20
	// mostAgain bounds how many files are kept. What one tells takes less room than it does.
	mostAgain = 128
)

// toldBy is a file as a run has it: which one of its files it is, by what name, and what is
// in it.
type toldBy struct {
	run, name string
	file      int32
	content   reprise.Hash
}

// readLast is what the files that were read last told. It is safe for concurrent use.
type readLast struct {
	mu    sync.Mutex
	turn  int
	files map[toldBy]*toldFile
}

type toldFile struct {
	*tally
	used int
}

// lately is kept for as long as the process lives.
var lately readLast

// of is what a file told, nil if it is not known. It must not be changed.
func (t *readLast) of(file toldBy) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.files[file]
	if found == nil {
		return nil
	}
	t.turn++
	found.used = t.turn
	return found.tally
}

func (t *readLast) keep(file toldBy, tells *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) >= mostAgain {
		var oldest toldBy
		for name, f := range t.files {
			if o := t.files[oldest]; o == nil || f.used < o.used {
				oldest = name
			}
		}
		delete(t.files, oldest)
	}
	if t.files == nil {
		t.files = map[toldBy]*toldFile{}
	}
	t.turn++
	t.files[file] = &toldFile{tells, t.turn}
}

// again reads a file unless it is known what is in it. A file in which something is wrong,
// or asked, is read each time.
func (lr *logReader) again(in io.Reader) {
	content, err := io.ReadAll(in)
	if err != nil {
		lr.stream(io.MultiReader(bytes.NewReader(content), failed{err}))
		return
	}
	file := toldBy{lr.runID, lr.name, lr.file, reprise.HashOf(content)}
	if known := lately.of(file); known != nil {
		lr.tally.join(known)
		lr.damage.told = true
		return
	}
	all := lr.tally
	lr.tally = newTally()
	lr.stream(bytes.NewReader(content))
	one := lr.tally
	lr.tally = all
	lr.tally.join(one)
	if d := lr.damage; d.told && !d.nuls && d.refused == "" && len(d.kept) == 0 && lr.untimed == 0 && len(one.alarms) == 0 {
		lately.keep(file, one)
	}
}

// failed is what is left of a file that could not be read to its end.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }
