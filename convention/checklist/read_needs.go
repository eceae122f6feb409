package checklist

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// dependsOn matches how people write into a task's text, or on a line below it, which others
// come before it: in brackets, set off in underscores, or in a sentence. In a sentence a bare
// number is not an id, unless it is called a task.
var dependsOn = func() *regexp.Regexp {
	const word = `(?:depends(?:[ -]on)?|dependency|dependencies|deps?|blocked[ -](?:by|on)|needs|requires|prerequisites?)`
	const id = `(?:(?:tasks? )?[A-Z][\w.-]*\d[a-z]?\b|tasks? \d[\d.]*)`
	return regexp.MustCompile(`(?i)[(\[{](?:` + word + `|after):? ([^()\[\]{}]+)[)\]}]|` +
		`_` + word + `: *([^_]+)_|` +
		`\b` + word + `\b[:*_]* +\**(` + id + `(?:(?:,? and |, ?| & |, ?& ?| ?[-–—] ?)\**` + id + `)*)`)
}()

// needed returns the ids that a task's text names as coming before it. Anything that is
// not an id is a remark.
func (f *Family) needed(text string) (ids []string) {
	text = strings.NewReplacer("\u2010", "-", "\u2011", "-").Replace(text)
	for _, m := range dependsOn.FindAllStringSubmatch(text, -1) {
		for _, word := range strings.FieldsFunc(m[1]+m[2]+m[3], func(r rune) bool { return r == ',' || r == '&' || unicode.IsSpace(r) }) {
			if id := f.idAlone(word); id != "" {
				ids = append(ids, id)
			} else if ends := f.ends(word); ends != nil {
				ids = append(ids, upTo(ends[0], ends[1])...)
			}
		}
	}
	return ids
}

// ends returns the first and the last id of those that a word gives as the one up to the
// other, none if it does not.
func (f *Family) ends(word string) []string {
	first, last, _ := strings.Cut(strings.NewReplacer("–", "-", "—", "-", "..", "-").Replace(word), "-")
	if from, to := f.idAlone(first), f.idAlone(last); from != "" && to != "" {
		return []string{from, to}
	}
	return nil
}

// idAlone returns the id that a word is, "" if it is none. A family may know its ids only by
// the text that follows.
func (f *Family) idAlone(word string) string {
	for _, text := range []string{"", " x", ": x"} {
		if it, ok := f.match(word + text); ok && f.Item != nil && (it.text == "" || it.text == "x") {
			return it.id
		}
	}
	return ""
}

// upTo returns the ids from one up to another that differs from it only in its last
// number.
func upTo(from, to string) (ids []string) {
	prefix := strings.TrimRight(from, "0123456789")
	n, err := strconv.Atoi(from[len(prefix):])
	last, errTo := strconv.Atoi(strings.TrimPrefix(to, prefix))
	for i := n; err == nil && errTo == nil && i <= min(last, n+100); i++ {
		ids = append(ids, fmt.Sprintf("%s%0*d", prefix, len(from)-len(prefix), i))
	}
	return ids
}
