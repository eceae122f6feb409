package orchestrate

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/doc"
)

// key is what a story's file name says of its place among the others: CP-5.1
// is story 1 of epic CP-5, STARTER-02 story 2 of epic STARTER, 011a the first
// part of story 11.
type key struct {
	id     string // as written in the file name
	prefix string // in lower case, with its dash
	nums   []int
	letter byte // 0 if there is none
}

// epicKey is the epic a story belongs to: its prefix, and the number before
// the last where there are several.
type epicKey struct {
	prefix string
	num    int // -1 where the id has a single number
}

func (k key) epic() epicKey {
	if len(k.nums) > 1 {
		return epicKey{k.prefix, k.nums[0]}
	}
	return epicKey{k.prefix, -1}
}

// epicName writes the epic as a person would: "CP-5", "6", "STARTER".
func (k key) epicName() string {
	if len(k.nums) == 0 {
		return ""
	}
	p := strings.ToUpper(k.prefix)
	if len(k.nums) > 1 {
		return p + strconv.Itoa(k.nums[0])
	}
	return strings.TrimRight(p, "-_.")
}

func (k key) order() []int {
	out := append([]int(nil), k.nums...)
	if k.letter != 0 {
		out = append(out, int(k.letter-'a')+1)
	}
	return out
}

// same reports whether two keys name the same story. Keys without a number
// never do: a slug is no id.
func (k key) same(o key) bool {
	return len(k.nums) > 0 && slices.Equal(k.nums, o.nums) && k.letter == o.letter && k.prefix == o.prefix
}

// storyKey reads the key from a story's path. A bare number takes the epic's
// from a folder epic-N above it. A file called just story.md has the name of
// its folder: 1.1/story.md.
func storyKey(p string) key {
	name := stem(path.Base(p))
	k := nameKey(name)
	if isStoryWord(name) {
		if of := nameKey(path.Base(path.Dir(p))); len(of.nums) > 0 {
			k = of
		}
	}
	if len(k.nums) == 0 {
		k.prefix = path.Dir(p) + "/" + strings.ToLower(name)
	}
	if len(k.nums) == 1 && k.prefix == "" {
		for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
			if n, ok := epicFolder(path.Base(d)); ok {
				k.nums = append([]int{n}, k.nums...)
				k.id = strconv.Itoa(n) + "." + k.id
				break
			}
		}
	}
	return k
}

// isStoryWord reports whether a name says no more than that it is a story.
func isStoryWord(name string) bool {
	return slices.Contains([]string{"story", "user-story", "user_story", "historia"}, strings.ToLower(name))
}

// stem strips the endings of a story's file name.
func stem(name string) string {
	for _, end := range []string{".md", ".yaml", ".yml", ".story"} {
		if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
			name = name[:n]
		}
	}
	return name
}

// nameKey reads a name such as 3.2, 1.2.login, 4-1-slug, STORY-123.1-slug,
// US-21, CP-IMP-2, epic-1-story-2, track-ai-011a-slug or m1-slug.
func nameKey(name string) key {
	name = cutWord(name, "user")
	if k, ok := epicStoryKey(name); ok {
		return k
	}
	rest := cutWord(name, "story")
	if isDay(rest) && len(rest) > 11 {
		rest = cutWord(rest[11:], "story")
	}
	k := key{id: rest}
	s := rest
	for {
		if isDay(s) {
			return k
		}
		if nums, letter, n := numberRun(s); n > 0 {
			k.nums, k.letter = nums, letter
			k.id = rest[:len(rest)-len(s)+n]
			k.prefix = strings.ToLower(rest[:len(rest)-len(s)])
			return k
		}
		n := len(wordForm().FindString(s))
		if n == 0 {
			return k
		}
		// A short mark of letters and a number at the beginning: m1, P0, h12.
		if head, nums, ok := markedNumber(s[:n]); ok && s == rest && !(strings.EqualFold(head, "v") && ofVersion(s[n:])) {
			k.id, k.prefix, k.nums = s[:n], strings.ToLower(head), nums
			return k
		}
		if n == len(s) || (s[n] != '-' && s[n] != '_') {
			return k
		}
		s = s[n+1:]
	}
}

