package orchestrate

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// phaseEnd is the class of a story when a phase of it ends well.
var phaseEnd = map[string]class{create: draft, validate: ready, implement: inReview, review: done, closing: done}

// recordStory records an event of a story run: its status and its change log.
func (c *recorder) recordStory() {
	ev, p := c.ev, c.run.Path
	switch ev.Kind {
	case reprise.RunStarted:
		return // the story is there
	case reprise.RunResumed:
		if c.logResumed() {
			return
		}
	case reprise.RunEnded:
		if c.succeeded() {
			c.moveStory(p, done, ev.Text)
			return
		}
	case reprise.AnswerApplied:
		if !strings.HasPrefix(ev.Question, closeStory) {
			break
		}
		if classify(strings.TrimPrefix(ev.Text, "mark ")) == done {
			c.moveStory(p, done, "closed because a person said so")
			return
		}
		notYet := reprise.Question{Options: []string{notDoneYet}}
		if now := readStory(c.r, p).class(); notYet.Option(ev.Text) != "" && (now == done || now == doubtful) {
			c.moveStory(p, inProgress, "not done, because a person said so")
			return
		}
	case reprise.RunStopped, reprise.QuestionAsked, reprise.QuestionAnswered:
	default:
		step := ev.Step
		if ev.Kind == reprise.PhaseEnded && step == "" {
			step = ev.Phase
		}
		if _, ok := phaseEnd[step]; !ok {
			c.cannot("a story has no step %q", ledger.Line(step, 40))
			return
		}
		c.storyStep(p, step)
		return
	}
	c.noPlace()
}

// storyStep moves a story by what happened to one of its phases.
func (c *recorder) storyStep(p, step string) {
	starts := map[string]class{implement: inProgress, review: inReview}
	resets := map[string]class{validate: draft, implement: ready, review: inProgress}
	switch c.ev.Kind {
	case reprise.StepStarted:
		if to, ok := starts[step]; ok {
			c.moveStory(p, to, c.ev.Text)
			return
		}
		c.noPlace() // no word for a story that is being validated
	case reprise.StepFinished, reprise.PhaseEnded:
		if c.rejected() {
			c.storyFailed(p, step)
			return
		}
		c.finishPhase(p, step)
	case reprise.StepFailed:
		if c.ev.Outcome == "" || c.ev.Outcome == "rejected" {
			c.storyFailed(p, step)
			return
		}
		c.noPlace() // an attempt that came to grief says nothing about the story
	case reprise.StepBlocked:
		if step == implement {
			c.moveStory(p, blocked, c.ev.Text)
			return
		}
		// Blocked is said of work that was begun: it would tell that the
		// validation is behind it, and the review not.
		c.noPlace()
	case reprise.StepReset:
		to, ok := resets[step]
		closed := rankOf(readStory(c.r, p).class()) == rankOf(done)
		switch {
		case closed && !c.triesAgain():
			c.cannot("the story is closed")
		case !ok:
			c.noPlace()
		case closed && step == review:
			c.moveStory(p, inReview, "reset")
		case step == review && c.triesAgain():
			// What it reviews is still handed over.
		default:
			c.moveStory(p, to, "reset")
		}
	default:
		c.noPlace()
	}
}

// finishPhase moves a story on; one that is further already is left there.
func (c *recorder) finishPhase(p, step string) {
	s := readStory(c.r, p)
	i := cycle.index(step)
	switch {
	case s == nil:
		c.Fail(c.Damaged(p))
	case step == implement && c.ev.Outcome == "unreviewed":
		// Whoever implemented it closed it too; the review is still to come.
		c.moveStory(p, inReview, c.ev.Text)
	case step == create && s.form:
		c.cannot("%s", formOnly)
	case i >= 0 && step != review && phaseStatus(s.class(), i) == reprise.Done:
	default:
		c.moveStory(p, phaseEnd[step], c.ev.Text)
	}
}

