package doc

import (
	"strings"
	"time"
	"unicode"
)

// timeForms are the spellings of a point in time met in real files. Times
// without a zone are read as UTC: where they were local, they are off by hours,
// which no decision here depends on.
var timeForms = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04 MST",
	"2006-01-02 15:04",
	"2006-01-02",
	"2006/01/02",
	"02/01/2006",
	"20060102-150405",
	"20060102-1504",
}

// ParseTime reads a point in time in any of the spellings met in real files,
// epoch seconds and milliseconds included.
func ParseTime(s string) (time.Time, bool) {
	s = strings.Trim(strings.TrimSpace(s), "\"'`*_()[]")
	if s == "" {
		return time.Time{}, false
	}
	if Digits(s) {
		switch len(s) {
		case 10:
			return time.Unix(atoi64(s), 0).UTC(), true
		case 13:
			return time.UnixMilli(atoi64(s)).UTC(), true
		}
		return time.Time{}, false
	}
	if s[0] < '0' || s[0] > '9' {
		return time.Time{}, false
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil && t.Year() >= 1970 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// FindTime reads the first ISO date, with its time of day if one follows, that
// stands anywhere in a text.
func FindTime(s string) (time.Time, bool) {
	for i := 0; i+10 <= len(s); i++ {
		if s[i] < '0' || s[i] > '9' || (i > 0 && s[i-1] >= '0' && s[i-1] <= '9') {
			continue
		}
		day, err := time.Parse("2006-01-02", s[i:i+10])
		if err != nil || (i+10 < len(s) && s[i+10] >= '0' && s[i+10] <= '9') {
			continue
		}
		end := i + 10
		for end < len(s) && end < i+40 && strings.IndexByte("0123456789:.TZ+- ", s[end]) >= 0 {
			end++
		}
		for end > i+10 {
			if t, ok := ParseTime(s[i:end]); ok {
				return t, true
			}
			end--
		}
		return day.UTC(), true
	}
	return time.Time{}, false
}

// Digits reports whether a text is a number written with digits alone.
func Digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func atoi64(s string) (n int64) {
	for i := 0; i < len(s); i++ {
		n = n*10 + int64(s[i]-'0')
	}
	return n
}

// Clip shortens text to at most n runes, with an ellipsis where it was cut.
func Clip(s string, n int) string {
	end, count := 0, 0 // of what is kept with the ellipsis
	for at := range s {
		if count == max(n-1, 0) {
			end = at
		}
		if count++; count > n {
			return string([]rune(s[:end])) + "…"
		}
	}
	return s
}

// Fold brings words to a form in which spellings can be compared: lower case,
// no accents, no emphasis, emoji or punctuation, and every run of spaces,
// dashes and underscores as one space. "✅ **In_Progress**" gives "in progress".
// A dot between digits stays ("1.10"), and so does a slash ("n/a").
func Fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	rs := []rune(s)
	for i, r := range rs {
		r = plain(unicode.ToLower(r))
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '/',
			r == '.' && i > 0 && i+1 < len(rs) && unicode.IsDigit(rs[i-1]) && unicode.IsDigit(rs[i+1]):
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
			// A combining accent belongs to the letter before it.
		default:
			space = true
		}
	}
	return b.String()
}

// plain strips the accents of Latin letters as they occur in the vocabularies.
func plain(r rune) rune {
	switch r {
	case 'á', 'à', 'â', 'ã', 'ä', 'å':
		return 'a'
	case 'é', 'è', 'ê', 'ë':
		return 'e'
	case 'í', 'ì', 'î', 'ï':
		return 'i'
	case 'ó', 'ò', 'ô', 'õ', 'ö':
		return 'o'
	case 'ú', 'ù', 'û', 'ü':
		return 'u'
	case 'ç':
		return 'c'
	case 'ñ':
		return 'n'
	}
	return r
}

// Numbers returns the runs of digits in a text as numbers, "12.1-03" giving
// 12, 1, 3. Runs too long for a number are left out.
func Numbers(s string) []int {
	var out []int
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' {
			i++
			continue
		}
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j-i <= 9 {
			out = append(out, int(atoi64(s[i:j])))
		}
		i = j
	}
	return out
}
