package longrun

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise/internal/doc"
)

// shared counts the words of a slug that a title has, too. Numbers, short words
// and the word phase are none. GSD drops every letter with an accent from a slug, so what is
// left of a word counts as the word.
func shared(slug, title string) (n int) {
	have := strings.Fields(doc.Fold(title))
	for _, w := range strings.Fields(doc.Fold(slug)) {
		same := func(h string) bool {
			return h == w || len(w) > 3 && strings.HasPrefix(h, w) || len(h) > 3 && strings.HasPrefix(w, h)
		}
		if len(w) > 2 && !doc.Digits(w) && !slices.Contains(phaseNouns, w) && slices.ContainsFunc(have, same) {
			n++
		}
	}
	return n
}

// foreign reports whether all plans of a phase are of an earlier one with its
// number: their folder bears another name than ROADMAP.md gives it, and STATE.md
// is not there yet or has it still to plan.
func (g *gsd) foreign(p phaseNo) bool {
	ph := g.road.phases[p]
	c := p.compare(g.state.phase)
	if ph == nil || ph.done || g.state.phase.none() || c < 0 || c == 0 && g.state.status != gsdPlanning {
		return false
	}
	if strings.ContainsFunc(ph.last, func(r rune) bool { return r > 0x24f && unicode.IsLetter(r) }) {
		return false // slugs of other scripts are translations
	}
	for _, plan := range within(g.filed, p) {
		slug := path.Base(folderOf(plan.file()))
		if shared(slug, slug) == 0 || shared(slug, ph.last) > 0 {
			return false
		}
	}
	return true
}
