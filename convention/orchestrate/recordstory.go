package orchestrate

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// phaseEnd is the class of a story when a phase of it ends well.
var phaseEnd = map[string]class{"create": draft, "validate": ready, "implement": inReview, "qa": done, "close": done}

// recordStory records an event of a story run: its status and its change log.
func (c *scribe) recordStory() error {
	ev := c.ev
	step := ev.Step
	if ev.Kind == reprise.PhaseEnded && step == "" {
		step = ev.Phase
	}
	switch ev.Kind {
	case reprise.RunStarted:
		return nil // the story is there
	case reprise.RunResumed:
		if !c.logResumed() {
			return c.noPlace()
		}
		return nil
	case reprise.RunEnded:
		return c.storyEnded()
	case reprise.AnswerApplied:
		if strings.HasPrefix(ev.Question, "close-") && classify(strings.TrimPrefix(ev.Text, "mark ")) == done {
			return c.moveStory(c.run.Path, done, "closed on a person's word")
		}
		return c.noPlace()
	case reprise.RunStopped, reprise.QuestionAsked, reprise.QuestionAnswered:
		return c.noPlace()
	}
	if _, ok := phaseEnd[step]; !ok {
		return c.cannot("a story has no step %q", oneLine(step, 40))
	}
	return c.storyStep(c.run.Path, step)
}

func (c *scribe) storyEnded() error {
	switch c.ev.Outcome {
	case "", "completed", "approved":
		return c.moveStory(c.run.Path, done, c.ev.Text)
	}
	return c.noPlace()
}

// storyStep moves a story by what happened to one of its phases.
func (c *scribe) storyStep(p, step string) error {
	switch c.ev.Kind {
	case reprise.StepStarted:
		switch step {
		case "implement":
			return c.moveStory(p, inProgress, c.ev.Text)
		case "qa":
			return c.moveStory(p, inReview, c.ev.Text)
		}
		return c.noPlace() // no word for a story that is being validated
	case reprise.StepFinished, reprise.PhaseEnded:
		switch c.ev.Outcome {
		case "rejected", "failed":
			return c.storyFailed(p, step)
		}
		return c.finishPhase(p, step)
	case reprise.StepFailed:
		switch c.ev.Outcome {
		case "", "rejected":
			return c.storyFailed(p, step)
		}
		// An attempt that came to grief says nothing about the story.
		return c.noteStep(p, step, "failed")
	case reprise.StepBlocked:
		if step == "implement" {
			return c.moveStory(p, blocked, c.ev.Text)
		}
		// Blocked is said of work that was begun: it would tell that the
		// validation is behind it, and the review not.
		return c.noteStep(p, step, "blocked")
	case reprise.StepReset:
		if s := readSheet(c.r, p); s != nil {
			if w := s.winner(); w >= 0 && rankOf(s.fields[w].class) == rankOf(done) {
				return c.cannot("the story is closed")
			}
		}
		switch step {
		case "validate":
			return c.moveStory(p, draft, "reset")
		case "implement":
			return c.moveStory(p, ready, "reset")
		case "qa":
			return c.moveStory(p, inProgress, "reset")
		}
	}
	return c.noPlace()
}

// finishPhase moves a story on; one that is further already is left there.
func (c *scribe) finishPhase(p, step string) error {
	s := readSheet(c.r, p)
	if s == nil {
		return c.damaged(p)
	}
	if step == "implement" && c.ev.Outcome == "unreviewed" {
		// Whoever implemented it closed it too; the review is still to come.
		return c.moveStory(p, inReview, c.ev.Text)
	}
	if step == "create" && s.form {
		return c.cannot("%s", formOnly)
	}
	i := slices.IndexFunc(cycle, func(x struct{ phase, role string }) bool { return x.phase == step })
	if w := s.winner(); w >= 0 && i >= 0 && step != "qa" && phaseStatus(s.fields[w].class, i) == reprise.Done {
		return nil
	}
	return c.moveStory(p, phaseEnd[step], c.ev.Text)
}

// storyFailed: a review that fails sends the story back; anything else leaves
// it where it is, and only the change log can tell.
func (c *scribe) storyFailed(p, step string) error {
	if step == "qa" || step == "close" {
		return c.moveStory(p, inProgress, c.ev.Text)
	}
	return c.noteStep(p, step, "failed")
}

// noteStep tells in the change log what the status has no word for.
func (c *scribe) noteStep(p, step, what string) error {
	s := readSheet(c.r, p)
	m, err := c.story(p)
	if err != nil {
		return err
	}
	if m.md == nil || s == nil {
		return c.noPlace()
	}
	for _, text := range []string{step + " " + what + ": " + plainNote(c.ev.Text), step + " " + what} {
		kept := m.md
		if !c.logRow(m, strings.TrimSuffix(text, ": "), true) {
			return c.noPlace()
		}
		if sameStory(s, sheetOf(p, m.bytes())) {
			m.because("story %s: %s %s", c.run.ID, step, what)
			return nil
		}
		m.md = kept
	}
	return c.noPlace()
}

