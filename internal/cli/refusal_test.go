package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/sample"
)

// Every way to refuse, in every convention, leaves the project as it was: its bytes, its
// times and what check says of it. A sixth of them is tried, all with REPRISE_ALL.
// (issue 15, item 8)
func TestWhat_refuses_to_resume_or_run_changes_nothing(t *testing.T) {
	t.Parallel()
	const trusted = "--trust"
	write := func(name, text string) func(t *testing.T, r *repo) {
		return func(_ *testing.T, r *repo) { r.write(name, text) }
	}
	agents := func(program string) string {
		return "agents:\n  a: {preset: command, command: [" + program + "]}\nroles:\n  default: a\n"
	}
	ways := []struct {
		name string
		make func(t *testing.T, r *repo)
		args []string
	}{
		{"no settings", func(*testing.T, *repo) {}, nil},
		{"no agent for the role", write("reprise.yaml", "agents:\n  a: {preset: command, command: [\"true\"]}\nroles:\n  nobody: a\n"), []string{trusted}},
		{"an agent that is not installed", write("reprise.yaml", agents("no-such-program")), []string{trusted}},
		{"settings nobody trusts", write("reprise.yaml", agents("\"true\"")), nil},
		{"settings that cannot be read", write("reprise.yaml", "agents: [\n"), []string{trusted}},
		{"a merge under way", func(_ *testing.T, r *repo) {
			r.write("reprise.yaml", agents("\"true\""))
			r.write(".git/MERGE_HEAD", "0123456789012345678901234567890123456789\n")
		}, []string{trusted}},
		{"the project is held", func(t *testing.T, r *repo) {
			r.write("reprise.yaml", agents("\"true\""))
			store, err := durable.Open(r.dir, durable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Release() })
		}, []string{trusted}},
		{"a step that does not exist", write("reprise.yaml", agents("\"true\"")), []string{trusted, "--from", "no-such-step"}},
		{"a state that was not checked", write("reprise.yaml", agents("\"true\"")), []string{trusted, "--if", "v1:00000000000000000000000000000000"}},
	}
	runs := map[string][2][]string{
		"autoclaude":  {{"resume", "004"}, {"run", "build", "Export the list"}},
		"eventrun":    {{"resume", "csv-export"}, {"run", "graph", "Export the list"}},
		"gsd":         {{"resume", "planning"}, {"run", "spec-pipeline", "Export the list"}},
		"longrun":     {{"resume", "checkout"}, {"run", "plans", "--id", "second", "Export the list"}},
		"orchestrate": {{"resume", "EPIC-2"}, {"run", "sdc", "--id", "9.1", "Export the list"}},
		"specloop":    {{"resume", "012"}, {"run", "spec-loop", "Export the list"}},
	}
	chosen, row := sample.Every(t, 6), 0
	for _, example := range slices.Sorted(maps.Keys(runs)) {
		for at := range 2 * len(ways) {
			way, command := ways[at/2], runs[example][at%2]
			starts := command[0] == "run"
			if row++; !chosen(row) || starts && len(way.args) > 1 {
				continue
			}
			id := runs[example][0][1]
			t.Run(example+"/"+command[0]+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				r := &repo{t: t, dir: filepath.Join(t.TempDir(), "project")}
				if err := os.CopyFS(r.dir, os.DirFS(filepath.Join("../../examples", example))); err != nil {
					t.Fatal(err)
				}
				r.git("init", "-q", "-b", "main")
				r.git("add", "-A")
				r.git("commit", "-q", "-m", "base")
				way.make(t, r)
				env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "REPRISE_NOW": "2026-03-01T12:00:00Z"}
				if slices.Contains(way.args, trusted) {
					// What is not trusted is told by check. Settings that cannot be read are
					// not trusted.
					run(t, env, "trust", "--yes", "-C", r.dir)
				}
				said, _, _ := run(t, env, "check", "-C", r.dir, "--json", id)
				before := everything(t, r.dir)
				out, told, code := run(t, env, slices.Concat(command, []string{"-C", r.dir, "--mode", "autopilot"}, way.args)...)
				if code == 0 || code == 2 && way.name != "settings that cannot be read" && len(way.args) < 2 {
					t.Fatalf("it was not refused: %s%s", out, told)
				}
				if after := everything(t, r.dir); after != before {
					t.Errorf("exit %d: %s%s\nbefore:\n%s\nafter:\n%s", code, out, told, before, after)
				}
				if now, _, _ := run(t, env, "check", "-C", r.dir, "--json", id); now != said {
					t.Errorf("check says something else after it:\n%s\nbefore:\n%s", now, said)
				}
			})
		}
	}
}
