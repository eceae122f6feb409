package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"reprise/internal/redact"
)

// maxMarks is how many combining marks one letter may carry; no language needs more.
const maxMarks = 4

// plain makes text from a file safe for a terminal: one line, no control characters,
// nothing that reorders or hides its surroundings, nothing that looks like a secret.
// Whatever is removed is shown as an escape or a mark, so that nothing disappears unnoticed.
func plain(s string) string {
	s = redact.Text(s)
	var b strings.Builder
	b.Grow(len(s))
	space := false
	marks := 0 // consecutive combining marks: they take no space and could be stacked without limit
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case marks > maxMarks:
			fmt.Fprintf(&b, `\u{%x}`, r)
			space = false
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			space = false
		case unicode.IsSpace(r):
			if !space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = true
		case unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
			space = false
		default:
			b.WriteRune(r)
			space = false
		}
		i += max(n, 1)
	}
	return strings.TrimRight(b.String(), " ")
}

// maxBlanks is how many consecutive spaces are shown as such in a word of a command: more
// look like nothing, or push what follows out of sight.
const maxBlanks = 8

// quoted returns a word as a person would type it in a shell, unambiguously: no two words
// look the same. Invisible characters, and many consecutive spaces, are shown as escapes
// that bash and zsh understand.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@%+=,-") == "" {
		return s
	}
	var b strings.Builder
	escapes := false
	escape := func(format string, v any) {
		escapes = true
		fmt.Fprintf(&b, format, v)
	}
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		switch short := strings.IndexRune("\n\t\r", r); {
		case short >= 0 && n == 1:
			escape(`\%c`, "ntr"[short])
		case r == utf8.RuneError && n == 1, r < ' ', r == 0x7f:
			escape(`\x%02x`, s[i])
		case r == '\\' || r == '\'': // literal in one form, an escape in the other
			b.WriteString(`\` + string(r))
		case r == ' ':
			run := len(s[i:]) - len(strings.TrimLeft(s[i:], " "))
			if n = run; run > maxBlanks {
				escape("%s", strings.Repeat(`\x20`, run))
			} else {
				b.WriteString(s[i : i+run])
			}
		case marks <= maxMarks && !unseen(r) && !unicode.In(r, unicode.C, unicode.Z):
			b.WriteRune(r)
		case r > 0xffff:
			escape(`\U%08x`, r)
		default:
			escape(`\u%04x`, r)
		}
		i += n
	}
	if !escapes {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return "$'" + b.String() + "'"
}

// commandWords formats a command word by word, so that nothing in it can be mistaken for
// something else.
func commandWords(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quoted(arg)
	}
	return strings.Join(words, " ")
}

// readable returns text for people: an object for programs is omitted where there is room
// only for a sentence.
func readable(s string) string {
	if strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s)) {
		return ""
	}
	return s
}

// width returns the number of terminal columns of a text.
func width(s string) int { return displaywidth.String(s) }

// between finds what stands between backticks: it is neither broken nor cut, because it is
// there to be pasted. word finds it with what stands around it without a space.
var (
	between = regexp.MustCompile("`[^`\\s][^`]*`")
	word    = regexp.MustCompile("(?:" + between.String() + `|\S)+`)
)

// longestCommand is what a terminal takes as one line; nobody pastes more.
const longestCommand = 4096

// fit truncates a text to n columns, with an ellipsis: before a command that it would cut.
func fit(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if width(s) <= n {
		return s
	}
	cut := displaywidth.TruncateString(s, n, "…")
	kept := len(cut) - len("…")
	for _, at := range between.FindAllStringIndex(s, -1) {
		if at[0] >= kept || kept >= at[1] {
			continue
		}
		if head := strings.TrimRight(s[:at[0]], " ;,("); head != "" {
			return head + " …"
		}
		return cut[:at[0]] + cut[at[0]+1:] // all of it is one command: what is left is not said to be one
	}
	return cut
}

// pad fills a text with spaces to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-width(s)))
}

// widest returns how many columns the widest of these texts takes.
func widest[T any](list []T, text func(T) string) (wide int) {
	for _, v := range list {
		wide = max(wide, width(text(v)))
	}
	return wide
}

// unbroken returns the parts of a text that a line is not broken in.
func unbroken(s string) (parts []string) {
	for _, part := range word.FindAllString(s, -1) {
		if len(part) > longestCommand {
			parts = append(parts, strings.Fields(part)...)
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// wrap breaks a text into lines of at most n columns, at spaces if possible. A command
// between backticks that is longer than n has a line of its own.
func wrap(s string, n int) []string {
	n = max(n, 8)
	var lines []string
	line := ""
	for _, word := range unbroken(s) {
		for width(word) > n && !between.MatchString(word) {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := displaywidth.TruncateString(word, n, "")
			if head == "" { // one cluster that is wider than the line
				head = word
			}
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// wrapExact breaks the output of quoted into lines of at most n columns whose
// concatenation is the original: before spaces if possible, without dropping any. A line
// that does not begin with a space continues a word.
func wrapExact(s string, n int) []string {
	n = max(n, 2*maxBlanks)
	var lines []string
	for width(s) > n {
		head := displaywidth.TruncateString(s, n, "")
		if head == "" { // one cluster that is wider than the line
			break
		}
		if s[len(head)] != ' ' || strings.HasSuffix(head, " ") {
			if word := strings.TrimRight(head[:strings.LastIndexByte(head, ' ')+1], " "); word != "" {
				head = word
			}
		}
		lines, s = append(lines, head), s[len(head):]
	}
	return append(lines, s)
}

// count gives "1 day", "2 days".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