// The forms of numbers in names. A number has at most nine digits, and what parts
// it from what follows is one of "-_. ".
var (
	// epic-1-story-2, E1-S2b, sprint-3-us-4.
	epicStoryForm = doc.Pattern(`(?i)^(?:epic|sprint|e|s)?[-_. ]*(\d{1,9})[-_. ]*(?:user[-_]?story|story|us|s)[-_. ]*(\d{1,9})([a-z])?(?:[-_. ]|$)`)
	// 5.1, 5-1, 5.1.2, 11 or 11a. Parts parted by a dash or an underscore have at most
	// three digits: 16-20260527 is a number and a date.
	numberForm = doc.Pattern(`^(\d{1,9})((?:\.\d{1,9})*)(?:([a-zA-Z])(?:[-_. ]|$)|[-_](\d{1,3})(?:[-_. ]|$)|[-_ ]|\.(?:\D|$)|$)`)
	wordForm   = doc.Pattern(`^[a-zA-Z][a-zA-Z0-9]*`)
	// m1, P0, h12.
	markForm = doc.Pattern(`^([a-zA-Z]{1,3})(\d{1,9})$`)
	// 2026-05-27: a day numbers nothing.
	dayForm = doc.Pattern(`^\d{4}[-_]\d\d[-_]\d\d(?:[-_. ]|$)`)
	// What follows the mark of a version, as in v1-phase-12-slug, up to a number of
	// the story itself: then the mark is part of the prefix.
	versionForm = doc.Pattern(`^[-_](?:[a-zA-Z][a-zA-Z0-9]*[-_])?`)
	// epic-5, epic-5-slug.
	epicForm = doc.Pattern(`(?i)^epic[-_. ]*(\d{1,9})`)
)

func isDay(s string) bool { return dayForm().MatchString(s) }

func ofVersion(s string) bool {
	mark := versionForm().FindString(s)
	_, _, n := numberRun(s[len(mark):])
	return mark != "" && n > 0
}

// epicStoryKey reads epic-1-story-2, E1-S2, sprint-3-us-4.
func epicStoryKey(name string) (key, bool) {
	m := epicStoryForm().FindStringSubmatchIndex(name)
	if m == nil {
		return key{}, false
	}
	epic, _ := number(name[m[2]:m[3]])
	story, _ := number(name[m[4]:m[5]])
	k := key{nums: []int{epic, story}, id: name[:m[5]]}
	if m[6] >= 0 {
		k.letter, k.id = name[m[6]]|0x20, name[:m[7]]
	}
	return k, true
}

// numberRun reads the numbers at the beginning of s with an optional letter; n is
// the length of that, 0 if there is none.
func numberRun(s string) (nums []int, letter byte, n int) {
	m := numberForm().FindStringSubmatch(s)
	if m == nil {
		return nil, 0, 0
	}
	for _, part := range strings.Split(m[1]+m[2], ".") {
		v, _ := number(part)
		nums = append(nums, v)
	}
	n = len(m[1]) + len(m[2])
	switch {
	case m[3] != "":
		letter, n = m[3][0]|0x20, n+1
	case m[4] != "" && m[2] == "":
		v, _ := number(m[4])
		nums, n = append(nums, v), n+1+len(m[4])
	}
	return nums, letter, n
}

// markedNumber reads a word of one to three letters followed by a number.
func markedNumber(word string) (head string, nums []int, ok bool) {
	m := markForm().FindStringSubmatch(word)
	if m == nil {
		return "", nil, false
	}
	v, _ := number(m[2])
	return m[1], []int{v}, true
}

// epicFolder reads the number of a folder epic-N or epic-N-slug.
func epicFolder(name string) (n int, ok bool) {
	if m := epicForm().FindStringSubmatch(name); m != nil {
		n, _ = number(m[1])
		return n, true
	}
	return 0, false
}

// cutWord strips a leading word (story, user) and what parts it from the rest.
func cutWord(name, word string) string {
	if len(name) <= len(word) || !strings.EqualFold(name[:len(word)], word) {
		return name
	}
	rest := name[len(word):]
	next := strings.TrimLeft(rest, "-_. ")
	if next == "" || next == rest && isLetter(next[0]) {
		return name
	}
	return next
}

// number reads up to nine digits.
func number(s string) (v, n int) {
	for n < len(s) && isDigit(s[n]) {
		if n == 9 {
			return 0, 0
		}
		v = v*10 + int(s[n]-'0')
		n++
	}
	return v, n
}

func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// compareOrder orders keys as one would number the stories.
func compareOrder(a, b key) int {
	return cmp.Or(slices.Compare(a.nums, b.nums), cmp.Compare(a.letter, b.letter), strings.Compare(a.prefix, b.prefix))
}
