package reprise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestOptionKeysStandInTheTableOnly holds that production code names options by their
// constants: a key that is misspelled elsewhere would silently mean nothing.
func TestOptionKeysStandInTheTableOnly(t *testing.T) {
	t.Parallel()
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range optionOperands(n) {
				if key, is := optionKey(e); is {
					t.Errorf("%s: the key %q of an option; use its constant", set.Position(e.Pos()), key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}

// optionKey reports whether an expression is a literal that is the key of an option.
func optionKey(e ast.Expr) (string, bool) {
	lit, is := e.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return "", false
	}
	key, err := strconv.Unquote(lit.Value)
	_, known := OptionOf(key)
	return key, err == nil && key != "" && known
}

// optionOperands gives the expressions of a node that can only be keys of options: what
// is compared with or stands in a field Option or Key, and what follows "--option".
func optionOperands(n ast.Node) []ast.Expr {
	field := func(e ast.Expr) bool {
		sel, is := e.(*ast.SelectorExpr)
		return is && (sel.Sel.Name == "Option" || sel.Sel.Name == "Key")
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if field(n.X) && (n.Op == token.EQL || n.Op == token.NEQ) {
			return []ast.Expr{n.Y}
		}
	case *ast.KeyValueExpr:
		if name, is := n.Key.(*ast.Ident); is && (name.Name == "Option" || name.Name == "Key") {
			return []ast.Expr{n.Value}
		}
	case *ast.SwitchStmt:
		if n.Tag == nil || !field(n.Tag) {
			return nil
		}
		var out []ast.Expr
		for _, c := range n.Body.List {
			out = append(out, c.(*ast.CaseClause).List...)
		}
		return out
	case *ast.CallExpr:
		return behindOption(n.Args)
	case *ast.CompositeLit:
		return behindOption(n.Elts)
	}
	return nil
}

func behindOption(list []ast.Expr) (out []ast.Expr) {
	for i, e := range list[:max(0, len(list)-1)] {
		if lit, is := e.(*ast.BasicLit); is && lit.Value == `"--option"` {
			out = append(out, list[i+1])
		}
	}
	return out
}
