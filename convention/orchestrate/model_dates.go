package orchestrate

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"reprise/internal/doc"
)

// dated is a day written in a file.
type dated struct {
	day  time.Time
	line int
}

// dates returns the days written in a text, at most one a line and the latest
// there: 2026-03-01, 2026/3/1, 01/03/2026 (day first), March 1, 2026,
// 1 de março de 2026 and 2026年3月1日. Years outside of 2010 to 2099 are no dates
// of such files.
func dates(data []byte) []dated {
	var out []dated
	for i, line := range bytes.Split(data, []byte("\n")) {
		if day := lineDate(line); !day.IsZero() && !isPlan(line) {
			out = append(out, dated{day, i + 1})
		}
	}
	return out
}

// lineDate is the latest day of a line, the zero time if it names none.
func lineDate(line []byte) (last time.Time) {
	keep := func(y, m, d int) {
		if day := date(y, m, d); day.After(last) {
			last = day
		}
	}
	for i := 0; i+3 < len(line); i++ {
		year, n := number(string(line[i:min(i+5, len(line))]))
		if line[i] != '2' || line[i+1] != '0' || n != 4 || i > 0 && isDigit(line[i-1]) {
			continue
		}
		if m := afterYear().FindSubmatch(line[i+4:]); m != nil && (i == 0 || line[i-1] != '.') {
			keep(year, digits(m[1]), digits(m[2]))
		}
		if m := beforeYear().FindSubmatch(line[max(0, i-8):i]); m != nil {
			day, month := digits(m[1]), digits(m[2])
			if month > 12 {
				day, month = month, day
			}
			keep(year, month, day)
		}
		keep(inWords(year, line[:i]))
	}
	return last
}

// afterYear reads -3-1, /03/01 or 年3月1日 behind a year, beforeYear 01/03/ before it.
var (
	afterYear  = doc.Pattern(`^(?:-|/|年)(\d{1,2})(?:-|/|月)(\d{1,2})(?:\D|$)`)
	beforeYear = doc.Pattern(`(?:^|\D)(\d{1,2})/(\d{1,2})/$`)
)

func digits(text []byte) int { v, _ := number(string(text)); return v }

// monthWords are the beginnings of the months' names in the languages stories
// are written in, English first.
var monthWords = [...][]string{
	{"jan", "ene", "gen"}, {"feb", "fev"}, {"mar"}, {"apr", "abr", "avr"}, {"may", "mai", "mag"}, {"jun", "juin", "giu"},
	{"jul", "juil", "lug"}, {"aug", "ago", "aou"}, {"sep", "set"}, {"oct", "out", "okt", "ott"}, {"nov"}, {"dec", "dez", "dic"},
}

// inWords reads "1 de março de ", "1 March " and, in English, "March 1, " before a
// year. The month is 0 where no day stands there.
func inWords(year int, before []byte) (y, month, day int) {
	words := strings.Fields(doc.Fold(string(before[max(0, len(before)-28):])))
	words = slices.DeleteFunc(words, func(w string) bool { return w == "de" || w == "del" })
	if len(words) < 2 {
		return year, 0, 0
	}
	name, text, english := words[len(words)-1], words[len(words)-2], false
	if doc.Digits(name) {
		name, text, english = text, name, true
	}
	day, n := number(text)
	for m, names := range monthWords {
		if english {
			names = names[:1]
		}
		if n > 0 && n <= 2 && len(name) >= 3 && slices.ContainsFunc(names, func(head string) bool { return strings.HasPrefix(name, head) }) {
			return year, m + 1, day
		}
	}
	return year, 0, 0
}

func date(y, m, d int) time.Time {
	if y < 2010 || m < 1 || m > 12 || d < 1 || d > 31 {
		return time.Time{}
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Day() != d {
		return time.Time{}
	}
	return t
}

// newest returns the latest day on record. A day later than the file's own
// last change is a plan and not a trace of work; a file whose change is not
// known, or lies before this kind of file existed, sets no bound.
func newest(all []dated, changed time.Time) (best dated) {
	for _, d := range all {
		if changed.Year() >= 2020 && d.day.After(changed.Add(24*time.Hour)) {
			continue
		}
		if d.day.After(best.day) {
			best = d
		}
	}
	return best
}

// latest returns the n latest distinct days, the latest first, each with the
// line where it stands first.
func latest(all []dated, n int) []dated {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b dated) int { return b.day.Compare(a.day) })
	sorted = slices.CompactFunc(sorted, func(a, b dated) bool { return a.day.Equal(b.day) })
	return sorted[:min(n, len(sorted))]
}

// isPlan reports whether a line is about a future day: a deadline, not a trace.
func isPlan(line []byte) bool {
	return slices.ContainsFunc(planWords, func(w string) bool { return bytes.Contains(bytes.ToLower(line), []byte(w)) })
}

var planWords = []string{"expir", "deadline", "due ", "prazo", "valid until", "target date", "eta ", "planned for", "previsto", "vencimento", "validade"}
