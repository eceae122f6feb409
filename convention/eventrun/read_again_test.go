package eventrun

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"testing/fstest"

	"reprise/internal/doc"
)

// What is kept of files is what reading them tells, and only of those very files. (issue 19)
func TestEV3_a_file_that_was_read_before_tells_the_same(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	var logs []string
	for i := range 3 {
		name := fmt.Sprintf("events/again/%d.jsonl", i)
		fsys[name] = &fstest.MapFile{Data: sampleLog(400, 37, i)}
		if n := len(fsys[name].Data); n < minAgain || n > maxAgain {
			t.Fatalf("%s has %d bytes", name, n)
		}
		logs = append(logs, name)
	}
	read := func() *logReader {
		one := newLogReader(fsys, "again")
		for i, name := range logs {
			one.enter(int32(i), name)
			one.stream(bytes.NewReader(fsys[name].Data))
		}
		return one
	}
	plain := func(t *tally) map[string]task {
		out := map[string]task{}
		for id, tk := range t.tasks {
			c := *tk
			c.word = nil
			out[id] = c
		}
		return out
	}
	check := func(when string) {
		t.Helper()
		want, got := read(), readLogs(doc.NewReader(fsys), "again", logs)
		if !reflect.DeepEqual(plain(got.tally), plain(want.tally)) || got.events != want.events || got.last != want.last {
			t.Errorf("%s: %d events, want %d", when, got.events, want.events)
		}
	}
	check("first")
	if n := len(lately.files); n == 0 {
		t.Fatal("nothing is kept")
	}
	check("again")
	data := fsys[logs[1]].Data
	fsys[logs[1]] = &fstest.MapFile{Data: bytes.Replace(data, []byte("task_completed"), []byte("task_failed   "), 1)}
	if bytes.Equal(data, fsys[logs[1]].Data) {
		fsys[logs[1]] = &fstest.MapFile{Data: data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1]}
	}
	check("changed")
	fsys[logs[0]], fsys[logs[2]] = fsys[logs[2]], fsys[logs[0]]
	check("swapped")
}
