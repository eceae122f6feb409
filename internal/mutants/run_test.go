package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutantsEnv turns the run on, which takes an hour. harnessEnv and allEnv make the tests
// that it builds try everything that they can: a sample might miss the mutant.
const (
	mutantsEnv = "REPRISE_MUTANTS"
	harnessEnv = "REPRISE_HARNESS"
	allEnv     = "REPRISE_ALL"
)

// The named tests pass on the source as it is, and fail on it with the mutant.
func TestEvery_mutant_is_killed(t *testing.T) {
	t.Parallel()
	if os.Getenv(mutantsEnv) == "" {
		t.Skip(mutantsEnv + " is not set; make mutants runs this")
	}
	packages := map[string][]mutant{}
	for _, m := range readTables(t) {
		if m.survives != "" {
			t.Logf("%s survives: %s", m.name, m.survives)
			continue
		}
		packages[m.pkg] = append(packages[m.pkg], m)
	}
	for pkg, mutants := range packages {
		t.Run(strings.ReplaceAll(pkg, "/", "-"), func(t *testing.T) {
			t.Parallel()
			wants := map[string][]string{} // by subtest, "" for whole tests
			for _, m := range mutants {
				for _, test := range m.tests {
					_, sub, _ := strings.Cut(test, "/")
					wants[sub] = append(wants[sub], test)
				}
			}
			program := build(t, pkg, nil)
			for _, tests := range wants {
				slices.Sort(tests)
				if out, err := run(t, program, pkg, slices.Compact(tests)); err != nil {
					t.Fatalf("without a mutant: %v\n%s", err, out)
				}
			}
			for _, m := range mutants {
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					m.try(t)
				})
			}
		})
	}
}

// try builds the tests of a mutant with it and runs them.
func (m mutant) try(t *testing.T) {
	t.Helper()
	changed, err := m.sources()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, build(t, m.pkg, changed), m.pkg, m.tests)
	switch {
	case err == nil:
		t.Errorf("it survives %s: %s", strings.Join(m.tests, " and "), m.promise)
	case !strings.Contains(out, "FAIL") && !strings.Contains(out, "panic:"):
		t.Errorf("the tests did not run: %v\n%s", err, out)
	default:
		t.Logf("killed: %.200s", reason(out))
	}
}

// reason is the first line that says what a test found.
func reason(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "_test.go:") && !strings.Contains(line, "REPRISE_SEED=") || strings.HasPrefix(line, "panic: ") {
			return strings.TrimSpace(line)
		}
	}
	return out
}

// build builds the tests of a package with some files of the project replaced.
func build(t *testing.T, pkg string, replaced map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range replaced {
		file := filepath.Join(dir, fmt.Sprintf("%d-%s", len(overlay.Replace), path.Base(name)))
		overlay.Replace[filepath.Join(top, name)] = file
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	listed, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	if err := os.WriteFile(listed, table, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", listed, "-o", program, "./"+pkg)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	return program
}

// run runs tests of a program that was built from a package, in the folder of that
// package. Either all of them are whole tests, or all are subtests of the same name.
func run(t *testing.T, program, pkg string, tests []string) (string, error) {
	t.Helper()
	var names []string
	part := ""
	for _, test := range tests {
		name, sub, cut := strings.Cut(test, "/")
		names = append(names, regexp.QuoteMeta(name))
		if cut {
			part = "/^" + regexp.QuoteMeta(sub) + "$"
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^("+strings.Join(names, "|")+")$"+part, "-test.timeout=10m")
	cmd.Dir = filepath.Join(root, pkg)
	cmd.Env = append(os.Environ(), harnessEnv+"=1", allEnv+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
