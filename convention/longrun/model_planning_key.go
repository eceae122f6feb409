package longrun

import (
	"cmp"
	"fmt"
	"path"
	"reprise/internal/doc"
	"slices"
	"strconv"
	"strings"
)

// phaseNo is the number of a GSD phase: 3, 12.1, 12A. It can be a map key; the
// zero value means "none".
type phaseNo struct {
	n      [4]int
	depth  int
	letter byte
}

// backlog is the phase GSD parks ideas in.
const backlog = 999

func (p phaseNo) none() bool { return p.depth == 0 }

func (p phaseNo) compare(q phaseNo) int {
	return cmp.Or(slices.Compare(p.n[:p.depth], q.n[:q.depth]), cmp.Compare(p.letter, q.letter))
}

// String gives the form of file names: 03, 12.1.
func (p phaseNo) String() string {
	if p.none() {
		return "?"
	}
	s := fmt.Sprintf("%02d", p.n[0])
	for _, n := range p.n[1:p.depth] {
		s += "." + strconv.Itoa(n)
	}
	if p.letter != 0 {
		s += strings.ToUpper(string(p.letter))
	}
	return s
}

// planKey identifies a plan. suffix is a letter (02b), the letter that is the
// plan's whole name (03-B), or the name of a fix (fix, fix2).
type planKey struct {
	phase  phaseNo
	num    int // counted from 0 in some projects, or one of the two below
	suffix string
}

const (
	lettered = -2 // named by its suffix alone
	solePlan = -1 // the only, unnumbered plan of its phase
)

func (k planKey) compare(o planKey) int {
	return cmp.Or(k.phase.compare(o.phase), cmp.Compare(k.num, o.num), cmp.Compare(k.suffix, o.suffix))
}

// String gives PHASE-PLAN.
func (k planKey) String() string {
	switch k.num {
	case solePlan:
		return k.phase.String()
	case lettered:
		return k.phase.String() + "-" + strings.ToUpper(k.suffix)
	}
	return fmt.Sprintf("%s-%02d%s", k.phase, k.num, k.suffix)
}

// parsePhase reads a whole word as a phase number.
func parsePhase(word string) (p phaseNo, ok bool) {
	if n := len(word); n > 1 && isLetter(word[n-1]) {
		p.letter = word[n-1] | 0x20
		word = word[:n-1]
	}
	for _, part := range strings.Split(word, ".") {
		if p.depth == len(p.n) || len(part) > 9 || !doc.Digits(part) {
			return phaseNo{}, false
		}
		p.n[p.depth], _ = strconv.Atoi(part)
		p.depth++
	}
	return p, true
}

// parsePlanNo reads a plan number with its letter: 02, 02b.
func parsePlanNo(word string) (num int, suffix string, ok bool) {
	m := planForm().FindStringSubmatch(word)
	if m == nil {
		return 0, "", false
	}
	num, _ = strconv.Atoi(m[1])
	return num, strings.ToLower(m[2]), true
}

var planForm = doc.Pattern(`^(\d{1,9})([a-zA-Z]?)$`)

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// words cuts a file name at dashes, underscores, blanks, and at dots that do
// not stand between digits.
func words(stem string) []string { return wordForm().FindAllString(stem, -1) }

var wordForm = doc.Pattern(`(?:[^-_. \d]|\d+(?:\.\d+)*)+`)

// phaseNouns are the words for a phase in the languages they were met in.
var phaseNouns = []string{"phase", "fase", "etapa", "étape", "фаза", "этап", "giai đoạn", "阶段", "階段", "フェーズ", "단계"}

// cutPhaseWord takes the word for a phase from the beginning of a text, if a
// blank or a number follows it.
func cutPhaseWord(text string) (rest string, ok bool) {
	for _, noun := range phaseNouns {
		if n := len(noun); len(text) > n && strings.EqualFold(text[:n], noun) && (text[n] == ' ' || text[n] >= '0' && text[n] <= '9') {
			return text[n:], true
		}
	}
	return text, false
}

