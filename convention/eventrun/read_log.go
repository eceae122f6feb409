package eventrun

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"reprise"
	"reprise/internal/doc"
)

const (
	bufferSize = 256 << 10
	// maxLine is the longest line that is read. An event is a few hundred bytes; anything
	// longer is not one.
	maxLine = 4 << 20
	// maxLog is the largest log that is read, and maxDamaged how many of its lines may be
	// invalid before the rest is not read: real logs have a few megabytes.
	maxLog     = 256 << 20
	maxDamaged = 200_000
	// maxJoin limits an event that is spread over several lines.
	maxJoin = 64 << 10
)

// logReader reads event files one after another into a tally.
type logReader struct {
	fsys  fs.FS
	runID string
	*tally

	words  map[string]*word
	parser fastjson.Parser
	in     *bufio.Reader
	long   []byte // a line longer than the buffer

	damaged int // places that were lost
	refused int // files that could not be read, or not completely

	// of the file being read
	file    int32
	name    string
	damage  *damage
	now     instant // time of the previous event, for events without one
	open    []byte  // lines of an event that is spread over several
	openAt  int
	joining bool
	untimed int
	doubt   bool // the file is malformed
}

func newLogReader(fsys fs.FS, runID string) *logReader {
	return &logReader{fsys: fsys, runID: runID, tally: newTally(), words: map[string]*word{}}
}

// enter begins a file.
func (lr *logReader) enter(file int32, name string) {
	lr.file, lr.name, lr.now, lr.damage = file, name, nameTime(name), &damage{}
	lr.open, lr.joining, lr.untimed, lr.doubt = lr.open[:0], false, 0, false
}

// parallelFrom is the total size of logs from which on several readers pay off.
const parallelFrom = 1 << 20

// readLogs reads logs into one tally, and reports what is wrong in them in file order.
func readLogs(r *doc.Reader, runID string, names []string) *logReader {
	var size int64
	for _, name := range names {
		if info, err := fs.Stat(r.FS(), name); err == nil {
			size += info.Size()
		}
	}
	readers := make([]*logReader, 1)
	if size >= parallelFrom {
		readers = make([]*logReader, min(runtime.GOMAXPROCS(0), len(names)))
	}
	damages := make([]*damage, len(names))
	var wg sync.WaitGroup
	for w := range readers {
		readers[w] = newLogReader(r.FS(), runID)
		wg.Go(func() {
			for i := w; i < len(names); i += len(readers) {
				damages[i] = readers[w].read(int32(i), names[i])
			}
		})
	}
	wg.Wait()
	first := readers[0]
	for _, other := range readers[1:] {
		first.tally.join(other.tally)
	}
	for i, d := range damages {
		d.report(r, names[i])
		first.damaged += len(d.kept)
		if d.refused != "" {
			first.refused++
			if f := r.Open(names[i]); f.OK() { // otherwise it has said why
				f.Lost(reprise.CodeUnreadable, 0, d.refused, "look for another copy or a backup")
			}
		}
	}
	return first
}

// read reads one log completely and returns what is wrong in it.
func (lr *logReader) read(file int32, name string) *damage {
	lr.enter(file, name)
	in, info, err := doc.OpenRegular(lr.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		lr.wrong(reprise.CodeMissingArtifact, 0, "the file is listed and cannot be found", "a link may lead to nothing")
	case err != nil:
		lr.damage.refused = doc.Cause(err)
	case info.Size() > maxLog:
		in.Close()
		lr.damage.refused = fmt.Sprintf("larger than %d MiB, not read", maxLog>>20)
	default:
		if info.Size() >= minAgain && info.Size() <= maxAgain {
			lr.again(in)
		} else {
			lr.stream(in)
		}
		in.Close()
		lr.damage.lost(info.Size())
	}
	if lr.untimed > 0 {
		lr.damage.add(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Info, Subject: path.Base(name), Source: reprise.Source{File: name},
			Message: fmt.Sprintf("%d events have no readable time; each gets the time of the event before it", lr.untimed),
		})
	}
	return lr.damage
}

// stream reads a log line by line.
func (lr *logReader) stream(in io.Reader) {
	if lr.in == nil {
		lr.in = bufio.NewReaderSize(nil, bufferSize)
	}
	lr.in.Reset(in)
	for no := 1; ; no++ {
		text, err := lr.next()
		if no == 1 {
			if text = bytes.TrimPrefix(text, []byte("\ufeff")); reprise.UTF16(text) {
				lr.damage.refused = reprise.IsUTF16
				return
			}
		}
		switch {
		case len(text) >= maxLine:
			lr.wrong(reprise.CodeTooLarge, no, fmt.Sprintf("the line is longer than %d MiB and was not read", maxLine>>20), "an event is a few hundred bytes long; look at this line by hand")
		case len(text) > 0:
			lr.line(text, no)
		}
		if lr.damage.counts[reprise.CodeDamagedLine] > maxDamaged {
			lr.damage.refused = fmt.Sprintf("more than %d lines are not events; the rest was not read", maxDamaged)
			return
		}
		if err == nil {
			continue
		}
		if lr.joining {
			lr.closeJoin()
		}
		if err != io.EOF {
			lr.damage.refused = "could not be read to its end"
			lr.wrong(reprise.CodeUnreadable, no, "reading stopped here: "+err.Error(), "check the disk")
		}
		return
	}
}

