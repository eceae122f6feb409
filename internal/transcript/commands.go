package transcript

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one command that a command line runs, also in a pipe, a substitution or a
// subshell.
type Command struct {
	Text  string   // as it is written, without redirections
	Sets  string   // the variables that are set for it alone, as they stand before Text
	Words []string // its first words, up to the first that is more than plain text
}

// Form is what a command line is made of. A plain one only runs commands one after another or
// in pipes, and its words are known without a shell. An opaque one has what cannot be seen
// through before it runs: a subshell, a command in the background, a case, a function,
// arithmetic, a variable that a command sets, a pipe that is not plain within something else, or
// a here-document that a shell reads too or whose name does not end its line.
type Form struct{ Plain, Pipe, Opaque bool }

// Commands lists the commands of a command line, none where it cannot be understood.
func Commands(line string) (out []Command, f Form) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, Form{Opaque: true}
	}
	f.Plain = true
	has := func(n syntax.Node) (made bool) {
		syntax.Walk(n, func(n syntax.Node) bool {
			_, is := n.(*syntax.CmdSubst)
			made = made || is
			return true
		})
		return made
	}
	piped := func(c syntax.Command) bool {
		b, ok := c.(*syntax.BinaryCmd)
		return ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CaseClause, *syntax.FuncDecl, *syntax.ArithmCmd, *syntax.CStyleLoop:
			f.Opaque = true
		case *syntax.Stmt:
			f.Opaque, f.Pipe = f.Opaque || n.Background, f.Pipe || piped(n.Cmd)
		case *syntax.Redirect:
			f.Opaque = f.Opaque || n.Word != nil && strings.HasPrefix(n.Word.Lit(), "~")
			if n.Hdoc != nil {
				end := n.Word.Lit() // "" if it is quoted; a shell then reads nothing in what it ends
				f.Opaque = f.Opaque || end != "" && !strings.Contains(end, `\`) || !strings.HasPrefix(line[n.Word.End().Offset():], "\n")
			}
		case *syntax.Assign:
			f.Opaque = f.Opaque || has(n)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				out = append(out, commandOf(line, n))
			}
		case *syntax.Lit:
			f.Plain = f.Plain && !strings.Contains(n.Value, "{")
		case nil, *syntax.File, *syntax.BinaryCmd, *syntax.TimeClause, *syntax.Word, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment:
		default:
			f.Plain = false
		}
		return true
	})
	if f.Pipe && !f.Plain && (has(file) || len(file.Stmts) != 1 || !piped(file.Stmts[0].Cmd)) {
		f.Opaque = true
	}
	return out, f
}

func commandOf(line string, call *syntax.CallExpr) Command {
	from := call.Args[0].Pos().Offset()
	c := Command{Text: line[from:call.End().Offset()], Sets: line[call.Pos().Offset():from]}
	for _, w := range call.Args {
		if w.Lit() == "" {
			break
		}
		c.Words = append(c.Words, w.Lit())
	}
	return c
}
