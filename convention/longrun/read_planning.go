package longrun

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// gsdFiles prove a `.planning/` folder to be GSD's. Other tools keep notes in
// folders of that name.
var gsdFiles = []string{
	"STATE.md", "ROADMAP.md", "PROJECT.md", "HANDOFF.json", "agent-history.json", "current-agent-id.txt", "MILESTONES.md",
}

func holdsPlanning(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return false // reported by the file system; nothing shows that it is GSD's
	}
	for _, e := range entries {
		if slices.Contains(gsdFiles, e.Name()) || isHandoff(e.Name()) {
			return true
		}
		if e.Name() != "phases" || !e.IsDir() {
			continue
		}
		phases, err := fs.ReadDir(fsys, path.Join(dir, "phases"))
		if err != nil {
			return true
		}
		for _, p := range phases {
			if _, ok := phaseOfFolder(p.Name(), false); ok && p.IsDir() {
				return true
			}
		}
	}
	return false
}

func isHandoff(name string) bool {
	return slices.Contains([]string{"HANDOFF.json", ".continue-here.md", ".continue-here", "continue-here.md"}, name)
}

// readParallel reads config.json: waves run in parallel unless it says no.
func (g *gsd) readParallel() bool {
	n := g.r.Open(path.Join(g.dir, "config.json")).JSON().Get("parallelization")
	if n != nil && n.Kind == doc.Map {
		n = n.Get("enabled")
	}
	on, ok := n.Bool()
	return on || !ok
}

// gsdDepth bounds how deep phase folders are searched. Real ones are two deep.
const gsdDepth = 6

// notPhases are folders of `.planning/` whose plans are archived or stand
// outside the sequence of phases.
var notPhases = []string{
	"milestones", "milestone", "archive", "archived", "archives", "quick", "todos",
	"spikes", "debug", "research", "codebase", "workstreams", ".git",
}

// scan reads the phase folders below dir. phase is the phase the folder belongs
// to, inside tells whether it lies below phases/.
func (g *gsd) scan(dir string, phase phaseNo, inside bool, depth int) {
	for _, e := range g.r.Dir(dir) {
		name := path.Join(dir, e.Name())
		// A folder with the name of a plan is read as one, and found to be no file.
		if ext := path.Ext(e.Name()); e.IsDir() && ext != ".md" && ext != ".json" {
			if depth >= gsdDepth || slices.Contains(notPhases, strings.ToLower(e.Name())) {
				continue
			}
			below, in := phase, inside
			switch low := strings.ToLower(e.Name()); {
			case low == "phases" && depth == 0:
				in = true
			case low == "plans" || low == "summaries":
			default:
				if p, ok := phaseOfFolder(e.Name(), !inside && depth == 0); ok && (inside || depth == 0 || !phase.none()) {
					below = p
				}
			}
			g.scan(name, below, in, depth+1)
			continue
		}
		g.scanFile(name, e, phase, inside, depth)
	}
}

