package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the project, from this folder.
const root = "../.."

// mutant is a fault that the named tests have to find.
type mutant struct {
	name, promise string
	pkg           string   // where the tests are
	tests         []string // their names
	survives      string   // why no test finds it
	changes       []change
}

// change replaces a text that occurs once in a file of the project.
type change struct{ file, from, to string }

// readTables reads all tables, in the order of the mutants there.
func readTables(t *testing.T) (out []mutant) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := parse(string(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, table...)
	}
	return out
}

// parse reads one table.
func parse(text string) (out []mutant, err error) {
	var m *mutant
	file, was := "", byte(0)
	for n, line := range strings.Split(text, "\n") {
		key, rest, _ := strings.Cut(line, " ")
		if key == "==" {
			out = append(out, mutant{name: rest})
			m = &out[len(out)-1]
			file, was = "", 0
			continue
		}
		if m == nil || line == "" {
			was = 0
			continue // the words above the first one, or a blank line
		}
		switch now := line[0]; {
		case now == '-' || now == '+':
			if now == '+' && was != '-' && was != '+' || file == "" {
				return nil, fmt.Errorf("line %d: %q replaces nothing", n+1, line)
			}
			m.take(file, was, line)
		case strings.HasPrefix(line, "killed by "):
			words := strings.Fields(line)[2:]
			if len(words) < 2 {
				return nil, fmt.Errorf("line %d: a package and a test are to be named", n+1)
			}
			m.pkg, m.tests = words[0], words[1:]
		case strings.HasPrefix(line, "survives because "):
			m.survives = strings.TrimPrefix(line, "survives because ")
		case key == "in":
			file = rest
		case len(m.changes) == 0 && file == "":
			m.promise = strings.TrimSpace(m.promise + " " + line)
		default:
			return nil, fmt.Errorf("line %d: %q is not understood", n+1, line)
		}
		was = line[0]
	}
	return out, nil
}

// take adds a line of old or new text; was is how the line before it began.
func (m *mutant) take(file string, was byte, line string) {
	if line[0] == '-' && was != '-' {
		m.changes = append(m.changes, change{file: file, from: line[1:]})
		return
	}
	c := &m.changes[len(m.changes)-1]
	switch {
	case line[0] == '-':
		c.from += "\n" + line[1:]
	case was == '-':
		c.to = line[1:]
	default:
		c.to += "\n" + line[1:]
	}
}

// sources gives the files that a mutant changes, as they are with it.
func (m mutant) sources() (map[string]string, error) {
	out := map[string]string{}
	for _, c := range m.changes {
		if out[c.file] == "" {
			b, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, err
			}
			out[c.file] = string(b)
		}
		if n := strings.Count(out[c.file], c.from); n != 1 {
			return nil, fmt.Errorf("%s holds this text %d times:\n%s", c.file, n, c.from)
		}
		out[c.file] = strings.Replace(out[c.file], c.from, c.to, 1)
	}
	return out, nil
}

// fewest is how many mutants there must be, most how many of a hundred may survive.
const (
	fewest = 60
	most   = 5
)

// A mutant whose old text or whose test is gone would no longer be tried, and no one would
// notice.
func TestEvery_mutant_fits_the_source(t *testing.T) {
	t.Parallel()
	mutants, names, tests, survivors := readTables(t), map[string]bool{}, map[string]string{}, 0
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("%s: there are two of this name", m.name)
		}
		names[m.name] = true
		if !strings.HasSuffix(m.promise, ".") || len(m.changes) == 0 || (len(m.tests) == 0) == (m.survives == "") {
			t.Errorf("%s: it breaks %q by %d changes, %q in %q find it, or it survives because %q", m.name, m.promise, len(m.changes), m.tests, m.pkg, m.survives)
		}
		if _, err := m.sources(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.survives != "" {
			survivors++
			continue
		}
		if _, read := tests[m.pkg]; !read {
			tests[m.pkg] = testsOf(t, m.pkg)
		}
		for _, test := range m.tests {
			name, _, sub := strings.Cut(test, "/")
			if !strings.Contains(tests[m.pkg], "func "+name+"(t *testing.T)") || sub && len(m.tests) > 1 {
				t.Errorf("%s: %s has no such test as %s, or names a part of it beside others", m.name, m.pkg, test)
			}
		}
	}
	if len(mutants) < fewest || survivors*100 > len(mutants)*most {
		t.Errorf("there are %d mutants, and %d of them survive", len(mutants), survivors)
	}
}

// testsOf gives the text of all tests of a package.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	return text.String()
}
