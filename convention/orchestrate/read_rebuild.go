package orchestrate

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// A state file that is there and cannot be understood is rebuilt as far as
// other files know: from the statuses of the stories, else from what phases
// left on disk, else from the change logs of the stories, in this order. What
// comes of it is never more than a proposal: the run waits for a person to
// confirm it, and the file itself is not touched.

// confirmPhase is where a run stands that was rebuilt.
const confirmPhase = "confirm the reconstruction"

// changeLedger and outputLedger name the ledgers of a reconstruction other than
// the story's own status.
const (
	outputLedger = "artifacts"
	changeLedger = "change log"
)

// rebuildEpic rebuilds an epic from the stories that bear its number.
func (l *loader) rebuildEpic(f *doc.File, why string) {
	if !f.OK() {
		l.unreadable(why) // it may be whole, and only we may not see it
		return
	}
	id, _ := epicStateName(path.Base(l.run.Path))
	l.run.Epic, l.run.Order = strings.ToUpper(cutWord(id, "epic")), doc.Numbers(id)
	var found []storyFile
	for _, s := range l.storyFiles() {
		if len(s.key.nums) == 0 || !epicMatches(id, s.key) || projectOf(s.path) != l.project() || l.storyByKey(s.key, "") != s.path {
			continue
		}
		found = append(found, s)
	}
	slices.SortStableFunc(found, func(a, b storyFile) int { return compareOrder(a.key, b.key) })
	for _, s := range found {
		l.rebuiltStep(s.path, s.key)
	}
	l.rebuilt(f, why)
}

// rebuildStory rebuilds a state about one story. The story is identified by the file's
// path, or by what is left of its text.
func (l *loader) rebuildStory(f *doc.File, why string) {
	if !f.OK() {
		l.unreadable(why)
		return
	}
	hint := ""
	switch sh, name := shapeOf(l.run.Path), strings.TrimPrefix(stem(path.Base(l.run.Path)), "."); sh {
	case loopShape:
		if parent := path.Base(path.Dir(l.run.Path)); parent != "qa" {
			hint = parent
		}
	case bobShape, nexosShape:
		hint = strings.TrimSuffix(name, "-state")
	}
	if left := leftOver(f.Data, "storyId", "story_id", "currentStory", "current_story", "story"); left != "" {
		hint = left
	}
	if hint != "" {
		if p, _ := l.resolveStory(hint); p != "" {
			k := storyKey(p)
			l.run.Epic, l.run.Order = k.epicName(), k.order()
			l.rebuiltStep(p, k)
		}
	}
	l.rebuilt(f, why)
}

// leftOver finds the value of a key in what is left of a JSON or YAML text.
func leftOver(data []byte, keys ...string) string {
	for _, key := range keys {
		for _, line := range bytes.FieldsFunc(data, func(r rune) bool { return r == '\n' || r == ',' || r == '{' || r == '}' }) {
			name, value, ok := bytes.Cut(line, []byte(":"))
			if !ok || string(bytes.Trim(name, " \t\r\"'")) != key {
				continue
			}
			text := string(bytes.TrimSpace(value))
			// A value that lost its closing quote may have lost more.
			if q := strings.IndexAny(text, `"'`); q == 0 {
				var shut bool
				if text, _, shut = strings.Cut(text[1:], text[:1]); !shut {
					continue
				}
			}
			if text = strings.TrimSpace(text); text != "" && text != "null" && len(text) < 200 {
				return text
			}
		}
	}
	return ""
}

// rebuiltStep adds a story with what each ledger says of it, the first in the
// order of their trust deciding.
func (l *loader) rebuiltStep(p string, k key) {
	sh := readStory(l.r, p)
	if sh == nil {
		return
	}
	step := reprise.Step{ID: k.id, Title: sh.title, Phase: "story", Role: "dev", Path: p, Source: sh.source(0), Status: reprise.Unknown, Traces: storyTraces(k), Files: sh.files}
	if says, ended := folderSays(p); ended {
		step.Claims = append(step.Claims, says.claim())
	}
	if c, ok := sh.claim(); ok && sh.class() > unknown {
		step.Claims = append(step.Claims, c)
	}
	step.Claims = append(step.Claims, l.outputClaims(sh, k)...)
	if c, ok := sh.changeLog(); ok {
		step.Claims = append(step.Claims, c)
	}
	if len(step.Claims) > 0 {
		step.Claims[0].Won, step.Status = true, step.Claims[0].Status
	}
	l.activeIn(sh)
	l.run.Steps = append(l.run.Steps, step)
}

// outputClaims is what the outputs on disk say: a gate that passed shows that
// the story was reviewed, not that it was closed; files of its list that are
// there show that it was begun.
func (l *loader) outputClaims(sh *storyDoc, k key) []reprise.Claim {
	for _, g := range l.gateSays(sh.path, k) {
		if g.ledger != gateLedger {
			continue
		}
		c := reprise.Claim{Ledger: outputLedger, Status: reprise.InProgress, Word: g.word, Source: g.at}
		if g.class == done {
			c.Status = reprise.InReview
		}
		return []reprise.Claim{c}
	}
	for _, name := range sh.files {
		if name != sh.path && l.r.Exists(name) {
			return []reprise.Claim{{Ledger: outputLedger, Status: reprise.InProgress, Word: name, Source: reprise.Source{File: name}}}
		}
	}
	return nil
}