// next returns the next line including its end. Of a line that is too long only maxLine
// bytes are kept.
func (lr *logReader) next() ([]byte, error) {
	part, err := lr.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return part, err
	}
	for lr.long = lr.long[:0]; ; part, err = lr.in.ReadSlice('\n') {
		if len(lr.long) < maxLine {
			lr.long = append(lr.long, part...)
		}
		if err != bufio.ErrBufferFull {
			return lr.long, err
		}
	}
}

// line processes a line: one event, or blank, torn, several events, part of one that is
// spread over several lines, or not JSON.
func (lr *logReader) line(text []byte, no int) {
	if lr.joining && text[0] == '{' {
		lr.closeJoin() // the next event begins; the open one never ended
	}
	if !lr.joining && lr.event(text, no, 0) {
		return
	}
	trimmed := bytes.TrimSpace(text)
	switch {
	case lr.joining:
		lr.join(text, trimmed)
	case len(trimmed) == 0:
	case string(trimmed) == "{" && text[0] == '{':
		lr.joining, lr.openAt = true, no
		lr.open = append(lr.open[:0], text...)
	case string(trimmed) == "[" || string(trimmed) == "]": // a list written line by line
		lr.untidy(no)
	default:
		lr.salvage(trimmed, no, text[len(text)-1] != '\n')
	}
}

// join adds a line to an event that is spread over several, and reads the event once its
// last line has come.
func (lr *logReader) join(text, trimmed []byte) {
	lr.open = append(lr.open, text...)
	over := text[0] == '}' && (string(trimmed) == "}" || string(trimmed) == "},")
	if !over && len(lr.open) < maxJoin {
		return
	}
	whole := bytes.TrimSuffix(bytes.TrimSpace(lr.open), []byte(","))
	if over && lr.event(whole, lr.openAt, 0) {
		lr.joining = false
		lr.untidy(lr.openAt)
		return
	}
	lr.closeJoin()
}

// closeJoin gives up joining: the first line is damage, the others are read individually.
// None of them can open another event, see line.
func (lr *logReader) closeJoin() {
	lr.joining = false
	no := lr.openAt
	for text := range bytes.Lines(bytes.Clone(lr.open)) {
		if no == lr.openAt {
			lr.salvage(bytes.TrimSpace(text), no, false)
		} else {
			lr.line(text, no)
		}
		no++
	}
}

// errNoEvent is for a line that is valid JSON but not an object.
var errNoEvent = errors.New("it holds no event")

