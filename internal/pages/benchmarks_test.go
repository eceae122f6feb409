package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestBenchmarks_show_every_figure_that_was_measured(t *testing.T) {
	printed := "=== RUN   TestBench\n    x_test.go:1: figure: a step of 10,000 | 0.4ms | append and fsync 0.1ms | 4 × | at most 6\n" +
		"figure: a prompt | 31ms | `git status` 6ms | 5 × | 30 ms\nfigure: a hook | 310µs | `git status` 6ms | 0.1 × | 150 ms\nfigure: a check | 1s | `cat` 6ms | 9 × | -\n" +
		"    x_test.go:2: figure: `status` | 9ms | `git status` 6ms | 1.5 × | at most 2\nfigure: slow | 9ms | `git status` 6ms | 1.5 × | at most 1.4\n"
	var written, svg strings.Builder
	if err := errors.Join(benchmarks(strings.NewReader(printed), &written), chart(strings.NewReader(printed), &svg)); err != nil {
		t.Fatal(err)
	}
	page, drawn := written.String(), svg.String()
	for _, want := range []string{"| a step of 10,000 | 0.4ms |", "| `status` | 9ms | `git status` 6ms | 1.5 × | at most 2 | yes |", "| 5 × | 30 ms | no |", "| 0.1 × | 150 ms | yes |", "| 9 × | - | - |", "| 1.5 × | at most 1.4 | no |"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page:\n%s", want, page)
		}
	}
	if at := strings.Index(drawn, ">reprise<"); at < strings.Index(drawn, ">DBOS on SQLite<") || at > strings.Index(drawn, ">DBOS on PostgreSQL<") {
		t.Errorf("the bars are out of order:\n%s", drawn)
	}
	if err := benchmarks(strings.NewReader("figure: a | b\n"), io.Discard); err == nil {
		t.Error("half a figure is taken")
	}
}
