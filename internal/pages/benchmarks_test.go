package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBenchmarks_show_every_figure_that_was_measured(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "img"), 0o755); err != nil {
		t.Fatal(err)
	}
	printed := "=== RUN   TestBench\n    x_test.go:1: figure: a step of 10,000 | 0.4ms | append and fsync 0.1ms | 4 × | at most 6\n" +
		"    x_test.go:2: figure: `status` | 9ms | `git status` 6ms | 1.5 × | at most 2\n"
	if err := benchmarks(strings.NewReader(printed), dir, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	drawn := contents(t, filepath.Join(dir, "img"))["benchmarks.svg"]
	written, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(written)
	for _, want := range []string{"2026-03-01", "| `status` | 9ms | `git status` 6ms | 1.5 × | at most 2 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page:\n%s", want, page)
		}
	}
	if at := strings.Index(drawn, ">reprise<"); at < strings.Index(drawn, ">DBOS on SQLite<") || at > strings.Index(drawn, ">DBOS on PostgreSQL<") {
		t.Errorf("the bars are out of order:\n%s", drawn)
	}
	if err := benchmarks(strings.NewReader("figure: a | b\n"), dir, time.Now()); err == nil {
		t.Error("half a figure is taken")
	}
}
