package reprise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms are the import rules of docs/ARCHITECTURE.md: what a package may import
// of our own, by longest matching prefix. A package that is not listed must be
// given its place first.
var rooms = map[string][]string{
	".":                         {},
	"convention/conventiontest": {".", "internal/tree"},
	"convention/playtest":       {".", "convention/conventiontest"},
	"convention":                {".", "convention/*"},
	"convention/*":              {".", "internal/doc", "internal/splice", "internal/ledger"},
	"internal/ledger":           {".", "internal/doc", "internal/splice"},
	"examine":                   {"."},
	"report":                    {"."},
	"project":                   {".", "convention", "evidence", "evidence/grade", "examine", "internal/doc", "internal/tree", "journal", "internal/durable"},
	"internal/link":             {},
	"internal/doc":              {".", "internal/link"},
	"internal/tree":             {"internal/doc", "internal/link"},
	"internal/splice":           {".", "internal/doc"},
	"internal/durable":          {".", "internal/link"},
	"internal/durable/crashfs":  {"internal/durable"},
	"upkeep":                    {".", "convention", "project", "journal", "worktree", "internal/durable", "internal/gitx"},
	"journal":                   {".", "internal/durable"},
	"internal/gitx":             {".", "internal/proc"},
	"internal/gitx/gittest":     {},
	"internal/proc":             {"."},
	"internal/loose":            {},
	"internal/transcript":       {".", "internal/loose"},
	"internal/redact":           {"."},
	"evidence":                  {".", "internal/gitx", "internal/proc", "internal/redact", "internal/transcript", "evidence/grade"},
	"evidence/grade":            {"."},
	"agent":                     {".", "internal/loose", "internal/proc", "internal/redact", "internal/shim"},
	"agent/agenttest":           {"internal/modelstub"},
	"agent/*":                   {".", "agent", "internal/proc", "internal/shim"},
	"internal/shim":             {"internal/proc"},
	"internal/modelstub":        {},
	"internal/hostile":          {},
	"internal/sample":           {},
	"prompt":                    {"."},
	"briefing":                  {".", "prompt"},
	"doctor":                    {".", "agent", "settings", "internal/durable", "internal/gitx", "internal/proc"},
	"settings":                  {".", "internal/doc", "internal/durable"},
	"flow":                      {".", "internal/doc"},
	"worktree":                  {".", "internal/gitx", "internal/durable", "journal"},
	"engine":                    {".", "agent", "agent/*", "settings", "flow", "prompt", "briefing", "convention", "convention/*", "project", "journal", "upkeep", "worktree", "internal/durable", "internal/gitx", "internal/proc", "internal/redact"},
	"internal/tui":              {".", "engine"},
	"internal/demo":             {".", "internal/proc"},
	"internal/cli":              {".", "convention", "examine", "briefing", "doctor", "project", "report", "upkeep", "journal", "internal/doc", "internal/durable", "engine", "agent", "agent/*", "settings", "flow", "worktree", "internal/proc", "internal/redact", "internal/tui", "internal/shim", "internal/demo"},
	"cmd/reprise":               {"internal/cli", "internal/shim", "internal/demo"},
	"schema":                    {"report"},
}

// noEffects are packages that a pure room must not import.
var noEffects = []string{"os", "os/exec", "net", "net/http", "syscall", "path/filepath", "unsafe"}

// system are the rooms that may speak to the operating system directly.
var system = []string{"internal/tree", "internal/durable", "internal/proc", "internal/shim"}

var pure = []string{".", "convention/*", "internal/ledger", "examine", "report", "evidence/grade", "prompt", "flow", "briefing", "internal/loose", "internal/redact", "internal/transcript"}

// owners lists third-party packages and the one room that may import each, so
// that it can be replaced in a day.
var owners = map[string]string{
	"go.yaml.in/yaml/v3":                    "internal/doc",
	"github.com/aymanbagabas/go-udiff":      "internal/durable",
	"github.com/tailscale/hujson":           "internal/doc",
	"github.com/spf13/cobra":                "internal/cli",
	"github.com/clipperhouse/displaywidth":  "internal/cli",
	"golang.org/x/term":                     "internal/cli",
	"charm.land/bubbletea/v2":               "internal/tui",
	"golang.org/x/sync/errgroup":            "project",
	"mvdan.cc/sh/v3/syntax":                 "internal/transcript",
	"github.com/google/go-cmp/cmp":          "convention/conventiontest",
	"github.com/valyala/fastjson":           "convention/eventrun",
	"github.com/rogpeppe/go-internal/txtar": "convention/conventiontest",
}

func room(dir string) string {
	if _, ok := rooms[dir]; ok {
		return dir
	}
	if star := path.Join(path.Dir(dir), "*"); rooms[star] != nil {
		return star
	}
	return ""
}

func TestArchitecture_import_rules(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || (strings.HasPrefix(d.Name(), ".") && p != ".") || d.Name() == "examples" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		seen++
		checkFile(t, filepath.ToSlash(p))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

func checkFile(t *testing.T, file string) {
	t.Helper()
	src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	dir := path.Dir(file)
	here := room(dir)
	if here == "" {
		t.Errorf("%s: this folder has no place in the house; see docs/ARCHITECTURE.md", file)
		return
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
			if !slices.Contains(rooms[here], target) && !slices.Contains(rooms[here], room(target)) {
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
		case slices.Contains(pure, here) && slices.Contains(noEffects, name):
			t.Errorf("%s imports %s: this room is pure", file, name)
		}
	}
	checkWrites(t, file, here, src)
	for _, decl := range src.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s has an init function: every start of the program would pay for it", file)
		}
	}
}

// writes are the functions of os that change files.
var writes = []string{
	"WriteFile", "Create", "CreateTemp", "Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "Truncate", "Symlink", "Link", "Chmod", "Chown", "Chtimes", "CopyFS",
}

// scratch are files that write to a temporary folder of their own, outside the
// project: the throw-away copy that a person's command is run in.
var scratch = []string{"agent/agenttest/agenttest.go", "evidence/verify.go", "internal/gitx/contents.go", "internal/gitx/gittest/gittest.go", "internal/gitx/mergetree.go", "internal/demo/actor.go", "internal/demo/scene.go"}

// remains are files that remove what a killed git left in git's own folder, for
// which git has no command.
var remains = []string{"internal/gitx/writehusk.go"}

// checkWrites asks that only internal/durable changes files.
func checkWrites(t *testing.T, file, here string, src *ast.File) {
	t.Helper()
	if strings.HasPrefix(here, "internal/durable") || here == "convention/conventiontest" || slices.Contains(scratch, file) || slices.Contains(remains, file) {
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