// phaseOfFolder reads the phase from a folder name: 01-foo, 12.1-bar, CK-01-x,
// phase-03, phase7. strict asks that the number or the word phase stands first,
// for folders outside phases/.
func phaseOfFolder(name string, strict bool) (phaseNo, bool) {
	for i, w := range words(name) {
		if p, ok := parsePhase(w); ok {
			return p, true
		}
		low := strings.ToLower(w)
		if rest, ok := strings.CutPrefix(low, "phase"); ok && rest != "" {
			if p, ok := parsePhase(rest); ok {
				return p, true
			}
		}
		if i > 2 || strict && !slices.Contains(phaseNouns, low) {
			break
		}
	}
	return phaseNo{}, false
}

// fileKey reads which plan a PLAN or SUMMARY file is about. The spellings met:
// 03-02-PLAN, 03-P02-PLAN, 04-PLAN-01, PLAN-01, 03-02-slug-PLAN, 04-slug-04-01-PLAN,
// 04-slug-01-PLAN, CK-01-02-PLAN, 03-B-PLAN, 05-PLAN, PLAN, 08-01-FIX,
// 08-01-FIX-PLAN, phase-2-plan-1-slug-PLAN. id is the plan as the file name
// spells it.
func fileKey(file string, folder phaseNo, kind string) (k planKey, id string, ok bool) {
	name := path.Base(file)
	if len(name) < 4 || !strings.EqualFold(name[len(name)-3:], ".md") {
		return k, "", false
	}
	stem := withoutFolder(name[:len(name)-3], path.Base(path.Dir(file)))
	if low := strings.ToLower(stem); strings.Contains(low, "outline") || strings.Contains(low, "pre-bounce") {
		return k, "", false
	}
	ws := words(stem)
	ws, fix := cutFix(ws, kind)
	at := -1
	for i, w := range ws {
		if strings.EqualFold(w, kind) {
			at = i
		}
	}
	if at < 0 {
		return k, "", false
	}
	head, tail := numbersOf(ws[:at]), ws[at+1:]
	if len(tail) > 0 {
		k, id, ok = keyAfter(head, tail, folder)
	} else {
		k, id, ok = keyBefore(head, folder)
	}
	if !ok || fix != "" && k.num < 0 {
		return planKey{}, "", false
	}
	k.suffix += fix
	return k, id + fixText(fix), true
}

// numbersOf drops the words that only say what a number is: phase-2-plan-1-slug.
func numbersOf(ws []string) []string {
	return slices.DeleteFunc(slices.Clone(ws), func(w string) bool {
		return slices.Contains([]string{"phase", "plan", "summary"}, strings.ToLower(w))
	})
}

// withoutFolder drops the slug of the folder that a file name repeats:
// 08-sprint-3/08-sprint-3-PLAN is the plan of phase 8 and not its third one.
func withoutFolder(stem, folder string) string {
	number, _, slug := strings.Cut(folder, "-")
	rest, repeated := strings.CutPrefix(stem, folder+"-")
	p, ok := parsePhase(number)
	if !slug || !repeated || !ok {
		return stem
	}
	if _, _, whole := pairIn(words(rest), p); whole {
		return rest
	}
	return number + "-" + rest
}

func fixText(fix string) string {
	if fix == "" {
		return ""
	}
	return "-" + strings.ToUpper(fix)
}

// cutFix takes FIX out of NN-MM-FIX[-KIND]: a fix is a plan of its own and does
// not pair with the plan it mends. The word inside a slug means nothing.
func cutFix(ws []string, kind string) (rest []string, fix string) {
	n := len(ws)
	last := n > 0 && strings.EqualFold(ws[n-1], kind)
	at := n - 1
	if last {
		at--
	}
	if at < 1 {
		return ws, ""
	}
	low := strings.ToLower(ws[at])
	number, ok := strings.CutPrefix(low, "fix")
	if _, _, planned := parsePlanNo(ws[at-1]); !ok || !planned || number != "" && !doc.Digits(number) {
		return ws, ""
	}
	if !last && kind != "PLAN" {
		return ws, ""
	}
	return append(append([]string{}, ws[:at]...), kind), low
}

