package transcript

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one command that a command line runs, also in a pipe, a substitution or a
// subshell.
type Command struct {
	Text  string   // as it is written, without redirections
	Words []string // its first words, up to the first that is more than plain text
}

// Commands lists the commands of a command line, nil where it cannot be understood.
func Commands(line string) (out []Command) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		c := Command{Text: line[call.Args[0].Pos().Offset():call.End().Offset()]}
		plain := slices.IndexFunc(call.Args, func(w *syntax.Word) bool { return w.Lit() == "" })
		if plain < 0 {
			plain = len(call.Args)
		}
		for _, w := range call.Args[:plain] {
			c.Words = append(c.Words, w.Lit())
		}
		out = append(out, c)
		return true
	})
	return out
}