// salvage reads what is complete in a line that is not one event: several objects in a
// row, or in a list. The rest is damage.
func (lr *logReader) salvage(text []byte, no int, torn bool) {
	sub, tidy, err := 0, true, error(nil)
	take := func(raw []byte) error {
		if !lr.event(raw, no, sub) {
			return errNoEvent
		}
		sub++
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	for count := 0; err == nil; count++ {
		var raw json.RawMessage
		if err = dec.Decode(&raw); err == io.EOF {
			tidy = tidy && count == 1
			break
		}
		var items []json.RawMessage
		switch {
		case err != nil:
			if rest := text[min(int(dec.InputOffset()), len(text)):]; count > 0 && string(bytes.TrimSpace(rest)) == "," {
				tidy, err = false, io.EOF // an element of a list written line by line
			}
		case raw[0] == '[':
			tidy = false // a list does not belong on a line
			err = json.Unmarshal(raw, &items)
			for i := 0; i < len(items) && err == nil; i++ {
				err = take(items[i])
			}
		default:
			err = take(raw)
		}
	}
	if err != io.EOF {
		lr.damage.nuls = lr.damage.nuls || bytes.IndexByte(text, 0) >= 0
		lr.cutEvent(text[min(int(dec.InputOffset()), len(text)):], no, sub)
		lr.wrong(reprise.CodeDamagedLine, no, explain(text, err, torn), "the write was probably cut off; only this line is lost")
	} else if !tidy {
		lr.untidy(no)
	}
}

// What a damaged line reveals: the type of its event and its task.
var (
	cutType = regexp.MustCompile(`"(?:event_type|type|event)"\s*:\s*"([^"\\]+)"`)
	cutTask = regexp.MustCompile(`"(?:task_id|taskId|task)"\s*:\s*"([^"\\]+)"`)
)

// cutEvent processes the rest of a damaged event. It cannot finish its task, but without
// it the task's status is unknown.
func (lr *logReader) cutEvent(text []byte, no, sub int) {
	kind, id := cutType.FindSubmatch(text), cutTask.FindSubmatch(text)
	if kind == nil || id == nil {
		return
	}
	w := newWord(string(kind[1])).doubted()
	if kd := w.meaning(true); kd.aboutTask() {
		lr.task(bytes.TrimSpace(id[1])).record(key{lr.now, lr.file, int32(no), int32(sub)}, w, kd, nil)
	}
}

// explain says in one sentence what is wrong with a line.
func explain(line []byte, err error, torn bool) string {
	shown := fmt.Sprintf("%q", doc.Clip(string(bytes.TrimSpace(line[:min(len(line), 60)])), 40))
	switch {
	case len(bytes.Trim(line, "\x00")) == 0:
		return fmt.Sprintf("%d NUL bytes are where an event belongs, as after a power cut", len(line))
	case torn && (errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected end")):
		return "the last line is cut off: " + shown
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line is cut off: " + shown
	case errors.Is(err, errNoEvent):
		return "the line contains no event: " + shown
	}
	return fmt.Sprintf("the line is not JSON: %s (%s)", shown, strings.TrimPrefix(err.Error(), "json: "))
}

// The fields of an event by their possible keys, most likely first. Payload also uses
// some of them.
var (
	typeKeys = []string{"event_type", "type", "event"}
	taskKeys = []string{"task_id", "taskId", "task"}
)

// header is what an event says about itself, by the positions of the keys in the lists
// above; nil if it does not.
type header struct {
	types   [3][]byte
	tasks   [3][]byte
	times   [6][]byte
	run     []byte
	details *fastjson.Value
	oddTask string // what is in place of a task id
	repeats string // a key that occurs twice and says different things
}

// field returns where to store the value of a key, nil for payload.
func (h *header) field(key []byte) *[]byte {
	switch string(key) {
	case "event_type":
		return &h.types[0]
	case "type":
		return &h.types[1]
	case "event":
		return &h.types[2]
	case "task_id":
		return &h.tasks[0]
	case "taskId":
		return &h.tasks[1]
	case "task":
		return &h.tasks[2]
	case "timestamp":
		return &h.times[0]
	case "time":
		return &h.times[1]
	case "ts":
		return &h.times[2]
	case "at":
		return &h.times[3]
	case "created_at":
		return &h.times[4]
	case "created":
		return &h.times[5]
	case "run_id":
		return &h.run
	}
	return nil
}

func (h *header) visit(key []byte, v *fastjson.Value) {
	if string(key) == "details" {
		h.details = v
		return
	}
	into := h.field(key)
	if into == nil {
		return
	}
	said := *into
	if *into = scalar(v); said != nil && !bytes.Equal(said, *into) {
		h.repeats = string(key)
	}
	if *into == nil && v.Type() != fastjson.TypeNull && string(key) == taskKeys[0] {
		h.oddTask = doc.Clip(string(v.MarshalTo(nil)), 40)
	}
}

// scalar returns text and numbers; anything else counts as absent.
func scalar(v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return v.GetStringBytes()
	case fastjson.TypeNumber:
		return v.MarshalTo(nil)
	}
	return nil
}

func firstOf(values ...[]byte) []byte {
	for _, v := range values {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// event reads one object into the tally. For anything else it does nothing and returns
// false.
func (lr *logReader) event(raw []byte, no, sub int) bool {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	v, err := lr.parser.ParseBytes(raw)
	if err != nil || v.Type() != fastjson.TypeObject || bytes.IndexByte(raw, 0) >= 0 {
		return false
	}
	var h header
	o, _ := v.Object()
	o.Visit(h.visit)
	w := lr.word(h.types[:])
	if h.repeats != "" {
		lr.wrong(reprise.CodeDuplicateKey, no, fmt.Sprintf("key %q occurs twice in one event, so what it says of its task is unknown", h.repeats), "")
		if w != nil {
			w = w.doubted()
		}
	}
	id := bytes.TrimSpace(firstOf(h.tasks[:]...))
	if len(id) == 0 && h.details != nil {
		id = bytes.TrimSpace(firstOf(scalarAt(h.details, taskKeys[0]), scalarAt(h.details, taskKeys[2])))
	}
	at := firstOf(h.times[:]...)
	next, ok := parseInstant(at)
	lr.damage.told = lr.damage.told || w != nil || len(id) > 0 || ok
	if ok {
		lr.now = next
	} else {
		lr.untimed++
	}
	if len(h.run) > 0 && string(h.run) != lr.runID {
		lr.foreign(string(h.run), no)
	}
	var tk *task
	switch {
	case len(id) > 0:
		tk = lr.task(id)
		if w == nil {
			lr.wrong(reprise.CodeIntegrity, no, fmt.Sprintf("an event of task %q has no type; it says nothing about the task", doc.Clip(string(id), 40)), "")
		}
	case w != nil && w.kind.aboutTask():
		what := "names no task"
		if h.oddTask != "" {
			what = fmt.Sprintf("has %q where the id of a task belongs", h.oddTask)
		}
		lr.wrong(reprise.CodeWrongType, no, fmt.Sprintf("event %q %s; it counts for none", doc.Clip(w.text, 40), what), "")
	}
	lr.record(key{lr.now, lr.file, int32(no), int32(sub)}, w, tk, raw)
	return true
}

func scalarAt(v *fastjson.Value, key string) []byte {
	if v = v.Get(key); v == nil {
		return nil
	}
	return scalar(v)
}
