package longrun

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// phaseFolder is a phase's folder while it is compared with others of the same number.
type phaseFolder struct {
	path  string
	phase phaseNo
	files map[folderFile]bool
}

// folderFile is a file of a phase's folder: PLAN or SUMMARY of a plan.
type folderFile struct {
	planKey
	kind string
}

// settleRivals finds folders with the number of another folder and with the same
// plans: milestones that begin to count again leave the old ones where they are.
// One of them is the phase; the others are left out of the scan, or a summary of
// the old phase would close a plan of the new one.
func (g *gsd) settleRivals() {
	g.left = map[string]phaseNo{}
	byPhase := map[phaseNo][]phaseFolder{}
	for _, dir := range []string{g.dir, path.Join(g.dir, "phases")} {
		for _, e := range g.r.Dir(dir) {
			p, ok := phaseOfFolder(e.Name(), dir == g.dir)
			if !e.IsDir() || !ok || slices.Contains(notPhases, strings.ToLower(e.Name())) {
				continue
			}
			f := g.folder(path.Join(dir, e.Name()), p)
			if len(f.files) > 0 {
				byPhase[p] = append(byPhase[p], f)
			}
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(byPhase), phaseNo.compare) {
		rivals := byPhase[p]
		if len(rivals) < 2 || !collide(rivals) {
			continue
		}
		chosen := slices.MaxFunc(rivals, func(a, b phaseFolder) int { return g.likely(a) - g.likely(b) })
		for _, f := range rivals {
			if f.path == chosen.path {
				continue
			}
			g.left[f.path] = p
			warn(g.r, reprise.CodeDuplicateID, path.Base(f.path), reprise.Source{File: f.path},
				fmt.Sprintf("the number of phase %s is used twice; %s counts, this folder does not", p, path.Base(chosen.path)), "move the phases of earlier milestones to milestones/")
		}
	}
}

// folder lists the plans and summaries of a folder by their names alone.
func (g *gsd) folder(dir string, p phaseNo) phaseFolder {
	f := phaseFolder{path: dir, phase: p, files: map[folderFile]bool{}}
	var names []string
	for _, e := range g.r.Dir(dir) {
		name := path.Join(dir, e.Name())
		if !e.IsDir() {
			names = append(names, name)
			continue
		}
		if low := strings.ToLower(e.Name()); low == "plans" || low == "summaries" {
			for _, below := range g.r.Dir(name) {
				names = append(names, path.Join(name, below.Name()))
			}
		}
	}
	for _, name := range names {
		for _, kind := range []string{"SUMMARY", "PLAN"} {
			if k, _, ok := fileKey(name, p, kind); ok {
				f.files[folderFile{k, kind}] = true
				break
			}
		}
	}
	return f
}

// collide reports whether two folders hold the same plan or the same summary.
func collide(rivals []phaseFolder) bool {
	seen, all := map[folderFile]bool{}, 0
	for _, f := range rivals {
		all += len(f.files)
		maps.Copy(seen, f.files)
	}
	return len(seen) < all
}

// likely weighs a folder: its slug is the title that ROADMAP.md gives to the
// phase, or STATE.md names it; else the one where work is left.
func (g *gsd) likely(f phaseFolder) int {
	slug := path.Base(f.path)
	weight := 0
	if ph := g.road.phases[f.phase]; ph != nil {
		weight = 4 * shared(slug, ph.last)
	}
	if g.state.phase == f.phase {
		weight += 4 * shared(slug, g.state.phaseText)
	}
	for k := range f.files {
		if k.kind == "PLAN" && !f.files[folderFile{k.planKey, "SUMMARY"}] {
			return weight + 1
		}
	}
	return weight
}

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
		dir := path.Dir(plan.file())
		if low := strings.ToLower(path.Base(dir)); low == "plans" || low == "summaries" {
			dir = path.Dir(dir)
		}
		slug := path.Base(dir)
		if shared(slug, slug) == 0 || shared(slug, ph.last) > 0 {
			return false
		}
	}
	return true
}
