package eventrun

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reprise/internal/doc"
)

// agree holds the fast scan against encoding/json: it must accept exactly the
// valid objects, and what it notes without doubt must be what a decoder gives.
func agree(t *testing.T, line []byte) {
	t.Helper()
	if bytes.IndexByte(line, '\n') >= 0 || len(line) == 0 || line[0] != '{' {
		return // not what is handed to it as one line
	}
	var f fields
	end := scanEvent(line, 0, &f)
	valid := json.Valid(line)
	if (end >= 0) != valid {
		t.Fatalf("scan says %v, encoding/json says %v: %q", end >= 0, valid, line)
	}
	if !valid || f.odd {
		return
	}
	if end != len(line) {
		t.Fatalf("scan ends at %d of %d: %q", end, len(line), line)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(line, &want); err != nil {
		t.Fatal(err)
	}
	check := func(got []byte, names ...string) {
		t.Helper()
		var s *string
		for _, name := range names {
			if v, ok := want[name]; ok {
				if err := json.Unmarshal(v, &s); err != nil {
					t.Fatalf("%s is no text and not noted as odd: %q", name, line)
				}
			}
		}
		switch {
		case s == nil && got != nil, s != nil && got == nil:
			t.Fatalf("%v: got %q, want %v: %q", names, got, s, line)
		case s != nil && *s != strings.ToValidUTF8(string(got), "\ufffd") && *s != string(bytes.ToValidUTF8(got, []byte("\ufffd"))):
			if json.Valid(line) && bytes.ContainsFunc(got, func(r rune) bool { return r == '\ufffd' }) {
				return // broken UTF-8 is replaced byte by byte; callers ask for valid text
			}
			t.Fatalf("%v: got %q, want %q: %q", names, got, *s, line)
		}
	}
	check(f.word, "event_type", "type", "event")
	check(f.task, "task_id")
	check(f.at, "timestamp")
	check(f.run, "run_id")
}

var scanSeeds = []string{
	`{"event_type":"task-claimed","task_id":"T003","timestamp":"2026-01-15T10:30:00Z","actor":"executor","details":{"n":[1,-2.5e+3,true,false,null,{}]}}`,
	`{}`, `{ }`, `{"a":1}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":.5}`, `{"a":"\u00e9\n\x"}`, `{"a":"\u12g4"}`, `{"a":"` + "\x01" + `"}`,
	`{"type":null}`, `{"type":5}`, `{"type":"a","event":"b"}`, `{"ty\u0070e":"x"}`, `{"type":"x","type":"y"}`, `{"task_id":["T1"]}`,
	`{"a":1,}`, `{"a":[1,]}`, `{"a":tru}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":{"b":"c"}`, `{"a":1}}`, `{"a":1} {"b":2}`, `{"task_id":"` + "\xff" + `"}`,
	`{"a":"` + strings.Repeat("x", 100) + `"}`, "{\t\"a\" :\r1 }  \r", `{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
	`{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, `{"":""}`, `{"a":"é漢字"}`, `{1:2}`, `{"a":"\`, `{"a":"\u00`,
}

// EV7: the fast scan and encoding/json never disagree about a line.
func TestEV7_X9_fast_scan_agrees_with_encoding_json(t *testing.T) {
	t.Parallel()
	for _, s := range scanSeeds {
		agree(t, []byte(s))
	}
	// Every valid seed, damaged in every place by every interesting byte, and cut
	// at every place.
	alphabet := []byte("{}[]\",:\\0e.-+ntf u\x00\x1f \t\r\x7f\xffx")
	for _, s := range scanSeeds {
		if len(s) > 300 {
			continue
		}
		for i := range len(s) {
			agree(t, []byte(s[:i]))
			for _, c := range alphabet {
				changed := []byte(s)
				changed[i] = c
				agree(t, changed)
				agree(t, []byte(s[:i]+string(c)+s[i:]))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		agree(t, randomObject(rng))
	}
}

func randomObject(rng *rand.Rand) []byte {
	keys := []string{"event_type", "type", "event", "task_id", "timestamp", "run_id", "actor", "details", "eve\\u006et", ""}
	values := []string{`"T001"`, `"2026-01-15T10:30:00Z"`, `null`, `5`, `-0.5e10`, `true`, `[]`, `{"type":"x"}`, `["a",{"b":[]}]`, `"a\"b"`, `"\ud800"`, `"é"`, `""`, `nul`, `"a`}
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range rng.IntN(5) {
		if i > 0 {
			b.WriteString([]string{",", " , ", ",,"}[min(rng.IntN(20), 2)%3])
		}
		b.WriteString(`"` + keys[rng.IntN(len(keys))] + `"` + []string{":", " :\t"}[rng.IntN(2)] + values[min(rng.IntN(len(values)*2), len(values)*2-1)%len(values)])
	}
	b.WriteByte('}')
	return b.Bytes()
}

func FuzzScan(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { agree(t, line) })
}

// FuzzLog asks of any log: no panic, the same tally twice, every line counted
// as an event, as blank or as damage.
func FuzzLog(f *testing.F) {
	f.Add([]byte("{\"event_type\":\"task-claimed\",\"task_id\":\"T1\",\"timestamp\":\"2026-01-15T10:30:00Z\"}\n{\"type\":\"task_verified\",\"task"))
	f.Add([]byte("[\n{\"type\":\"escalation\"},\n]\n{\n  \"type\": \"run_failed\"\n}\n{\n\"a\n{}{}\n\x00\x00\n"))
	f.Add([]byte("\xef\xbb\xbf{\"event\":\"task_blocked\",\"task_id\":7,\"timestamp\":1768473000}\r\n\r\n5\n\"x\"\n[1]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() *logReader {
			lr := newLogReader(nil, "run")
			lr.damage = &damage{}
			lr.stream(bytes.NewReader(data))
			return lr
		}
		a, b := read(), read()
		if a.events != b.events || len(a.tasks) != len(b.tasks) || a.last != b.last || len(a.damage.kept) != len(b.damage.kept) {
			t.Fatal("two readings differ")
		}
		if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))) > 0 && a.events == 0 && len(a.damage.kept) == 0 {
			t.Fatalf("neither an event nor damage in %q", data)
		}
	})
}

func FuzzStamp(f *testing.F) {
	for _, s := range []string{"2026-01-15T10:30:00Z", "2026-02-29T10:30:00Z", "2024-02-29T23:59:59.123456789+05:30", "1969-12-31T23:59:59Z", "2026-01-15T10:30:00.Z", "2026-01-15T24:00:00Z", "9999-12-31T23:59:59-23:59"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c stampReader
		at, ok := c.read([]byte(s))
		if !ok {
			return
		}
		want, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || !at.time().Equal(want) {
			t.Fatalf("%q: got %v, want %v, %v", s, at.time(), want, err)
		}
		if again, ok := c.read([]byte(s)); !ok || again != at {
			t.Fatalf("%q: the second reading differs", s)
		}
		if slow, ok := doc.ParseTime(s); ok && !slow.Equal(want) {
			t.Fatalf("%q: doc.ParseTime gives %v", s, slow)
		}
	})
}
