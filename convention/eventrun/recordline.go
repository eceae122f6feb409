package eventrun

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
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
	top     splice.Object // payload that stands beside the header
	details splice.Object
}

func (rec *recording) line(word string, details splice.Object) line {
	return line{word: word, at: after(rec.ev.At, rec.begun()), details: details}
}

// eventID names an event by its content, so that the same event is told again.
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

// has reports whether our log of the hour holds a whole line with this id. One
// that was cut off does not count.
func (rec *recording) has(id string) bool {
	if holds(rec.data, id) {
		return true
	}
	return slices.ContainsFunc(rec.full, func(name string) bool { return holds(rec.reader.Open(name).Data, id) })
}

func holds(data []byte, id string) bool {
	if !bytes.Contains(data, []byte(id)) {
		return false
	}
	for rest := data; len(rest) > 0; {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		if !bytes.Contains(text, []byte(id)) {
			continue
		}
		var ev struct {
			ID string `json:"event_id"`
		}
		if json.Unmarshal(text, &ev) == nil && ev.ID == id {
			return true
		}
	}
	return false
}

// append makes the edit that adds the lines.
func (rec *recording) append(lines []line) (reprise.Edit, error) {
	st := rec.style()
	next := slices.Clip(rec.data)
	var words []string
	for i, l := range lines {
		id := rec.id
		if i > 0 {
			id = fmt.Sprintf("%s-%d", rec.id, i+1)
		}
		var err error
		if next, err = appendLine(next, rec.object(l, id, st)); err != nil {
			return reprise.Edit{}, fmt.Errorf("record %s: %s: %w", rec.ev.Kind, rec.own, err)
		}
		words = append(words, strings.TrimSpace(st.spell(l.word)+" "+doc.Clip(l.task, 60)))
	}
	return rec.edit(next, "record "+strings.Join(words, ", "))
}

func (rec *recording) object(l line, id string, st style) splice.Object {
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

// style is how the events of a run spell their type.
type style struct {
	key string // event_type, type or event
	sep string // between the words: "-" or "_"
}

func (s style) spell(word string) string { return strings.ReplaceAll(word, "-", s.sep) }

// How much is looked at for the spelling; the first events tell.
const (
	styleFiles = 8
	styleBytes = 16 << 10
)

// style takes the spelling over from the other writers' events: of tasks if
// there are some, since several descriptions spell phases in their own way. A
// run without any gets that of most descriptions.
func (rec *recording) style() style {
	var found, task style
	files := 0
	walkEvents(rec.reader.FS(), path.Join(rec.dir, "events"), func(name string) bool {
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

// spellings gives those of the first events of a file.
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
		nodes, _ := eventsOf(doc.NewReader(rec.reader.FS()).Open(name).YAML()) // JSON is YAML
		for _, n := range nodes {
			see(textOf(n))
		}
		return out
	}
	f, _, err := doc.OpenRegular(rec.reader.FS(), name)
	if err != nil {
		return nil // what is wrong with it is Load's to say
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
