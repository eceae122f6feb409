package orchestrate

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
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
	switch strings.ToLower(name) {
	case "story", "user-story", "user_story", "historia":
		return true
	}
	return false
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
		n := wordLen(s)
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

// isDay reports whether s begins with a day, 2026-05-27: that numbers nothing.
func isDay(s string) bool {
	const form = "dddd-dd-dd"
	if len(s) < len(form) || !atBreak(s, len(form)) {
		return false
	}
	for i := range len(form) {
		if isDigit(s[i]) != (form[i] == 'd') || form[i] == '-' && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return true
}

// ofVersion reports whether what follows a version mark, as in v1-phase-12-slug,
// numbers the story itself: then the mark is part of the prefix.
func ofVersion(s string) bool {
	if s == "" || (s[0] != '-' && s[0] != '_') {
		return false
	}
	s = s[1:]
	if _, _, n := numberRun(s); n > 0 {
		return true
	}
	n := wordLen(s)
	if n == 0 || n == len(s) || (s[n] != '-' && s[n] != '_') {
		return false
	}
	_, _, m := numberRun(s[n+1:])
	return m > 0
}

// epicStoryKey reads epic-1-story-2, E1-S2, sprint-3-us-4.
func epicStoryKey(name string) (key, bool) {
	low := strings.ToLower(name)
	i := 0
	for _, w := range []string{"epic", "sprint", "e", "s"} {
		if strings.HasPrefix(low, w) {
			i = len(w)
			break
		}
	}
	i += separators(low[i:])
	a, n := number(low[i:])
	if n == 0 {
		return key{}, false
	}
	i += n
	i += separators(low[i:])
	w := 0
	for _, word := range []string{"user-story", "user_story", "userstory", "story", "us", "s"} {
		if strings.HasPrefix(low[i:], word) {
			w = len(word)
			break
		}
	}
	if w == 0 {
		return key{}, false
	}
	i += w
	i += separators(low[i:])
	b, n := number(low[i:])
	if n == 0 {
		return key{}, false
	}
	i += n
	k := key{nums: []int{a, b}}
	if i < len(low) && isLetter(low[i]) && atBreak(low, i+1) {
		k.letter = low[i]
		i++
	}
	if !atBreak(low, i) {
		return key{}, false
	}
	k.id = name[:i]
	return k, true
}

// numberRun reads 5.1, 5-1, 5.1.2 or 11 with an optional letter at the
// beginning of s; n is its length, 0 if there is none. Parts parted by a dash
// or an underscore have at most three digits: 16-20260527 is a number and a
// date.
func numberRun(s string) (nums []int, letter byte, n int) {
	v, i := number(s)
	if i == 0 {
		return nil, 0, 0
	}
	nums = []int{v}
	dotted := false
	for i < len(s) && s[i] == '.' {
		v, m := number(s[i+1:])
		if m == 0 {
			break
		}
		nums, i, dotted = append(nums, v), i+1+m, true
	}
	if !dotted && i < len(s) && (s[i] == '-' || s[i] == '_') {
		if v, m := number(s[i+1:]); m > 0 && m <= 3 && atBreak(s, i+1+m) {
			nums, i = append(nums, v), i+1+m
		}
	}
	if i < len(s) && isLetter(s[i]) && atBreak(s, i+1) {
		return nums, s[i] | 0x20, i + 1
	}
	if !atBreak(s, i) {
		return nil, 0, 0
	}
	return nums, 0, i
}

// markedNumber reads a word of one to three letters followed by a number.
func markedNumber(word string) (head string, nums []int, ok bool) {
	i := 0
	for i < len(word) && isLetter(word[i]) {
		i++
	}
	v, n := number(word[i:])
	if i == 0 || i > 3 || n == 0 || i+n != len(word) {
		return "", nil, false
	}
	return word[:i], []int{v}, true
}

// epicFolder reads the number of a folder epic-N or epic-N-slug.
func epicFolder(name string) (int, bool) {
	low := strings.ToLower(name)
	if !strings.HasPrefix(low, "epic") {
		return 0, false
	}
	i := 4 + separators(low[4:])
	v, n := number(low[i:])
	return v, n > 0
}

// cutWord strips a leading word (story, user) and what parts it from the rest.
func cutWord(name, word string) string {
	if len(name) <= len(word) || !strings.EqualFold(name[:len(word)], word) {
		return name
	}
	n := separators(name[len(word):])
	next := len(word) + n
	if next >= len(name) || (n == 0 && isLetter(name[next])) {
		return name
	}
	return name[next:]
}

func separators(s string) int {
	return len(s) - len(strings.TrimLeft(s, "-_. "))
}

func wordLen(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || (n > 0 && isDigit(s[n]))) {
		n++
	}
	return n
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

func atBreak(s string, i int) bool { return i >= len(s) || strings.IndexByte("-_. ", s[i]) >= 0 }
func isDigit(b byte) bool          { return b >= '0' && b <= '9' }
func isLetter(b byte) bool         { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// compareOrder orders keys as one would number the stories.
func compareOrder(a, b key) int {
	return cmp.Or(slices.Compare(a.nums, b.nums), cmp.Compare(a.letter, b.letter), strings.Compare(a.prefix, b.prefix))
}