// sameStory reports whether two readings of a story tell the same.
func sameStory(a, b *sheet) bool {
	if a == nil || b == nil || len(a.fields) != len(b.fields) || a.boxes != b.boxes || a.ticked != b.ticked || a.winner() != b.winner() {
		return false
	}
	for i := range a.fields {
		if a.fields[i].class != b.fields[i].class || a.fields[i].word != b.fields[i].word {
			return false
		}
	}
	return true
}

// story opens a story for editing: Markdown, or YAML in old projects.
func (c *scribe) story(p string) (*paper, error) {
	if m := c.files[p]; m != nil {
		return m, nil
	}
	if ext := strings.ToLower(path.Ext(p)); ext == ".yaml" || ext == ".yml" {
		return c.state(p)
	}
	f := c.r.Open(p)
	if !f.Exists() {
		return nil, fmt.Errorf("%s: %w", p, fs.ErrNotExist)
	}
	if !f.OK() {
		return nil, c.damaged(p)
	}
	md, err := splice.NewMarkdown(f.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	m := &paper{path: p, md: md, base: f.Data}
	c.keep(m)
	return m, nil
}

// moveStory writes the status of a story into every field that speaks of it,
// and a row into its change log. What the fields say already is left alone.
func (c *scribe) moveStory(p string, want class, note string) error {
	s := readSheet(c.r, p)
	if s == nil {
		if !c.r.Open(p).Exists() {
			return fmt.Errorf("%s: %w", p, fs.ErrNotExist)
		}
		return c.damaged(p)
	}
	if say, ended := folderSay(p); ended && say.class != want {
		return c.cannot("story %s lies in a folder for finished work", p)
	}
	fields := statusFields(s)
	old := ""
	if w := s.winner(); w >= 0 {
		old = s.fields[w].word
	}
	open := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.class == want })
	if len(fields) > 0 && len(open) == 0 {
		return nil
	}
	if c.salvaged(p) && slices.ContainsFunc(open, func(f field) bool { return f.front }) {
		return c.damaged(p)
	}
	m, err := c.story(p)
	if err != nil {
		return err
	}
	word := c.spelling(s, old, want)
	for _, f := range open {
		if err := c.setField(m, f, want, c.spelling(s, f.word, want), len(fields) == 1); err != nil {
			return err
		}
	}
	if len(fields) == 0 {
		if err := addStatus(m, word); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if bytes.Equal(m.bytes(), m.base) {
		return nil // what can be said is said
	}
	if err := verifyStory(m, s, open, want); err != nil {
		return c.cannot("%v", err)
	}
	if m.md != nil {
		c.logMove(m, s, old, word, note, want)
	}
	m.because("story %s is %s", storyKey(p).id, word)
	return nil
}

// statusFields are the fields that tell the status of a story: those in its
// head, or the one that decides where the head has none.
func statusFields(s *sheet) []field {
	var out []field
	for _, f := range s.fields {
		if f.head && f.class > unknown {
			out = append(out, f)
		}
	}
	if w := s.winner(); len(out) == 0 && w >= 0 {
		out = append(out, s.fields[w])
	}
	return out
}

// setField writes one status field in its own syntax.
func (c *scribe) setField(m *paper, f field, want class, word string, alone bool) error {
	if m.tree != nil {
		return setYAMLStory(m, f, word)
	}
	if f.front {
		for _, front := range append([]*doc.Node{m.md.Doc().Front}, m.md.Doc().MoreFront...) {
			if key := statusKeyAt(front, f.line); key != "" {
				return m.wrap(m.md.SetFront(splice.Path{key}, word))
			}
			if key := statusKeyAt(front.Get(innerStory), f.line); key != "" {
				return m.wrap(m.md.SetFront(splice.Path{innerStory, key}, word))
			}
		}
		return c.cannot("the status in the front matter of %s was not found again", m.path)
	}
	if boxes := statusBoxes(m.md.Doc(), f.line); len(boxes) > 0 {
		return c.setBoxes(m, boxes, want, alone)
	}
	for _, g := range m.md.Fields(splice.Where{Line: f.line}, "") {
		at := splice.Where{Line: g.Line}
		if g.Form != splice.Under && !isStatusKey(trimNumber(g.Key)) || !strings.Contains(g.Value, f.word) {
			continue
		}
		if next := reword(f.word, word, want); strings.Count(g.Value, f.word) == 1 || g.Value == f.word {
			return m.wrap(m.md.SetLabel(at, g.Key, strings.Replace(g.Value, f.word, next, 1)))
		}
	}
	return c.patchLine(m, f, reword(f.word, word, want))
}

func (p *paper) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	return nil
}

