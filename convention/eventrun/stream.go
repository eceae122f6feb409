package eventrun

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"sync"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

const (
	bufferSize = 256 << 10
	// maxLine is the longest line that is read. An event is a few hundred
	// bytes; what is longer is not one.
	maxLine = 4 << 20
	// parallelFrom is the size of a log from which on several readers pay.
	parallelFrom = 1 << 20
	// maxJoin bounds an event that was spread over several lines.
	maxJoin = 64 << 10
)

// log is one file of events.
type log struct {
	name string
	size int64
}

// logReader reads files of events one at a time into its own tally.
type logReader struct {
	fsys  fs.FS
	runID string
	*tally

	words  map[string]*word
	recent [64]*word // by a hash of their text: a log has few words
	ids    [4096]*task
	clock  stampReader
	buf    []byte

	// of the file that is being read
	file    int32
	name    string
	damage  *damage
	now     instant // time of the event before, for events without one
	open    []byte  // lines of an event that is spread over several
	openAt  int
	joining bool
	untimed int

	damages []*damage
	refused []int32
}

func newLogReader(fsys fs.FS, runID string) *logReader {
	return &logReader{fsys: fsys, runID: runID, tally: newTally(), words: map[string]*word{}}
}

// readLogs reads all files and reports what is wrong in them, in file order.
// refused counts files that could not be read, or not wholly.
func readLogs(r *doc.Reader, runID string, logs []log) (t *tally, damaged, refused int) {
	var total int64
	for _, l := range logs {
		total += l.size
	}
	workers := 1
	if total >= parallelFrom {
		workers = max(1, min(runtime.GOMAXPROCS(0), len(logs), 8))
	}
	readers := make([]*logReader, workers)
	for i := range readers {
		readers[i] = newLogReader(r.FS(), runID)
	}
	if workers == 1 {
		for i := range logs {
			readers[0].read(int32(i), logs[i].name)
		}
	} else {
		share(readers, logs)
	}
	byFile := make([]*damage, len(logs))
	unread := make([]bool, len(logs))
	t = readers[0].tally
	for i, lr := range readers {
		if i > 0 {
			t.join(lr.tally)
		}
		for _, d := range lr.damages {
			byFile[d.file] = d
		}
		for _, f := range lr.refused {
			unread[f] = true
		}
	}
	for i, l := range logs {
		if d := byFile[i]; d != nil {
			d.report(r, l.name)
			damaged += len(d.kept)
		}
		if unread[i] {
			refused++
			r.Open(l.name) // says why
		}
	}
	return t, damaged, refused
}

// share lets readers take the files, each the next one nobody has.
func share(readers []*logReader, logs []log) {
	next := make(chan int32)
	var wg sync.WaitGroup
	for _, lr := range readers {
		wg.Go(func() {
			for i := range next {
				lr.read(i, logs[i].name)
			}
		})
	}
	for i := range logs {
		next <- int32(i)
	}
	close(next)
	wg.Wait()
}

// read reads one file to its end.
func (lr *logReader) read(file int32, name string) {
	lr.file, lr.name, lr.now = file, name, nameTime(name)
	lr.damage, lr.open, lr.joining, lr.untimed = &damage{file: file}, lr.open[:0], false, 0
	in, _, err := doc.OpenRegular(lr.fsys, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			lr.wrong(reprise.CodeMissingArtifact, 0, "the file is listed and cannot be found", "a link may lead to nothing")
			lr.damages = append(lr.damages, lr.damage)
			return
		}
		lr.refused = append(lr.refused, file)
		return
	}
	defer in.Close()
	lr.stream(in)
	if lr.untimed > 0 {
		lr.damage.add(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Info, Subject: path.Base(name), Source: reprise.Source{File: name},
			Message: fmt.Sprintf("%d events carry no time that can be read; each counts as of the time of the event before it", lr.untimed),
		})
	}
	if len(lr.damage.kept) > 0 {
		lr.damages = append(lr.damages, lr.damage)
	}
}

