package eventrun

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// line is one event to be added.
type line struct {
	word    string // spelled with hyphens
	task    string
	at      time.Time
	top     splice.Object // payload next to the header
	details splice.Object
}

func (rec *recording) line(word string, details splice.Object) line {
	return line{word: word, at: after(rec.ev.At, rec.begun()), details: details}
}

// eventID names an event by its content, so that repeating it gives the same id.
func eventID(ev reprise.Event) string {
	var b bytes.Buffer
	for _, part := range append([]string{
		string(ev.Kind), ev.At.UTC().Format(time.RFC3339Nano), ev.Step, ev.Phase, ev.Question, fmt.Sprint(ev.Attempt),
		ev.Actor, ev.Agent, ev.Commit, ev.Text, ev.Outcome,
	}, ev.Options...) {
		fmt.Fprintf(&b, "%d:%s,", len(part), part)
	}
	h := reprise.HashOf(b.Bytes())
	return "reprise-" + hex.EncodeToString(h[:8])
}

// record returns a line as it is written.
func (rec *recording) record(l line, id string, st style) splice.Object {
	o := splice.Object{{Key: st.key, Value: st.spell(l.word)}}
	if l.task != "" {
		o = append(o, splice.Member{Key: "task_id", Value: l.task})
	}
	o = append(o, splice.Member{Key: "timestamp", Value: l.at.UTC().Format(time.RFC3339Nano)},
		splice.Member{Key: "actor", Value: "reprise"}, splice.Member{Key: "event_id", Value: id})
	o = append(o, l.top...)
	if !l.at.Equal(rec.ev.At) {
		l.details = append(l.details, splice.Member{Key: "recorded_at", Value: rec.ev.At.UTC().Format(time.RFC3339Nano)})
	}
	if len(l.details) > 0 {
		o = append(o, splice.Member{Key: "details", Value: l.details})
	}
	return o
}

// append adds the lines to our log.
func (rec *recording) append(own string, lines []line) {
	st := rec.style()
	var words []string
	for _, l := range lines {
		words = append(words, strings.TrimSpace(st.spell(l.word)+" "+doc.Clip(l.task, 60)))
	}
	for i, l := range lines {
		id := rec.id
		if i > 0 {
			id = fmt.Sprintf("%s-%d", rec.id, i+1)
		}
		rec.changes.AppendRecord(own, rec.record(l, id, st), "record "+strings.Join(words, ", "))
	}
}

// maxOwn is the size from which on our log for an hour continues in a new file: every
// addition hashes the file, and that must not grow with the run.
const maxOwn = 256 << 10

func ownFolder(dir string) string { return path.Join(dir, "events", "reprise") }

// hourOf returns the prefix of our log names for the hour of an event.
func hourOf(dir string, at time.Time) string {
	return path.Join(ownFolder(dir), at.UTC().Format("20060102-15")+"00")
}

// ownLogs returns the number of the current log of an hour, and the names of the full
// ones.
func ownLogs(fsys fs.FS, dir, hour string) (last int, full []string, err error) {
	folder := ownFolder(dir)
	for _, d := range []string{path.Dir(folder), folder} {
		if info, err := fs.Stat(fsys, d); err == nil && !info.IsDir() {
			return 0, nil, fmt.Errorf("%s is not a folder", d)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, nil, err
		}
	}
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, err
	}
	last = 1
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		n := ownNumber(name, hour)
		if n < last {
			continue
		}
		last = n
		info, err := e.Info()
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, nil, err
		case err == nil && info.Mode().IsRegular() && info.Size() >= maxOwn:
			full = append(full, name)
			last++
		}
	}
	return last, full, nil
}

// ownName is the name of the n-th log of an hour, ownNumber its inverse: 0 for any other
// file.
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

// holds reports whether a log has a complete line with this id. A truncated line does not
// count.
func holds(data []byte, id string) bool {
	return bytes.Contains(data, []byte(id)) && idsIn(data)[id]
}

// idsIn returns the ids of the complete lines of a log.
func idsIn(data []byte) map[string]bool {
	ids := map[string]bool{}
	for text := range bytes.Lines(data) {
		var ev struct {
			ID string `json:"event_id"`
		}
		if json.Unmarshal(text, &ev) == nil && ev.ID != "" {
			ids[ev.ID] = true
		}
	}
	return ids
}

// style is how the events of a run spell their type.
type style struct {
	key string // event_type, type or event
	sep string // between the words: "-" or "_"
}

func (s style) spell(word string) string { return strings.ReplaceAll(word, "-", s.sep) }

// How much is examined for the spelling; the first events decide.
const (
	styleFiles = 8
	styleBytes = 16 << 10
)

// style adopts the spelling of other writers' events: those about tasks, if there are
// any, since several descriptions spell phases differently. A run without any gets that
// of most descriptions.
func (rec *recording) style() style {
	var found, task style
	files := 0
	walkEvents(rec.fsys, path.Join(rec.dir, "events"), func(name string) bool {
		if path.Dir(name) == ownFolder(rec.dir) {
			return true
		}
		files++
		for _, st := range rec.spellings(name) {
			if task.key == "" && st.task {
				task = st.style
			}
			if found.key == "" {
				found = st.style
			}
		}
		return task.key == "" && files < styleFiles
	})
	switch {
	case task.key != "":
		return task
	case found.key != "":
		return found
	}
	return style{"event_type", "-"}
}

type spelling struct {
	style
	task bool
}

// spellings returns those of the first events of a file.
func (rec *recording) spellings(name string) []spelling {
	var out []spelling
	see := func(raw []byte) {
		b := parseBody(raw)
		for _, key := range typeKeys {
			word := string(b.GetStringBytes(key))
			if i := strings.IndexAny(word, "-_"); i > 0 {
				out = append(out, spelling{style{key, word[i : i+1]}, strings.EqualFold(word[:i], "task")})
				return
			}
		}
	}
	if isSingle(name) {
		nodes, _ := eventsOf(doc.NewReader(rec.fsys).Open(name).YAML()) // JSON is YAML
		for _, n := range nodes {
			see(textOf(n))
		}
		return out
	}
	f, _, err := doc.OpenRegular(rec.fsys, name)
	if err != nil {
		return nil // Load reports what is wrong with it
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, styleBytes))
	if err != nil {
		return nil
	}
	for text := range bytes.Lines(head) {
		see(text)
	}
	return out
}