func (g *gsd) scanFile(name string, e fs.DirEntry, phase phaseNo, inside bool, depth int) {
	base := e.Name()
	if isHandoff(base) {
		g.handoffs = append(g.handoffs, handoffFile{name, phase})
		return
	}
	reportTemporary(g.r, path.Dir(name), e)
	if phase.none() && !loose(name, inside && depth == 1, depth == 0) {
		return
	}
	for _, kind := range []string{"SUMMARY", "PLAN"} {
		k, id, ok := fileKey(name, phase, kind)
		if !ok {
			continue
		}
		p, first := g.plans.at(k, id), ""
		switch {
		case p.path != "" && folderOf(p.path) != folderOf(name) && g.hasPlan(name, k, phase):
			// Milestones that begin to count again leave the old phases where they are. The plan
			// that has no summary counts, and no summary of the other closes it.
			g.reused[phase] = time.Time{}
			if first = p.path; kind == "PLAN" && p.summary != nil && folderOf(p.summary.file) == folderOf(p.path) {
				*p = plan{planKey: p.planKey, id: id}
				g.readGSDPlan(p, name)
				name, first = first, name
			}
		case kind == "PLAN" && p.path == "":
			p.id = id
			g.readGSDPlan(p, name)
		case kind == "PLAN":
			first = p.path
		case p.summary == nil:
			g.readGSDSummary(p, id, name)
		default:
			first = p.summary.file
		}
		if first != "" {
			warn(g.r, reprise.CodeDuplicateID, id, reprise.Source{File: name}, fmt.Sprintf("plan %s has two files; %s counts, this one does not", id, first), "rename or remove one of them")
		}
		return
	}
	upper := strings.ToUpper(base)
	for suffix, what := range map[string]string{"VERIFICATION.MD": "verification", "UAT.MD": "verification", "USER-SETUP.MD": "user setup"} {
		if strings.HasSuffix(upper, suffix) {
			g.checks = append(g.checks, phaseCheck{name, phase, what})
		}
	}
}

// phaseCheck is a file with what was checked of a phase, or what a person has to do for it.
type phaseCheck struct {
	path  string
	phase phaseNo
	what  string
}

// folderOf is the folder of the phase that a plan or a summary belongs to.
func folderOf(name string) string {
	dir := path.Dir(name)
	if low := strings.ToLower(path.Base(dir)); low == "plans" || low == "summaries" {
		return path.Dir(dir)
	}
	return dir
}

// hasPlan reports whether the folder that a file lies in has a PLAN file with a key.
func (g *gsd) hasPlan(name string, k planKey, phase phaseNo) bool {
	dir := folderOf(name)
	return slices.ContainsFunc([]string{dir, path.Join(dir, "plans")}, func(dir string) bool {
		return slices.ContainsFunc(g.r.Dir(dir), func(e fs.DirEntry) bool {
			has, _, ok := fileKey(path.Join(dir, e.Name()), phase, "PLAN")
			return ok && has == k
		})
	})
}

// loose recognises a plan or a summary that lies outside the folder of a phase
// and names it: in phases/, or at the top with both numbers or the word phase.
// A date is no phase.
func loose(name string, inPhases, atTop bool) bool {
	for _, kind := range []string{"SUMMARY", "PLAN"} {
		if k, _, ok := fileKey(name, phaseNo{}, kind); ok && k.phase.n[0] <= 1900 {
			_, named := strings.CutPrefix(strings.ToLower(path.Base(name)), "phase")
			return inPhases || atTop && (named || k.num != solePlan)
		}
	}
	return false
}

// supersededWords mark a plan that was taken out without being done.
var supersededWords = []string{"supersed", "abandon", "cancel", "obsolete", "dropped", "deferred", "skipped", "wont"}

// takenOut reports whether a text begins with one of them.
func takenOut(text string) bool {
	word := doc.Fold(text)
	return slices.ContainsFunc(supersededWords, func(gone string) bool { return strings.HasPrefix(word, gone) })
}

func (g *gsd) readGSDPlan(p *plan, name string) {
	f := g.r.Open(name)
	p.path, p.wave, p.size, p.source = name, -1, len(f.Data), f.At(0)
	m := f.Markdown()
	if m == nil {
		return
	}
	front := m.Front
	if w := strings.TrimSpace(front.Get("wave").Str()); doc.Digits(w) && len(w) < 6 {
		p.wave, _ = strconv.Atoi(w)
	}
	if auto, ok := front.Get("autonomous").Bool(); ok {
		p.human = !auto
	}
	if front.Has("depends_on") {
		p.declared = true
		for _, item := range front.Get("depends_on").Strs() {
			for _, word := range strings.FieldsFunc(item, func(r rune) bool { return r == ',' || r == ' ' }) {
				if need, ok := planOfPhase(word, p.phase); ok {
					p.needs = append(p.needs, need)
				}
			}
		}
	}
	p.files, p.promised = texts(child(front, "files_modified")), texts(child(child(front, "must_haves"), "artifacts"))
	if word := front.Get("status").Str(); takenOut(word) {
		p.superseded = doc.Fold(word)
	}
	if by := front.Get("superseded_by").Str(); by != "" {
		p.superseded = "superseded by " + doc.Clip(by, 40)
	}
	p.title = planTitle(m)
}