// keyAfter reads PLAN-MM, NN-PLAN-MM and NN-PLAN-B, with a slug behind.
func keyAfter(head, tail []string, folder phaseNo) (planKey, string, bool) {
	num, suffix, ok := planName(tail[0])
	if !ok {
		return planKey{}, "", false
	}
	phase, text := folder, folder.String()
	if len(head) > 0 {
		if p, ok := parsePhase(head[len(head)-1]); ok {
			phase, text = p, head[len(head)-1]
		}
	}
	return planKey{phase, num, suffix}, text + "-" + tail[0], !phase.none()
}

// keyBefore reads NN-MM, NN and nothing before the word.
func keyBefore(head []string, folder phaseNo) (planKey, string, bool) {
	if len(head) == 0 {
		return planKey{phase: folder, num: solePlan}, folder.String(), !folder.none()
	}
	if k, id, ok := pairIn(head, folder); ok {
		return k, id, true
	}
	p, ok := parsePhase(head[0])
	switch {
	case !ok:
		return planKey{}, "", false
	case folder.none() || p == folder:
		return planKey{phase: p, num: solePlan}, head[0], true
	}
	num, suffix, ok := parsePlanNo(head[0])
	return planKey{folder, num, suffix}, folder.String() + "-" + head[0], ok
}

// pairIn finds NN-MM among words, or NN-slug-MM. Of several pairs one of the
// folder's phase is preferred, or without a folder of the phase that stands
// first, and the one that ends the name before the first: slugs repeat.
func pairIn(ws []string, folder phaseNo) (k planKey, id string, ok bool) {
	type pair struct {
		key planKey
		id  string
		end int
	}
	if p, ok := first(ws); ok && folder.none() {
		folder = p
	}
	var all, same []pair
	for i := 0; i+1 < len(ws); i++ {
		p, ok1 := parsePhase(ws[i])
		num, suffix, ok2 := planName(ws[i+1])
		if !ok1 || !ok2 {
			continue
		}
		found := pair{planKey{p, num, suffix}, ws[i] + "-" + ws[i+1], i + 2}
		all = append(all, found)
		if p == folder {
			same = append(same, found)
		}
		i++
	}
	if len(same) > 0 {
		all = same
	} else if k, id, ok := pairAround(ws, folder); ok || len(all) == 0 {
		return k, id, ok
	}
	chosen := all[0]
	if last := all[len(all)-1]; last.end == len(ws) {
		chosen = last
	}
	return chosen.key, chosen.id, true
}

// pairAround reads NN-slug-MM.
func pairAround(ws []string, folder phaseNo) (planKey, string, bool) {
	if len(ws) < 3 {
		return planKey{}, "", false
	}
	last := ws[len(ws)-1]
	p, ok := first(ws)
	num, suffix, numOK := parsePlanNo(last)
	if !ok || !numOK || len(last) > 3 || p != folder {
		return planKey{}, "", false
	}
	return planKey{p, num, suffix}, ws[0] + "-" + last, true
}

// first reads the phase that begins a name.
func first(ws []string) (phaseNo, bool) {
	if len(ws) == 0 {
		return phaseNo{}, false
	}
	return parsePhase(ws[0])
}

// planName reads a plan's number, also as P01, or the capital letter some
// projects give their plans instead. P1 is a priority in a slug.
func planName(word string) (num int, suffix string, ok bool) {
	if len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z' {
		return lettered, strings.ToLower(word), true
	}
	if rest, ok := strings.CutPrefix(word, "P"); ok && len(rest) > 1 {
		word = rest
	}
	return parsePlanNo(word)
}