// stream hands the file on in blocks of whole lines.
func (lr *logReader) stream(in io.Reader) {
	if lr.buf == nil {
		lr.buf = make([]byte, bufferSize)
	}
	have, line, first, idle, tooLong := 0, 1, true, 0, false
	for {
		n, err := in.Read(lr.buf[have:])
		if idle++; n > 0 {
			idle = 0
		} else if idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
		fresh := have
		have += n
		if first && have >= 3 || err != nil {
			if first && bytes.HasPrefix(lr.buf[:have], []byte("\xef\xbb\xbf")) {
				have = copy(lr.buf, lr.buf[3:have])
				fresh = 0
			}
			first = false
		}
		if err != nil {
			if !tooLong {
				line = lr.lines(lr.buf[:have], line, true)
			}
			if !errors.Is(err, io.EOF) {
				lr.refused = append(lr.refused, lr.file)
				lr.wrong(reprise.CodeUnreadable, line, "reading stopped here: "+err.Error(), "check the disk")
			}
			if lr.joining {
				lr.closeJoin()
			}
			return
		}
		cut := bytes.LastIndexByte(lr.buf[fresh:have], '\n') + fresh
		if cut < fresh {
			if have == len(lr.buf) {
				if len(lr.buf) < maxLine {
					lr.buf = append(lr.buf, make([]byte, len(lr.buf))...)
					continue
				}
				if !tooLong {
					lr.wrong(reprise.CodeTooLarge, line, fmt.Sprintf("the line is longer than %d MiB and was not read", maxLine>>20), "an event is a few hundred bytes long; look at this line by hand")
				}
				tooLong, have = true, 0
			}
			continue
		}
		from := 0
		if tooLong { // the rest of the line that was given up
			from = bytes.IndexByte(lr.buf[:have], '\n') + 1
			tooLong = false
			line++
		}
		line = lr.lines(lr.buf[from:max(from, cut+1)], line, false)
		have = copy(lr.buf, lr.buf[max(from, cut+1):have])
	}
}

// lines reads whole lines; the last one of the file may lack its newline. It
// returns the number of the line that follows.
func (lr *logReader) lines(b []byte, line int, end bool) int {
	var f fields
	for i := 0; i < len(b); line++ {
		if lr.joining && b[i] == '{' {
			lr.closeJoin() // the next event begins, the open one never ended
		}
		if !lr.joining {
			if next := scanEvent(b, i, &f); next >= 0 {
				lr.fast(&f, b[i:next], line)
				i = next
				continue
			}
		}
		next := len(b)
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			next = i + n + 1
		}
		lr.slow(b[i:next], line, end && next == len(b) && b[next-1] != '\n')
		i = next
	}
	return line
}

// fast records an event from the fields of the fast scan where they are
// certain, and hands it to the strict reading where not.
func (lr *logReader) fast(f *fields, raw []byte, line int) {
	if f.odd || f.at == nil {
		lr.strict(raw, line, false)
		return
	}
	at, ok := lr.clock.read(f.at)
	if !ok {
		t, ok := doc.ParseTime(string(f.at))
		if !ok {
			lr.strict(raw, line, false)
			return
		}
		at = instantOf(t)
	}
	var w *word
	if f.word != nil {
		if w = lr.word(f.word); w == nil {
			lr.strict(raw, line, false)
			return
		}
	}
	var tk *task
	if f.task == nil && w != nil && w.kind.aboutTask() {
		lr.strict(raw, line, false)
		return
	}
	if f.task != nil {
		if tk = lr.taskOf(f.task); tk == nil {
			lr.strict(raw, line, false)
			return
		}
	}
	if f.run != nil && string(f.run) != lr.runID {
		lr.foreign(string(f.run), line)
	}
	if w == nil && f.task != nil {
		lr.untyped(string(f.task), line)
	}
	lr.now = at
	lr.record(key{at, lr.file, int32(line), 0}, w, f.task, tk, raw)
}

// hashOf spreads short texts well enough for a small table.
func hashOf(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) >= 8 {
		h += binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	}
	return h * 0x9E3779B97F4A7C15
}

// taskOf gives the task of an id that is plain text; nil for any other.
func (lr *logReader) taskOf(id []byte) *task {
	slot := &lr.ids[hashOf(id)>>52]
	if tk := *slot; tk != nil && tk.id == string(id) {
		return tk
	}
	tk := lr.tasks[string(id)]
	if tk == nil {
		if len(id) == 0 || !utf8.Valid(id) || len(bytes.TrimSpace(id)) != len(id) {
			return nil
		}
		tk = lr.task(id)
	}
	*slot = tk
	return tk
}

// word gives the meaning of an event's type; nil for bytes that are no text.
func (lr *logReader) word(text []byte) *word {
	slot := &lr.recent[hashOf(text)>>58]
	if w := *slot; w != nil && w.text == string(text) {
		return w
	}
	if w := lr.words[string(text)]; w != nil {
		*slot = w
		return w
	}
	if !utf8.Valid(text) || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	w := newWord(string(text))
	if len(lr.words) < 10_000 { // a hostile log may hold a new word on every line
		lr.words[w.text] = w
	}
	return w
}

