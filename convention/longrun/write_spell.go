package longrun

import (
	"strings"
	"time"

	"reprise/internal/doc"
	"reprise/internal/ledger"
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

// inQuotes writes a text in the double quotes that JSON and YAML share.
func inQuotes(s string) string {
	text, err := ledger.NewJSON(s)
	if err != nil {
		return `""` // text always encodes
	}
	return strings.TrimSpace(string(text))
}
