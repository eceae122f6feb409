package longrun

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise/internal/doc"
)

// activity writes `DATE - what` over an old value of that kind, with its way
// of writing the time and its dash. An old value that is only a time stays one.
func (w *recorder) activity(old, what string) string {
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
		return w.ev.At.UTC().Format(time.DateOnly) + " - " + what
	case rest == "":
		return w.spell(stamp)
	}
	return w.spell(stamp) + rest + what
}

// withNumber replaces the first number of a value, as wide as it was.
func withNumber(old string, n int) (string, bool) {
	i := strings.IndexAny(old, "0123456789")
	if i < 0 {
		return "", false
	}
	rest, width := strings.TrimLeft(old[i:], "0123456789"), 1
	if old[i] == '0' {
		width = len(old) - i - len(rest)
	}
	return old[:i] + fmt.Sprintf("%0*d", width, n) + rest, true
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
	rest := withCount(old[shut+1:], "%", percent(done, total))
	rest = withCount(rest, "/"+strconv.Itoa(total), done)
	return old[:open+1] + strings.Repeat(string(full), filled) + strings.Repeat(string(empty), len(signs)-filled) + "]" + rest, true
}

// withCount replaces the number right before a mark.
func withCount(text, mark string, n int) string {
	i := strings.Index(text, mark)
	if i < 0 {
		return text
	}
	head := strings.TrimRight(text[:i], "0123456789")
	if len(head) == i {
		return text
	}
	return head + strconv.Itoa(n) + text[i:]
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