// storyFailed: a review that fails sends the story back; anything else leaves
// it where it is.
func (c *recorder) storyFailed(p, step string) {
	if step == review || step == closing {
		c.moveStory(p, inProgress, c.ev.Text)
		return
	}
	c.noPlace()
}

// driveStory moves a story by an event about the story as a whole.
func (c *recorder) driveStory(story string) {
	if status, ok := c.wanted(); ok {
		if status == reprise.Skipped {
			c.noPlace()
		}
		c.storyFollows(story, status)
	}
}

// triesAgain reports whether a person wants a step tried again. Only a run that is given
// up takes back what the phases before it finished.
func (c *recorder) triesAgain() bool {
	return c.ev.Kind == reprise.StepReset && c.ev.Actor == reprise.Person
}

// storyFollows moves the story's own file along with the state that drives it,
// as far as it must so that the two say the same. A failure moves nothing: what
// the phases of the story finished stays finished.
func (c *recorder) storyFollows(p string, status reprise.Status) {
	s := readStory(c.r, p)
	if s == nil {
		return // the state alone tells; the loader reports the file
	}
	now := s.class()
	_, ended := folderSays(p)
	closed := rankOf(now) == rankOf(done)
	switch {
	case ended:
		if status != reprise.Done && status != reprise.Skipped {
			c.cannot("story %s is in a folder for finished work", p)
		}
	case closed && (status == reprise.InProgress || status == reprise.Pending):
		c.cannot("story %s is closed", p)
	case status == reprise.InProgress:
		// A draft is validated before it is begun: it moves by its own phases.
		if rankOf(now) < rankOf(inProgress) && now != draft || now == blocked {
			c.moveStory(p, inProgress, c.ev.Text)
		}
	case status == reprise.Done:
		c.moveStory(p, done, c.ev.Text)
	case status == reprise.Blocked:
		c.moveStory(p, blocked, c.ev.Text)
	case status == reprise.Pending && rankOf(now) > rankOf(ready) && !(now == inReview && c.triesAgain()):
		c.moveStory(p, ready, "reset")
	}
}

// openStory opens a story for editing: Markdown, or YAML in old projects.
func (c *recorder) openStory(p string) *ledger.File {
	if isYAML(p) {
		return c.Structured(p)
	}
	return c.Markdown(p)
}

// moveStory writes the status of a story into every field that gives it, and a row into
// its change log. Fields that already say so are left alone.
func (c *recorder) moveStory(p string, want class, note string) {
	s := readStory(c.r, p)
	if s == nil {
		if !c.r.Open(p).Exists() {
			c.Fail(fmt.Errorf("%s: %w", p, fs.ErrNotExist))
		}
		c.Fail(c.Damaged(p))
		return
	}
	if say, ended := folderSays(p); ended && say.class != want {
		c.cannot("story %s is in a folder for finished work", p)
		return
	}
	fields := s.statusFields()
	open := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.class == want })
	if len(fields) > 0 && len(open) == 0 {
		return
	}
	if ledger.Found(c.r.Findings(), p, reprise.CodeSalvaged, reprise.CodeUnreadable) && slices.ContainsFunc(open, func(f field) bool { return f.front }) {
		c.Fail(c.Damaged(p))
		return
	}
	f := c.openStory(p)
	if f == nil {
		return
	}
	word := c.spelling(s, s.word(), want)
	for _, field := range open {
		c.setField(f, field, want, c.spelling(s, field.word, want), len(fields) == 1)
	}
	if len(fields) == 0 {
		c.addStatus(f, word)
	}
	if c.Err() != nil || !f.Changed() {
		return // what can be said is said
	}
	if err := verifyStory(f, s, len(open) > 0, want); err != nil {
		c.cannot("%v", err)
		return
	}
	c.logMove(f, s, word, note, want)
	f.Because("story %s is %s", storyKey(p).id, word)
}

