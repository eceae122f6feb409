package transcript

import (
	"path"
	"regexp"
	"strings"
)

// command is one simple command of a command line.
type command struct {
	words []word
	// outs are the files its output goes to.
	outs    []word
	appends bool // to what they hold
	// join is what stands before it: "", ";", "&&", "||", "|" or "&".
	join string
	// back tells that it is put into the background.
	back bool
}

// word is a word as the shell would see it. It is plain if nothing in it stands
// for something else.
type word struct {
	text  string
	plain bool
}

// shellLine takes a command line apart. Substitutions and here-documents are
// given as command lines of their own. ok is false where it does not understand
// the line well enough to say what it runs.
func shellLine(line string) (commands []command, inner []string, ok bool) {
	p := &shellParser{in: line, ok: true}
	p.parse()
	p.flush("")
	return p.out, p.inner, p.ok
}

type shellParser struct {
	in    string
	i     int
	ok    bool
	out   []command
	inner []string

	cur    command
	buf    strings.Builder
	has    bool // a word is under way
	plain  bool
	toFile bool // the next word is where output goes
	drop   bool // the next word is where input comes from
	here   []string
}

func (p *shellParser) char(c byte) {
	if !p.has {
		p.has, p.plain = true, true
	}
	p.buf.WriteByte(c)
}

// word ends a word.
func (p *shellParser) word() {
	if !p.has {
		return
	}
	w := word{p.buf.String(), p.plain}
	p.buf.Reset()
	p.has = false
	switch {
	case p.drop:
		p.drop = false
	case p.toFile:
		p.toFile = false
		p.cur.outs = append(p.cur.outs, w)
	default:
		p.cur.words = append(p.cur.words, w)
	}
}

// flush ends a command; join is what the next one comes after.
func (p *shellParser) flush(join string) {
	p.word()
	p.ok = p.ok && !p.toFile && !p.drop
	if len(p.cur.words) > 0 || len(p.cur.outs) > 0 {
		p.cur.back = join == "&"
		p.out = append(p.out, p.cur)
	}
	p.cur = command{join: join}
}

func (p *shellParser) parse() {
	for p.i < len(p.in) && p.ok {
		c := p.in[p.i]
		p.i++
		switch c {
		case ' ', '\t', '\r':
			p.word()
		case '\n':
			p.flush(";")
			p.skipHere()
		case '#':
			if p.has {
				p.char(c)
			} else if end := strings.IndexByte(p.in[p.i:], '\n'); end >= 0 {
				p.i += end
			} else {
				p.i = len(p.in)
			}
		case '\'':
			p.single()
		case '"':
			p.double()
		case '\\':
			if p.i < len(p.in) && p.in[p.i] != '\n' {
				p.char(p.in[p.i])
			}
			p.i++
		case '$', '`':
			p.dollar(c)
		case '*', '?', '[', '~':
			p.char(c)
			p.plain = false
		case '{':
			p.char(c)
			p.plain = p.plain && (p.i == len(p.in) || p.in[p.i] == ' ' || p.in[p.i] == '\n')
		case ';', '&', '|':
			p.operator(c)
		case '(', ')':
			if c == '(' && (p.has || len(p.cur.words) > 0) {
				p.ok = false // a function, an array, a pattern
			}
			p.flush(";")
		case '<', '>':
			p.redirect(c)
		default:
			p.char(c)
		}
	}
}

func (p *shellParser) operator(c byte) {
	join := string(c)
	if p.i < len(p.in) && p.in[p.i] == c {
		join += string(c)
		p.i++
	} else if c == '&' && p.i < len(p.in) && p.in[p.i] == '>' {
		p.i++
		p.redirect('>')
		return
	} else if c == '|' && p.i < len(p.in) && p.in[p.i] == '&' {
		p.i++
	}
	if join == ";;" {
		p.ok = false
	}
	p.flush(join)
}

func (p *shellParser) single() {
	end := strings.IndexByte(p.in[p.i:], '\'')
	if end < 0 {
		p.ok = false
		return
	}
	p.has, p.plain = true, p.plain || !p.has
	p.buf.WriteString(p.in[p.i : p.i+end])
	p.i += end + 1
}

func (p *shellParser) double() {
	if !p.has {
		p.has, p.plain = true, true
	}
	for p.i < len(p.in) && p.ok {
		c := p.in[p.i]
		p.i++
		switch c {
		case '"':
			return
		case '\\':
			if p.i < len(p.in) {
				if next := p.in[p.i]; !strings.ContainsRune("$`\"\\\n", rune(next)) {
					p.char('\\')
				}
				p.char(p.in[p.i])
			}
			p.i++
		case '$', '`':
			p.dollar(c)
		default:
			p.char(c)
		}
	}
	p.ok = false
}

