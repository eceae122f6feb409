package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A figure is a line of a measurement that `make bench` made:
// "figure: what | ours | the peer | how many times the peer | what is wanted".
var figureLine = regexp.MustCompile(`figure: (.+)$`)

// perStep names the figure that the chart compares.
const perStep = "a step of 10,000"

// elsewhere is what a durable step costs in other engines, in raw appends with fsync,
// measured once beside each other on a machine of two cores with a thousand no-op steps.
var elsewhere = []bar{
	{"append and fsync: the limit", 1}, {"SQLite, WAL, synchronous=FULL", 1.9}, {"DBOS on SQLite", 2.2},
	{"DBOS on PostgreSQL", 6.7}, {"Restate", 21}, {"go-workflows on SQLite", 71}, {"Temporal, activities", 620}, {"Dagu", 650},
}

type bar struct {
	name  string
	times float64
}

// figures reads what was measured, and what a step of ours cost.
func figures(in io.Reader) (rows [][]string, own float64, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := figureLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		row := strings.Split(m[1], " | ")
		if len(row) != 5 {
			return nil, 0, fmt.Errorf("read the figures: %q has %d parts of 5", m[1], len(row))
		}
		if row[0] == perStep {
			if own, err = strconv.ParseFloat(strings.TrimSuffix(row[3], " ×"), 64); err != nil {
				return nil, 0, fmt.Errorf("read the figures: %w", err)
			}
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, 0, err
	}
	if own == 0 {
		return nil, 0, fmt.Errorf("read the figures: none is of %s", perStep)
	}
	return rows, own, nil
}

// benchmarks writes a page of what `make bench` printed.
func benchmarks(in io.Reader, out io.Writer) error {
	rows, _, err := figures(in)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n`make bench` compares each figure with a familiar tool in the same run, and writes this page. Times depend on the machine; the\n" +
		"ratio is what to compare.\n\n")
	fmt.Fprintf(&b, "%s, on %s.\n\n", time.Now().UTC().Format("2006-01-02"), machine())
	b.WriteString("| what | reprise | compared with | ratio | target | met |\n|---|---|---|---|---|---|\n")
	for _, row := range rows {
		reached, err := met(row)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(row, " | "), reached)
	}
	b.WriteString("\n## A durable step, compared with other engines\n\n![What a durable step costs, in raw appends with fsync](img/benchmarks.svg)\n\n" +
		"A chain of steps that do nothing, each on disk before the next begins. Ours is from the run above, with 10,000 steps. The others\n" +
		"were measured once, with 1,000 steps, on a machine of two cores and a disk where append and fsync takes 79 µs. Dagu's steps start\n" +
		"a process; ours do nothing. Temporal's local activities (3.1 ×) are left out: after a kill, steps ran again that had finished.\n" +
		"These engines do more than a file can: several machines, timers, queries.\n")
	_, err = io.WriteString(out, b.String())
	return err
}

// met says whether a figure reaches its target: a ratio ("at most 2") or a time ("30 ms").
func met(row []string) (string, error) {
	got, most, target := 0.0, 0.0, row[4]
	var err, wrong error
	if limit, ratio := strings.CutPrefix(target, "at most "); target == "-" {
		return "-", nil
	} else if ratio {
		got, err = strconv.ParseFloat(strings.TrimSuffix(row[3], " ×"), 64)
		most, wrong = strconv.ParseFloat(limit, 64)
	} else {
		var took, in time.Duration
		took, err = time.ParseDuration(row[1])
		in, wrong = time.ParseDuration(strings.ReplaceAll(target, " ", ""))
		got, most = took.Seconds(), in.Seconds()
	}
	if err = errors.Join(err, wrong); err != nil {
		return "", fmt.Errorf("read the figure of %s: %w", row[0], err)
	}
	if got > most {
		return "no", nil
	}
	return "yes", nil
}

// machine describes where this runs.
func machine() string {
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*: (.+)`).FindSubmatch(text); m != nil {
			cpu = string(m[1])
		}
	}
	return fmt.Sprintf("%d cores of %s, %s, %s", runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version())
}

// chart draws what a step costs, here and elsewhere, as bars on a scale of powers of ten,
// the shortest first.
func chart(in io.Reader, out io.Writer) error {
	_, own, err := figures(in)
	if err != nil {
		return err
	}
	bars := append(slices.Clone(elsewhere), bar{"reprise", own})
	slices.SortStableFunc(bars, func(a, b bar) int { return int(math.Copysign(1, a.times-b.times)) })
	const left, high, unit = 250, 26, 150.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 %d" width="800" height="%d" role="img" aria-label="What a durable step costs, in raw appends with fsync">`+"\n", len(bars)*high+40, len(bars)*high+40)
	b.WriteString(`<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.us{fill:#0969da}.them{fill:#afb8c1}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.us{fill:#4493f8}.them{fill:#57606a}}</style>` + "\n")
	for i, x := range bars {
		class, y := "them", 8+i*high
		if x.name == "reprise" {
			class = "us"
		}
		wide := 4 + unit*math.Log10(x.times)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect class="%s" x="%d" y="%d" width="%.0f" height="%d" rx="3"/><text x="%.0f" y="%d">%s ×</text>`+"\n",
			left-10, y+15, x.name, class, left, y, wide, high-8, left+wide+8, y+15, strconv.FormatFloat(x.times, 'g', 3, 64))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">times one append with fsync; logarithmic scale</text>`+"\n</svg>\n", left, len(bars)*high+28)
	_, err = io.WriteString(out, b.String())
	return err
}
