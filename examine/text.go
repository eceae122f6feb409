package examine

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise"
)

// quote formats text from a user's file: clipped, quoted, with control characters
// escaped.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return strconv.Quote(s)
}

// name formats a path or an id. Long ones lose their beginning, because the end
// distinguishes them.
func name(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		s = "…" + string(r[len(r)-most+1:])
	}
	return strconv.Quote(s)
}

// list names the first few of many.
func list(names []string) string {
	const most = 3
	var out []string
	for i, n := range names {
		if i == most {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(names)-most)
		}
		out = append(out, name(n))
	}
	return strings.Join(out, ", ")
}

// plural counts a thing.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// span formats a duration in words, rounded down.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute")
	case d < 24*time.Hour:
		return plural(int(d/time.Hour), "hour")
	}
	return plural(int(d/(24*time.Hour)), "day")
}

// short abbreviates a commit hash.
func short(hash string) string {
	if r := []rune(hash); len(r) > 10 {
		hash = string(r[:10])
	}
	return strings.Trim(strconv.Quote(hash), `"`)
}

var plainLetter = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "ç", "c", "é", "e", "ê", "e", "è", "e", "í", "i", "ì", "i",
	"ó", "o", "ô", "o", "õ", "o", "ö", "o", "ú", "u", "ü", "u", "ñ", "n",
	"\u0300", "", "\u0301", "", "\u0302", "", "\u0303", "", "\u0308", "", "\u0327", "",
)

// fold normalizes words for comparison: lower case, no accents, and single spaces in
// place of everything that is neither a letter nor a digit.
func fold(s string) string {
	s = plainLetter.Replace(strings.ToLower(s))
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// begun reports whether a run is open and more than a plan: what changed around
// it since may then have taken the ground from under it.
func isBegun(r *reprise.Run) bool { return r.State.Open() && r.State != reprise.NotStarted }

// same reports whether two values are the same run.
func same(a, b *reprise.Run) bool {
	return a == b || (b != nil && a.Layout == b.Layout && a.Path == b.Path && a.ID == b.ID)
}