// dollar reads a substitution. What it runs is kept, what it gives is not known.
func (p *shellParser) dollar(c byte) {
	if c == '`' {
		end := strings.IndexByte(p.in[p.i:], '`')
		if end < 0 {
			p.ok = false
			return
		}
		p.inner = append(p.inner, p.in[p.i:p.i+end])
		p.i += end + 1
	} else if p.i < len(p.in) && p.in[p.i] == '(' {
		end := closing(p.in[p.i:], '(', ')')
		if doc := endOfDocument(p.in[p.i:]); doc > 0 {
			end = doc
		}
		if end < 0 {
			p.ok = false
			return
		}
		p.inner = append(p.inner, p.in[p.i+1:p.i+end])
		p.i += end + 1
	} else if p.i < len(p.in) && p.in[p.i] == '{' {
		end := closing(p.in[p.i:], '{', '}')
		if end < 0 || strings.ContainsAny(p.in[p.i:p.i+end], "$`(") {
			p.ok = false
			return
		}
		p.i += end + 1
	} else if p.i < len(p.in) && (p.in[p.i] == '\'' || p.in[p.i] == '"') {
		p.ok = false // quoting of its own kind
		return
	}
	p.char('$')
	p.plain = false
}

var documentBegin = regexp.MustCompile(`^\(cat <<['"]?([A-Za-z_]+)['"]?\n`)

// endOfDocument finds the end of a bracket around a here-document, in which
// quotes mean nothing; 0 if it is none.
func endOfDocument(s string) int {
	m := documentBegin.FindStringSubmatchIndex(s)
	if m == nil {
		return 0
	}
	mark := "\n" + s[m[2]:m[3]] + "\n"
	end := strings.Index(s[m[1]-1:], mark)
	if end < 0 {
		return 0
	}
	end += m[1] - 1 + len(mark)
	rest := strings.TrimLeft(s[end:], " \t\n")
	if !strings.HasPrefix(rest, ")") {
		return 0
	}
	return len(s) - len(rest)
}

// closing finds the end of brackets, quotes respected in a simple way.
func closing(s string, open, end byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			i++
		case c == open:
			depth++
		case c == end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *shellParser) redirect(c byte) {
	// A number before it is a descriptor, no argument.
	if p.has && strings.Trim(p.buf.String(), "0123456789") == "" {
		p.buf.Reset()
		p.has = false
	}
	p.word()
	rest := p.in[p.i:]
	switch {
	case c == '<' && strings.HasPrefix(rest, "<<"):
		p.i += 2
		p.drop = true
	case c == '<' && strings.HasPrefix(rest, "<"):
		p.i++
		p.hereDocument()
	case strings.HasPrefix(rest, "("):
		p.ok = false // a process in place of a file
	case strings.HasPrefix(rest, "&"):
		p.i++
		for p.i < len(p.in) && strings.IndexByte("0123456789-", p.in[p.i]) >= 0 {
			p.i++
		}
	case c == '<':
		p.drop = true
	default:
		if strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, "|") {
			p.cur.appends = p.cur.appends || rest[0] == '>'
			p.i++
		}
		p.toFile = true
	}
}

// hereDocument notes the word that ends it.
func (p *shellParser) hereDocument() {
	for p.i < len(p.in) && strings.IndexByte("- \t", p.in[p.i]) >= 0 {
		p.i++
	}
	end := strings.IndexAny(p.in[p.i:], " \t\n;&|<>")
	if end < 0 {
		p.ok = false
		return
	}
	p.here = append(p.here, p.in[p.i:p.i+end])
	p.i += end
}

// skipHere passes over the texts of here-documents, which begin here.
func (p *shellParser) skipHere() {
	for _, mark := range p.here {
		bare := strings.Trim(mark, `'"\`)
		found := false
		for p.i < len(p.in) && !found {
			line, _, _ := strings.Cut(p.in[p.i:], "\n")
			p.i = min(p.i+len(line)+1, len(p.in))
			if found = strings.TrimLeft(strings.TrimRight(line, "\r"), "\t") == bare; !found && bare == mark && strings.ContainsAny(line, "$`") {
				p.ok = p.ok && !strings.Contains(line, "$(") && !strings.Contains(line, "`")
			}
		}
		p.ok = p.ok && found
	}
	p.here = nil
}

// program is what a command runs, with the words before it taken away that only
// say how, and the words of a script. It is empty for a mere assignment.
func (c command) program() (name string, args []word) {
	words := c.words
	for len(words) > 0 {
		w := words[0]
		switch {
		case !w.plain:
			return "$", words[1:]
		case isAssignment(w.text):
			words = words[1:]
			continue
		}
		switch w.text {
		case "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "nohup", "command", "builtin", "exec":
			words = words[1:]
			continue
		case "fi", "done", "}":
			words = words[1:]
			continue
		}
		return path.Base(w.text), words[1:]
	}
	return "", nil
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
