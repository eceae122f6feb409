package reprise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// table is the import rules as docs/imports.tsv states them: what a package may
// import of our own, and which packages are pure. A package that is not listed must
// be given its place there first.
type table struct {
	rooms map[string][]string
	pure  []string
}

const rulesFile = "docs/imports.tsv"

func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	out := table{rooms: map[string][]string{}}
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(row) < 2 {
			continue
		}
		out.rooms[row[0]] = []string{}
		if len(row) > 2 {
			out.rooms[row[0]] = strings.Fields(row[2])
		}
		if row[1] == "pure" {
			out.pure = append(out.pure, row[0])
		}
	}
	if len(out.rooms) < 30 || len(out.pure) < 8 {
		t.Fatalf("%s lists %d rooms, %d of them pure", rulesFile, len(out.rooms), len(out.pure))
	}
	return out
}

// The document of the house stays one that is read.
func TestArchitecture_is_short(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/ARCHITECTURE.md")
	if n := len(strings.Fields(string(text))); err != nil || n >= 1200 {
		t.Errorf("docs/ARCHITECTURE.md has %d words, %v", n, err)
	}
}

// noEffects are packages that a pure room must not import.
var noEffects = []string{"os", "os/exec", "net", "net/http", "syscall", "path/filepath", "unsafe"}

// system are the rooms that may speak to the operating system directly.
var system = []string{"internal/tree", "internal/durable", "internal/proc", "internal/shim", "internal/tui", "core/world", "core/hands"}

// owners lists third-party packages and the one room that may import each, so
// that it can be replaced in a day.
var owners = map[string]string{
	"go.yaml.in/yaml/v3":                             "internal/doc",
	"github.com/aymanbagabas/go-udiff":               "internal/durable",
	"github.com/tailscale/hujson":                    "internal/doc",
	"github.com/spf13/cobra":                         "internal/cli",
	"github.com/spf13/cobra/doc":                     "internal/pages",
	"github.com/clipperhouse/displaywidth":           "internal/cli",
	"golang.org/x/term":                              "internal/cli",
	"github.com/fsnotify/fsnotify":                   "internal/watch",
	"charm.land/bubbletea/v2":                        "internal/tui",
	"github.com/modelcontextprotocol/go-sdk/mcp":     "internal/mcp",
	"github.com/modelcontextprotocol/go-sdk/jsonrpc": "internal/mcp",
	"golang.org/x/sync/errgroup":                     "project",
	"mvdan.cc/sh/v3/syntax":                          "internal/transcript",
	"github.com/google/go-cmp/cmp":                   "convention/conventiontest",
	"github.com/valyala/fastjson":                    "convention/eventrun",
	"github.com/rogpeppe/go-internal/txtar":          "convention/conventiontest",
}

func (r table) room(dir string) string {
	if _, ok := r.rooms[dir]; ok {
		return dir
	}
	if star := path.Join(path.Dir(dir), "*"); r.rooms[star] != nil {
		return star
	}
	return ""
}

func TestArchitecture_import_rules(t *testing.T) {
	t.Parallel()
	rules := readTable(t)
	seen, used := 0, map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || (strings.HasPrefix(d.Name(), ".") && p != ".") || d.Name() == "examples" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != "." {
				return filepath.SkipDir // a module of its own, with rules of its own
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		seen++
		used[rules.checkFile(t, filepath.ToSlash(p))] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
	for name := range rules.rooms {
		if !used[name] {
			t.Errorf("%s lists %s, and no such package is there", rulesFile, name)
		}
	}
}

// The plain program has nothing of a fleet in it: that is a module of its own. (issue 19)
func TestArchitecture_the_plain_program_has_no_Temporal_in_it(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "./cmd/reprise").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains(name, "temporal") || strings.Contains(name, "google.golang.org/grpc") {
			t.Errorf("the program contains %s", name)
		}
	}
	if len(out) < 1000 {
		t.Fatalf("only %q was listed", out)
	}
}

// checkFile holds one file against the rules and gives the room it is in.
func (r table) checkFile(t *testing.T, file string) (here string) {
	t.Helper()
	src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return ""
	}
	dir := path.Dir(file)
	here = r.room(dir)
	if here == "" {
		t.Errorf("%s: this folder has no line in %s", file, rulesFile)
		return ""
	}
	for _, decl := range src.Imports {
		name, err := strconv.Unquote(decl.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case name == "reprise" || strings.HasPrefix(name, "reprise/"):
			target := strings.TrimPrefix(strings.TrimPrefix(name, "reprise"), "/")
			if target == "" {
				target = "."
			}
			if !slices.Contains(r.rooms[here], target) && !slices.Contains(r.rooms[here], r.room(target)) {
				t.Errorf("%s imports %s, which the rules do not allow here", file, name)
			}
		case strings.HasPrefix(name, "golang.org/x/sys/"):
			// The system itself, for the rooms that touch it.
			if !slices.Contains(system, here) {
				t.Errorf("%s imports %s: this room does not touch the system", file, name)
			}
		case strings.Contains(strings.Split(name, "/")[0], "."):
			if owners[name] != dir {
				t.Errorf("%s imports %s, which belongs to %q", file, name, owners[name])
			}
		case slices.Contains(r.pure, here) && slices.Contains(noEffects, name):
			t.Errorf("%s imports %s: this room is pure", file, name)
		}
	}
	checkWrites(t, file, here, src)
	for _, decl := range src.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s has an init function: every start of the program would pay for it", file)
		}
	}
	return here
}

// writes are the functions of os that change files.
var writes = []string{
	"WriteFile", "Create", "CreateTemp", "Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "Truncate", "Symlink", "Link", "Chmod", "Chown", "Chtimes", "CopyFS",
}

// scratch are files that write to a temporary folder of their own, outside the
// project: the throw-away copy that a person's command is run in, what stands in for a
// repository while git is asked.
var scratch = []string{"agent/agenttest/agenttest.go", "evidence/verify.go", "internal/gitx/contents.go", "internal/gitx/gittest/gittest.go", "internal/gitx/mergetree.go", "internal/gitx/scratch.go", "internal/gitx/standin.go", "internal/demo/actor.go", "internal/demo/scene.go", "internal/hostile/trees.go", "internal/web/webtest/webtest.go"}

// remains are files that remove what a killed git left in git's own folder, for
// which git has no command.
var remains = []string{"internal/gitx/writehusk.go"}

// checkWrites asks that only internal/durable changes files.
func checkWrites(t *testing.T, file, here string, src *ast.File) {
	t.Helper()
	if strings.HasPrefix(here, "internal/durable") || strings.HasPrefix(here, "core/") || here == "convention/conventiontest" || slices.Contains(scratch, file) || slices.Contains(remains, file) {
		return
	}
	ast.Inspect(src, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(writes, sel.Sel.Name) {
			t.Errorf("%s calls os.%s: only internal/durable changes files", file, sel.Sel.Name)
		}
		return true
	})
}