// patchLine replaces a value behind a colon that only this layout reads: the
// full-width one of Chinese text.
func (c *scribe) patchLine(m *paper, f field, next string) error {
	for _, l := range m.md.Doc().Lines {
		if l.No != f.line || l.Hidden {
			continue
		}
		colon := strings.Index(l.Text, "\uff1a")
		if colon < 0 {
			break
		}
		at := strings.Index(l.Text[colon:], f.word)
		if at < 0 {
			break
		}
		start := l.Start + colon + at
		now := m.md.Bytes()
		text := slices.Concat(now[:start], []byte(next), now[start+len(f.word):])
		md, err := splice.NewMarkdown(text)
		if err != nil {
			return m.wrap(err)
		}
		// The editor of the new text takes over; the base stays what was read.
		m.md, m.rebased = md, true
		return nil
	}
	return c.cannot("the status in line %d of %s cannot be written", f.line, m.path)
}

// reword replaces the status in a value. What decorates the word stays; words
// about the old status go with it, because they would speak of the new one.
func reword(old, word string, want class) string {
	if inner := core(old); inner != "" {
		rest := strings.Replace(old, inner, "", 1)
		if strings.IndexFunc(rest, letter) < 0 && emojiFits(rest, want) {
			if next := strings.Replace(old, inner, word, 1); classify(next) == want {
				return next
			}
		}
	}
	if strings.HasPrefix(old, "**") && strings.Count(old, "**") >= 2 {
		return "**" + word + "**"
	}
	return word
}

// emojiFits reports whether signs do not contradict the new status.
func emojiFits(rest string, want class) bool {
	if strings.ContainsAny(rest, "→%>") {
		return false
	}
	c := emojiClass(rest)
	return c <= noClass || c == want || c == unknown && !strings.ContainsAny(rest, "📋🟢🔵🟠⚪")
}

// setYAMLStory sets the status of a story in the old YAML form.
func setYAMLStory(m *paper, f field, word string) error {
	for _, at := range []splice.Path{{innerStory}, {}} {
		if key := statusKeyAt(m.node(at), f.line); key != "" {
			return m.set(under(at, key), word)
		}
	}
	return fmt.Errorf("%s: the status was not found again", m.path)
}

// statusBoxes returns the list of status boxes in which a line stands.
func statusBoxes(md *doc.Markdown, line int) []doc.Check {
	for _, sec := range md.Sections() {
		if sec.Level > 4 || !isStatusKey(trimNumber(sec.Title)) {
			continue
		}
		boxes := leadingChecks(sec)
		if slices.ContainsFunc(boxes, func(b doc.Check) bool { return b.Line == line }) {
			return boxes
		}
	}
	return nil
}

// setBoxes ticks the boxes of a status and keeps those before it, and clears
// those behind: the last ticked one holds. A list without a box for the status
// stands at the last one before it, if another field can tell; done needs all
// fields to agree.
func (c *scribe) setBoxes(m *paper, boxes []doc.Check, want class, alone bool) error {
	at, has := -1, false
	for i, b := range boxes {
		switch k := boxClass(b.Text); {
		case k == want:
			at, has = i, true
		case !has && k > unknown && rankOf(k) < rankOf(want):
			at = i
		}
	}
	if !has && (alone || want == done) {
		return c.cannot("the list of statuses in %s has no box for %s", m.path, want)
	}
	for i, b := range boxes {
		tick := i <= at && (b.Ticked || has && boxClass(b.Text) == want)
		if tick == b.Ticked {
			continue
		}
		if err := m.md.SetCheck(splice.Where{Line: b.Line}, "", tick); err != nil {
			return m.wrap(err)
		}
	}
	return nil
}

// addStatus gives a story without a status its field: in the front matter if
// it has one, else as a label below its title.
func addStatus(m *paper, word string) error {
	if m.tree != nil {
		return m.set(splice.Path{"status"}, word)
	}
	if m.md.Doc().Front != nil {
		return m.md.SetFront(splice.Path{"status"}, word)
	}
	where := splice.Where{}
	if all := m.md.Doc().Sections(); len(all) > 0 && all[0].Level == 1 {
		where.Section = all[0].Title
	}
	return m.md.AppendLines(where, "**Status:** "+word)
}

// bytes is the content of a paper with its edits.
func (p *paper) bytes() []byte {
	switch {
	case p.md != nil:
		return p.md.Bytes()
	case p.tree != nil:
		return p.tree.(interface{ Bytes() []byte }).Bytes()
	}
	return p.next
}

// verifyStory reads the edited story as the loader would: its status must be
// what was asked for, and all else what it was.
func verifyStory(m *paper, before *sheet, changed []field, want class) error {
	after := sheetOf(m.path, m.bytes())
	if after == nil {
		return fmt.Errorf("%s: it could not be read back", m.path)
	}
	w := after.winner()
	if w < 0 || after.fields[w].class != want {
		return fmt.Errorf("%s: the status would not read back as %s", m.path, want)
	}
	if after.boxes != before.boxes || after.ticked != before.ticked || len(changed) > 0 && len(after.fields) != len(before.fields) {
		return fmt.Errorf("%s: more than the status would change", m.path)
	}
	return nil
}

// sheetOf reads a story from memory.
func sheetOf(name string, data []byte) *sheet {
	_, f := doc.Memory(name, data)
	return sheetIn(f)
}
