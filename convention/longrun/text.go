package longrun

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// plainText drops the emphasis of a short text and shortens it for a title.
func plainText(s string) string {
	return doc.Clip(strings.Join(strings.Fields(strings.Trim(s, "*_` \t[]")), " "), 120)
}

// lenientTime reads a time that a model wrote: a point in time, or the first
// date in its prose. A placeholder is no time and no damage.
func lenientTime(n *doc.Node) time.Time {
	if n.IsNull() || n.Kind == doc.List || n.Kind == doc.Map {
		return n.Time()
	}
	return anyTime(n.Text)
}

// textOf returns a scalar as written without a word about other shapes; a null is none.
func textOf(n *doc.Node) string {
	if n.IsNull() || n.Kind == doc.List || n.Kind == doc.Map {
		return ""
	}
	return n.Text
}

func anyTime(s string) time.Time {
	if t, ok := doc.ParseTime(s); ok {
		return t
	}
	t, _ := doc.FindTime(s)
	return t
}

// placeholder reports whether a value is empty or what a template holds before
// it is filled in.
func placeholder(s string) bool {
	s = strings.TrimSpace(strings.Trim(strings.TrimSpace(s), "*_`"))
	if s == "" || (strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]")) || (strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")) {
		return true
	}
	return slices.Contains([]string{"", "none", "n/a", "pending", "empty", "tbd", "not started", "awaiting response", "none yet"}, doc.Fold(s))
}

// find gives the first label with one of the keys, with its place in the file.
func find(f *doc.File, labels []doc.Label, keys ...string) ledger.Text {
	l, _ := pick(labels, keys...)
	return ledger.Label(f, l)
}

// quoted shows a word of a file in a message.
func quoted(word string) string { return strconv.Quote(doc.Clip(word, 40)) }

// statements returns the labels of a section, their keys folded. Rows of tables
// count only where the table has two columns, as in `| Phase | 3 |`: the header
// of a wider table is no statement.
func statements(s doc.Section) []doc.Label {
	texts := map[int]string{}
	for _, l := range s.Lines() {
		texts[l.No] = l.Text
	}
	var out []doc.Label
	for _, l := range s.Labels() {
		if l.Form == doc.TableLabel && strings.Count(strings.TrimSpace(texts[l.Line]), "|") != 3 {
			continue
		}
		l.Key = doc.Fold(l.Key)
		l.Value = strings.TrimSpace(strings.Trim(l.Value, "* "))
		out = append(out, l)
	}
	return out
}

// pick returns the first label with the first of the keys that is there. A label
// in two languages, "Phase / Faz", has both keys.
func pick(labels []doc.Label, keys ...string) (doc.Label, bool) {
	for _, key := range keys {
		key = doc.Fold(key)
		for _, l := range labels {
			if l.Key == key || strings.Contains(l.Key, "/") && slices.Contains(strings.Split(l.Key, " / "), key) {
				return l, true
			}
		}
	}
	return doc.Label{}, false
}

// oneLine makes one line of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// number reads a whole number that is not negative.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}
