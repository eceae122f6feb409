package reprise

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// SECURITY.md names the test of each threat, and the fault that shows that the test sees
// it: all of them are there.
func TestEvery_test_that_SECURITY_names_is_there(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	tests := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	faults := regexp.MustCompile(`(?m)^== (.+)$`)
	err = filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		find := tests
		switch {
		case strings.HasPrefix(filepath.ToSlash(name), "internal/cli/testdata/script/"):
			there["TestScripts/"+strings.TrimSuffix(d.Name(), ".txtar")] = true
			return nil
		case strings.HasPrefix(filepath.ToSlash(name), "internal/mutants/testdata/"):
			find = faults
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(name)
		for _, m := range find.FindAllSubmatch(data, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 6 || !regexp.MustCompile(`^ T\d+ $`).MatchString(cells[1]) {
			continue
		}
		rows++
		for _, cell := range cells[4:6] {
			named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1)
			if len(named) == 0 && strings.TrimSpace(cell) != "in the test" {
				t.Errorf("row%snames nothing in %q", cells[1], cell)
			}
			for _, name := range named {
				if !there[name[1]] {
					t.Errorf("row%s%s is not there", cells[1], name[1])
				}
			}
		}
	}
	if rows != 24 {
		t.Errorf("%d rows, want 24", rows)
	}
}

// T9, T14, T15, T16: one room listens, for `reprise serve` alone, and nothing unpacks an
// archive: what could do it is not part of anything else.
func TestOnly_the_pages_listen_and_nothing_unpacks(t *testing.T) {
	t.Parallel()
	unwanted := []string{"archive/tar", "archive/zip", "net/rpc", "plugin"}
	linked := func(program string) (found []string) {
		out, err := exec.Command("go", "list", "-deps", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range unwanted {
			if slices.Contains(strings.Fields(string(out)), name) {
				found = append(found, name)
			}
		}
		return found
	}
	if found := linked("./cmd/reprise"); len(found) > 0 {
		t.Errorf("part of the program: %v", found)
	}
	// The check sees them in a program that has them.
	careless := filepath.Join(t.TempDir(), "careless.go")
	if err := os.WriteFile(careless, []byte("package main\nimport (_ \""+strings.Join(unwanted, "\"; _ \"")+"\")\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := linked(careless); !slices.Equal(found, unwanted) {
		t.Errorf("in a program with %v only these are seen: %v", unwanted, found)
	}
	// The library of the Model Context Protocol brings a transport over HTTP along. Nothing
	// of ours may use it: that `reprise mcp` opens no socket is tested where it is served.
	// Telemetry is sent by a room of its own, which is a client.
	for name, ours := range map[string][]string{"net/http": {"reprise/internal/web", "reprise/internal/otlp"}, "html/template": {"reprise/internal/web"}} {
		for _, importer := range importersOf(t, name, "./cmd/reprise") {
			if (importer == "reprise" || strings.HasPrefix(importer, "reprise/")) && !slices.Contains(ours, importer) {
				t.Errorf("%s imports %s", importer, name)
			}
		}
	}
	listening := []string{}
	if err := filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), "net.Listen(") || strings.Contains(string(data), "syscall.Listen(") || strings.Contains(string(data), "ListenAndServe") {
			listening = append(listening, filepath.ToSlash(filepath.Dir(name)))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// The model of the tests listens too, which shows that the check sees one that does.
	if !slices.Equal(listening, []string{"internal/modelstub", "internal/web"}) {
		t.Errorf("these listen: %v", listening)
	}
}

// importersOf lists the packages in a program that import another one.
func importersOf(t *testing.T, name, program string) (importers []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); slices.Contains(words[1:], name) {
			importers = append(importers, words[0])
		}
	}
	return importers
}

// T23: a dependency whose content is not the one on record is not built.
func TestA_dependency_that_was_changed_is_refused(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^github.com/spf13/cobra \S+ h1:`).FindIndex(sum)
	if at == nil {
		t.Fatal("go.sum does not name cobra")
	}
	changed := slices.Clone(sum)
	copy(changed[at[1]:], "AAAA")
	for name, content := range map[string][]byte{"as it is": sum, "changed": changed} {
		dir := t.TempDir()
		for file, data := range map[string][]byte{"go.mod": mod, "go.sum": content} {
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("go", "list", "-mod=readonly", "-modfile", filepath.Join(dir, "go.mod"), "-deps", "./internal/cli").CombinedOutput()
		if refused := err != nil && strings.Contains(string(out), "checksum mismatch"); refused != (name == "changed") {
			t.Errorf("%s: %v %.300s", name, err, out)
		}
	}
}
