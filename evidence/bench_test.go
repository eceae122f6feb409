//go:build unix

package evidence

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"reprise"
	"reprise/evidence/grade"
)

// TestBench_large_repository is the budget of issue 3: a repository of 50,000
// files and 20,000 commits is looked at in under a second after the first time.
// It takes half a minute to make; set REPRISE_BENCH=1.
func TestBench_large_repository(t *testing.T) {
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("set REPRISE_BENCH=1 to measure on a large repository")
	}
	p := newPlace(t)
	const files, commits, stories = 50_000, 20_000, 200
	cmd := exec.Command("git", "fast-import", "--quiet", "--done")
	cmd.Dir, cmd.Env = p.dir, p.environ
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(in)
	source := func(k int) string { return fmt.Sprintf("src/d%d/e%d/f%d.txt", k%50, k/50%40, k) }
	story := func(k int) string { return fmt.Sprintf("docs/stories/%d.story.md", k) }
	begin := func(i int, message string) {
		fmt.Fprintf(w, "commit refs/heads/main\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata %d\n%s\n", 10+i, 1_700_000_000+i*60, len(message), message)
		if i > 0 {
			fmt.Fprintf(w, "from :%d\n", 9+i)
		}
	}
	fmt.Fprint(w, "blob\nmark :1\ndata 6\nhello\n\n")
	begin(0, "base")
	for k := range files {
		fmt.Fprintf(w, "M 100644 :1 %s\n", source(k))
	}
	for k := range stories {
		fmt.Fprintf(w, "M 100644 :1 %s\n", story(k))
	}
	for i := 1; i < commits; i++ {
		begin(i, fmt.Sprintf("feat(%02d-%02d): change number %d\n\nReprise-Step: r/s%d/1\n", i%90, i%7, i, i))
		name := source(i * 7 % files)
		if i%5 == 0 {
			name = story(i / 5 % stories)
		}
		text := fmt.Sprintf("v%d\n", i)
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	fmt.Fprint(w, "done\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	p.git("checkout", "-q", "main")

	var runs []*reprise.Run
	for k := range 100 {
		r := &reprise.Run{Ref: reprise.Ref{ID: fmt.Sprint(k), Kind: reprise.KindStory, Path: story(k)}, State: reprise.Interrupted}
		for s := range 20 {
			r.Steps = append(r.Steps, reprise.Step{ID: fmt.Sprint(s), Status: reprise.Done, Commits: []string{fmt.Sprintf("%08x", k*20+s)}, Traces: []reprise.Trace{{Subject: fmt.Sprintf("feat(%02d-%02d)", k%90, s)}}})
		}
		runs = append(runs, r)
	}
	for _, c := range []struct {
		name string
		opts Options
	}{{"full", Options{}}, {"cheap", Options{Cheap: true}}} {
		p.gather(runs, c.opts)
		best, worst := time.Hour, time.Duration(0)
		var o reprise.Observed
		for range 5 {
			start := time.Now()
			o = p.gather(runs, c.opts)
			took := time.Since(start)
			best, worst = min(best, took), max(worst, took)
		}
		if o.Git == nil || o.GitError != "" || len(o.Git.Commits) == 0 {
			t.Fatalf("%s: %q", c.name, o.GitError)
		}
		start := time.Now()
		g := grade.New(o)
		for _, r := range runs {
			g.Run(r)
		}
		t.Logf("%s: %v to %v, grading 100 runs %v, %d commits", c.name, best.Round(time.Millisecond), worst.Round(time.Millisecond), time.Since(start).Round(time.Millisecond), len(o.Git.Commits))
		if best > time.Second {
			t.Errorf("%s: %v is over the budget of a second", c.name, best)
		}
	}
}
