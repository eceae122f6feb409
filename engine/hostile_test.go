package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"unicode"

	"reprise"
	"reprise/agent"
	"reprise/convention/conventiontest"
	"reprise/engine"
	evil "reprise/internal/hostile"
	"reprise/internal/sample"
	"reprise/project"
	"reprise/settings"
)

// recorder is an agent that keeps what it was given, makes what it should, and
// says hostile things.
type recorder struct {
	says string
	mu   sync.Mutex
	jobs []agent.Job
}

// Start implements agent.Agent.
func (r *recorder) Start(_ context.Context, job agent.Job) (agent.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = append(r.jobs, job)
	for _, name := range append(job.Expect, fmt.Sprintf("made-%d.txt", len(r.jobs))) {
		name = filepath.Join(job.Dir, name)
		if _, err := os.Stat(name); err != nil && strings.HasPrefix(name, job.Dir) {
			_ = os.MkdirAll(filepath.Dir(name), 0o755) // a name too long stays away
			_ = os.WriteFile(name, []byte("made\n"), 0o644)
		}
	}
	s := recorded{agent.Result{Outcome: agent.Done, Reply: &reprise.Reply{Outcome: "done", Summary: r.says, Verdict: "approved", Issues: []string{r.says}}}}
	if len(r.jobs)%5 == 2 {
		s.r.Outcome, s.r.Reason = agent.NeedsPerson, r.says
		s.r.Reply.Outcome, s.r.Reply.Questions = "question", []reprise.Asked{{ID: r.says, Text: r.says, Subject: r.says, Options: []string{r.says}}}
	}
	if len(r.jobs)%5 == 3 {
		s.r.Outcome, s.r.Reason, s.r.Reply.Verdict = agent.Failed, r.says, r.says
	}
	if len(r.jobs)%5 == 4 {
		s.r.Reply.Gaps = []reprise.Gap{{ID: r.says, Priority: r.says, Question: r.says}}
	}
	return s, nil
}

type recorded struct{ r agent.Result }

func (recorded) PID() int             { return 1 }
func (recorded) Kill()                {}
func (s recorded) Wait() agent.Result { return s.r }

// TestX9_S4_hostile_text_in_every_field puts hostile text in the place of values
// of the examples and of the layouts' scenarios, one at a time, and lets the
// engine work on what comes of it. REPRISE_ALL=1 takes every value.
func TestX9_S4_hostile_text_in_every_field(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	var started atomic.Int64
	t.Cleanup(func() {
		if t.Logf("%d agents were started", started.Load()); started.Load() < 50 {
			t.Errorf("only %d agents were started: the text reaches nobody", started.Load())
		}
	})
	for _, layout := range []string{"autoclaude", "eventrun", "longrun", "gsd", "orchestrate", "specloop"} {
		nth, scenarios := 43, 67
		if os.Getenv("REPRISE_ALL") != "" {
			nth, scenarios = 1, 1
		}
		trees := map[string]fstest.MapFS{"example": treeOf(t, "../examples/"+layout)}
		files, err := filepath.Glob("../convention/" + layout + "/testdata/scenarios/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(files); i += scenarios {
			trees[filepath.Base(files[i])] = conventiontest.LoadFS(t, files[i])
		}
		for name, tree := range trees {
			t.Run(layout+"/"+name, func(t *testing.T) {
				t.Parallel()
				for i, m := range evil.Mutate(tree, len(name)+len(layout), nth) {
					started.Add(hostile(t, m, evil.Payloads[i%len(evil.Payloads)], i%8 == 0))
				}
			})
		}
	}
}

