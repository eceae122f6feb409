package durable_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What turns on the tests that take minutes: that of the mutants, and in the
// programs that it builds the larger harnesses.
const (
	mutantsEnv = "REPRISE_MUTANTS"
	harnessEnv = "REPRISE_HARNESS"
)

// mutant is a fault that a harness has to find.
type mutant struct {
	name, harness string
	changes       []replacement
}

// replacement replaces lines of a source file of this package.
type replacement struct{ file, from, to string }

// readMutants reads testdata/mutants.txt, which says how it is written.
func readMutants(t *testing.T) (out []mutant) {
	t.Helper()
	b, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	var m *mutant
	file, was := "", byte(0)
	for line := range strings.Lines(string(b)) {
		name, begins := strings.CutPrefix(line, "== ")
		switch {
		case begins:
			out = append(out, mutant{name: strings.TrimSpace(name)})
			m = &out[len(out)-1]
		case m == nil: // the words above the first one
		case strings.HasPrefix(line, "killed by "):
			m.harness = strings.TrimSpace(line[len("killed by "):])
		case strings.HasPrefix(line, "in "):
			file = strings.TrimSpace(line[len("in "):])
		case line[0] == '-':
			if was != '-' {
				m.changes = append(m.changes, replacement{file: file})
			}
			m.changes[len(m.changes)-1].from += line[1:]
		case line[0] == '+':
			m.changes[len(m.changes)-1].to += line[1:]
		}
		was = line[0]
	}
	return out
}

// sources gives the files that a mutant changes, as they are with it.
func (m mutant) sources(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, c := range m.changes {
		if out[c.file] == nil {
			b, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			out[c.file] = append([]byte("\n"), b...)
		}
		from := []byte("\n" + c.from)
		if n := bytes.Count(out[c.file], from); n != 1 {
			t.Fatalf("these lines stand in %s %d times:\n%s", c.file, n, c.from)
		}
		out[c.file] = bytes.Replace(out[c.file], from, []byte("\n"+c.to), 1)
	}
	return out
}

func TestMutants_fit_the_source(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, h := range harnesses() {
		known[h.name] = true
	}
	mutants := readMutants(t)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if m.sources(t); !known[m.harness] || len(m.changes) == 0 {
				t.Errorf("%d changes, to be found by %q", len(m.changes), m.harness)
			}
		})
	}
	if len(mutants) != 25 {
		t.Errorf("there are %d mutants", len(mutants))
	}
}

func TestMutants_are_killed(t *testing.T) {
	t.Parallel()
	if os.Getenv(mutantsEnv) == "" {
		t.Skip(mutantsEnv + " is not set; make mutants runs this")
	}
	if out, err := runHarness(t, nil, ""); err != nil {
		t.Fatalf("the harnesses find a fault where there is none: %v\n%s", err, out)
	}
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := runHarness(t, m.sources(t), "/^"+strings.ReplaceAll(m.harness, "+", `\+`)+"$")
			_, found, killed := strings.Cut(string(out), "found: ")
			switch {
			case err == nil:
				t.Error("it survives")
			case !killed:
				t.Errorf("no harness has found it: %v\n%s", err, out)
			default:
				t.Logf("killed by %s: %.160s", m.harness, found)
			}
		})
	}
}

// runHarness builds the tests of this package with some of its files replaced, and
// runs TestHarness or what below it is asked for.
func runHarness(t *testing.T, replaced map[string][]byte, below string) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, b := range replaced {
		overlay.Replace[filepath.Join(here, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), table, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "mutant.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), program, "-test.run=^TestHarness$"+below, "-test.timeout=10m")
	run.Env = append(os.Environ(), harnessEnv+"=1")
	return run.CombinedOutput()
}
