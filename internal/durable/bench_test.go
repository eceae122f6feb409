package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// timed gives the median of two ways to do the same, measured in turn so that
// both see the same machine.
func timed(n int, ours, raw func(i int)) (o, r time.Duration) {
	var a, b []time.Duration
	for i := range n {
		begun := time.Now()
		raw(i)
		b = append(b, time.Since(begun))
		begun = time.Now()
		ours(i)
		a = append(a, time.Since(begun))
	}
	slices.Sort(a)
	slices.Sort(b)
	return a[n/2], b[n/2]
}

func opened(tb testing.TB, dir string) *durable.Store {
	tb.Helper()
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Release() })
	// A process that a test beside this one starts has our descriptors for a moment.
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := s.Take(tb.Context())
		if _, held := errors.AsType[*durable.HeldError](err); held && time.Now().Before(end) {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := tempDir(b)
	s := opened(b, dir)
	l, err := s.Log("run")
	if err != nil {
		b.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"kind":"step_finished","text":%q}`, strings.Repeat("x", 300))
	line := append([]byte(strings.Repeat("y", 90)), body...)
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ResetTimer()
	ours, raw := timed(max(b.N, 50), func(int) {
		if _, err := l.Append("step", body); err != nil {
			b.Fatal(err)
		}
	}, func(int) {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	})
	report(b, ours, raw)
}

func BenchmarkReplace(b *testing.B) {
	dir := tempDir(b)
	s := opened(b, dir)
	content := func(i int) []byte { return fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("x", 4000)) }
	var base reprise.Hash
	b.ResetTimer()
	ours, raw := timed(max(b.N, 50), func(i int) {
		if err := s.Replace("docs/STATE.md", base, content(i)); err != nil {
			b.Fatal(err)
		}
		base = reprise.HashOf(content(i))
	}, func(i int) { rawReplace(b, filepath.Join(dir, "raw"), content(i)) })
	report(b, ours, raw)
}

// rawReplace is the least that a durable replacement takes.
func rawReplace(b *testing.B, file string, content []byte) {
	f, err := os.OpenFile(file+".tmp", os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(file+".tmp", file)
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(filepath.Dir(file))
	if err == nil {
		err = d.Sync()
	}
	if err != nil {
		b.Fatal(err)
	}
	d.Close()
}

func report(b *testing.B, ours, raw time.Duration) {
	b.ReportMetric(float64(ours.Nanoseconds()), "ours-ns/op")
	b.ReportMetric(float64(raw.Nanoseconds()), "raw-ns/op")
	b.ReportMetric(float64(ours)/float64(raw), "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRecover opens a log of 100,000 records.
func BenchmarkRecover(b *testing.B) {
	dir := tempDir(b)
	if err := opened(b, dir).Release(); err != nil { // the state is one that was made here
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".reprise", "journal"), 0o700); err != nil {
		b.Fatal(err)
	}
	const records, size = 100_000, 1000
	if err := durable.ForgeLog(filepath.Join(dir, ".reprise", "journal"), "run", records, size); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := opened(b, dir)
		if _, err := s.Log("run"); err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}