// slow reads a line that is not one object: blank, torn, several objects, a
// part of an event that is spread over several lines, or no JSON.
func (lr *logReader) slow(text []byte, line int, torn bool) {
	trimmed := bytes.TrimSpace(text)
	if lr.joining {
		lr.join(text, trimmed)
		return
	}
	switch {
	case len(trimmed) == 0:
		return
	case string(trimmed) == "{" && text[0] == '{':
		lr.joining, lr.openAt = true, line
		lr.open = append(lr.open[:0], text...)
		return
	case string(trimmed) == "[" || string(trimmed) == "]": // a list that was written line by line
		lr.untidy(line)
		return
	}
	lr.strict(trimmed, line, torn)
}

// join adds a line to an event that is spread over several, and reads it when
// its last line has come.
func (lr *logReader) join(text, trimmed []byte) {
	lr.open = append(lr.open, text...)
	over := len(text) > 0 && text[0] == '}' && (string(trimmed) == "}" || string(trimmed) == "},")
	if !over && len(lr.open) < maxJoin {
		return
	}
	whole := bytes.TrimSuffix(bytes.TrimSpace(lr.open), []byte(","))
	if events, _, err := readStrict(whole); over && err == nil {
		lr.joining = false
		lr.untidy(lr.openAt)
		lr.take(events, lr.openAt)
		return
	}
	lr.closeJoin()
}

// closeJoin gives up joining: the first line is damage, the others are read
// each for itself. None of them can open another event, see lines.
func (lr *logReader) closeJoin() {
	lr.joining = false
	first, rest, _ := bytes.Cut(lr.open, []byte("\n"))
	lr.strict(bytes.TrimSpace(first), lr.openAt, false)
	lr.lines(rest, lr.openAt+1, false)
}

// strict reads a line with encoding/json.
func (lr *logReader) strict(text []byte, line int, torn bool) {
	events, tidy, err := readStrict(text)
	if err != nil {
		lr.wrong(reprise.CodeDamagedLine, line, explain(text, err, torn), "the write was probably cut off; only this line is lost")
	} else if !tidy {
		lr.untidy(line)
	}
	lr.take(events, line)
}

func (lr *logReader) take(events []event, line int) {
	for sub, ev := range events {
		lr.takeOne(ev, line, sub)
	}
}

func (lr *logReader) takeOne(ev event, line, sub int) {
	if ev.repeated != "" {
		lr.wrong(reprise.CodeDuplicateKey, line, fmt.Sprintf("key %q stands twice in one event; the last one counts", doc.Clip(ev.repeated, 40)), "")
	}
	at := lr.now
	if t, ok := doc.ParseTime(ev.at); ok {
		at = instantOf(t)
	} else {
		lr.untimed++
	}
	lr.now = at
	if ev.run != "" && ev.run != lr.runID {
		lr.foreign(ev.run, line)
	}
	var w *word
	if ev.word != "" {
		if w = lr.word([]byte(ev.word)); w != nil && ev.doubt {
			w = w.doubted()
		}
	}
	var id []byte
	if ev.task != "" {
		id = []byte(ev.task)
	}
	switch {
	case w == nil && id != nil:
		lr.untyped(ev.task, line)
	case w != nil && w.kind.aboutTask() && id == nil:
		what := "names no task"
		if ev.taskOdd != "" {
			what = fmt.Sprintf("has %q where the id of a task belongs", ev.taskOdd)
		}
		lr.wrong(reprise.CodeWrongType, line, fmt.Sprintf("event %q %s; it counts for none", doc.Clip(w.text, 40), what), "")
	}
	var tk *task
	if id != nil {
		tk = lr.task(id)
	}
	lr.record(key{at, lr.file, int32(line), int32(sub)}, w, id, tk, ev.raw)
}

func (lr *logReader) wrong(code string, line int, message, hint string) {
	lr.damage.add(reprise.Finding{
		Code: code, Severity: reprise.Warning, Subject: path.Base(lr.name),
		Message: message, Source: reprise.Source{File: lr.name, Line: line}, Hint: hint,
	})
}

func (lr *logReader) untidy(line int) {
	lr.damage.add(reprise.Finding{
		Code: reprise.CodeSalvaged, Severity: reprise.Info, Subject: path.Base(lr.name),
		Message: "not one event per line; all of it was read", Source: reprise.Source{File: lr.name, Line: line},
	})
}

func (lr *logReader) untyped(id string, line int) {
	lr.wrong(reprise.CodeIntegrity, line, fmt.Sprintf("an event of task %q has no type; it says nothing about the task", doc.Clip(id, 40)), "")
}

// foreign notes an event of another run. It counts all the same: the folder may
// have been renamed, and ids are written by models.
func (lr *logReader) foreign(id string, line int) {
	if lr.damage.counts[reprise.CodeAmbiguous] > 0 {
		return
	}
	lr.wrong(reprise.CodeAmbiguous, line, fmt.Sprintf("an event here names run %q, not %q; it is counted", doc.Clip(id, 60), doc.Clip(lr.runID, 60)),
		"if the file belongs to another run, move it there")
}
