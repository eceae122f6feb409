package longrun

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// timeSpellings are the forms of a point in time that are written back as they
// were found. The last is that of the convention.
var timeSpellings = []string{
	time.DateOnly, "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000000Z07:00", time.RFC3339,
}

// timeLike spells a time as the sample does, in the sample's zone.
func timeLike(sample string, t time.Time) string {
	for _, form := range timeSpellings {
		if old, err := time.Parse(form, strings.TrimSpace(sample)); err == nil && old.Format(form) == strings.TrimSpace(sample) {
			return t.In(old.Location()).Format(form)
		}
	}
	return t.UTC().Format(time.RFC3339)
}

// activity writes `DATE - what` over an old value of that kind, with its way
// of writing the time and its dash. An old value that is only a time stays one.
func activity(old string, at time.Time, what string) string {
	old = strings.TrimSpace(strings.Trim(old, "*"))
	stamp, rest := old, ""
	for _, dash := range []string{" — ", " – ", " - ", " -- "} {
		if head, _, ok := strings.Cut(old, dash); ok && (rest == "" || len(head) < len(stamp)) {
			stamp, rest = head, dash
		}
	}
	_, timed := doc.ParseTime(stamp)
	switch {
	case !timed:
		return at.UTC().Format(time.DateOnly) + " - " + what
	case rest == "":
		return timeLike(stamp, at)
	}
	return timeLike(stamp, at) + rest + what
}

// withNumber replaces the first number of a value, as wide as it was.
func withNumber(old string, n int) (string, bool) {
	i := strings.IndexAny(old, "0123456789")
	if i < 0 {
		return "", false
	}
	end := i
	for end < len(old) && old[end] >= '0' && old[end] <= '9' {
		end++
	}
	width := 1
	if old[i] == '0' {
		width = end - i
	}
	return old[:i] + fmt.Sprintf("%0*d", width, n) + old[end:], true
}

// withBar moves `[███░░░░░░░] 33%` and `[##---] 1/3 tasks` to a new share, in
// the signs of the old bar. ok is false for what is no such bar.
func withBar(old string, done, total int) (bar string, ok bool) {
	open, shut := strings.IndexByte(old, '['), strings.IndexByte(old, ']')
	if open < 0 || shut < open || total <= 0 || done < 0 || done > total {
		return "", false
	}
	signs := []rune(old[open+1 : shut])
	full, empty, ok := barSigns(signs)
	if !ok {
		return "", false
	}
	filled := (len(signs)*done + total/2) / total
	rest := old[shut+1:]
	if i := strings.IndexByte(rest, '%'); i > 0 {
		from := i
		for from > 0 && rest[from-1] >= '0' && rest[from-1] <= '9' {
			from--
		}
		if from < i {
			rest = rest[:from] + strconv.Itoa(percent(done, total)) + rest[i:]
		}
	}
	if i := strings.Index(rest, "/"+strconv.Itoa(total)); i > 0 {
		from := i
		for from > 0 && rest[from-1] >= '0' && rest[from-1] <= '9' {
			from--
		}
		if from < i {
			rest = rest[:from] + strconv.Itoa(done) + rest[i:]
		}
	}
	return old[:open+1] + strings.Repeat(string(full), filled) + strings.Repeat(string(empty), len(signs)-filled) + "]" + rest, true
}

func percent(done, total int) int { return (100*done + total/2) / total }

// barSigns finds the two signs of a bar.
func barSigns(signs []rune) (full, empty rune, ok bool) {
	if len(signs) < 4 || len(signs) > 100 {
		return 0, 0, false
	}
	full, empty = signs[0], signs[len(signs)-1]
	for _, r := range signs {
		if r != full && r != empty || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return 0, 0, false
		}
	}
	if full != empty {
		return full, empty, true
	}
	for _, pair := range []string{"█░", "#-", "■□", "= ", "▓░"} {
		p := []rune(pair)
		if full == p[0] || full == p[1] {
			return p[0], p[1], true
		}
	}
	return 0, 0, false
}

// line makes one harmless line of any text: what could end a line, a table or a
// label, or hide what follows, is taken out of it.
func line(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '|', r == '·':
			return '/'
		case r == '`':
			return '\''
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	for _, mark := range []string{"**", "__", "<!--", "-->"} {
		for strings.Contains(text, mark) {
			text = strings.ReplaceAll(text, mark, "")
		}
	}
	text = strings.TrimLeft(strings.Join(strings.Fields(text), " "), "#>*+-=~[] ")
	return doc.Clip(text, most)
}

// quoted writes a text in the double quotes that JSON and YAML share.
func quotedYAML(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // text always encodes
	}
	return strings.TrimSpace(b.String())
}

// newJSON lays out a new JSON file.
func newJSON(o splice.Object) (string, error) {
	raw, err := json.MarshalIndent(o, "", "  ")
	return string(raw) + "\n", err
}
