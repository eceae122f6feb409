package orchestrate_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise/convention/orchestrate"
	"reprise/project"
)

// corpusSets are the folders of real histories, with the story that was really moved
// on next for each of their rows.
var corpusSets = []string{"oracle/orchestrate", "second/oracle/orchestrate"}

// The least of the rows for which weights that were fitted without its project put
// the right story first, and among the first three.
const (
	leastFirst = 0.70
	leastThree = 0.88
)

// fitRow is one moment in the history of a project.
type fitRow struct {
	repo  string
	truth []string
	orchestrate.Choice
}

// TestRanking_FitsProjectsItHasNotSeen fits the weights of the ranking to all projects
// of the corpus but one and tries them on that one, in turn. It prints the weights
// that fit all of them, and how the ones in use do.
func TestRanking_FitsProjectsItHasNotSeen(t *testing.T) {
	if os.Getenv("REPRISE_CORPUS") == "" {
		t.Skip("reading hundreds of histories takes minutes; make fit does it (REPRISE_CORPUS=1)")
	}
	rows := fitRows(t)
	names, used := orchestrate.Terms()
	first, three := tally(rows, used)
	t.Logf("the weights in use: %d of %d first, %d among the first three", first, len(rows), three)
	for i, w := range fitted(rows) {
		t.Logf("  %-26s %4.0f, in use %4.0f", names[i], w, used[i])
	}
	first, three = leftOut(t, rows)
	t.Logf("leaving one project out: %d of %d first (%.1f %%), %d among the first three (%.1f %%)",
		first, len(rows), percent(first, len(rows)), three, percent(three, len(rows)))
	if n := float64(len(rows)); float64(first) < leastFirst*n || float64(three) < leastThree*n {
		t.Errorf("less than %.0f %% first or %.0f %% among the first three", 100*leastFirst, 100*leastThree)
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

// leftOut tries on every project the weights fitted to the others.
func leftOut(t *testing.T, rows []fitRow) (first, three int) {
	groups := map[string][]fitRow{}
	for _, r := range rows {
		groups[r.repo] = append(groups[r.repo], r)
	}
	type result struct {
		repo         string
		first, three int
	}
	results := make(chan result)
	for repo, own := range groups {
		go func() {
			others := slices.DeleteFunc(slices.Clone(rows), func(r fitRow) bool { return r.repo == repo })
			f, n := tally(own, fitted(others))
			results <- result{repo, f, n}
		}()
	}
	for range groups {
		r := <-results
		t.Logf("  %-40s %3d of %3d first, %3d among the first three", r.repo, r.first, len(groups[r.repo]), r.three)
		first, three = first+r.first, three+r.three
	}
	return first, three
}

// tally counts the rows whose story stands first, and among the first three.
func tally(rows []fitRow, weights []float64) (first, three int) {
	for _, r := range rows {
		order := make([]int, len(r.Paths))
		scores := make([]float64, len(r.Paths))
		for i, v := range r.Values {
			order[i], scores[i] = i, dot(weights, v)
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		offered := slices.Clone(r.Ahead)
		for _, i := range order {
			if !slices.Contains(offered, r.Paths[i]) {
				offered = append(offered, r.Paths[i])
			}
		}
		at := slices.IndexFunc(offered, func(p string) bool { return slices.Contains(r.truth, p) })
		if at == 0 {
			first++
		}
		if at >= 0 && at < 3 {
			three++
		}
	}
	return first, three
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// How the weights are fitted: the steps of the ascent, how strongly weights are held
// near zero, and how many units of the rounded weights make one of the fitted.
const (
	fitSteps = 200
	fitHold  = 0.1
	fitUnit  = 10
)

// fitted gives the weights, in whole numbers, under which the stories that were really
// moved on are the likeliest: the probability of a story is its share of the sum of
// exp(score) over all open ones.
func fitted(rows []fitRow) []float64 {
	names, _ := orchestrate.Terms()
	w, scale := make([]float64, len(names)), make([]float64, len(names))
	for step := range fitSteps {
		slope := make([]float64, len(w))
		for i := range w {
			slope[i] = -fitHold * w[i]
		}
		for _, r := range rows {
			addSlope(slope, r, w)
		}
		rate := 0.2
		if step > fitSteps/2 {
			rate = 0.05
		}
		for i := range w {
			scale[i] = 0.9*scale[i] + 0.1*slope[i]*slope[i]
			w[i] += rate * slope[i] / (math.Sqrt(scale[i]) + 1e-9)
		}
	}
	for i := range w {
		w[i] = math.Round(fitUnit * w[i])
	}
	return w
}

// addSlope adds how the logarithm of the probability of a row's truth changes with
// the weights.
func addSlope(slope []float64, r fitRow, w []float64) {
	share := make([]float64, len(r.Values))
	hit := make([]bool, len(r.Values))
	most := math.Inf(-1)
	for i, v := range r.Values {
		share[i], hit[i] = dot(w, v), slices.Contains(r.truth, r.Paths[i])
		most = max(most, share[i])
	}
	all, right := 0.0, 0.0
	for i := range share {
		share[i] = math.Exp(share[i] - most)
		all += share[i]
		if hit[i] {
			right += share[i]
		}
	}
	if right == 0 {
		return
	}
	for i, v := range r.Values {
		p := -share[i] / all
		if hit[i] {
			p += share[i] / right
		}
		for j := range v {
			slope[j] += p * v[j]
		}
	}
}

// fitRows reads the histories as the program does, every moment of them at its time.
func fitRows(t *testing.T) (rows []fitRow) {
	root := cmp.Or(os.Getenv("REPRISE_CORPUS_DIR"), filepath.FromSlash("../../../shared/corpus"))
	byRepo := map[string][]map[string]string{} // the git folder to its rows
	for _, set := range corpusSets {
		base := filepath.Join(root, filepath.FromSlash(set))
		for _, row := range table(t, filepath.Join(base, "transitions.tsv")) {
			git := filepath.Join(base, strings.ReplaceAll(row["repo"], "/", "__")+".git")
			byRepo[git] = append(byRepo[git], row)
		}
	}
	var wait sync.WaitGroup
	var lock sync.Mutex
	for git, list := range byRepo {
		wait.Go(func() {
			for _, r := range moments(t, git, list) {
				lock.Lock()
				rows = append(rows, r)
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	slices.SortStableFunc(rows, func(a, b fitRow) int { return strings.Compare(a.repo, b.repo) })
	return rows
}

// moments checks out the state before each row in one folder and reads it. The objects
// are borrowed from the corpus, which is not written to.
func moments(t *testing.T, bare string, list []map[string]string) (out []fitRow) {
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("git %s in %s: %v: %s", args[0], bare, err, text)
		}
	}
	git("init", "-q")
	abs, err := filepath.Abs(filepath.Join(bare, "objects"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".git", "objects", "info", "alternates"), []byte(abs+"\n"), 0o644)
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, row := range list {
		git("checkout", "-q", "-f", "--detach", row["filtered_commit"]+"^")
		now, err := time.Parse(time.RFC3339, row["time"])
		if err != nil {
			t.Error(err)
			continue
		}
		j, err := project.Judge(context.Background(), dir, project.JudgeOptions{Options: project.Options{Now: now, Layouts: []string{"orchestrate"}}})
		if err != nil {
			t.Error(err)
			continue
		}
		out = append(out, fitRow{row["repo"], strings.Split(row["truth_paths"], ";"), orchestrate.Choices(j.Runs, j.Observed)})
	}
	return out
}

// table reads a file of tab-separated rows under a header.
func table(t *testing.T, name string) (out []map[string]string) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Skipf("the corpus of real state is not here: %v", err)
	}
	lines := csv.NewReader(strings.NewReader(string(data)))
	lines.Comma, lines.LazyQuotes, lines.FieldsPerRecord = '\t', true, -1
	all, err := lines.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0][:min(len(all[0]), len(fields))] {
			row[name] = fields[i]
		}
		out = append(out, row)
	}
	return out
}