// planTitle takes the title, or the first line of the objective.
func planTitle(m *doc.Markdown) string {
	if t := m.Front.Get("title").Str(); t != "" {
		return plainText(t)
	}
	// The rest of a plan is an agent's to read.
	lines := slices.DeleteFunc(slices.Clone(m.Lines), func(l doc.Line) bool { return l.Hidden })
	for i, l := range lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l.Text), "<objective>")
		if !ok {
			continue
		}
		for _, next := range append([]doc.Line{{Text: rest}}, lines[i+1:min(i+4, len(lines))]...) {
			if text := strings.TrimSpace(strings.ReplaceAll(next.Text, "</objective>", "")); text != "" {
				return plainText(text)
			}
		}
	}
	return plainText(m.Title())
}

// readGSDSummary reads the status a summary states. Most state none: there the
// file's existence is the statement, provided that something stands in it.
func (g *gsd) readGSDSummary(p *plan, id, name string) {
	f := g.r.Open(name)
	s := &summary{file: name, status: reprise.Unknown, source: f.At(0)}
	p.summary = s
	m := f.Markdown()
	if m == nil {
		return
	}
	defer func() { selfCheck(f, m, s, "plan "+id) }()
	if strings.Trim(string(f.Data), " \t\r\n\x00\ufeff") == "" {
		s.word = "empty"
		f.Report(reprise.Warning, reprise.CodeUnreadable, 0, fmt.Sprintf("the summary of %s is empty; the plan is not counted as done", id), "the write may have been cut off")
		return
	}
	s.statusAt, s.endedAt = ledger.Front(f, m, "status"), ledger.Front(f, m, "completed")
	for _, key := range []string{"completed", "completed_at", "completed_date"} {
		if at := m.Front.Get(key); !at.IsNull() && at.Kind == doc.String {
			if s.at = anyTime(at.Text); !s.at.IsZero() {
				g.run.Active(s.at, at.Source())
				break
			}
		}
	}
	s.made = texts(child(child(m.Front, "key-files"), "created"))
	if commits, ok := m.Section("task commits"); ok {
		s.commits = hashes(commits.Lines())
	}
	status := m.Front.Get("status")
	if status.IsNull() || strings.TrimSpace(status.Str()) == "" {
		s.status, s.word = reprise.Done, "summary"
		return
	}
	s.word, s.source = status.Str(), status.Source()
	s.status = gsdSummaryStatus(s.word)
	if s.status == reprise.Unknown {
		f.Report(reprise.Warning, reprise.CodeUnknownStatus, s.source.Line,
			fmt.Sprintf("the summary of %s has the status %s, which is unknown here; the plan is not counted as done", id, quoted(s.word)), "")
	} else if !s.status.Closed() {
		f.Report(reprise.Warning, reprise.CodeStatusDrift, s.source.Line,
			fmt.Sprintf("%s has a summary that says %s; it is not counted as done", id, quoted(s.word)), "finish the plan, or correct the summary")
	}
}

func gsdSummaryStatus(word string) reprise.Status {
	folded := doc.Fold(word)
	starts := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(folded, w) })
	}
	switch {
	case starts("fail", "timeout", "timed out", "abort", "error"):
		return reprise.Failed
	case starts("partial", "in progress", "paused", "incomplete", "wip"):
		return reprise.InProgress
	case starts("block", "awaiting", "waiting", "checkpoint"):
		return reprise.Blocked
	case starts("skip", "cancel", "superseded", "abandon", "deferred"):
		return reprise.Skipped
	case starts("complete", "done", "success", "finished", "shipped", "passed", "verified", "implemented", "executed"), strings.Contains(word, "✅"), strings.Contains(folded, "완료"):
		return reprise.Done
	}
	return reprise.Unknown
}

