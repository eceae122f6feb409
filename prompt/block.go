package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"reprise"
)

// The limits of data in a prompt, in characters.
const (
	maxBlock  = 8_000
	maxAll    = 60_000
	maxBlocks = 200

	maxSentence = 2_000 // of our own words in one fact
)

// What may stand in our own sentences: names and paths without room for more.
var (
	file    = lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	word    = lazy(`^[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,119}$`)
	count   = lazy(`^[0-9]{1,9}( of [0-9]{1,9})?$`)
	safe    = lazy(`^[A-Za-z0-9._@+~/-]{1,300}$`)
	label   = lazy(`^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,79}$`)
	place   = lazy(`^/[\p{L}\p{N} ._@+~/,()-]{1,999}$`)
	trailer = lazy(`^` + reprise.TrailerKey + `: [A-Za-z0-9][A-Za-z0-9._:@+/-]{0,199}$`)
)

// inside reports whether a slash path is plain and stays in the working folder.
func inside(p string) bool {
	return safe().MatchString(p) && !path.IsAbs(p) && p[0] != '-' && p[0] != '~' && p != ".." && !strings.HasPrefix(path.Clean(p), "../")
}

// sentence reports whether a text can be one of our own: a line of plain
// characters. Whether it is one, its writer must know.
func sentence(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= maxSentence && !strings.ContainsFunc(s, func(r rune) bool {
		return r != ' ' && !unicode.IsGraphic(r) || hidden(r)
	}) && !strings.Contains(s, "<<<") && !strings.Contains(s, ">>>")
}

// shown gives a text of ours if it has its form, else "": the environment holds
// it too.
func shown(s string, form *regexp.Regexp) string {
	if form.MatchString(s) {
		return s
	}
	return ""
}

// block is one text of the state on its way into the prompt.
type block struct {
	name   string
	source string
	cleaned
}

// cleaned is a text that can be shown, and how much was taken out of it.
type cleaned struct {
	text    string
	removed int // invisible characters
}

// block adds a text; an empty one adds nothing.
func (v *view) block(name, text string, source reprise.Source) {
	if strings.TrimSpace(text) == "" {
		return
	}
	b := block{name: name, cleaned: clean(text)}
	if !label().MatchString(name) {
		b.name = "text"
		b.text = "name: " + clean(name).text + "\n" + b.text
	}
	switch at := source.String(); {
	case at == "":
	case inside(source.File):
		b.source = at
	default:
		b.text = "source: " + clean(at).text + "\n" + b.text
	}
	v.blocks = append(v.blocks, b)
}

// hidden reports characters that change how text looks or that cannot be seen:
// formatting, direction, zero width, tags, variation selectors, fillers.
func hidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// clean makes text that can be shown: hidden characters are removed, other
// control characters and bytes that are no UTF-8 are shown as escapes.
func clean(s string) cleaned {
	var b strings.Builder
	b.Grow(len(s))
	removed := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			// One of the two ends the line.
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case hidden(r):
			removed++
		case !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return cleaned{strings.Trim(b.String(), "\n"), removed}
}

// cut shortens a text to a limit by leaving out its middle.
func cut(text string, limit int) (string, int) {
	runes := []rune(text)
	if len(runes) <= limit {
		return text, 0
	}
	const room = 60 // for the note
	keep := max(limit-room, 0)
	head := keep * 2 / 3
	out := len(runes) - keep
	return fmt.Sprintf("%s\n[%d characters are left out here]\n%s", string(runes[:head]), out, string(runes[len(runes)-(keep-head):])), out
}

// close chooses the fence and writes the blocks. ours are texts that the fence
// must not occur in either.
func (v *view) close(ours ...string) {
	if len(v.blocks) > maxBlocks {
		more := len(v.blocks) - maxBlocks
		v.blocks = append(v.blocks[:maxBlocks], block{name: "note", cleaned: cleaned{text: fmt.Sprintf("%d further texts are left out.", more)}})
	}
	v.Fence = v.fence(ours)
	limit := v.limit()
	var out strings.Builder
	for i, b := range v.blocks {
		out.WriteString(b.between(v.Fence, i+1, limit) + "\n")
	}
	v.Blocks = strings.TrimSpace(out.String())
}

// between writes a block between its fences, its text cut to a limit.
func (b block) between(fence string, number, limit int) string {
	var out strings.Builder
	text, left := cut(b.text, limit)
	fmt.Fprintf(&out, "<<<DATA %s %d\nname: %s\n", fence, number, b.name)
	if b.source != "" {
		fmt.Fprintf(&out, "source: %s\n", b.source)
	}
	fmt.Fprintf(&out, "characters: %d", utf8.RuneCountInString(b.text))
	if left > 0 {
		fmt.Fprintf(&out, ", %d of them left out", left)
	}
	if b.removed > 0 {
		fmt.Fprintf(&out, ", %d invisible ones removed", b.removed)
	}
	out.WriteString("\n")
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(strings.TrimRight("| "+line, " ") + "\n")
	}
	fmt.Fprintf(&out, ">>>DATA %s %d\n", fence, number)
	return out.String()
}

// Quote gives the data blocks of a text that is not a prompt but is read by an
// agent, one for each of data, and the fence they have. ours is what stands
// around them: the fence does not occur in it. An empty text has an empty block.
func Quote(data []reprise.Data, ours ...string) (fence string, blocks []string) {
	var v view
	at := make([]int, len(data))
	for i, d := range data {
		before := len(v.blocks)
		if v.block(d.Name, d.Text, d.Source); len(v.blocks) > before {
			at[i] = len(v.blocks)
		}
	}
	fence = v.fence(ours)
	for _, n := range at {
		if n == 0 {
			blocks = append(blocks, "")
			continue
		}
		blocks = append(blocks, v.blocks[n-1].between(fence, n, maxBlock))
	}
	return fence, blocks
}

// limit is how many characters each block may have so that all fit.
func (v *view) limit() int {
	low, high := 0, maxBlock // the largest that fits lies between
	for low < high {
		mid, sum := (low+high+1)/2, 0
		for _, b := range v.blocks {
			sum += min(utf8.RuneCountInString(b.text), mid)
		}
		if sum <= maxAll {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// fence makes a word that no text in the prompt can hold: it depends on all of
// them, so the writer of one could not know it. Should one hold it all the same,
// the next is taken.
func (v *view) fence(ours []string) string {
	sum := sha256.New()
	for _, s := range v.seed {
		fmt.Fprintf(sum, "%d:%s", len(s), s)
	}
	for _, b := range v.blocks {
		fmt.Fprintf(sum, "%d:%s%d:%s%d:%s", len(b.name), b.name, len(b.source), b.source, len(b.text), b.text)
	}
	for {
		word := hex.EncodeToString(sum.Sum(nil)[:16])
		taken := false
		for _, b := range v.blocks {
			taken = taken || strings.Contains(b.text, word)
		}
		for _, s := range ours {
			taken = taken || strings.Contains(s, word)
		}
		if !taken {
			return word
		}
		fmt.Fprint(sum, word)
	}
}

// lazy compiles a pattern when it is first needed: a program that only looks
// needs none of them.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
