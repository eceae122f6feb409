package transcript

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is one simple command of a command line.
type command struct {
	words []word // without the assignments before them
	// outs are the files its output goes to.
	outs    []word
	appends bool // to what they hold
	// join is what stands before it: "", ";", "&&", "||", "|" or "&".
	join string
	// back tells that it is put into the background, maybe that it only runs if
	// a condition holds.
	back, maybe bool
}

// word is a word as the shell would see it. It is plain if nothing in it stands
// for something else.
type word struct {
	text  string
	plain bool
	// document is the text of a here-document that the word is made of.
	document string
}

// script is a command line taken apart.
type script struct {
	commands []command // in the order in which they are written
	inner    []command // what substitutions run
	ok       bool      // all of it was understood
}

// shellLine takes a command line apart. ok is false where it is not understood
// well enough to say what it runs.
func shellLine(line string) *script {
	s := &script{ok: true}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		s.ok = false
		return s
	}
	s.stmts(file.Stmts, command{})
	return s
}

// stmts adds a list of statements; at says where the list stands.
func (s *script) stmts(list []*syntax.Stmt, at command) {
	for _, st := range list {
		s.stmt(st, at)
		at.join = ";"
		if st.Background {
			at.join = "&"
		}
	}
}

func (s *script) stmt(st *syntax.Stmt, at command) {
	at.back = at.back || st.Background
	out := at
	for _, r := range st.Redirs {
		s.redirect(&out, r)
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range cmd.Assigns {
			s.substitutions(a)
		}
		for _, w := range cmd.Args {
			out.words = append(out.words, s.word(w))
		}
		s.commands = append(s.commands, out)
		return
	case *syntax.BinaryCmd:
		s.stmt(cmd.X, at)
		at.join = cmd.Op.String()
		if cmd.Op == syntax.PipeAll {
			at.join = "|"
		}
		s.stmt(cmd.Y, at)
	case *syntax.Block:
		s.stmts(cmd.Stmts, at)
	case *syntax.Subshell:
		s.stmts(cmd.Stmts, at)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			s.stmt(cmd.Stmt, at)
		}
	case *syntax.IfClause:
		s.branches(cmd, at)
	case *syntax.WhileClause:
		s.stmts(cmd.Cond, at)
		at.join, at.maybe = ";", true
		s.stmts(cmd.Do, at)
	case *syntax.ForClause:
		s.substitutions(cmd.Loop)
		at.join, at.maybe = ";", true
		s.stmts(cmd.Do, at)
	case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		s.substitutions(cmd)
	case nil:
	default: // a function, a case, a coprocess
		s.ok = false
	}
	if len(out.outs) > 0 {
		s.commands = append(s.commands, out)
	}
}

func (s *script) branches(cmd *syntax.IfClause, at command) {
	for ; cmd != nil; cmd = cmd.Else {
		s.stmts(cmd.Cond, at)
		at.join, at.maybe = ";", true
		s.stmts(cmd.Then, at)
	}
}

// redirect notes where output goes, and what is run to say so.
func (s *script) redirect(c *command, r *syntax.Redirect) {
	w := s.word(r.Word)
	if r.Hdoc != nil {
		s.substitutions(r.Hdoc)
	}
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplOut:
		if w.plain && strings.Trim(w.text, "0123456789-") == "" {
			return // a descriptor
		}
	case syntax.AppOut, syntax.AppAll:
		c.appends = true
	}
	c.outs = append(c.outs, w)
}

// substitutions notes what is run to find out what a part of the line stands for.
func (s *script) substitutions(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			in := script{ok: true}
			in.stmts(n.Stmts, command{})
			s.inner = slices.Concat(s.inner, in.commands, in.inner)
			s.ok = s.ok && in.ok
			return false
		case *syntax.ProcSubst:
			s.ok = false // a process in place of a file
		}
		return true
	})
}

// word makes the text of a word, with "$" for what is not known before it runs.
func (s *script) word(w *syntax.Word) word {
	s.substitutions(w)
	out := word{plain: true, document: document(w)}
	var text strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			out.plain = unescape(&text, p.Value, "") && out.plain
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
			out.plain = out.plain && !p.Dollar
		case *syntax.DblQuoted:
			out.plain = out.plain && !p.Dollar
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					unescape(&text, lit.Value, "$`\"\\\n")
				} else {
					text.WriteByte('$')
					out.plain = false
				}
			}
		default:
			text.WriteByte('$')
			out.plain = false
		}
	}
	out.text = text.String()
	return out
}

// unescape writes a literal without its backslashes. Between double quotes only
// those before the characters of special go. It reports whether nothing in it is
// a pattern or a list in braces.
func unescape(out *strings.Builder, lit, special string) (plain bool) {
	plain = true
	for i := 0; i < len(lit); i++ {
		switch c := lit[i]; {
		case c == '\\' && i+1 < len(lit) && (special == "" || strings.IndexByte(special, lit[i+1]) >= 0):
			if i++; lit[i] != '\n' {
				out.WriteByte(lit[i])
			}
			continue
		case strings.IndexByte("*?[~", c) >= 0, c == '{' && i+1 < len(lit):
			plain = false
		}
		out.WriteByte(lit[i])
	}
	return plain
}

// document is the text that `$(cat <<'EOF' …)` stands for, "" if a word is
// anything else.
func document(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	sub, ok := part.(*syntax.CmdSubst)
	if !ok || len(sub.Stmts) != 1 || len(sub.Stmts[0].Redirs) != 1 {
		return ""
	}
	call, ok := sub.Stmts[0].Cmd.(*syntax.CallExpr)
	if doc := sub.Stmts[0].Redirs[0].Hdoc; ok && doc != nil && len(call.Args) == 1 && call.Args[0].Lit() == "cat" {
		return doc.Lit()
	}
	return ""
}

// program is what a command runs, without the words before it that only say how.
// It is empty for a mere assignment.
func (c command) program() (name string, args []word) {
	words := c.words
	for len(words) > 0 && words[0].plain && slices.Contains([]string{"nohup", "command", "builtin", "exec"}, words[0].text) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return "", nil
	case !words[0].plain:
		return "$", words[1:]
	}
	return path.Base(words[0].text), words[1:]
}