// tidyKeys settles what single-number file names mean once all are known: in a
// folder with several of them they are plan numbers. An unnumbered PLAN beside
// numbered ones is an outline, and lettered ones without a summary are drafts.
func (g *gsd) tidyKeys() {
	counted, numbered, listed := map[phaseNo]bool{}, map[phaseNo]bool{}, map[phaseNo]bool{}
	for _, p := range g.plans {
		counted[p.phase] = counted[p.phase] || p.num != solePlan && singleNumber(p.file())
	}
	for _, p := range g.plans.sorted() {
		if p.num == solePlan && counted[p.phase] && singleNumber(p.file()) {
			num, suffix, _ := parsePlanNo(words(path.Base(p.file()))[0])
			g.move(p, planKey{p.phase, num, suffix})
		}
	}
	for _, p := range g.plans {
		numbered[p.phase] = numbered[p.phase] || p.num != solePlan
		listed[p.phase] = listed[p.phase] || p.num >= 0
	}
	for _, p := range g.plans.sorted() {
		if p.num == solePlan && numbered[p.phase] || p.num == lettered && listed[p.phase] && p.summary == nil {
			g.forget(p)
		}
	}
	g.filed = g.plans.sorted()
}

// move gives what the files of a plan say to another key, as far as that has no
// such files of its own.
func (g *gsd) move(p *plan, k planKey) {
	to := g.plans.at(k, k.String())
	moved := p.summary
	if to.summary != nil {
		moved = to.summary
	} else {
		p.summary = nil
	}
	if p.path != "" && to.path == "" {
		*to = *p
		to.planKey, to.id = k, k.String()
		g.forget(p)
	}
	to.summary = moved
	if !p.filed() {
		delete(g.plans, p.planKey)
	}
}

// forget drops what the PLAN file of a plan says.
func (g *gsd) forget(p *plan) {
	*p = plan{planKey: p.planKey, id: p.id, summary: p.summary}
	if p.summary == nil {
		delete(g.plans, p.planKey)
	}
}

// meant returns the plan that a record refers to. If the only plan of a phase has no
// number, its first one is that plan.
func (g *gsd) meant(k planKey) planKey {
	sole := planKey{phase: k.phase, num: solePlan}
	if k.num != 0 && k.num != 1 || k.suffix != "" || !g.look(sole).filed() || g.look(k).filed() {
		return k
	}
	return sole
}

// tidyRecords brings the records of ROADMAP.md and STATE.md to the plans they
// mean. Several boxes of one phase are its parts, and none of them the whole.
func (g *gsd) tidyRecords() {
	boxes := map[phaseNo]int{}
	for k := range g.road.boxes {
		boxes[k.phase]++
	}
	for k, b := range g.road.boxes {
		if to := g.meant(k); boxes[k.phase] == 1 {
			k = to
		}
		g.plans.at(k, k.String()).box = b
	}
	for _, record := range []map[planKey]reprise.Source{g.state.metric, g.state.said} {
		for _, k := range slices.Collect(maps.Keys(record)) {
			if to := g.meant(k); to != k {
				record[to] = record[k]
				delete(record, k)
			}
		}
	}
}

// singleNumber recognises NN-PLAN.md and NN-SUMMARY.md.
func singleNumber(name string) bool {
	ws := words(strings.TrimSuffix(strings.ToUpper(path.Base(name)), ".MD"))
	return len(ws) == 2 && doc.Digits(ws[0]) && (ws[1] == "PLAN" || ws[1] == "SUMMARY")
}
