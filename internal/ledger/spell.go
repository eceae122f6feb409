package ledger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// UsualTime is how a time is spelled where a file has none to follow.
const UsualTime = "2006-01-02T15:04:05.000Z07:00"

// SpellTime writes a time as another one is written: a number of seconds or
// milliseconds, a day alone, with as many digits and in its zone. A time without
// a zone is written in UTC, as such times are read. Where the sample is no time,
// it is spelled by usual, a layout of package time; "" stands for UsualTime.
func SpellTime(at time.Time, sample, usual string) any {
	if usual == "" {
		usual = UsualTime
	}
	at = at.UTC()
	s := strings.TrimSpace(sample)
	if doc.Digits(s) {
		switch len(s) {
		case 13:
			return at.UnixMilli()
		case 10:
			return at.Unix()
		}
	}
	for _, day := range []string{time.DateOnly, "2006/01/02", "02/01/2006"} {
		if _, err := time.Parse(day, s); err == nil {
			return at.Format(day)
		}
	}
	if _, ok := doc.ParseTime(s); !ok || len(s) < 16 || s[10] != 'T' && s[10] != ' ' {
		return at.Format(usual)
	}
	layout, rest := "2006-01-02"+s[10:11]+"15:04", s[16:]
	if strings.HasPrefix(rest, ":") && len(rest) >= 3 {
		layout, rest = layout+":05", rest[3:]
	}
	if strings.HasPrefix(rest, ".") {
		zone := strings.TrimLeft(rest[1:], "0123456789")
		digits := len(rest) - 1 - len(zone)
		layout, rest = layout+"."+strings.Repeat("0", min(digits, 9)), zone
	}
	switch rest {
	case "":
		return at.Format(layout)
	case "Z":
		return at.Format(layout + "Z07:00")
	}
	for _, zone := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(zone, rest); err == nil {
			_, offset := t.Zone()
			return at.In(time.FixedZone("", offset)).Format(layout + zone)
		}
	}
	return at.Format(usual)
}

// SpellTimeText is SpellTime for files that hold text alone.
func SpellTimeText(at time.Time, sample, usual string) string {
	if text, ok := SpellTime(at, sample, usual).(string); ok {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}

// SpellWord gives the word for a meaning: the first neighbour that has it, else
// the convention's own word in the manner of the neighbours. means reports
// whether a word has the meaning.
func SpellWord(own string, means func(word string) bool, neighbours ...string) string {
	var others []string
	for _, word := range neighbours {
		word = strings.TrimSpace(word)
		if word == "" || word != Line(word, 40) {
			continue
		}
		if means(word) {
			return word
		}
		others = append(others, word)
	}
	return InManner(own, others...)
}

// InManner spells a word as others are spelled: with dashes or blanks where they
// have them, in capitals where all of them are.
func InManner(word string, others ...string) string {
	upper, title := len(others) > 0, len(others) > 0
	for _, o := range others {
		upper = upper && o == strings.ToUpper(o)
		title = title && o[:1] == strings.ToUpper(o[:1])
		for _, sep := range []string{"-", " "} {
			if strings.Contains(o, sep) {
				word = strings.ReplaceAll(word, "_", sep)
			}
		}
	}
	switch {
	case upper:
		return strings.ToUpper(word)
	case title:
		parts := strings.Split(word, " ")
		for i, part := range parts {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
		return strings.Join(parts, " ")
	}
	return word
}

// Plural gives "1 plan" or "3 plans".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Line makes one line of any text, safe in every format: no line ends, no control
// or direction characters, nothing that opens a comment, at most so many runes.
func Line(text string, most int) string {
	text = strings.NewReplacer("<!--", "< !--", "-->", "-- >").Replace(flat(text))
	return doc.Clip(strings.Join(strings.Fields(text), " "), most)
}

// flat is a text without line ends and without what cannot be seen.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// MarkdownLine is Line for the value of a label, a cell or an item of a Markdown
// file: nothing in it reads as the end of a cell, a label, a heading or a quote.
func MarkdownLine(text string, most int) string {
	text = strings.NewReplacer("|", "/", "·", "/", "`", "'").Replace(flat(text))
	for _, mark := range []string{"**", "__", "<!--", "-->"} {
		for strings.Contains(text, mark) {
			text = strings.ReplaceAll(text, mark, "")
		}
	}
	return doc.Clip(strings.TrimLeft(strings.Join(strings.Fields(text), " "), "#>*+-=~[] "), most)
}

// Prose makes a text of a person or an agent fit to be stored as a value: valid,
// without control characters but line ends, and not endless.
func Prose(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + " […]"
	}
	return strings.TrimSpace(text)
}

// NewJSON lays out a JSON file that is made or rebuilt.
func NewJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(value)
	return text.Bytes(), err
}

// YAMLText writes a text as a value of YAML: plain where nothing could be read
// into it, else in the double quotes that JSON and YAML share.
func YAMLText(s string) string {
	plain := s != "" && strings.TrimSpace(s) == s
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		plain = plain && (letter || i > 0 && (r >= '0' && r <= '9' || strings.ContainsRune(" _-./", r)))
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return Quoted(s)
}

// Quoted writes a text in the double quotes that JSON and YAML share.
func Quoted(s string) string {
	text, err := NewJSON(s)
	if err != nil {
		return `""` // text always encodes
	}
	return strings.TrimSpace(string(text))
}

// Data gives a part of a document in the form NewJSON writes it. Of a key that
// stands twice the last one counts.
func Data(n *doc.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case doc.Map:
		last := map[string]int{}
		for i, f := range n.Keys {
			last[f.Name] = i
		}
		out := splice.Object{}
		for i, f := range n.Keys {
			if last[f.Name] == i {
				out = append(out, splice.Member{Key: f.Name, Value: Data(f.Value)})
			}
		}
		return out
	case doc.List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, Data(item))
		}
		return out
	case doc.Number, doc.Bool:
		// 007, 0x1F and yes are none in JSON; as text they read the same.
		if json.Valid([]byte(n.Text)) {
			return json.RawMessage(n.Text)
		}
	case doc.Null, doc.Absent:
		return nil
	}
	return n.Text
}