// statusFields are the fields that tell the status of a story: those in its
// head, or the one that decides where the head has none.
func (s *storyDoc) statusFields() []field {
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
func (c *recorder) setField(file *ledger.File, f field, want class, word string, alone bool) {
	if f.place.Path != nil && isYAML(file.Path) {
		c.Set(f.place, word)
		return
	}
	if len(f.boxes) > 0 {
		c.setBoxes(file, f.boxes, want, alone)
		return
	}
	file.Do(func(m *splice.Markdown) error {
		if f.front {
			return m.SetFront(f.place.Path, word)
		}
		next := reword(f.word, word, want)
		for _, g := range m.Fields(splice.Where{Line: f.line}, "") {
			if g.Form != splice.Under && !isStatusKey(trimNumber(g.Key)) || strings.Count(g.Value, f.word) != 1 && g.Value != f.word {
				continue
			}
			return m.SetLabel(splice.Where{Line: g.Line}, g.Key, strings.Replace(g.Value, f.word, next, 1))
		}
		c.patchLine(file, f, next)
		return nil
	})
}

// patchLine replaces a value behind a colon that only this convention reads: the
// full-width one of Chinese text, or one in a block of YAML.
func (c *recorder) patchLine(file *ledger.File, f field, next string) {
	mark := "\uff1a"
	if f.fenced {
		mark = ":"
	}
	for _, l := range file.Doc().Lines {
		colon := strings.Index(l.Text, mark)
		if l.No != f.line || l.Hidden != f.fenced || colon < 0 {
			continue
		}
		if at := strings.Index(l.Text[colon:], f.word); at >= 0 {
			start, now := l.Start+colon+at, file.Bytes()
			file.Replace(slices.Concat(now[:start], []byte(next), now[start+len(f.word):]))
			return
		}
	}
	c.cannot("the status in line %d of %s cannot be written", f.line, file.Path)
}

// reword replaces the status in a value. What decorates the word stays; words
// about the old status are removed, because they would now be about the new one.
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

// setBoxes ticks the boxes of a status and keeps those before it, and clears
// those behind: the last ticked one holds. A list without a box for the status
// stands at the last one before it, if another field can tell; done needs all
// fields to agree.
func (c *recorder) setBoxes(f *ledger.File, boxes []doc.Check, want class, alone bool) {
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
		c.cannot("the list of statuses in %s has no box for %s", f.Path, want)
	}
	for i, b := range boxes {
		tick := i <= at && (b.Ticked || has && boxClass(b.Text) == want)
		if tick != b.Ticked {
			f.Do(func(m *splice.Markdown) error { return m.SetCheck(splice.Where{Line: b.Line}, "", tick) })
		}
	}
}

// addStatus gives a story without a status its field: in the front matter if
// it has one, else as a label below its title.
func (c *recorder) addStatus(f *ledger.File, word string) {
	if isYAML(f.Path) {
		c.Set(f.Root().In("status"), word)
		return
	}
	f.Do(func(m *splice.Markdown) error {
		if m.Doc().Front != nil {
			return m.SetFront(splice.Path{"status"}, word)
		}
		where := splice.Where{}
		if all := m.Doc().Sections(); len(all) > 0 && all[0].Level == 1 {
			where.Section = all[0].Title
		}
		return m.AppendLines(where, "**Status:** "+word)
	})
}

// verifyStory reads the edited story as the loader would: its status must be
// what was asked for, and all else what it was.
func verifyStory(f *ledger.File, before *storyDoc, changed bool, want class) error {
	after := storyIn(f.Path, f.Bytes())
	switch {
	case after == nil:
		return fmt.Errorf("%s: it could not be read back", f.Path)
	case after.class() != want:
		return fmt.Errorf("%s: the status would not read back as %s", f.Path, want)
	case after.boxes != before.boxes || after.ticked != before.ticked || changed && len(after.fields) != len(before.fields):
		return fmt.Errorf("%s: more than the status would change", f.Path)
	}
	return nil
}

// storyIn reads a story from memory.
func storyIn(name string, data []byte) *storyDoc {
	_, f := doc.Memory(name, data)
	return storyOfFile(f)
}