// rebuilt closes a run that was rebuilt: a person has to confirm it. Where
// nothing was found again it stays unreadable.
func (l *loader) rebuilt(f *doc.File, why string) {
	run := l.run
	by := map[string]int{}
	for i := range run.Steps {
		for _, c := range run.Steps[i].Claims {
			switch {
			case c.Won && c.Ledger == "folder":
				by["story"]++
			case c.Won:
				by[c.Ledger]++
			}
		}
	}
	var from []string
	for _, name := range []struct{ ledger, words string }{{"story", "story statuses"}, {outputLedger, "artifacts"}, {changeLedger, "change logs"}} {
		if n := by[name.ledger]; n > 0 {
			from = append(from, fmt.Sprintf("%s (%d)", name.words, n))
		}
	}
	if len(from) == 0 {
		run.Steps = slices.DeleteFunc(run.Steps, func(s reprise.Step) bool { return len(s.Claims) == 0 })
		l.unreadable(why)
		return
	}
	source := strings.Join(from, ", ")
	if run.LastActivity.IsZero() {
		run.Active(f.MTime, f.At(0))
	}
	run.State, run.Phase = reprise.Waiting, confirmPhase
	run.Reason = why + "; it was rebuilt from " + source + " and waits for a person to confirm it"
	run.Next = rebuiltNext(run)
	severity, hint := reprise.Warning, "compare it with what you know; use it, restore a backup, or start from scratch"
	if shapeOf(run.Path) == epicShape {
		// To confirm it is to have it written: nothing is recorded in a file that is
		// not whole, not even an answer.
		severity, hint = reprise.Blocking, "`reprise repair` shows it and writes it once you agree; or restore a backup, or start from scratch"
	}
	l.report(severity, reprise.CodeAmbiguous, run.ID, f.At(0),
		fmt.Sprintf("what is shown of this run is a reconstruction from %s, because its state file is corrupted", source), hint)
	if severity == reprise.Blocking {
		return
	}
	run.Questions = []reprise.Question{{
		ID: "rebuilt", Subject: run.ID, Source: f.At(0),
		Options: []string{"use the reconstruction", "bring a backup back", "start afresh"}, Closed: true,
		Text: fmt.Sprintf("The state of %s is corrupted and was rebuilt from %s. Is this where it stands?", run.ID, source),
	}}
}

// rebuiltNext offers the first story that is open.
func rebuiltNext(run *reprise.Run) []reprise.Unit {
	for i := range run.Steps {
		s := &run.Steps[i]
		if s.Status.Closed() || s.Phase != "story" {
			continue
		}
		u := reprise.Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: "implement", Role: "dev", Reason: "the first open story of the reconstruction"}
		if s.Status == reprise.InReview {
			u.Phase, u.Role = "qa", "qa"
		}
		return []reprise.Unit{u}
	}
	return nil
}

// isChangeLog reports whether a section is the log of a story's changes.
func isChangeLog(title string) bool {
	return titled(title, "change log", "changelog", "historico de alteracoes", "historico de mudancas", "变更日志", "变更记录")
}

// titled reports whether a heading begins with one of these words.
func titled(title string, begins ...string) bool {
	fold := doc.Fold(title)
	return slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(fold, begin) })
}

// moves are the entries of the change log that name a status, in the order of
// the file.
func (s *storyDoc) moves() []reprise.Claim {
	if isYAML(s.path) {
		return nil
	}
	var all []reprise.Claim
	for _, sec := range s.file.Markdown().Sections() {
		if !isChangeLog(sec.Title) {
			continue
		}
		for _, l := range sec.Lines() {
			if word, c := movedTo(l.Text); c > unknown {
				all = append(all, reprise.Claim{Ledger: changeLedger, Status: c.status(), Word: word, Source: s.source(l.No), At: lineDate([]byte(l.Text))})
			}
		}
	}
	return all
}

// changeLog reads the status a story was last moved to by its change log: what
// stands behind the last arrow or the word status of the latest entry that has
// one. Logs are kept upwards or downwards; the dates tell which.
func (s *storyDoc) changeLog() (claim reprise.Claim, ok bool) {
	all := s.moves()
	if len(all) == 0 {
		return reprise.Claim{}, false
	}
	if all[0].At.After(all[len(all)-1].At) {
		slices.Reverse(all)
	}
	for _, c := range all {
		if !c.At.Before(claim.At) {
			claim = c
		}
	}
	return claim, true
}

// movedTo finds the status that an entry of a change log names.
func movedTo(text string) (word string, c class) {
	for _, cell := range strings.Split(text, "|") {
		m := moveForm().FindStringSubmatch(cell)
		if m == nil {
			continue
		}
		found := strings.Trim(strings.TrimSpace(m[1]), "*_`. ")
		if k := classify(found); k > unknown {
			word, c = doc.Clip(found, 60), k
		}
	}
	return word, c
}

// moveForm is what stands behind the last arrow or the word status.
var moveForm = doc.Pattern(`(?i)^.*(?:→|->|=>|status:)(.*)`)
