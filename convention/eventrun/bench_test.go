package eventrun

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/tree"
)

// sampleLog writes events as a run writes them, about 200 bytes each.
func sampleLog(n, tasks, actor int) []byte {
	words := []string{"task-claimed", "task-implemented", "task-failed", "task-started", "task-verified"}
	var b bytes.Buffer
	for i := range n {
		sec := i / 10 % 86400
		fmt.Fprintf(&b, `{"event_type":"%s","task_id":"T%04d","timestamp":"2026-01-%02dT%02d:%02d:%02dZ","actor":"executor-%d","details":{"attempt":%d,"files_modified":["src/pkg/module_%d.go"],"note":"run %d"}}`+"\n",
			words[i%len(words)], i%tasks, 1+i/864000%28, sec/3600, sec/60%60, sec%60, actor, i%3, i%97, i)
	}
	return b.Bytes()
}

// BenchmarkEvents reads one log on one core; MB/s is what is compared with jq.
func BenchmarkEvents(b *testing.B) {
	data := sampleLog(200_000, 500, 1)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		lr := newLogReader(nil, "run")
		lr.enter(0, "a.jsonl")
		lr.stream(bytes.NewReader(data))
		if lr.events != 200_000 {
			b.Fatalf("%d events", lr.events)
		}
	}
}

// BenchmarkLoad reads a whole run from disk: 1,000,000 events in 4 files.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	const run = ".agent-memory/runs/20260115-1030-big-a1b2"
	var total int64
	files := fstest.MapFS{}
	for actor := range 4 {
		data := sampleLog(250_000, 500, actor)
		total += int64(len(data))
		files[fmt.Sprintf("%s/events/executor-%d/20260115-1030.jsonl", run, actor)] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	if err := os.CopyFS(dir, files); err != nil {
		b.Fatal(err)
	}
	files = nil
	fsys, err := tree.Open(dir, tree.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer fsys.Close()
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Layout{}.Load(fsys, reprise.Ref{Layout: Name, ID: "20260115-1030-big-a1b2", Path: run, Kind: reprise.KindGraph})
		if err != nil || len(r.Steps) != 500 {
			b.Fatal(err, len(r.Steps))
		}
	}
}