func treeOf(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		tree[p] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// hostile works on one project with hostile text in it, and gives how many agents
// were started.
func hostile(t *testing.T, m evil.Mutation, says string, inGit bool) (started int64) {
	t.Helper()
	around := t.TempDir()
	dir := filepath.Join(around, "project")
	put(t, around, "home/.config/keep", "canary")
	put(t, around, "beside/keep", "canary")
	for name, file := range m.FS {
		if file.Mode.IsDir() {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		put(t, dir, name, string(file.Data))
	}
	if inGit {
		git(t, dir, "init", "-q")
		git(t, dir, "add", "-A", "-f")
		git(t, dir, "commit", "-q", "-m", "begin")
	}
	before := canary(t, around)
	res, err := project.Read(t.Context(), dir, project.Options{})
	if err != nil {
		t.Fatalf("%q: %v", m.Name, err)
	}
	worked := 0
	for _, r := range res.Runs {
		if r.State == reprise.Complete || worked == 2 {
			continue
		}
		worked++
		rec := &recorder{says: says}
		e := hostileEngine(dir, around, rec)
		// Either may refuse it; that both come to an end is what counts.
		_, _ = e.Preview(t.Context(), r.Ref, engine.Choice{})
		_, _ = e.Resume(t.Context(), r.Ref, engine.Choice{})
		if len(rec.jobs) > 60 {
			t.Errorf("%q: %d launches", m.Name, len(rec.jobs))
		}
		started += int64(len(rec.jobs))
		for _, job := range rec.jobs {
			safeJob(t, m.Name, dir, job)
		}
	}
	if after := canary(t, around); after != before {
		t.Errorf("%q: something outside of the project was changed", m.Name)
	}
	safeNames(t, m.Name, dir)
	if inGit {
		safeCommits(t, m.Name, dir)
	}
	return started
}

func hostileEngine(dir, around string, rec *recorder) *engine.Engine {
	e := newEngine(dir)
	e.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(around, "home"), "LANG=C"}
	asked := 0
	e.Ask = func(context.Context, reprise.Question) (string, bool) {
		asked++
		return rec.says, asked < 4
	}
	e.Agent = func(settings.Agent) (agent.Agent, error) { return rec, nil }
	return e
}

// canary is a fingerprint of everything beside the project.
func canary(t testing.TB, around string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(around, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == filepath.Join(around, "project") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %s\n", p, info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			fmt.Fprintf(h, "%x %v\n", sha256.Sum256(data), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

var block = regexp.MustCompile(`(?s)<<<DATA ([0-9a-f]{32}) (\d+)\n.*?\n>>>DATA ([0-9a-f]{32}) (\d+)`)

// safeJob holds what an agent would be started with against what the settings
// say.
func safeJob(t *testing.T, name, dir string, job agent.Job) {
	t.Helper()
	if !slices.Equal(job.Command, []string{os.Args[0], "act"}) {
		t.Errorf("%q: argv %q", name, job.Command)
	}
	for _, pair := range job.Env {
		if strings.Contains(pair, evil.Mark) {
			t.Errorf("%q: environment %q", name, pair)
		}
	}
	for _, text := range append([]string{job.Run, job.Step, job.Role, job.Key, job.Token, job.Result}, job.Expect...) {
		if strings.Contains(text, "\x00") {
			t.Errorf("%q: a NUL in %q", name, text)
		}
	}
	if !regexp.MustCompile(`^[A-Za-z0-9._#@/+-]+$`).MatchString(job.Key) {
		t.Errorf("%q: trailer %q", name, job.Key)
	}
	for _, p := range []string{job.Dir, job.Result} {
		if rel, err := filepath.Rel(dir, p); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%q: %s is outside of the project", name, p)
		}
	}
	for _, p := range job.Expect {
		if !filepath.IsLocal(p) {
			t.Errorf("%q: it is to leave %q", name, p)
		}
	}
	for _, r := range job.Prompt {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%q: %U in the prompt", name, r)
			break
		}
	}
	for _, b := range block.FindAllStringSubmatch(job.Prompt, -1) {
		if b[1] != b[3] || b[2] != b[4] {
			t.Errorf("%q: a forged fence in\n%s", name, b[0])
		}
	}
	own := block.ReplaceAllString(job.Prompt, "")
	// What is left of an id in a path of ours has only letters and dashes.
	own = strings.NewReplacer(job.Result, "", job.Key, "").Replace(own)
	if strings.Contains(own, evil.Mark) {
		at := strings.Index(own, evil.Mark)
		t.Errorf("%q: outside of a block: %q", name, own[max(0, at-120):min(len(own), at+80)])
	}
}

// safeNames looks at the files of ours.
func safeNames(t *testing.T, name, dir string) {
	t.Helper()
	ok := regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	for _, sub := range []string{"logs", "work", "journal"} {
		entries, err := os.ReadDir(filepath.Join(dir, ".reprise", sub))
		if err != nil {
			continue // nothing was kept
		}
		for _, e := range entries {
			if !ok.MatchString(e.Name()) {
				t.Errorf("%q: a file is called %q", name, e.Name())
			}
		}
	}
}

// safeCommits looks at the commits that were made.
func safeCommits(t *testing.T, name, dir string) {
	t.Helper()
	for line := range strings.SplitSeq(git(t, dir, "log", "--all", "--format=%s%n%(trailers:only)"), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q: a commit says %q", name, line)
		}
		if strings.Contains(line, "forged") && strings.HasPrefix(line, reprise.TrailerKey) {
			t.Errorf("%q: a forged trailer %q", name, line)
		}
	}
}

// TestX9_commits_say_clean_lines commits work whose description is hostile.
func TestX9_commits_say_clean_lines(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for i, payload := range evil.Payloads {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(payload)
			if err != nil {
				t.Fatal(err)
			}
			dir := repository(t)
			spec := ".auto-claude/specs/001-x/"
			put(t, dir, spec+"spec.md", "# X\n")
			put(t, dir, spec+"implementation_plan.json", `{"feature": `+string(quoted)+`, "workflow_type": "feature", "phases": [{"id": "phase-1", "name": `+string(quoted)+`, "subtasks": [
 {"id": "subtask-1-1", "description": `+string(quoted)+`, "status": "pending"}]}]}`)
			rec := &recorder{says: payload}
			sum, err := hostileEngine(dir, dir, rec).Resume(t.Context(), reprise.Ref{Layout: "autoclaude", ID: "001-x", Path: strings.TrimSuffix(spec, "/"), Kind: reprise.KindBuild}, engine.Choice{Until: "subtask-1-1"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(sum.Finished, func(s engine.StepReport) bool { return s.Commit != "" }) {
				t.Fatalf("nothing was committed: %+v", sum)
			}
			safeCommits(t, payload[:min(len(payload), 40)], dir)
		})
	}
}
