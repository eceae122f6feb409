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
	no := 0
	for len(data) > 0 {
		no++
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		if day := lineDate(line); !day.IsZero() && !isPlan(line) {
			out = append(out, dated{day, no})
		}
	}
	return out
}

func lineDate(line []byte) time.Time {
	var last time.Time
	keep := func(y, m, d int) {
		if day := date(y, m, d); day.After(last) {
			last = day
		}
	}
	for i := 0; i+3 < len(line); i++ {
		if line[i] != '2' || line[i+1] != '0' || !isDigit(line[i+2]) || !isDigit(line[i+3]) || (i+4 < len(line) && isDigit(line[i+4])) {
			continue
		}
		if i > 0 && isDigit(line[i-1]) {
			continue
		}
		year := 2000 + int(line[i+2]-'0')*10 + int(line[i+3]-'0')
		if m, d, ok := after(line[i+4:]); ok && (i == 0 || line[i-1] != '.') {
			keep(year, m, d)
		}
		if a, b, ok := before(line[:i]); ok {
			if b > 12 {
				a, b = b, a
			}
			keep(year, b, a)
		}
		if m, d, ok := named(line[:i]); ok {
			keep(year, m, d)
		}
		if m, d, ok := dayFirst(line[:i]); ok {
			keep(year, m, d)
		}
	}
	return last
}

// after reads -3-1, /03/01 or 年3月1日 behind a year.
func after(s []byte) (month, day int, ok bool) {
	for _, sep := range [][2]string{{"-", "-"}, {"/", "/"}, {"年", "月"}} {
		rest, found := bytes.CutPrefix(s, []byte(sep[0]))
		if !found {
			continue
		}
		m, n := number(string(rest[:min(len(rest), 3)]))
		if n == 0 || n > 2 {
			return 0, 0, false
		}
		rest, found = bytes.CutPrefix(rest[n:], []byte(sep[1]))
		d, n := number(string(rest[:min(len(rest), 3)]))
		return m, d, found && n > 0 && n <= 2
	}
	return 0, 0, false
}

// before reads 01/03/ in front of a year.
func before(s []byte) (a, b int, ok bool) {
	parts := make([]int, 0, 2)
	for len(parts) < 2 {
		if len(s) == 0 || s[len(s)-1] != '/' {
			return 0, 0, false
		}
		s = s[:len(s)-1]
		i := len(s)
		for i > 0 && isDigit(s[i-1]) && len(s)-i < 3 {
			i--
		}
		v, n := number(string(s[i:]))
		if n == 0 || n > 2 {
			return 0, 0, false
		}
		parts, s = append(parts, v), s[:i]
	}
	return parts[1], parts[0], true
}

var months = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// named reads "March 1, " in front of a year.
func named(s []byte) (month, day int, ok bool) {
	text := strings.TrimRight(string(s[max(0, len(s)-16):]), ", ")
	if len(text) == len(s) && len(s) > 0 {
		return 0, 0, false // nothing parts the day from the year
	}
	i := len(text)
	for i > 0 && isDigit(text[i-1]) {
		i--
	}
	day, n := number(text[i:])
	if n == 0 || n > 2 || i == 0 || text[i-1] != ' ' {
		return 0, 0, false
	}
	text = strings.TrimRight(text[:i], " .")
	j := len(text)
	for j > 0 && isLetter(text[j-1]) {
		j--
	}
	word := strings.ToLower(text[j:])
	if len(word) < 3 {
		return 0, 0, false
	}
	for m, name := range months {
		if strings.HasPrefix(word, name) {
			return m + 1, day, true
		}
	}
	return 0, 0, false
}

// monthWords are the beginnings of the months' names in the languages stories
// are written in.
var monthWords = [...][]string{
	{"jan", "ene", "gen"}, {"feb", "fev"}, {"mar"}, {"apr", "abr", "avr"}, {"may", "mai", "mag"}, {"jun", "juin", "giu"},
	{"jul", "juil", "lug"}, {"aug", "ago", "aou"}, {"sep", "set"}, {"oct", "out", "okt", "ott"}, {"nov"}, {"dec", "dez", "dic"},
}

// dayFirst reads "1 de março de ", "1 March " in front of a year.
func dayFirst(s []byte) (month, day int, ok bool) {
	words := strings.Fields(doc.Fold(string(s[max(0, len(s)-28):])))
	last := func() string {
		for len(words) > 0 {
			w := words[len(words)-1]
			words = words[:len(words)-1]
			if w != "de" && w != "del" {
				return w
			}
		}
		return ""
	}
	word := last()
	day, n := number(last())
	if n == 0 || n > 2 || len(word) < 3 {
		return 0, 0, false
	}
	for m, names := range monthWords {
		for _, name := range names {
			if strings.HasPrefix(word, name) {
				return m + 1, day, true
			}
		}
	}
	return 0, 0, false
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

// isPlan reports whether a line speaks of a day to come: a term, not a trace.
func isPlan(line []byte) bool {
	low := bytes.ToLower(line)
	for _, w := range []string{"expir", "deadline", "due ", "prazo", "valid until", "target date", "eta ", "planned for", "previsto", "vencimento", "validade"} {
		if bytes.Contains(low, []byte(w)) {
			return true
		}
	}
	return false
}
